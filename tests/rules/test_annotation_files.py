"""Annotation is written as files of which the library reads the same ground truth again."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import sample
from app.challenges.annotation_files import Licensed, annotation_files, write
from heldout_scoring import BoxConvention, GroundTruth, read_tree
from tests.pages.data_sets import coco
from tests.shared import unpack

BESIDE = Licensed("CC-BY-4.0", {"1": "one.jpg"})


def archived(folder: Path, truth: GroundTruth, beside: Licensed = BESIDE) -> Path:
    """Write the annotation as a worker does, and return where it is unpacked."""
    truth.save(folder / "truth")
    write(folder / "truth", beside, folder / "annotation.tar.gz")
    unpack(folder / "annotation.tar.gz", folder / "unpacked")
    return folder / "unpacked"


def test_a_tree_is_read_again_as_the_same_ground_truth(tmp_path: Path) -> None:
    truth = read_tree(sample.draw_challenge(tmp_path, images=12).tree, "val")

    unpacked = archived(tmp_path, truth)

    assert read_tree(unpacked / sample.NAME, "val").fingerprint == truth.fingerprint
    assert (unpacked / "LICENCE.txt").read_text() == "CC-BY-4.0\n"


def boxes() -> dict[str, Any]:
    return coco()


def masks() -> dict[str, Any]:
    plain = coco()
    for each in plain["annotations"]:
        each["segmentation"] = {"size": [40, 50], "counts": [7, 20, 100, 3, 1870]}
    return plain


def lvis() -> dict[str, Any]:
    plain = masks()
    for category, frequency in zip(plain["categories"], "rf", strict=True):
        category["frequency"] = frequency
    for image, absent in zip(plain["images"], ([], [1]), strict=True):
        image |= {"neg_category_ids": absent, "not_exhaustive_category_ids": [2]}
    return plain


@pytest.mark.parametrize("given", [boxes, masks, lvis], ids=lambda each: each.__name__)
def test_coco_json_is_read_again_as_the_same_ground_truth(given: Any) -> None:
    truth = GroundTruth.from_coco(given())

    files = dict(annotation_files(truth, BESIDE))

    [name] = files.keys() - {"LICENCE.txt"}
    written = json.loads(files[name])
    assert GroundTruth.from_coco(files[name]).fingerprint == truth.fingerprint
    assert written["images"][0]["file_name"] == "one.jpg"
    assert written["licenses"] == [{"id": 1, "name": "CC-BY-4.0"}]


def test_boxes_of_another_convention_keep_their_areas_and_no_file_leaves_the_folder(tmp_path: Path) -> None:
    truth = GroundTruth.from_arrays(
        ["../a"], ["cat/dog"], [[0.0, 0.5, 10.0, 20.0]], convention=BoxConvention.HALF_OPEN
    )

    unpacked = archived(tmp_path, truth, replace(BESIDE, licence=""))

    [page] = unpacked.glob("*/Annotations/a.xml")
    [labels] = unpacked.glob("*/ImageSets/Main/cat_dog_*.txt")
    assert "<xmin>1</xmin><ymin>1.5</ymin><xmax>10</xmax><ymax>20</ymax>" in page.read_text()
    assert labels.read_text() == "../a  1\n"
    assert "no licence" in (unpacked / "LICENCE.txt").read_text()
