import numpy as np
import pytest
from pycocotools import mask as official

from heldout_scoring.data.arrays import Floats
from heldout_scoring.data.label_maps import Masks, join_masks, take_masks
from heldout_scoring.metrics.masks import (
    mask_intersections,
    mask_iou,
    masks_of_counts,
    masks_of_polygons,
    masks_of_texts,
)

Polygons = list[list[float]]


def pixels(masks: Masks, number: int, size: int) -> list[bool]:
    covered = np.zeros(size, np.bool_)
    for run in range(masks.first[number], masks.first[number + 1]):
        covered[masks.start[run] : masks.end[run]] = True
    return covered.tolist()


def draw_polygon(random: np.random.Generator, size: tuple[int, int]) -> list[float]:
    """A closed polygon that crosses itself, the image borders and pixel corners."""
    corners = random.random(2) * size + random.normal(
        0, random.choice([1, 20, 80]), (random.integers(3, 14), 2)
    )
    corners = np.round(corners * 5) / 5 if random.random() < 0.5 else corners
    corners = corners.clip(0, size) if random.random() < 0.7 else corners
    corners = np.repeat(corners, 2, axis=0) if random.random() < 0.2 else corners
    return [float(number) for number in corners.ravel()]


def draw_masks(seed: int, count: int, height: int, width: int) -> list[Floats]:
    random = np.random.default_rng(seed)
    masks = [random.random((height, width)) < random.choice([0, 0.1, 0.9, 1]) for _ in range(count)]
    for mask in masks:
        top, left = random.integers(0, height), random.integers(0, width)
        mask[top : top + height // 2, left : left + width // 2] = True
        mask[: random.integers(0, height)] = False
    return [np.asfortranarray(mask.astype(np.uint8)) for mask in masks]


@pytest.mark.parametrize("seed", range(6))
def test_polygons_cover_the_same_pixels_as_in_the_official_program(seed: int) -> None:
    random = np.random.default_rng(seed)
    sizes = [(int(random.integers(1, 150)), int(random.integers(1, 150))) for _ in range(60)]
    objects = [[draw_polygon(random, size) for _ in range(random.integers(1, 4))] for size in sizes]
    width, height = np.array(sizes).T

    masks = masks_of_polygons(objects, height, width)

    for number, (polygons, (wide, tall)) in enumerate(zip(objects, sizes, strict=True)):
        encoded = official.merge(official.frPyObjects(polygons, tall, wide))
        expected = masks_of_texts([encoded["counts"]], np.array([tall]), np.array([wide])).masks
        assert pixels(masks, number, wide * tall) == pixels(expected, 0, wide * tall)


def test_objects_without_polygons_are_empty() -> None:
    square = [0.0, 0, 4, 0, 4, 4, 0, 4]
    cases: list[list[Polygons]] = [[[]], [[], [square]]]
    for objects in cases:
        masks = masks_of_polygons(objects, np.full(len(objects), 9), np.full(len(objects), 9))

        assert masks.area.tolist() == [0, 16][: len(objects)]


def test_compressed_masks_have_the_official_area_box_and_iou() -> None:
    drawn = [official.encode(mask) for mask in draw_masks(7, 30, 40, 50)]
    texts = [each["counts"] for each in drawn]

    found = masks_of_texts(texts, np.full(30, 40), np.full(30, 50))
    one, other = np.repeat(np.arange(10), 20), np.tile(np.arange(10, 30), 10)
    crowd = np.arange(30) % 3 == 0
    iou = mask_iou(found.masks, one, other, crowd[other])

    assert found.valid.all()
    assert found.masks.area.tolist() == official.area(drawn).tolist()
    assert found.masks.boxes.tolist() == official.toBbox(drawn).tolist()
    expected = official.iou(drawn[:10], drawn[10:], crowd[10:].astype(int).tolist())
    np.testing.assert_array_equal(iou.reshape(10, 20), expected)


def test_large_sets_are_compared_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [official.encode(mask)["counts"] for mask in draw_masks(8, 12, 30, 30)]
    masks = masks_of_texts(texts, np.full(12, 30), np.full(12, 30)).masks
    one, other = np.arange(12), np.arange(12)[::-1]
    whole = mask_iou(masks, one, other, np.zeros(12, np.bool_))

    monkeypatch.setattr("heldout_scoring.metrics.masks._AT_ONCE", 5)

    assert mask_iou(masks, one, other, np.zeros(12, np.bool_)).tolist() == whole.tolist()


def test_run_lengths_as_numbers_equal_compressed_ones() -> None:
    [mask] = draw_masks(9, 1, 20, 30)
    flat = np.concatenate([[0], mask.T.ravel(), [2]])
    counts = np.diff(np.flatnonzero(np.diff(flat) != 0), prepend=0).tolist()
    size = np.array([20]), np.array([30])

    told = masks_of_counts([counts], *size).masks
    compressed = masks_of_texts([official.encode(mask)["counts"]], *size).masks

    assert pixels(told, 0, 600) == pixels(compressed, 0, 600)


@pytest.mark.parametrize(
    "text",
    [b"", b"1", b"122", b"1 1", b"12P", b"12p", "12\N{SNOWMAN}".encode(), b"P" * 20, b"oooooooooo1", b"O1O"],
)
def test_a_text_that_does_not_cover_every_pixel_once_is_an_invalid_mask(text: bytes) -> None:
    found = masks_of_texts([b"121", text, b"121"], np.full(3, 2), np.full(3, 2))

    assert found.valid.tolist() == [True, False, True]
    assert found.masks.area.tolist() == [2, 0, 2]


@pytest.mark.parametrize("counts", [[], [3], [5, -1], [1, 2], [2**62, 2**62]])
def test_numbers_that_do_not_cover_every_pixel_once_are_an_invalid_mask(counts: list[int]) -> None:
    found = masks_of_counts([[1, 2, 1], counts], np.full(2, 2), np.full(2, 2))

    assert found.valid.tolist() == [True, False]


def test_masks_are_joined_in_order() -> None:
    size = np.array([2, 2]), np.array([2, 2])
    some, more = (
        masks_of_counts([[1, 2, 1], [4]], *size).masks,
        masks_of_counts([[0, 4], [3, 1]], *size).masks,
    )

    assert join_masks([some, more]).area.tolist() == [2, 0, 4, 1]
    assert join_masks([]).area.tolist() == []


def test_masks_can_be_selected_in_any_order() -> None:
    size = np.full(3, 2), np.full(3, 2)
    masks = masks_of_counts([[1, 2, 1], [4], [0, 1, 1, 2]], *size).masks

    assert take_masks(masks, np.array([2, 0, 2])).area.tolist() == [3, 2, 3]
    assert take_masks(masks, np.array([], np.intp)).area.tolist() == []


def test_empty_masks_do_not_overlap() -> None:
    masks = masks_of_counts([[4], [0, 4]], np.full(2, 2), np.full(2, 2)).masks
    one, other = np.array([0, 0]), np.array([0, 1])

    assert mask_intersections(masks, one, other).tolist() == [0, 0]
    assert mask_iou(masks, one, other, np.zeros(2, np.bool_)).tolist() == [0, 0]
