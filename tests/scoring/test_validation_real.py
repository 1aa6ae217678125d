"""Results of real detectors, and the invalid ones that came with the golden scores."""

from pathlib import Path

import pytest

from heldout_scoring import validate
from tests.scoring.conftest import ReadTruth, Unpack

pytestmark = pytest.mark.shared

VOC2007 = ("voc2007_annotations_imagesets.tar.xz", "VOC2007")
SYNTHETIC = "synthetic_seed2012.tar.xz"


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("name", "image_set", "counts"),
    [
        ("yolo2_e150", "test", (4, 101_139, 0)),
        ("darknet_hli", "test", (4, 85_633, 0)),
        ("yolov1_choasup", "test", (4, 631_583, 2)),
        ("dllab", "val", (3, 3_980, 18)),
    ],
)
def test_results_of_real_detectors_are_valid(
    shared: Path, real_truth: ReadTruth, name: str, image_set: str, counts: tuple[int, int, int]
) -> None:
    phase = real_truth(*VOC2007, image_set).description

    validation = validate(shared / "results" / f"{name}.tar.xz", phase)

    [found] = validation.competitions
    assert validation.valid
    assert (found.number, found.lines, len(found.missing)) == counts
    assert len(validation.notes) <= 3


@pytest.mark.parametrize(
    ("folder", "tree", "image_set"),
    [("results2006", "VOC2006", "val"), ("results2007", "VOC2007", "test"), ("results", "VOC2012", "val")],
)
def test_results_with_boxes_that_only_the_kits_score_are_refused_in_a_folder(
    unpacked: Unpack, real_truth: ReadTruth, folder: str, tree: str, image_set: str
) -> None:
    phase = real_truth(SYNTHETIC, tree, image_set).description

    validation = validate(unpacked(SYNTHETIC) / folder, phase, competitions=(3,))

    assert {problem.code for problem in validation.problems} == {"inverted-box"}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("det_missing_column", "comp3_det_val_car.txt:116: expected 6 fields, found 5"),
        ("det_unknown_image", "comp3_det_val_car.txt:116: unknown image '2008_999999'"),
    ],
)
def test_bad_results_are_refused_with_file_and_line(
    unpacked: Unpack, real_truth: ReadTruth, name: str, said: str
) -> None:
    phase = real_truth(SYNTHETIC, "VOC2012", "val").description

    validation = validate(unpacked(SYNTHETIC) / "results_bad" / name, phase, competitions=(3,))

    [problem] = validation.problems
    assert str(problem).startswith(said)
