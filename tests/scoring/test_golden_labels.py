import json
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heldout_scoring.data.annotations import labels_of
from heldout_scoring.errors import SubmissionError
from heldout_scoring.evaluation import evaluate
from heldout_scoring.metrics.ranking import auc
from heldout_scoring.protocols import PROTOCOLS
from heldout_scoring.results import Result
from heldout_scoring.scores import Curve, RocCurve
from heldout_scoring.tasks.detection import DETECTION
from tests.scoring.conftest import ReadTruth, Unpack

pytestmark = pytest.mark.shared

EXACT = 1e-12
VOC2007 = ("voc2007_annotations_imagesets.tar.xz", "VOC2007", "test")
VOC2012 = ("voc2012_annotations_imagesets.tar.xz", "VOC2012", "val")
SYNTHETIC = "synthetic_seed2012.tar.xz"


@dataclass(frozen=True)
class Case:
    """Results, what they are scored against, and where the kit's own numbers and curves are."""

    results: str
    folder: str
    tree: tuple[str, str, str]
    competition: int
    protocol: str
    golden: tuple[str, ...]
    curves: tuple[str, str]

    def __str__(self) -> str:
        return f"{self.curves[1]}-{self.protocol}"

    def recorded(self, shared: Path) -> dict[str, Any]:
        file, *keys = self.golden
        found = json.loads((shared / "golden" / file).read_text())
        for key in keys:
            found = found[key]
        return dict(found)

    def drawn(self, unpacked: Unpack, name: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        archive, folder = self.curves
        task = "action" if self.competition == 9 else "cls"
        text = (unpacked(f"golden/{archive}") / folder / f"{task}_{name}.txt").read_text()
        return np.array(text.split(), np.float64).reshape(-1, 2)


@cache
def _scores(case: Case, unpacked: Unpack, real_truth: ReadTruth) -> Result:
    archive = unpacked(case.results) / case.folder
    truth = real_truth(*case.tree)
    return evaluate(
        archive, truth, competition=case.competition, protocol=case.protocol, accepted=True
    )  # some lines are repeated


def _real_classification(protocol: str, measure: str, curves: str) -> Case:
    return Case(
        "results/cls_from_yolo2_e150.tar.xz",
        "results_cls_from_yolo2_e150",
        VOC2007,
        2,
        protocol,
        ("cls_voc2007_from_yolo2_e150.json", measure),
        ("real_curves.tar.xz", f"curves/{curves}"),
    )


def _synthetic(
    results: str, tree: str, image_set: str, protocol: str, golden: str, competition: int = 1
) -> Case:
    return Case(
        SYNTHETIC,
        results,
        (SYNTHETIC, tree, image_set),
        competition,
        protocol,
        ("synthetic.json", "valid", golden),
        ("synthetic_curves.tar.xz", f"synth/{golden}"),
    )


CASES = [
    _real_classification("voc2012", "voc2010plus_area", "cls_yolo2_2012"),
    _real_classification("voc2009", "voc2007_11pt", "cls_yolo2_2009"),
    Case(
        "results/voc2012_example_action_comp9_val.tar.xz",
        "",
        VOC2012,
        9,
        "voc2012",
        ("action_voc2012val_example.json",),
        ("real_curves.tar.xz", "curves/action2012_example"),
    ),
    _synthetic("results2006", "VOC2006", "val", "voc2006", "2006_cls"),
    _synthetic("results2007", "VOC2007", "test", "voc2007", "2007_cls"),
    _synthetic("results2007", "VOC2007", "test", "voc2011", "2012_cls_on2007"),
    _synthetic("results", "VOC2012", "val", "voc2009", "2009_cls"),
    _synthetic("results", "VOC2012", "val", "voc2012", "2012_cls"),
    _synthetic("results", "VOC2012", "val", "voc2010", "2012_action", competition=9),
]


def _same(ours: float | None, recorded: float | str) -> bool:
    theirs = float(recorded)  # NaN is recorded as the string
    return ours is not None and (abs(ours - theirs) <= EXACT or (math.isnan(ours) and math.isnan(theirs)))


def _value_of(exhibit: Curve | RocCurve, protocol: str) -> float:
    """The kit's number from what the report keeps, NaN included."""
    if isinstance(exhibit, RocCurve):
        return auc(exhibit.points())
    outcomes = np.frombuffer(exhibit.outcomes, np.int8)
    return PROTOCOLS[protocol].rules_of(DETECTION).measure.of(outcomes, exhibit.positives)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_class_scores_what_the_kit_recorded(
    case: Case, shared: Path, unpacked: Unpack, real_truth: ReadTruth
) -> None:
    recorded = case.recorded(shared)["classes"]

    report = _scores(case, unpacked, real_truth)

    curves = {each.class_name: each for each in report.exhibits if isinstance(each, Curve | RocCurve)}
    values = {each.name: each for each in report.classes}
    assert list(curves) == list(recorded)
    for name, golden in recorded.items():
        assert _same(_value_of(curves[name], case.protocol), golden["ap"])
        if values[name].positives:
            assert _same(values[name].value, golden["ap"])
        else:
            assert values[name].value is None
            assert values[name].reason


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_headline_is_the_kit_s_mean_when_all_classes_are_entered(
    case: Case, shared: Path, unpacked: Unpack, real_truth: ReadTruth
) -> None:
    recorded = case.recorded(shared)

    report = _scores(case, unpacked, real_truth)

    missing = [each.name for each in report.classes if each.name not in recorded["classes"]]
    if missing:
        assert (report.headline, report.headline_reason) == (None, f"not entered: {', '.join(missing)}")
    elif math.isnan(float(recorded["mean"])):
        assert (report.headline, report.headline_reason) == (None, "a class has no value")
    else:
        assert _same(report.headline, recorded["mean"])


@pytest.mark.sampled
@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_point_of_every_curve_is_the_kit_s(
    case: Case, shared: Path, unpacked: Unpack, real_truth: ReadTruth
) -> None:
    report = _scores(case, unpacked, real_truth)

    drawn = [each for each in report.exhibits if isinstance(each, Curve | RocCurve)]
    assert len(drawn) == case.recorded(shared)["n_classes"]
    for exhibit in drawn:
        if isinstance(exhibit, RocCurve):
            points = exhibit.points()
            ours = np.stack([points.fpr, points.tpr], axis=1)
        else:
            curve = exhibit.points()
            ours = np.stack([curve.recall, curve.precision], axis=1)
        np.testing.assert_allclose(ours, case.drawn(unpacked, exhibit.class_name), rtol=0, atol=EXACT)


@pytest.mark.parametrize(
    ("competition", "folder", "said"),
    [
        (1, "cls_unknown_image", "comp1_cls_val_car.txt:116: unknown image '2008_999999'"),
        (
            9,
            "action_unknown_object",
            "comp9_action_val_jumping.txt:115: unknown object '99' of the image '2008_000370'",
        ),
    ],
)
def test_what_the_kit_stops_at_is_refused_with_file_and_line(
    competition: int, folder: str, said: str, unpacked: Unpack, real_truth: ReadTruth
) -> None:
    truth = real_truth(SYNTHETIC, "VOC2012", "val")

    with pytest.raises(SubmissionError) as refused:
        evaluate(
            unpacked(SYNTHETIC) / "results_bad" / folder,
            truth,
            competition=competition,
            protocol="voc2012",
            accepted=True,
        )

    [problem] = refused.value.problems
    assert str(problem).startswith(said)


@pytest.mark.parametrize(
    "tree", [VOC2007, VOC2012, (SYNTHETIC, "VOC2006", "val")], ids=lambda tree: str(tree[1])
)
def test_label_files_say_what_the_objects_say(tree: tuple[str, str, str], real_truth: ReadTruth) -> None:
    truth = real_truth(*tree)

    derived = labels_of(truth.tables.objects, len(truth.lists.classes), truth.lists.main)

    np.testing.assert_array_equal(derived, truth.tables.labels)


@pytest.mark.sampled
def test_where_label_files_and_objects_differ_the_files_decide(real_truth: ReadTruth) -> None:
    truth = real_truth("voc2006_annotations.tar.xz", "VOC2006", "test")  # cut down to one class an image

    derived = labels_of(truth.tables.objects, len(truth.lists.classes), truth.lists.main)

    assert np.count_nonzero(truth.tables.labels == 1) < np.count_nonzero(derived == 1)
    assert (derived[truth.tables.labels == 1] == 1).all()
