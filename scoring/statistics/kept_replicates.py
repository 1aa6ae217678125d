"""Replicates of a result in a file, so that comparing results takes no more than a subtraction.

The file is one of `scoring.array_files` of the kind `replicates`, version 1. Its facts are those of `Setup` and `Draws`, and `names`
and `scores` as in `Replicates`; its array `values` has 32 bits a number, which is exact to 6e-8.
"""

from dataclasses import asdict, fields
from typing import Any, Final

import numpy as np

from scoring.array_files import ForeignFileError, Packed, pack, unpack
from scoring.statistics.resampling import Draws, Replicates, Setup

KIND: Final = "replicates"


def pack_replicates(replicates: Replicates) -> bytes:
    """The content of the file; the same replicates give the same bytes.

    >>> kept = Replicates(Setup("detection", "voc2012", "0f"), Draws(9, 2), (), (0.5,), np.array([[0.25, 0.75]]))
    >>> again = read_replicates(pack_replicates(kept))
    >>> again.setup.protocol, again.draws.replicates, again.scores, again.values.tolist()
    ('voc2012', 2, (0.5,), [[0.25, 0.75]])
    """
    facts = {**asdict(replicates.setup), **asdict(replicates.draws)}
    facts |= {"names": replicates.names, "scores": replicates.scores}
    return pack(KIND, Packed(facts, {"values": replicates.values.astype(np.float32)}))


def read_replicates(data: bytes) -> Replicates:
    """Read what `pack_replicates` made. Raises ForeignFileError for anything else.

    >>> kept = Replicates(Setup("detection", "voc2012", "0f"), Draws(9, 1), (), (None,), np.array([[np.nan]]))
    >>> read_replicates(pack_replicates(kept)).scores
    (None,)
    """
    packed = unpack(KIND, data)
    facts, arrays = packed.facts, packed.arrays
    try:
        setup, draws = (_from(cls, facts) for cls in (Setup, Draws))
        names, scores = tuple(facts["names"]), tuple(facts["scores"])
        return Replicates(setup, draws, names, scores, arrays["values"].astype(np.float64))
    except KeyError as error:
        raise ForeignFileError(f"the file of the kind '{KIND}' has no {error}") from error


def _from(cls: Any, facts: Any) -> Any:
    return cls(**{field.name: facts[field.name] for field in fields(cls)})
