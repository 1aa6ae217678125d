"""Protocols with custom rules: a result carries its rules, and official names are reserved for official rules."""

import json
import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heldout_scoring import (
    COCO,
    VOC2006,
    VOC2007,
    VOC2012,
    Confidences,
    Detections,
    GroundTruth,
    InstanceMasks,
    LabelMaps,
    Result,
    bootstrap,
    coco,
    compare,
    evaluate,
    evaluate_coco,
    intervals_of,
)
from heldout_scoring.data.arrays import Floats
from heldout_scoring.data.predictions import ClassDetections
from heldout_scoring.metrics.coco import COCO_RULES, LVIS_RULES
from heldout_scoring.metrics.matching import ClassObjects, IoU, Matches, match_pascal
from heldout_scoring.metrics.ranking import AP_AREA, pool_all_classes
from heldout_scoring.protocols import PROTOCOLS, Protocol, spell
from heldout_scoring.results import rules_of
from heldout_scoring.tasks.coco import COCO_DETECTION, COCO_SEGMENTATION
from heldout_scoring.tasks.detection import DETECTION
from heldout_scoring.tasks.labels import CLASSIFICATION
from heldout_scoring.tasks.segmentation import SEGMENTATION
from heldout_scoring.tasks.task import Task, TaskRules
from tests.scoring.coco_detectors import as_json
from tests.scoring.coco_masks import draw_mask_set
from tests.scoring.coco_sets import draw_coco_set, official

IMAGES = list("abcdefgh")
BOX = [1, 1, 10, 10]
HALF = [1, 1, 10, 6]
"""0.6 of the box, and in it."""


def boxes() -> GroundTruth:
    """A cat in every image."""
    return GroundTruth.from_arrays(IMAGES, ["cat"] * 8, [BOX] * 8, convention="inclusive")


def found_boxes(*, half: int = 3) -> Detections:
    """A cat in the first six images, some of them with a box that is too small."""
    corners = [HALF if place < half else BOX for place in range(6)]
    return Detections.from_arrays(IMAGES[:6], ["cat"] * 6, np.linspace(0.9, 0.4, 6), corners)


def labels() -> GroundTruth:
    return GroundTruth.from_labels([[1], [0]] * 4, images=IMAGES, classes=["cat"])


def found_labels() -> Confidences:
    scores = [[0.9], [0.95], [0.7], [0.1], [0.2], [0.6], [0.5], [0.3]]
    return Confidences.from_matrix(scores, images=IMAGES, classes=["cat"])


def maps() -> GroundTruth:
    return GroundTruth.from_label_maps([[[0, 1], [1, 1]]] * 8, images=IMAGES, classes=["cat"])


def found_maps() -> LabelMaps:
    return LabelMaps.from_arrays([[[0, 1], [1, place % 2]] for place in range(8)], images=IMAGES)


def masks() -> GroundTruth:
    return GroundTruth.from_masks(IMAGES, ["cat"] * 8, np.ones((8, 4, 6), bool))


def found_masks() -> InstanceMasks:
    drawn = np.ones((8, 4, 6), bool)
    drawn[:3, 2:] = False
    return InstanceMasks.from_arrays(IMAGES, ["cat"] * 8, np.linspace(0.9, 0.2, 8), drawn)


@dataclass(frozen=True)
class Case:
    base: Protocol
    task: Task[Any, Any, Any, Any]
    truth: Callable[[], GroundTruth]
    found: Callable[[], Any]
    changed: dict[str, Any]

    def row(self) -> Protocol:
        rules = replace(self.base.rules_of(self.task), **self.changed)
        return self.base.with_rules("own2026", "Our challenge", TaskRules(self.task, rules))

    def result(self) -> Result:
        return evaluate(self.found(), self.truth(), protocol=self.row())

    def intervals(self, result: Result, **options: Any) -> object:
        return intervals_of(result, self.truth(), replicates=60, **options)


CASES = {
    "detection": Case(VOC2012, DETECTION, boxes, found_boxes, {"iou_threshold": 0.75}),
    "another measure of detection": Case(
        VOC2012, DETECTION, boxes, found_boxes, {"measure": VOC2007.rules_of(DETECTION).measure}
    ),
    "classification": Case(
        VOC2012, CLASSIFICATION, labels, found_labels, {"measure": VOC2006.rules_of(CLASSIFICATION).measure}
    ),
    "segmentation": Case(VOC2012, SEGMENTATION, maps, found_maps, {"measure": VOC2007.rules_of(SEGMENTATION).measure}),
    "coco": Case(COCO, COCO_DETECTION, boxes, found_boxes, {"iou_thresholds": np.array([0.3, 0.55, 0.75])}),
    "areas and detections": Case(
        COCO, COCO_DETECTION, boxes, found_boxes, {"areas": (("all", 0.0, 1e5), ("tiny", 0.0, 80.0)), "max_detections": (5, 300)},
    ),
    "masks": Case(COCO, COCO_SEGMENTATION, masks, found_masks, {"iou_thresholds": np.array([0.25])}),
}  # fmt: skip


