import json
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heldout_scoring.errors import SubmissionError
from heldout_scoring.evaluation import evaluate
from heldout_scoring.protocols import PROTOCOLS
from heldout_scoring.results import Result
from heldout_scoring.scores import Curve
from heldout_scoring.tasks.detection import DETECTION
from tests.scoring import oracles
from tests.scoring.conftest import ReadTruth, Unpack

pytestmark = pytest.mark.shared

EXACT = 1e-12
VOC2007 = ("voc2007_annotations_imagesets.tar.xz", "VOC2007")
VOC2012 = ("voc2012_annotations_imagesets.tar.xz", "VOC2012")
SYNTHETIC = "synthetic_seed2012.tar.xz"


@dataclass(frozen=True)
class Case:
    """Results, what they are scored against, and where the kit's own numbers are."""

    results: str
    folder: str
    tree: tuple[str, str, str]
    competition: int
    protocol: str
    golden: tuple[str, ...]
    curves: tuple[str, str] | None = None

    def __str__(self) -> str:
        return f"{self.folder}-{self.protocol}"

    def recorded(self, shared: Path) -> dict[str, Any]:
        file, *keys = self.golden
        found = json.loads((shared / "golden" / file).read_text())
        for key in keys:
            found = found[key]
        return dict(found)


@cache
def _scores(case: Case, unpacked: Unpack, real_truth: ReadTruth) -> Result:
    archive = unpacked(case.results) / case.folder
    truth = real_truth(*case.tree)
    return evaluate(
        archive, truth, competition=case.competition, protocol=case.protocol, accepted=True
    )  # some boxes end before they begin


def _real(
    name: str, protocol: str, *, image_set: str = "test", competition: int = 4, curves: str = ""
) -> Case:
    measure = {"voc2009": "voc2007_11pt", "voc2007": "voc2007_11pt"}.get(protocol, "voc2010plus_area")
    return Case(
        f"results/{name}.tar.xz",
        f"results_{name}",
        (*VOC2007, image_set),
        competition,
        protocol,
        ("det_voc2007_real.json", name, measure),
        ("real_curves.tar.xz", f"curves/{curves}") if curves else None,
    )


def _synthetic(results: str, tree: str, image_set: str, protocol: str, golden: str) -> Case:
    return Case(
        SYNTHETIC,
        results,
        (SYNTHETIC, tree, image_set),
        3,
        protocol,
        ("synthetic.json", "valid", golden),
        ("synthetic_curves.tar.xz", f"synth/{golden}"),
    )


CASES = [
    _real("yolo2_e150", "voc2012", curves="yolo2_e150_2012"),
    _real("yolo2_e150", "voc2009", curves="yolo2_e150_2009"),
    _real("darknet_hli", "voc2010"),
    _real("darknet_hli", "voc2007"),
    _real("yolov1_choasup", "voc2012"),
    _real("dllab", "voc2012", image_set="val", competition=3, curves="dllab_2012"),
    _real("dllab", "voc2009", image_set="val", competition=3),
    Case(
        "results/cos429.tar.xz",
        "results_cos429",
        (*VOC2012, "val"),
        3,
        "voc2012",
        ("det_voc2012val_cos429.json", "cos429_voc2012_val"),
    ),
    _synthetic("results2006", "VOC2006", "val", "voc2006", "2006_det"),
    _synthetic("results2007", "VOC2007", "test", "voc2007", "2007_det"),
    _synthetic("results2007", "VOC2007", "test", "voc2012", "2012_det_on2007"),
    _synthetic("results", "VOC2012", "val", "voc2009", "2009_det"),
    _synthetic("results", "VOC2012", "val", "voc2012", "2012_det"),
]
WITH_CURVES = [case for case in CASES if case.curves]


def _number(recorded: float | str) -> float:
    return float(recorded)  # NaN is recorded as the string


