"""Small inputs of public reports that were once misread: each is read right, or what is wrong with it is said."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.intake.inspecting import Wanted, inspect
from app.intake.reports import HIDDEN, IMAGES, PUBLIC, Report
from app.intake.unpacking import SentFile
from heldout_scoring.stored import from_plain
from tests.rules.formats.builders import LIMITS
from tests.shared import SHARED

CASES = SHARED / "cases" / "datasets"


@dataclass(frozen=True)
class Outcome:
    """Images and objects of each set, and the codes of the problems and of warnings that have to be there."""

    sets: dict[str, tuple[int, int]]
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    role: str = HIDDEN
    images: str = ""


EXPECTED = {
    "coco-other-suffix-ids-from-0.json": Outcome({"test": (3, 3)}, images="coco-other-suffix-pictures.zip"),
    "gray-masks-without-classes.zip": Outcome({}, ("no-class-names",)),
    "image-name-unicode.zip": Outcome({"test": (1, 1)}, ("hidden-image-name",)),
    "imagefolder-webp-bmp-tif.zip": Outcome({"test": (5, 0)}, warnings=("picture-kind",)),
    "kaggle-lowercase-annotations.zip": Outcome({"test": (3, 3)}),
    "labelimg-xml-beside-pictures.zip": Outcome({"test": (3, 3)}),
    "masks-background-first.zip": Outcome({"test": (1, 0)}, warnings=("background-first",)),
    "masks-reduced-palette.zip": Outcome({"test": (1, 0)}, warnings=("moved-colours",)),
    "masks-train-and-test-folders.zip": Outcome({"train": (1, 0), "test": (1, 0)}, role=PUBLIC),
    "robndbox.zip": Outcome({}, ("other-shape",)),
    "roboflow-voc-flat.zip": Outcome({"train": (2, 2), "val": (2, 2), "test": (2, 2)}),
    "same-stem-jpg-png.zip": Outcome({"test": (6, 0)}, ("hidden-image-name",)),
    "segmentation-kit-with-classes.zip": Outcome({"val": (1, 0)}, role=PUBLIC),
    "table-normalised.csv": Outcome({"test": (2, 2)}, warnings=("share-box",)),
    "table-same-name-in-two-folders.csv": Outcome({"test": (2, 2)}, warnings=("named-by-path",)),
    "tiny-imagenet.zip": Outcome({}, ("other-format",)),
    "training-testing-folders.zip": Outcome({"train": (4, 0), "test": (4, 0)}),
    "voc-jpegimages-subfolder.zip": Outcome({"test": (1, 1)}),
    "yolo-roboflow.zip": Outcome({"train": (2, 2), "val": (2, 2), "test": (2, 2)}),
}


@pytest.mark.shared
@pytest.mark.skipif(not CASES.exists(), reason="the cases are not here")
@pytest.mark.parametrize("case", EXPECTED)
def test_a_case_is_read_right_or_refused_in_words(case: str, tmp_path: Path) -> None:
    expected = EXPECTED[case]
    sent = [SentFile(expected.role, case, CASES / case)]
    if expected.images:
        sent.append(SentFile(IMAGES, expected.images, CASES / expected.images))

    report = from_plain(Report, json.loads(inspect(tmp_path, tuple(sent), "birds", LIMITS, Wanted())))

    assert {each.name: (each.images, each.objects) for each in report.sets} == expected.sets
    assert tuple(dict.fromkeys(each.code for each in report.problems)) == expected.problems
    assert set(expected.warnings) <= {each.code for each in report.warnings}
    if expected.images:
        assert "annotation-without-picture" not in {each.code for each in report.warnings}


@pytest.mark.shared
@pytest.mark.skipif(not CASES.exists(), reason="the cases are not here")
def test_every_case_has_an_outcome() -> None:
    others = {each.images for each in EXPECTED.values()}

    assert {
        each.name for each in CASES.iterdir() if each.suffix in (".zip", ".csv", ".json")
    } == EXPECTED.keys() | others - {""}
