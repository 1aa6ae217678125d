"""A fixed list of words as a column type for the CSV parser."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from scoring.data.arrays import Integers

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """Different words in their order.

    Columns of this list's type hold places instead of words. Unlike an `Enum`, which the reader of tables prepares anew
    for every file, the list is prepared once; it lives as long as this column does, and takes in strange words behind
    its own, which `places` tells.
    """

    column: pl.Series

    @classmethod
    def of(cls, words: Iterable[str]) -> Self:
        """The list of these words.

        >>> import polars as pl
        >>> cats = Words.of(["cat", "tiger"])
        >>> cats.places(pl.Series(["tiger", "cat"], dtype=cats.type))
        array([1, 0], dtype=int32)
        >>> cats.places(pl.Series(["dog"], dtype=cats.type)) is None
        True
        """
        import polars as pl  # noqa: PLC0415 - polars takes longer to import than all of `scoring`

        column = pl.Series(list(words), dtype=pl.String).cast(pl.Categorical(pl.Categories.random()))
        assert np.array_equal(column.to_physical().to_numpy(), np.arange(len(column))), (
            "polars numbers otherwise"
        )
        return cls(column)

    def __len__(self) -> int:
        """How many words there are."""
        return len(self.column)

    @property
    def type(self) -> pl.DataType:
        """The type of a column of these words, for a schema."""
        return self.column.dtype

    def places(self, column: pl.Series) -> Integers | None:
        """The places of a column's words in the list, int32 (n,); None if one is not in it."""
        places = column.to_physical().to_numpy()
        if len(places) and int(places.max()) >= len(self):
            return None
        return places.view(np.int32)

    def known_places(self, column: pl.Series) -> tuple[Integers, NDArray[np.bool_]]:
        """The places of a column's words in the list, int32 (n,), 0 for unknown ones, and which are known, bool (n,)."""
        places = column.to_physical().fill_null(len(self)).to_numpy()
        known: NDArray[np.bool_] = places < len(self)
        return np.where(known, places, 0).astype(np.int32), known