each_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


@each_case
def test_a_result_has_the_rules_that_it_was_scored_by(case: Case) -> None:
    result = case.result()

    assert result.protocol == "own2026"
    assert spell(rules_of(result)) == spell(case.row().rules_of(case.task))


@each_case
def test_a_result_has_the_same_intervals_after_pickle_and_json(case: Case, tmp_path: Path) -> None:
    result = case.result()
    result.save_matches(tmp_path / "matches")

    expected = case.intervals(result)
    sent = pickle.loads(pickle.dumps(result))
    stored = Result.from_json(result.to_json())

    assert (sent, stored) == (result, result)
    assert spell(rules_of(stored)) == spell(rules_of(sent)) == spell(rules_of(result))
    assert case.intervals(sent) == expected
    assert case.intervals(stored, statistics=tmp_path / "matches") == expected


def test_replicates_of_several_thresholds_are_means_over_the_thresholds() -> None:
    def drawn(*thresholds: float) -> Floats:
        case = Case(COCO, COCO_DETECTION, boxes, found_boxes, {"iou_thresholds": np.array(thresholds)})
        result, official = case.result(), evaluate(found_boxes(), boxes(), protocol="coco")
        assert [result.headline] == [official.figures[f"AP{100 * each:.0f}"] for each in thresholds] or len(
            thresholds
        ) > 1
        return bootstrap(result, boxes(), replicates=20).values

    low, high = drawn(0.5), drawn(0.75)

    assert (low[0] > high[0]).any()
    np.testing.assert_allclose(drawn(0.5, 0.75), (low + high) / 2, atol=1e-12)


@pytest.mark.parametrize("seed", range(300, 306))
def test_options_of_coco_are_those_of_the_official_program(seed: int) -> None:
    truth, found = draw_coco_set(seed)
    areas = [("all", 0, 1e10), ("tiny", 0, 300), ("huge", 300, 1e10)]

    rules = coco(iou=[0.75, 0.3], areas=areas, max_detections=[2, 40])
    figures = evaluate_coco(as_json(found), as_json(truth), protocol=rules).figures

    evaluation = official(
        truth,
        found,
        iouThrs=np.array([0.3, 0.75]),
        maxDets=[2, 40],
        areaRng=[list(each[1:]) for each in areas],
        areaRngLbl=[each[0] for each in areas],
    )
    precision, recall = evaluation.eval["precision"], evaluation.eval["recall"]
    expected = {
        "AP": precision[..., 0, 1],
        "AP75": precision[1, ..., 0, 1],
        "APt": precision[..., 1, 1],
        "APh": precision[..., 2, 1],
        "AR2": recall[..., 0, 0],
        "AR40": recall[..., 0, 1],
        "ARt": recall[..., 1, 1],
        "ARh": recall[..., 2, 1],
    }
    assert figures == {
        name: pytest.approx(float(values[values > -1].mean()), abs=1e-12) if (values > -1).any() else None
        for name, values in expected.items()
    }


def test_explanations_follow_the_rules() -> None:
    strict = CASES["coco"]
    two = {"iou_thresholds": np.array([0.75]), "max_detections": (2,)}

    def told(changed: dict[str, Any]) -> dict[str, list[str]]:
        crowded = GroundTruth.from_arrays(
            ["a"] * 3,
            ["cat"] * 3,
            [[1 + 20 * n, 1, 10 + 20 * n, 10] for n in range(3)],
            convention="inclusive",
        )
        found = Detections.from_arrays(
            ["a"] * 3, ["cat"] * 3, [0.9, 0.8, 0.7], [[1, 1, 10, 6], [21, 1, 30, 10], [41, 1, 50, 10]]
        )
        result = evaluate(found, crowded, protocol=replace(strict, changed=changed).row())
        codes: dict[str, list[str]] = {}
        for each in result.explain():
            codes.setdefault(each.code, []).append(each.message)
        return codes

    assert "missed" not in told({})
    assert told(two) == {
        "missed": ["2 objects are matched by no detection"],
        "wrong": ["1 detection is matched to no object"],
        "cap": [
            "1 object is overlapped only by detections beyond the first 2",
            "1 detection is beyond the 2 of a class in an image that count",
            "1 object is beyond the 2 of a class in an image, so that AR2 cannot be 1",
        ],
    }


def test_explanations_of_a_result_survive_pickle() -> None:
    result = CASES["coco"].result()

    assert result.explain()
    assert pickle.loads(pickle.dumps(result)).explain() == result.explain()


def test_only_coco_results_not_read_from_json_have_explanations() -> None:
    with pytest.raises(LookupError, match="explanations are those of COCO's rules, not of own2026"):
        CASES["detection"].result().explain()
    with pytest.raises(ValueError, match="read from JSON has no explanations"):
        Result.from_json(CASES["coco"].result().to_json()).explain()


@pytest.mark.parametrize("kind", ["boxes", "masks"])
def test_a_result_from_coco_json_survives_pickle(kind: str) -> None:
    truth, found = draw_mask_set(1) if kind == "masks" else draw_coco_set(201)
    result = evaluate_coco(as_json(found), as_json(truth), masks=kind == "masks")

    again = pickle.loads(pickle.dumps(result))

    assert (again, again.figures, again.explain()) == (result, result.figures, result.explain())


