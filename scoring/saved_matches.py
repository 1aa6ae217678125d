"""Matches in a file, so that an interval or a comparison needs no second scoring.

The file is one of `scoring.array_files` of the kind `matches`, version 1. Its facts are those of `Origin`, and for rankings `classes`
and `positives` (of each class), for pixels `labels`. The arrays of rankings: `first`, int64 (classes + 1,), where in the others
the predictions of a class begin, and the columns of `RankedPredictions`, `further` only where all have it; those of pixels are the arrays of `ImageCounts`.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final

import numpy as np

from scoring.array_files import ForeignFileError, Packed, read_from, unpack, write
from scoring.data.matches import AllMatches, ImageCounts, RankedPredictions
from scoring.files import as_path, read_file

KIND: Final = "matches"

_COLUMNS: Final = ("image", "confidence", "outcomes")
_COUNTS: Final = ("first", "true", "prediction", "pixels")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where matches come from: task, protocol, scorer, the ground truth's fingerprint, and the receipt of the result."""

    task: str
    protocol: str
    scorer: str
    truth: str
    receipt: str


def save_matches(path: Path | str, origin: Origin, matches: AllMatches) -> None:
    """Write the file; the same matches give the same bytes. Raises PathError.

    >>> from tempfile import TemporaryDirectory
    >>> ranked = RankedPredictions("car", 1, np.zeros(1, np.int32), np.array([0.9]), np.ones(1, np.int8))
    >>> with TemporaryDirectory() as folder:
    ...     save_matches(Path(folder, "car"), Origin("detection", "voc2012", "1", "0f", "ab"), (ranked,))
    ...     origin, [again] = open_matches(Path(folder, "car"))
    >>> origin.protocol, again.class_name, again.outcomes.tolist()
    ('voc2012', 'car', [1])
    """
    packed = _pack_counts(matches) if isinstance(matches, ImageCounts) else _pack_rankings(matches)
    write(as_path(path), KIND, Packed({**asdict(origin), **packed.facts}, packed.arrays))


def open_matches(path: Path | str) -> tuple[Origin, AllMatches]:
    """Read what `save_matches` wrote. Raises PathError where there is no file, ForeignFileError for another file."""
    with read_from(path):
        return _unpacked(unpack(KIND, read_file(path)))


def _unpacked(packed: Packed) -> tuple[Origin, AllMatches]:
    facts, arrays = packed.facts, packed.arrays
    try:
        origin = Origin(**{field.name: facts[field.name] for field in fields(Origin)})
        if "labels" in facts:
            return origin, ImageCounts(tuple(facts["labels"]), **{name: arrays[name] for name in _COUNTS})
        return origin, _rankings(facts, arrays)
    except KeyError as error:
        raise ForeignFileError(f"the file of the kind '{KIND}' has no {error}") from error


def open_rankings(path: Path | str) -> tuple[Origin, tuple[RankedPredictions, ...]]:
    """As `open_matches`, of a task whose predictions are ranked. Raises ForeignFileError for pixel counts."""
    origin, matches = open_matches(path)
    if isinstance(matches, ImageCounts):
        raise ForeignFileError("expected ranked predictions, found pixel counts")
    return origin, matches


def _pack_counts(counts: ImageCounts) -> Packed:
    return Packed({"labels": counts.labels}, {name: getattr(counts, name) for name in _COUNTS})


def _pack_rankings(rankings: tuple[RankedPredictions, ...]) -> Packed:
    facts = {
        "classes": [each.class_name for each in rankings],
        "positives": [each.positives for each in rankings],
    }
    empty = {"image": np.empty(0, np.int32), "confidence": np.empty(0), "outcomes": np.empty(0, np.int8)}
    columns = {
        name: np.concatenate([empty[name], *(getattr(each, name) for each in rankings)]) for name in _COLUMNS
    }
    further = [each.further for each in rankings if each.further is not None]
    if further:
        columns["further"] = np.concatenate(further)
    first = np.cumsum([0, *(len(each.image) for each in rankings)], dtype=np.int64)
    return Packed(facts, columns | {"first": first})


def _rankings(facts: Mapping[str, Any], arrays: Mapping[str, Any]) -> tuple[RankedPredictions, ...]:
    first = arrays["first"].tolist()
    classes = zip(facts["classes"], facts["positives"], first, first[1:], strict=False)
    columns = (*_COLUMNS, *(["further"] if "further" in arrays else []))
    return tuple(
        RankedPredictions(name, positives, *(arrays[column][start:end] for column in columns))
        for name, positives, start, end in classes
    )
