"""The numbers in rules of one's own: what is taken, in which order, and what is refused."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from heldout_scoring import (
    COCO,
    LVIS,
    VOC2007,
    VOC2012,
    BoxConvention,
    DataError,
    Detections,
    GroundTruth,
    Result,
    evaluate,
)
from heldout_scoring.tasks.coco import COCO_DETECTION, LVIS_DETECTION
from heldout_scoring.tasks.detection import DETECTION
from heldout_scoring.tasks.layout import LAYOUT
from heldout_scoring.tasks.task import TaskRules

BOXES = np.array([[0, 0, 5, 5], [40, 40, 60, 60]])
TRUTH = GroundTruth.from_arrays(["a"] * 2, ["x"] * 2, BOXES, convention="half-open")
FOUND = Detections.from_arrays(["a"] * 2, ["x"] * 2, [0.9, 0.8], BOXES)
EVERY = ("all", 0, 1e10)


def result_of(**options: Any) -> Result:
    rules = replace(COCO.rules_of(COCO_DETECTION), **options)
    return evaluate(FOUND, TRUTH, protocol=COCO.with_rules("own", "own", TaskRules(COCO_DETECTION, rules)))


@pytest.mark.parametrize(
    "options",
    [
        {"max_detections": (100, 10, 1)},
        {"max_detections": [10, 100, 1]},
        {"max_detections": np.array([100, 1, 10])},
        {"max_detections": range(1, 101)},
        {"iou_thresholds": [0.75, 0.5]},
        {"iou_thresholds": np.array([0.9, 0.5, 0.75], np.float32)},
        {"recalls": [1, 0.5, 0]},
        {"areas": [list(EVERY), ["small", 0, 1024]]},
        {"areas": (("all", 0, np.inf), ("large", np.int64(100), np.inf))},
    ],
    ids=lambda options: next(iter(options)),
)
def test_lists_in_any_order_are_taken(options: dict[str, Any]) -> None:
    result = result_of(**options)

    assert result.headline == pytest.approx(1)
    assert Result.from_json(result.to_json()) == result


def test_each_range_of_areas_has_a_figure_of_its_own() -> None:
    areas = (EVERY, ("tiny1", 0, 100), ("tiny2", 100, 1e10), ("none", 1e9, 1e10))

    figures = result_of(areas=areas).figures

    assert [name for name in figures if name.startswith("AP")] == [
        "AP",
        "AP50",
        "AP75",
        "APtiny1",
        "APtiny2",
        "APn",
    ]
    assert [figures[name] for name in ("APtiny1", "APtiny2")] == pytest.approx([1, 1])
    assert figures["APn"] is None
    assert figures["ARtiny1"] == pytest.approx(1)


NUMBER = "expected a number above 0 and up to 1 as 'iou_thresholds', found "
WHOLE = "expected a whole number from 1 in 'max_detections', found "
PARTS = "expected a name, the smallest and the largest area of each range in 'areas', found "


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("iou_thresholds", 0.5, "expected a list in 'iou_thresholds', found 0.5"),
        ("iou_thresholds", np.float64(0.5), "expected a list in 'iou_thresholds', found 0.5"),
        ("iou_thresholds", {0.5: 1}, "expected a list in 'iou_thresholds', found dict"),
        ("iou_thresholds", "0.5", "expected a list in 'iou_thresholds', found '0.5'"),
        ("iou_thresholds", [], "expected at least one value in 'iou_thresholds', found none"),
        ("iou_thresholds", [0], f"{NUMBER}0"),
        ("iou_thresholds", [-0.5], f"{NUMBER}-0.5"),
        ("iou_thresholds", np.array([50.0]), f"{NUMBER}50.0"),
        ("iou_thresholds", [np.nan], f"{NUMBER}nan"),
        ("iou_thresholds", ["0.5"], f"{NUMBER}'0.5'"),
        ("iou_thresholds", [True], f"{NUMBER}True"),
        ("iou_thresholds", [0.5, 0.5], "0.5 stands twice in 'iou_thresholds'"),
        ("recalls", [-0.1], "expected numbers from 0 to 1 in 'recalls', found -0.1"),
        ("recalls", [0, 101], "expected numbers from 0 to 1 in 'recalls', found 101"),
        ("max_detections", 100, "expected a list in 'max_detections', found 100"),
        ("max_detections", {"AR": 100}, "expected a list in 'max_detections', found dict"),
        ("max_detections", (0,), f"{WHOLE}0"),
        ("max_detections", (-1,), f"{WHOLE}-1"),
        ("max_detections", (1.5,), f"{WHOLE}1.5"),
        ("max_detections", np.array([100.0]), f"{WHOLE}100.0"),
        ("max_detections", (True,), f"{WHOLE}True"),
        ("max_detections", (), "expected at least one value in 'max_detections', found none"),
        ("max_detections", (1, 10, 10), "10 stands twice in 'max_detections'"),
        ("in_image", 0, "expected a whole number from 1 in 'in_image', found 0"),
        ("in_image", [300], "expected a whole number from 1 in 'in_image', found [300]"),
        ("federated", 1, "expected bool as 'federated', found int"),
        ("areas", {"all": (0, 1e10)}, "expected a list in 'areas', found dict"),
        ("areas", "all", "expected a list in 'areas', found 'all'"),
        ("areas", EVERY, f"{PARTS}'all'"),
        ("areas", [("all", 0)], f"{PARTS}('all', 0)"),
        ("areas", [EVERY, ("x", "0", 9)], f"{PARTS}('x', '0', 9)"),
        ("areas", [EVERY, ("x", 9, 0)], "expected areas from 0, the smallest first, in 'areas', found ('x', 9, 0)"),
        ("areas", [EVERY, ("x", -1, 9)], "expected areas from 0, the smallest first, in 'areas', found ('x', -1, 9)"),
        ("areas", [EVERY, ("x", 0, np.nan)], "expected areas from 0, the smallest first, in 'areas'"),
        ("areas", [EVERY, ("50", 0, 9)], "expected names in 'areas' that begin with a letter, found '50'"),
        ("areas", [EVERY, ("", 0, 9)], "expected names in 'areas' that begin with a letter, found ''"),
        ("areas", [EVERY, ("x", 0, 9), ("x", 9, 99)], "'x' stands twice in 'areas'"),
        ("areas", [("small", 0, 9), ("large", 9, 99)], "expected a first range in 'areas' that holds all others"),
    ],
)  # fmt: skip
def test_anything_else_is_refused_in_one_sentence(name: str, value: Any, sentence: str) -> None:
    with pytest.raises(DataError) as refused:
        result_of(**{name: value})

    assert str(refused.value).startswith(sentence)


@pytest.mark.parametrize("threshold", [0, 50, -0.5, "0.5", None, np.nan, [0.5]])
def test_the_threshold_of_other_tasks_is_checked_too(threshold: Any) -> None:
    for rules in (VOC2012.rules_of(DETECTION), VOC2007.rules_of(LAYOUT)):
        with pytest.raises(
            DataError, match="expected a number above 0 and up to 1 as 'iou_threshold', found "
        ):
            replace(rules, iou_threshold=threshold)


def test_a_convention_may_be_given_by_its_name() -> None:
    rules = VOC2012.rules_of(DETECTION)

    def convention_of(name: Any) -> BoxConvention | None:
        return replace(rules, convention=name).convention

    assert convention_of("half-open") is BoxConvention.HALF_OPEN
    with pytest.raises(DataError, match="as 'convention', found 'xyxy'"):
        convention_of("xyxy")


@pytest.mark.parametrize("name", ["rare", "common", "fat"])
def test_no_range_of_areas_takes_the_name_of_a_frequency(name: str) -> None:
    rules = LVIS.rules_of(LVIS_DETECTION)

    with pytest.raises(DataError, match=f"AP{name[0]} is of classes by their frequency in these rules"):
        replace(rules, areas=(EVERY, (name, 0, 9)))
    assert replace(rules, areas=(EVERY, (name, 0, 9)), federated=False).sizes == (name[0],)
