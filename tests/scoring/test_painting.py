from pathlib import Path

import numpy as np
import pytest

from heldout_scoring import SubmissionError, create_segmentations_from_detections, validate
from heldout_scoring.data.arrays import Bytes
from heldout_scoring.data.description import Description, Image
from heldout_scoring.data.label_maps import read_label_image
from heldout_scoring.tasks.segmentation_files import paint
from tests.scoring.archives import description

PHASE = Description(
    dataset="VOC2012",
    image_set="test",
    classes=("bird", "car"),
    actions=(),
    images=(Image("a", 6, 4), Image("b", 3, 3), Image("c", 2, 2)),
    segmentation=("c", "a", "z"),
    further=(Image("z", 1, 2),),
)


def detections(folder: Path, competition: int = 3, **classes: str) -> Path:
    folder.mkdir()
    for name, lines in classes.items():
        (folder / f"comp{competition}_det_test_{name}.txt").write_text(lines)
    return folder


def masks(folder: Path) -> dict[str, Bytes]:
    return {file.stem: read_label_image(file.read_bytes()) for file in folder.rglob("*.png")}


@pytest.mark.parametrize(
    ("box", "painted"),
    [
        ((1, 1, 3, 2), [[7, 7, 7], [7, 7, 7]]),
        ((2, 2, 2, 2), [[0, 0, 0], [0, 7, 0]]),
        ((1.5, 1.49, 2.49, 1.4), [[0, 7, 0], [0, 0, 0]]),
        ((-9, -9, 99, 99), [[7, 7, 7], [7, 7, 7]]),
        ((3, 1, 2, 2), [[0, 0, 0], [0, 0, 0]]),
        ((4, 1, 9, 2), [[0, 0, 0], [0, 0, 0]]),
        ((-9, -9, -2, -2), [[0, 0, 0], [0, 0, 0]]),
    ],
)
def test_a_box_is_rounded_and_clipped(box: tuple[float, ...], painted: list[list[int]]) -> None:
    assert paint(Image("a", 3, 2), np.array([box], np.float64), [7]).tolist() == painted


def test_the_most_confident_box_is_on_top_and_every_image_gets_a_mask(tmp_path: Path) -> None:
    bird = "a 0.9 1 1 3 2\nb 0.9 1 1 3 3\na 0.5 5 1 6 4\n"
    car = "a 0.2 1 1 6 4\nc 0.1 2 2 2 2\n"

    place = create_segmentations_from_detections(
        detections(tmp_path / "boxes", bird=bird, car=car), PHASE, tmp_path
    )

    assert place == tmp_path / "results" / "VOC2012" / "Segmentation"
    found = masks(place / "comp5_test_cls")
    assert found["a"].tolist() == [[1, 1, 1, 2, 1, 1]] * 2 + [[2, 2, 2, 2, 1, 1]] * 2
    assert found["c"].tolist() == [[0, 0], [0, 2]]
    assert found["z"].tolist() == [[0], [0]]
    assert set(found) == {"a", "c", "z"}
    assert validate(tmp_path / "results", PHASE, competitions=(5,)).valid


def test_among_equal_confidences_the_later_class_is_on_top(tmp_path: Path) -> None:
    boxes = detections(tmp_path / "boxes", car="a 0.5 1 1 6 4\n", bird="a 0.5 1 1 6 4\n")

    place = create_segmentations_from_detections(boxes, PHASE, tmp_path)

    assert (masks(place)["a"] == 2).all()


def test_boxes_below_a_confidence_can_be_left_out(tmp_path: Path) -> None:
    boxes = detections(tmp_path / "boxes", competition=4, bird="a 0.5 1 1 1 1\na 0.4999 2 1 2 1\n")

    place = create_segmentations_from_detections(boxes, PHASE, tmp_path, competition=4, min_confidence=0.5)

    assert (place / "comp6_test_cls").is_dir()
    assert masks(place)["a"][0].tolist() == [1, 0, 0, 0, 0, 0]


def test_a_single_segmentation_competition_serves_both_detection_ones(tmp_path: Path) -> None:
    boxes = detections(tmp_path / "boxes", car="000001 0.5 1 1 6 4\n")

    place = create_segmentations_from_detections(boxes, description("VOC2007"), tmp_path)

    assert (place / "comp5_test_cls" / "000001.png").exists()


def test_invalid_or_missing_detections_are_refused(tmp_path: Path) -> None:
    wrong = detections(tmp_path / "wrong", car="x 1 1 1 1 1\n")
    nothing = detections(tmp_path / "nothing")
    for sent, code in ((wrong, "unknown-image"), (nothing, "no-results")):
        with pytest.raises(SubmissionError) as refused:
            create_segmentations_from_detections(sent, PHASE, tmp_path)

        assert [problem.code for problem in refused.value.problems] == [code]


@pytest.mark.parametrize(("dataset", "competition"), [("VOC2012", 1), ("VOC2006", 3)])
def test_competitions_without_a_segmentation_counterpart_are_refused(
    dataset: str, competition: int, tmp_path: Path
) -> None:
    with pytest.raises(LookupError, match="no counterpart in segmentation"):
        create_segmentations_from_detections(
            tmp_path, description(dataset), tmp_path, competition=competition
        )
