"""Every answer and its verdict, kept beside a score so that no later question needs a second scoring.

The file is one of `scoring.array_files` of the kind `predictions`, version 1. Its facts: `competition`, `protocol`, `scorer`,
`truth` (the fingerprint), `receipt` (the report's), `classes` (those entered) and `positives` (of each). Its arrays: `first`, int64
(classes + 1), where in the following the answers of a class begin; then for each answer, the best of its class first,
`image`, int32, counted from 0 in the order of `Lists.images`, which begins with the Main set's, `confidence`, float64,
and `outcome`, int8, 1 right, 0 wrong, -1 ignored. Classification and actions have an answer for every image or person
that has a label; the confidence of one that was left out is -inf.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

from scoring.array_files import ForeignFileError, Packed, unpack, write
from scoring.data.arrays import Floats, Integers, Labels

KIND: Final = "answers"


@dataclass(frozen=True, slots=True, eq=False)
class RankedPredictions:
    """The answers of one class, best first: image int32 (n,), confidence float64 (n,), verdicts int8 (n,)."""

    class_name: str
    positives: int
    image: Integers
    confidence: Floats
    outcomes: Labels


@dataclass(frozen=True, slots=True)
class Origin:
    """Where matched predictions come from: truth is the ground truth's fingerprint, receipt the report's."""

    competition: int
    protocol: str
    scorer: str
    truth: str
    receipt: str

    @classmethod
    def of_facts(cls, facts: Mapping[str, Any]) -> Self:
        """The origin among the facts of a file. Raises ForeignFileError if it is incomplete.

        >>> origin = Origin(3, "voc2012", "1", "0f", "5a")
        >>> Origin.of_facts(asdict(origin)) == origin
        True
        """
        if missing := [each.name for each in fields(cls) if each.name not in facts]:
            raise ForeignFileError(f"the file does not say its {', '.join(missing)}: score the archive again")
        return cls(*(facts[each.name] for each in fields(cls)))


def save_predictions(path: Path, origin: Origin, predictions: Sequence[RankedPredictions]) -> None:
    """Write the file; the same answers give the same bytes."""
    facts = asdict(origin) | {
        "classes": [each.class_name for each in predictions],
        "positives": [each.positives for each in predictions],
    }
    arrays = {
        "first": np.cumsum([0, *(len(each.image) for each in predictions)], dtype=np.int64),
        "image": np.concatenate([np.empty(0, np.int32), *(each.image for each in predictions)]),
        "confidence": np.concatenate([np.empty(0), *(each.confidence for each in predictions)]),
        "verdict": np.concatenate([np.empty(0, np.int8), *(each.outcomes for each in predictions)]),
    }
    write(path, KIND, Packed(facts, arrays))


def open_predictions(path: Path) -> tuple[Origin, tuple[RankedPredictions, ...]]:
    """Read what `save_predictions` wrote. Raises ForeignFileError for another file.

    >>> from tempfile import TemporaryDirectory
    >>> ranked = RankedPredictions("car", 1, np.zeros(1, np.int32), np.array([0.9]), np.ones(1, np.int8))
    >>> with TemporaryDirectory() as folder:
    ...     save_predictions(Path(folder, "kept"), Origin(3, "voc2012", "1", "0f", "5a"), [ranked])
    ...     origin, [again] = open_predictions(Path(folder, "kept"))
    >>> origin.protocol, again.class_name, again.outcomes.tolist()
    ('voc2012', 'car', [1])
    """
    packed = unpack(KIND, path.read_bytes())
    facts, arrays = packed.facts, packed.arrays
    first = arrays["first"].tolist()
    classes = zip(facts["classes"], facts["positives"], first, first[1:], strict=False)
    predictions = tuple(
        RankedPredictions(
            name, positives, *(arrays[column][start:end] for column in ("image", "confidence", "verdict"))
        )
        for name, positives, start, end in classes
    )
    return Origin.of_facts(facts), predictions
