"""The easiest, hardest and most confusing images of a class."""

from statistics import fmean, median

import numpy as np

from app.images.hard_images import (
    HardImage,
    find_hard_images,
    find_hard_images_of_segmentation,
    labels_of_persons,
    median_ranks,
)
from heldout_scoring.data.matches import IGNORED, Counts, ImageCounts, RankedPredictions


def ranking(*images: int) -> RankedPredictions:
    n = len(images)
    return RankedPredictions("cat", 0, np.array(images, np.int32), np.linspace(1, 0, n), np.zeros(n, np.int8))


def test_easy_hard_and_confusing_images_follow_the_median_method() -> None:
    rankings = [ranking(0, 1, 2, 3, 4), ranking(4, 0, 1, 2, 3), ranking(1, 0, 3, 2, 4)]

    found = find_hard_images(rankings, np.array([1, -1, 1, 0, -1], np.int8), count=1)

    assert found.easiest == (HardImage(0, 2.0),)
    assert found.hardest == (HardImage(2, 4.0),)
    assert found.confusing == (HardImage(1, 2.0),)


def test_images_are_easy_or_hard_to_segment_by_the_median_iou() -> None:
    rng = np.random.default_rng(5)
    methods = [rng.integers(0, 4, (6, 3, 3)) for _ in range(3)]
    for method in methods:
        method[:2, 1] = 0  # two images without the second label
    labels = ["background", "cat", "dog"]

    found = find_hard_images_of_segmentation(
        [ImageCounts.of(labels, list(each)) for each in methods], count=6
    )

    def iou(counts: Counts, place: int) -> float:
        union = counts[place].sum() + counts[:, place].sum() - counts[place, place]
        return float(counts[place, place] / union)

    for place, name in enumerate(labels):
        with_it = [image for image in range(6) if methods[0][image, place].sum()]
        naive = {image: median(iou(each[image], place) for each in methods) for image in with_it}
        assert found[place].class_name == name
        assert [each.value for each in found[place].hardest] == sorted(naive.values())
        assert {each.image: each.value for each in found[place].easiest} == naive
    shares = [
        median(float(each[image, :, 1].sum() / each[image].sum()) for each in methods) for image in (0, 1)
    ]
    assert [each.value for each in found[1].confusing] == sorted(shares, reverse=True)


def test_an_image_shows_an_action_if_one_of_its_persons_performs_it() -> None:
    persons = RankedPredictions(
        "running", 1, np.array([3, 1, 1, 0], np.int32), np.ones(4), np.array([0, 1, 0, IGNORED], np.int8)
    )

    assert labels_of_persons(persons, 5).tolist() == [0, 1, 0, -1, 0]


def test_images_without_a_prediction_share_a_rank() -> None:
    one = RankedPredictions(
        "cat", 1, np.array([2, 0], np.int32), np.array([0.5, -np.inf]), np.zeros(2, np.int8)
    )

    assert median_ranks([one], 3).tolist() == [2.5, 2.5, 1.0]


def test_median_ranks_of_images_match_a_naive_implementation() -> None:
    rng = np.random.default_rng(2)
    rankings = [ranking(*rng.integers(0, 12, 9).tolist()) for _ in range(4)]

    naive = []
    for image in range(12):
        ranks: list[float] = []
        for each in rankings:
            order = list(dict.fromkeys(each.image.tolist()))
            rest = range(len(order) + 1, 13)
            ranks.append(order.index(image) + 1 if image in order else fmean(rest))
        naive.append(median(ranks))

    assert median_ranks(rankings, 12).tolist() == naive
