"""Hard images, the random baseline, and boxes of ranked predictions."""

from pathlib import Path
from statistics import fmean, median

import numpy as np
import pytest

import scoring
from scoring.analysis.hard_images import (
    HardImage,
    find_hard_images,
    find_hard_images_of_segmentation,
    labels_of_persons,
    median_ranks,
)
from scoring.analysis.random_baseline import random_baseline
from scoring.analysis.ranked_detections import RankedDetections, read_ranked_detections, with_boxes
from scoring.data.matches import Counts, ImageCounts, RankedPredictions
from scoring.metrics.labels import ranked_average_precision, ranked_average_precision_11_points, roc_auc
from scoring.metrics.ranking import IGNORED
from scoring.protocols import PROTOCOLS
from scoring.readers.voc.tree import read_tree
from scoring.saved_matches import open_rankings
from scoring.tasks.detection.task import DETECTION
from tests.scoring.builders import detections, ground_truth, kit
from tests.scoring.oracles import Prediction, Thing

RULES = PROTOCOLS["voc2012"].rules_of(DETECTION)


def placed(predictions: list[Prediction], things: list[Thing] | None = None) -> RankedDetections:
    lines, objects = detections(predictions), ground_truth(things or [])
    matched = RULES.match_class(lines, objects)
    ranked = RankedPredictions(
        "cat",
        objects.positives,
        lines.image[matched.order],
        lines.confidence[matched.order],
        matched.outcomes,
    )
    return with_boxes(ranked, lines)


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


def labelled(positives: int, negatives: int, ignored: int = 0) -> RankedPredictions:
    outcomes = np.repeat(np.array([1, 0, -1], np.int8), (positives, negatives, ignored))
    n = len(outcomes)
    return RankedPredictions("cat", positives, np.arange(n, dtype=np.int32), np.linspace(1, 0, n), outcomes)


def test_the_random_baseline_is_the_mean_of_all_permutations() -> None:
    found = random_baseline(labelled(1, 3, 5), ranked_average_precision, permutations=4000)

    assert found == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4, abs=0.015)
    assert random_baseline(labelled(40, 60), roc_auc) == pytest.approx(0.5, abs=0.02)


def test_the_random_baseline_is_close_to_the_papers_value_for_person() -> None:
    found = random_baseline(
        labelled(2007, 4952 - 2007), ranked_average_precision_11_points
    )  # 43.4 in the paper, for one order

    assert found == pytest.approx(0.434, abs=0.03)


def test_without_positives_there_is_no_random_baseline() -> None:
    assert random_baseline(labelled(0, 4), ranked_average_precision, permutations=2) is None


def test_boxes_of_ranked_predictions_are_read_from_the_archive(tmp_path: Path) -> None:
    truth = read_tree(kit(tmp_path).root, "test")
    results = tmp_path / "results" / "VOC2012" / "Main"
    results.mkdir(parents=True)
    (results / "comp3_det_test_cat.txt").write_text("a_2 .1 1 1 8 8\na_1 .9 1 1 10 10\n")
    (results / "comp3_det_test_dog.txt").write_text("a_1 .9 20 5 40 30\n")
    scoring.evaluate(
        tmp_path / "results", truth, competition=3, protocol="voc2012", statistics=tmp_path / "kept"
    )
    _, rankings = open_rankings(tmp_path / "kept")

    [cat] = read_ranked_detections(tmp_path / "results", truth, 3, rankings[:1])

    assert cat.ranked.class_name == "cat"
    assert cat.boxes.tolist() == [[1, 1, 10, 10], [1, 1, 8, 8]]