@pytest.mark.parametrize("name", ["voc2012", "coco", "pascal_voc_metrics"])
def test_an_official_name_cannot_be_given_to_other_rules(name: str) -> None:
    row = PROTOCOLS[name]
    [changed] = [each for each in row.tasks if "detection" in each.task.name]
    other = TaskRules(changed.task, replace(changed.rules, **_another_threshold(changed.rules)))

    ways: list[Callable[[], Protocol]] = [
        lambda: row.with_rules(name, "Ours", other),
        lambda: replace(row.with_rules("own", "Ours", other), name=name),
        lambda: replace(row, name=name, tasks=(other,)),
        lambda: Protocol(name, row.title, ()),
    ]
    for make in ways:
        with pytest.raises(
            ValueError, match=f"'{name}' is the name of an official protocol with other rules"
        ):
            make()


def _another_threshold(rules: Any) -> dict[str, Any]:
    return (
        {"iou_threshold": 0.75} if hasattr(rules, "iou_threshold") else {"iou_thresholds": np.array([0.75])}
    )


@pytest.mark.parametrize(
    "changed",
    [
        {"pool": pool_all_classes},
        {"average": max},
        {"measure": replace(AP_AREA, weighted=VOC2007.rules_of(DETECTION).measure.weighted)},
    ],
    ids=["pool", "average", "intervals alone"],
)
def test_an_official_name_is_refused_whichever_rule_differs(changed: dict[str, Any]) -> None:
    other = TaskRules(DETECTION, replace(VOC2012.rules_of(DETECTION), **changed))

    with pytest.raises(ValueError, match="is the name of an official protocol"):
        VOC2012.with_rules("voc2012", "PASCAL VOC 2012", other)


def test_a_protocol_made_before_names_were_reserved_is_refused_when_used() -> None:
    """As in a program that creates a protocol before it imports the official ones."""
    row = CASES["detection"].row()
    object.__setattr__(row, "name", "voc2012")

    with pytest.raises(ValueError, match="'voc2012' is the name of an official protocol with other rules"):
        evaluate(found_boxes(), boxes(), protocol=row)


def test_an_official_name_can_be_given_to_the_same_rules() -> None:
    again = TaskRules(COCO_DETECTION, replace(COCO_RULES, iou_thresholds=COCO_RULES.iou_thresholds.copy()))

    row = COCO.with_rules("coco", "COCO", again)

    assert evaluate(found_boxes(), boxes(), protocol=row) == evaluate(found_boxes(), boxes(), protocol="coco")


def test_json_cannot_give_an_official_name_to_other_rules() -> None:
    plain = json.loads(CASES["detection"].result().to_json())

    changes: list[dict[str, Any]] = [
        {"protocol": "voc2012"},
        {"rules": plain["rules"] | {"match": "spell"}},
        {"rules": {}},
        {"rules": 5},
    ]
    for changed in changes:
        with pytest.raises((ValueError, KeyError, TypeError)):
            Result.from_json(json.dumps(plain | changed))


def test_json_contains_only_custom_rules() -> None:
    own = json.loads(CASES["detection"].result().to_json())
    official = json.loads(evaluate(found_boxes(), boxes(), protocol="voc2012").to_json())

    assert official["rules"] is None
    assert (own["rules"]["iou_threshold"], own["rules"]["match"]) == (0.75, "match_pascal")


def match_generously(found: ClassDetections, objects: ClassObjects, iou: IoU, _threshold: float) -> Matches:
    return match_pascal(found, objects, iou, 0.1)


def test_custom_functions_in_rules_survive_pickle_but_not_json(tmp_path: Path) -> None:
    case = replace(CASES["detection"], changed={"match": match_generously})
    result = case.result()
    result.save_matches(tmp_path / "matches")

    stored = Result.from_json(result.to_json())

    assert (stored, stored.rules) == (result, None)
    assert case.intervals(pickle.loads(pickle.dumps(result))) == case.intervals(result)
    with pytest.raises(
        LookupError, match="does not hold the rules of 'own2026', which is no official protocol"
    ):
        case.intervals(stored, statistics=tmp_path / "matches")


def test_results_by_different_rules_with_one_name_are_not_compared() -> None:
    lenient = replace(CASES["detection"], changed={"iou_threshold": 0.3})
    one, other = (bootstrap(each.result(), boxes(), replicates=30) for each in (CASES["detection"], lenient))

    assert len(compare(one, one)) == 2
    with pytest.raises(ValueError, match="these runs cannot be compared"):
        compare(one, other)


def test_lvis_rules_under_another_name_require_lvis_annotation() -> None:
    row = COCO.with_rules("own", "Ours", TaskRules(COCO_DETECTION, LVIS_RULES))

    with pytest.raises(LookupError, match="which classes are absent"):
        evaluate(found_boxes(), boxes(), protocol=row)