def _same(ours: float, recorded: float | str) -> bool:
    theirs = _number(recorded)
    return abs(ours - theirs) <= EXACT or (math.isnan(ours) and math.isnan(theirs))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_class_scores_what_the_kit_recorded(
    case: Case, shared: Path, unpacked: Unpack, real_truth: ReadTruth
) -> None:
    recorded = case.recorded(shared)

    report = _scores(case, unpacked, real_truth)

    measure = PROTOCOLS[case.protocol].rules_of(DETECTION).measure.of
    curves = {exhibit.class_name: exhibit for exhibit in report.exhibits if isinstance(exhibit, Curve)}
    assert set(curves) >= set(recorded["classes"])
    for result in report.classes:
        if result.name not in curves:
            assert (result.value, result.reason) == (None, "not entered")
            continue
        if result.name not in recorded["classes"]:  # the kit was not asked about four files of one result
            continue
        golden, curve = recorded["classes"][result.name], curves[result.name]
        assert result.predictions == golden["n"]
        assert _same(measure(np.frombuffer(curve.outcomes, np.int8), curve.positives), golden["ap"])
        assert result.value is None if result.positives == 0 else _same(result.value or 0.0, golden["ap"])


@pytest.mark.sampled
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_headline_is_the_kit_s_mean_when_all_classes_are_entered(
    case: Case, shared: Path, unpacked: Unpack, real_truth: ReadTruth
) -> None:
    recorded = case.recorded(shared)

    report = _scores(case, unpacked, real_truth)

    if len(recorded["classes"]) < len(report.classes):
        assert report.headline is None
        assert str(report.headline_reason).startswith("not entered: ")
    elif math.isnan(_number(recorded["mean"])):
        assert report.headline is None
        assert report.headline_reason == "a class has no value"
    else:
        assert report.headline is not None
        assert _same(report.headline, recorded["mean"])


@pytest.mark.parametrize("case", WITH_CURVES, ids=str)
def test_every_point_of_every_curve_is_the_kit_s(case: Case, unpacked: Unpack, real_truth: ReadTruth) -> None:
    report = _scores(case, unpacked, real_truth)

    assert case.curves
    archive, folder = case.curves
    drawn = [exhibit for exhibit in report.exhibits if isinstance(exhibit, Curve)]
    assert drawn
    for curve in drawn:
        text = (unpacked(f"golden/{archive}") / folder / f"det_{curve.class_name}.txt").read_text().split()
        recorded = np.array(text, np.float64).reshape(-1, 2)
        points = curve.points()
        assert recorded.shape == (len(curve.outcomes), 2)
        np.testing.assert_allclose(points.recall, recorded[:, 0], rtol=0, atol=EXACT)
        np.testing.assert_allclose(points.precision, recorded[:, 1], rtol=0, atol=EXACT)


def test_the_eleven_levels_are_octave_s_and_the_choice_can_be_seen(
    shared: Path, unpacked: Unpack, real_truth: ReadTruth
) -> None:
    variants = json.loads((shared / "golden" / "ap11_variants.json").read_text())
    literal = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    symmetric = [0.0, 0.1, 0.2, 3 * 0.1, 0.4, 0.5, 1 - 4 * 0.1, 1 - 3 * 0.1, 0.8, 0.9, 1.0]
    for name, classes in variants.items():
        report = _scores(_real(name, "voc2007"), unpacked, real_truth)
        curves = {each.class_name: each for each in report.exhibits if isinstance(each, Curve)}
        values = {each.name: each.value for each in report.classes}
        for class_name, recorded in classes.items():
            curve = curves[class_name]
            said = np.frombuffer(curve.outcomes, np.int8).tolist()
            assert _same(values[class_name] or 0.0, recorded["octave_k_times_0p1"])
            for levels, key in ((literal, "literal_0p3"), (symmetric, "matlab_symmetric_colon")):
                assert _same(oracles.eleven(said, curve.positives, levels), recorded[key])
            assert not _same(values[class_name] or 0.0, recorded["literal_0p3"])


@pytest.mark.parametrize(
    ("folder", "sentence"),
    [("det_unknown_image", "2008_999999"), ("det_missing_column", "expected 6 fields, found 5")],
)
def test_what_the_kit_stops_at_is_refused_with_file_and_line(
    folder: str, sentence: str, unpacked: Unpack, real_truth: ReadTruth
) -> None:
    archive = unpacked(SYNTHETIC) / "results_bad" / folder
    truth = real_truth(SYNTHETIC, "VOC2012", "val")

    with pytest.raises(SubmissionError) as refused:
        evaluate(archive, truth, competition=3, protocol="voc2012")

    [problem] = refused.value.problems
    assert sentence in str(problem)
    assert str(problem).startswith("comp3_det_val_car.txt:")
