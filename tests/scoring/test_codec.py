"""One JSON format for all results: whatever is written can be read, and nothing else can."""

import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heldout_scoring.errors import DataError
from heldout_scoring.results import Result
from heldout_scoring.scores import ClassResult, ConfusionMatrix, Curve, Exhibit, RocCurve, ScoreTable
from heldout_scoring.stored import dense, from_plain, sparse, to_plain


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True, slots=True)
class Part:
    kind: int
    share: float


@dataclass(frozen=True, slots=True)
class Whole:
    kind: ClassVar[str] = "whole"
    colour: Colour
    parts: tuple[Part, ...]
    pair: tuple[str, float | None]
    nested: tuple[tuple[int, ...], ...]
    data: bytes
    memory: Any = field(default=None, compare=False)


WHOLE = Whole(Colour.RED, (Part(3, 0.5),), ("car", None), ((1, 2), ()), b"\0\1\0", memory=np.zeros(3))


def test_a_value_survives_a_round_trip_through_json() -> None:
    assert from_plain(Whole, json.loads(json.dumps(to_plain(WHOLE)))) == WHOLE


def test_fields_excluded_from_comparison_are_not_written() -> None:
    assert "memory" not in to_plain(WHOLE)
    assert from_plain(Whole, to_plain(WHOLE)).memory is None


def test_a_field_may_be_called_kind() -> None:
    assert to_plain(Part(3, 0.5)) == {"kind": 3, "share": 0.5}


def test_every_kind_of_exhibit_survives_in_the_json_of_a_result() -> None:
    exhibits: tuple[Exhibit, ...] = (
        ScoreTable("AP", (("car", None), ("cat", 1.0))),
        Curve("car", 2, bytes([1, 0, 255])),
        RocCurve("car", bytes([1, 0]), bytes([1, 1])),
        ConfusionMatrix(("background", "car"), ((5, 0), (1, 2))),
    )
    report = Result(
        competition=None,
        task="detection",
        protocol="voc2012",
        measure="AP",
        headline=None,
        headline_reason="…",
        classes=(ClassResult("car", None, "…", 0, 1),),
        exhibits=exhibits,
        scorer="1",
        truth="0f",
        receipt="ab",
    )

    assert Result.from_json(report.to_json()) == report


@given(st.binary(max_size=50))
def test_bytes_survive_the_sparse_form(data: bytes) -> None:
    assert dense(json.loads(json.dumps(sparse(data)))) == data


@pytest.mark.parametrize(
    "changed",
    [
        {"kind": "half"},
        {"colour": "blue"},
        {"parts": {"kind": 3}},
        {"parts": [3]},
        {"parts": [{"kind": 3, "share": "0.5"}]},
        {"parts": [{"kind": True, "share": 0.5}]},
        {"parts": [{"kind": 3, "share": 0.5, "more": 1}]},
        {"pair": ["car"]},
        {"pair": [None, 0.5]},
        {"nested": [[1.5]]},
        {"data": {"size": 3}},
        {"more": 1},
    ],
)
def test_values_of_other_types_are_refused(changed: dict[str, Any]) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        from_plain(Whole, to_plain(WHOLE) | changed)


def test_a_missing_field_is_refused() -> None:
    with pytest.raises(TypeError, match="share"):
        from_plain(Part, {"kind": 3})


def test_a_whole_number_is_a_float_where_one_is_expected() -> None:
    assert from_plain(Part, {"kind": 3, "share": 1}) == Part(3, 1.0)


def test_arrays_cannot_be_written_as_json() -> None:
    with pytest.raises(DataError, match="ndarray"):
        to_plain(np.zeros(3))
