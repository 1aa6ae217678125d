"""The small golden set inside the repository: the kits' numbers for every task, without any other data."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from heldout_scoring.data.truth import GroundTruth
from heldout_scoring.evaluation import evaluate
from heldout_scoring.metrics.ranking import RocPoints
from heldout_scoring.readers.voc_tree import read_tree
from heldout_scoring.results import Result
from heldout_scoring.scores import ConfusionMatrix, Curve, RocCurve
from tests.shared import ROOT

GOLDEN = ROOT / "tests" / "golden"
EXACT = 1e-12
COMPETITIONS = {"classification": 1, "detection": 3, "segmentation": 5, "layout": 7, "action": 9}
CASES = [
    "classification-2006",
    "classification-2008",
    "classification-2012",
    "detection-2007",
    "detection-2012",
    "segmentation-2007",
    "segmentation-2012",
    "layout-2012",
    "action-2012",
]
WITH_CURVES = [case for case in CASES if not case.startswith("segmentation")]


@dataclass(frozen=True)
class Recorded:
    """What a kit says of a class; points: two columns, recall and precision, in 2006 false and true positive rate."""

    value: float
    points: np.ndarray[tuple[int, ...], np.dtype[np.float64]]


@cache
def kits() -> dict[str, dict[str, Recorded]]:
    """By case and class."""
    lines = iter((GOLDEN / "kits.txt").read_text().splitlines())
    found: dict[str, dict[str, Recorded]] = {}
    for words in (line.split() for line in lines):
        if words[0].startswith("counts"):
            continue
        case, name, count, value = words
        points = np.array([next(lines).split() for _ in range(int(count))], np.float64).reshape(-1, 2)
        found.setdefault(case, {})[name] = Recorded(float(value), points)
    return found


def counts(year: str) -> list[list[int]]:
    [text] = re.findall(rf"^ ?counts-{year} \[(.*)\]$", (GOLDEN / "kits.txt").read_text(), re.MULTILINE)
    return [[int(number) for number in row.split()] for row in text.split(";")]


@cache
def truth() -> GroundTruth:
    return read_tree(GOLDEN / "sample", "test")


@cache
def report(case: str) -> Result:
    task, _, year = case.partition("-")
    return evaluate(GOLDEN / "results", truth(), competition=COMPETITIONS[task], protocol=f"voc{year}")


@pytest.mark.parametrize("case", CASES)
def test_every_class_scores_what_the_kit_recorded(case: str) -> None:
    recorded = kits()[case]

    values = {each.name: each.value for each in report(case).classes}

    assert set(values) == set(recorded)
    for name, value in values.items():
        assert value == pytest.approx(recorded[name].value, rel=0, abs=EXACT), name


@pytest.mark.parametrize("case", CASES)
def test_the_headline_is_the_mean_of_the_recorded_values(case: str) -> None:
    mean = np.mean([each.value for each in kits()[case].values()])

    assert report(case).headline == pytest.approx(float(mean), rel=0, abs=EXACT)


@pytest.mark.parametrize("case", WITH_CURVES)
def test_every_point_of_every_curve_is_the_kit_s(case: str) -> None:
    curves = [each for each in report(case).exhibits if isinstance(each, Curve | RocCurve)]

    assert {each.class_name for each in curves} == set(kits()[case])
    for curve in curves:
        points, recorded = curve.points(), kits()[case][curve.class_name].points
        ours = (
            [points.fpr, points.tpr] if isinstance(points, RocPoints) else [points.recall, points.precision]
        )
        np.testing.assert_allclose(np.column_stack(ours), recorded, rtol=0, atol=EXACT)


@pytest.mark.parametrize("year", ["2007", "2012"])
def test_every_count_of_pixels_is_the_kit_s(year: str) -> None:
    [matrix] = [each for each in report(f"segmentation-{year}").exhibits if isinstance(each, ConfusionMatrix)]

    assert [list(row) for row in matrix.counts] == counts(year)


def test_the_set_has_the_cases_that_implementations_differ_in() -> None:
    detections = [
        line.split()
        for file in (GOLDEN / "results" / "Main").glob("comp3_*")
        for line in file.read_text().splitlines()
    ]
    objects = [
        one for file in Path(GOLDEN, "sample", "Annotations").glob("*.xml") for one in [file.read_text()]
    ]

    assert len({tuple(words) for words in detections}) < len(detections), "no repeated line"
    assert len({(words[1]) for words in detections}) < len(detections), "no tie"
    assert any(float(words[2]) < 1 for words in detections), "no box outside its image"
    assert any("<difficult>1" in text for text in objects), "no difficult object"


def test_the_set_stays_small() -> None:
    assert sum(file.stat().st_size for file in GOLDEN.rglob("*") if file.is_file()) < 1_000_000
