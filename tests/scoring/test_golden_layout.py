import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from heldout_scoring.errors import SubmissionError
from heldout_scoring.evaluation import evaluate
from heldout_scoring.results import Result
from heldout_scoring.scores import Curve
from heldout_scoring.validation import validate
from tests.scoring.conftest import ReadTruth, Unpack

pytestmark = pytest.mark.shared

EXACT = 1e-12
SYNTHETIC = "synthetic_seed2012.tar.xz"
REAL = "voc2012_annotations_imagesets.tar.xz"
EXAMPLE = "results/voc2012_example_layout_comp7_val.tar.xz"


@dataclass(frozen=True)
class Case:
    """Results, what they are scored against, and where the kit's own numbers and curves are."""

    results: tuple[str, str]
    tree: tuple[str, str, str]
    protocol: str
    golden: tuple[str, ...]
    curves: tuple[str, str]

    def __str__(self) -> str:
        return f"{self.curves[1]}-{self.protocol}"

    def recorded(self, shared: Path) -> dict[str, tuple[float, int]]:
        """By part the kit's average precision, and how many points its curve has."""
        file, *keys = self.golden
        found = json.loads((shared / "golden" / file).read_text())
        for key in keys:
            found = found[key]
        parts = found.get("parts", {"person": found})
        return {name: (part["ap"], part["n"]) for name, part in parts.items()}


def _synthetic(results: str, tree: str, image_set: str, protocol: str, golden: str) -> Case:
    return Case(
        (SYNTHETIC, results),
        (SYNTHETIC, tree, image_set),
        protocol,
        ("synthetic.json", "valid", golden),
        ("synthetic_curves.tar.xz", f"synth/{golden}"),
    )


CASES = [
    _synthetic("results2007", "VOC2007", "test", "voc2007", "2007_layout"),
    _synthetic("results", "VOC2012", "val", "voc2008", "2008_layout"),
    _synthetic("results", "VOC2012", "val", "voc2012", "2012_layout"),
    Case(
        (EXAMPLE, ""),
        (REAL, "VOC2012", "val"),
        "voc2011",
        ("layout_voc2012val_example.json",),
        ("real_curves.tar.xz", "curves/layout2012_example"),
    ),
]


@cache
def _scores(case: Case, unpacked: Unpack, real_truth: ReadTruth) -> Result:
    archive, folder = case.results
    truth = real_truth(*case.tree)
    return evaluate(unpacked(archive) / folder, truth, competition=7, protocol=case.protocol, accepted=True)


@pytest.mark.sampled
@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_part_scores_what_the_kit_recorded(
    case: Case, shared: Path, unpacked: Unpack, real_truth: ReadTruth
) -> None:
    recorded = case.recorded(shared)

    report = _scores(case, unpacked, real_truth)

    assert [each.name for each in report.classes] == list(recorded)
    for each in report.classes:
        value, predictions = recorded[each.name]
        assert each.value == pytest.approx(value, abs=EXACT)
        assert each.predictions == predictions
    mean = sum(value for value, _ in recorded.values()) / len(recorded)
    assert report.headline == pytest.approx(mean, abs=EXACT)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_point_of_every_curve_is_the_kit_s(case: Case, unpacked: Unpack, real_truth: ReadTruth) -> None:
    report = _scores(case, unpacked, real_truth)

    archive, folder = case.curves
    drawn = [exhibit for exhibit in report.exhibits if isinstance(exhibit, Curve)]
    assert len(drawn) == len(report.classes)
    for curve in drawn:
        name = "layout.txt" if curve.class_name == "person" else f"layout_{curve.class_name}.txt"
        text = (unpacked(f"golden/{archive}") / folder / name).read_text().split()
        recorded = np.array(text, np.float64).reshape(-1, 2)
        points = curve.points()
        assert recorded.shape == (len(curve.outcomes), 2)
        np.testing.assert_allclose(points.recall, recorded[:, 0], rtol=0, atol=EXACT)
        np.testing.assert_allclose(points.precision, recorded[:, 1], rtol=0, atol=EXACT)


def test_without_its_mistake_the_program_of_2007_finds_persons_with_a_single_part(
    unpacked: Unpack, real_truth: ReadTruth
) -> None:
    truth = real_truth(SYNTHETIC, "VOC2007", "test")

    report = evaluate(
        unpacked(SYNTHETIC) / "results2007", truth, competition=7, protocol="voc2007-corrected", accepted=True
    )

    assert report.headline == pytest.approx(0.418, abs=5e-4)  # what a natural re-implementation gets


def test_without_its_two_mistakes_the_program_of_2008_ranks_by_confidence(
    unpacked: Unpack, real_truth: ReadTruth
) -> None:
    truth, results = real_truth(SYNTHETIC, "VOC2012", "val"), unpacked(SYNTHETIC) / "results"

    official, corrected = (
        evaluate(results, truth, competition=7, protocol=name, accepted=True)
        for name in ("voc2008", "voc2008-corrected")
    )

    outcomes = [
        next(e.outcomes for e in each.exhibits if isinstance(e, Curve)) for each in (official, corrected)
    ]
    assert len(outcomes[0]) == len(outcomes[1])
    assert outcomes[1].count(1) > outcomes[0].count(1)
    assert official.headline != corrected.headline


@pytest.mark.parametrize("protocol", ["voc2008", "voc2012"])
def test_the_bad_layout_is_refused_with_its_file_and_line(
    protocol: str, unpacked: Unpack, real_truth: ReadTruth
) -> None:
    truth = real_truth(SYNTHETIC, "VOC2012", "val")
    results = unpacked(SYNTHETIC) / "results_bad" / "layout_bad_part"

    with pytest.raises(SubmissionError) as refused:
        evaluate(results, truth, competition=7, protocol=protocol)

    [problem] = refused.value.problems
    assert (problem.file, problem.line, problem.found) == ("comp7_layout_val.xml", 185, "elbow")
    assert problem in validate(results, truth.description, competitions=(7,)).problems


def test_the_valid_layouts_are_valid_and_what_the_kit_warns_of_is_noted(
    unpacked: Unpack, real_truth: ReadTruth
) -> None:
    truth = real_truth(SYNTHETIC, "VOC2012", "val")

    found = validate(unpacked(SYNTHETIC) / "results", truth.description, competitions=(7,))

    about_layouts = [note for note in found.notes if note.file == "comp7_layout_val.xml"]
    assert [note.code for note in about_layouts].count("second-layout") == 8
    assert [note.found for note in about_layouts if note.code == "unlisted-person"] == ["77"]
    assert not [problem for problem in found.problems if problem.file == "comp7_layout_val.xml"]
    [layouts] = [each for each in found.competitions if each.task == "layout"]
    assert (layouts.lines, layouts.missing) == (73, ())
