"""How similar two archives are, and how well their sketches predict it."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest

from app.evaluation.near_duplicates import (
    SKETCHED,
    SKETCHED_IMAGES,
    Likeness,
    Predicted,
    common_boxes,
    compare_archives,
    rank_correlation,
    similarity_of_sketches,
    sketch_of,
)
from heldout_scoring import Description, labels_to_png
from heldout_scoring.data.description import Image
from tests.scoring.archives import gz, tar, written
from tests.scoring.oracles import Prediction

NAMES = tuple(f"i{number:03}" for number in range(60))
PHASE = Description(
    "VOC2012", "test", ("car", "cat"), ("running",), tuple(Image(name, 20, 10) for name in NAMES),
    segmentation=NAMES[:3], persons=tuple((name, 1) for name in NAMES[:9]), acting=((NAMES[0], 1), (NAMES[1], 1)),
)  # fmt: skip
COCO = Description(
    "COCO", "val", ("cat", "dog"), (), tuple(Image(str(n), 9, 9) for n in range(1, 31)), class_numbers=(7, 8)
)
FOLDER = "results/VOC2012"


def archive(folder: Path, name: str, files: Mapping[str, str | bytes]) -> Path:
    members = {path: text.encode() if isinstance(text, str) else text for path, text in files.items()}
    return written(folder, gz(tar(members)), name)


def boxes(seed: int, *, shift: float = 0, noise: float = 0) -> dict[str, str]:
    draw, later = np.random.default_rng(seed), np.random.default_rng(seed + 99)
    return {
        f"{FOLDER}/Main/comp3_det_test_{name}.txt": "".join(
            f"{image} {draw.random() + noise * later.random():.6f} {left + shift} 1 {left + 5} 9\n"
            for image, left in zip(NAMES, draw.integers(1, 9, len(NAMES)).tolist(), strict=True)
        )
        for name in PHASE.classes
    }


def similarity(one: Path, other: Path, number: int, phase: Description = PHASE) -> tuple[float, Likeness]:
    sketch, [second] = sketch_of(one, phase, number), [sketch_of(other, phase, number)]
    assert len(sketch) == SKETCHED
    [found] = similarity_of_sketches(sketch, [second], pixels=number == 5).tolist()
    return found, compare_archives(one, other, phase, number)


@pytest.mark.parametrize(
    ("other", "ranks", "common"),
    [
        (boxes(1), (1.0, 1.0), 1.0),
        (boxes(1, noise=0.05), (0.98, 1.0), 1.0),
        (boxes(1, shift=0.2), (1.0, 1.0), 1.0),
        (boxes(1, shift=2), (1.0, 1.0), 0.0),
        (boxes(2), (-0.4, 0.4), None),
    ],
)
def test_a_sketch_of_boxes_predicts_the_full_comparison(
    tmp_path: Path, other: dict[str, str], ranks: tuple[float, float], common: float | None
) -> None:
    one, two = archive(tmp_path, "1.tar.gz", boxes(1)), archive(tmp_path, "2.tar.gz", other)

    sketched, figures = similarity(one, two, 3)

    assert figures.rank_correlation is not None
    assert ranks[0] <= figures.rank_correlation <= ranks[1]
    assert abs(sketched - figures.rank_correlation) < 0.15
    assert common is None or figures.common_boxes == common
    assert figures.common_pixels is None


def test_a_class_without_a_file_is_left_out(tmp_path: Path) -> None:
    both = boxes(1)
    cars = dict([next(iter(both.items()))])

    _, figures = similarity(archive(tmp_path, "1.tar.gz", both), archive(tmp_path, "2.tar.gz", cars), 3)

    assert (figures.rank_correlation, figures.common_boxes) == (1.0, 1.0)


def test_constant_confidences_have_no_rank_correlation_and_no_similarity(tmp_path: Path) -> None:
    flat = {f"{FOLDER}/Main/comp1_cls_test_car.txt": "".join(f"{name} 1\n" for name in NAMES)}
    one = archive(tmp_path, "1.tar.gz", flat)

    assert similarity(one, one, 1) == (0.0, Likeness(None, None, None))


def test_actions_and_layouts_are_compared_by_person(tmp_path: Path) -> None:
    action = {f"{FOLDER}/Action/comp9_action_test_running.txt": "i000 1 0.5\ni001 1 0.7\n"}
    layout = "".join(
        f"<layout><image>{name}</image><object>1</object><confidence>{place / 9}</confidence><part><class>head</class>"
        "<bndbox><xmin>1</xmin><ymin>1</ymin><xmax>5</xmax><ymax>5</ymax></bndbox></part></layout>"
        for place, name in enumerate(NAMES[:9])
    )
    layouts = {f"{FOLDER}/Layout/comp7_layout_test.xml": f"<results>{layout}</results>"}

    for number, files in ((9, action), (7, layouts)):
        one = archive(tmp_path, f"{number}.tar.gz", files)
        sketched, figures = similarity(one, one, number)
        assert sketched == pytest.approx(1)
        assert figures == Likeness(1.0, None, None)


def test_segmentations_are_compared_where_either_predicts_a_class(tmp_path: Path) -> None:
    def painted(rows: int) -> dict[str, bytes]:
        labels = np.zeros((10, 20), np.uint8)
        labels[:rows] = 1
        return {
            f"{FOLDER}/Segmentation/comp5_test_cls/{name}.png": labels_to_png(labels) for name in NAMES[:3]
        }

    one = archive(tmp_path, "1.tar.gz", painted(4))
    part = dict(list(painted(4).items())[:2])

    sketched, figures = similarity(one, archive(tmp_path, "2.tar.gz", painted(8)), 5)
    assert figures == Likeness(None, None, 0.5)
    assert abs(sketched - 0.5) < 0.1
    assert similarity(one, one, 5) == (1.0, Likeness(None, None, 1.0))
    assert similarity(one, archive(tmp_path, "3.tar.gz", part), 5)[1] == Likeness(None, None, 1.0)


def test_a_sketch_of_a_large_set_samples_images_for_its_pixels(tmp_path: Path) -> None:
    names = tuple(f"i{number:03}" for number in range(SKETCHED_IMAGES + 2))
    many = replace(PHASE, images=tuple(Image(name, 4, 4) for name in names), segmentation=names)
    white = labels_to_png(np.ones((4, 4), np.uint8))
    files = {f"{FOLDER}/Segmentation/comp5_test_cls/{name}.png": white for name in names}

    assert set(sketch_of(archive(tmp_path, "1.tar.gz", files), many, 5)) == {1}


def test_coco_detections_are_compared_by_class(tmp_path: Path) -> None:
    form = '{{"image_id": {0}, "category_id": 7, "bbox": [1, 1, {0}, 2], "score": 0.{0:02}}}'
    text = f"[{', '.join(form.format(number) for number in range(1, 31))}]"
    one = archive(tmp_path, "1.tar.gz", {"detections.json": text})

    sketched, figures = similarity(one, one, 1, COCO)

    assert sketched == pytest.approx(1)
    assert figures == Likeness(1.0, 1.0, None)


def test_comparing_a_sketch_with_no_others_gives_nothing(tmp_path: Path) -> None:
    one = archive(tmp_path, "1.tar.gz", boxes(1))

    assert similarity_of_sketches(sketch_of(one, PHASE, 3), [], pixels=False).tolist() == []


def test_a_set_without_persons_gives_an_empty_layout_sketch(tmp_path: Path) -> None:
    nobody = Description("VOC2012", "test", ("car",), (), ())

    assert not any(sketch_of(archive(tmp_path, "1.tar.gz", {"readme": "none"}), nobody, 3))
    assert not any(sketch_of(archive(tmp_path, "2.tar.gz", {"readme": "none"}), nobody, 5))


def placed(predictions: list[Prediction]) -> Predicted:
    return Predicted(
        np.array([each.image for each in predictions], np.int32),
        np.array([each.confidence for each in predictions]),
        np.array([each.box for each in predictions], float).reshape(-1, 4),
    )


def ranking(*images: int) -> Predicted:
    return Predicted(np.array(images, np.int32), np.linspace(1, 0, len(images)), np.empty((0, 4)))


def naive_spearman(one: list[float], other: list[float]) -> float:
    def ranks(values: list[float]) -> list[float]:
        rising = sorted(values)
        return [fmean(place for place, each in enumerate(rising) if each == value) for value in values]

    a, b = ranks(one), ranks(other)
    mean = fmean(a)
    spread = [sum((x - mean) ** 2 for x in each) for each in (a, b)]
    product = sum((x - mean) * (y - mean) for x, y in zip(a, b, strict=True))
    return float(product / (spread[0] * spread[1]) ** 0.5)


def test_the_correlation_is_spearmans_on_the_best_prediction_of_each_image() -> None:
    rng = np.random.default_rng(6)
    for _ in range(20):
        results = [
            [Prediction(int(rng.integers(8)), float(rng.integers(0, 5)), (1, 1, 5, 5)) for _ in range(14)]
            for _ in range(2)
        ]
        most_confident = [
            [max((a.confidence for a in predictions if a.image == image), default=-1.0) for image in range(8)]
            for predictions in results
        ]
        one, other = (placed(predictions) for predictions in results)

        assert rank_correlation(one, other, 8) == pytest.approx(naive_spearman(*most_confident))


def test_constant_confidences_have_no_correlation() -> None:
    constant = Predicted(np.arange(3), np.full(3, 0.5), np.empty((0, 4)))

    assert rank_correlation(constant, ranking(0, 1, 2), 3) is None
    assert rank_correlation(ranking(0, 1, 2), ranking(2, 1, 0), 3) == pytest.approx(-1)
    assert rank_correlation(ranking(), ranking(), 0) is None


def test_common_boxes_are_counted_to_the_nearest_pixel_with_repetitions() -> None:
    one = [
        Prediction(0, 0.9, (1, 1, 5, 5)),
        Prediction(0, 0.8, (1, 1, 5, 5)),
        Prediction(1, 0.7, (2, 2, 9, 9)),
    ]
    other = [
        Prediction(0, 0.1, (1.2, 0.9, 5, 5.4)),
        Prediction(1, 0.1, (1, 1, 5, 5)),
        Prediction(1, 0.2, (2, 2, 9, 9)),
        Prediction(3, 0.2, (2, 2, 9, 9)),
    ]

    assert common_boxes(placed(one), placed(other)) == pytest.approx(2 / 3)
    assert common_boxes(placed(other), placed(one)) == common_boxes(placed(one), placed(other))
    assert common_boxes(placed(one), placed([])) is None
