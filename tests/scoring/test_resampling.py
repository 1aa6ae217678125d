"""The bootstrap, compared to scoring with repeated images."""

import hashlib
import tracemalloc
from collections.abc import Callable
from itertools import chain

import numpy as np
import pytest

from heldout_scoring.data.arrays import Floats, Integers
from heldout_scoring.data.matches import IGNORED, TRUE_POSITIVE, ImageCounts, RankedPredictions
from heldout_scoring.metrics.labels import iou_of_labels, roc_auc
from heldout_scoring.metrics.matching import iou_inclusive, match_pascal
from heldout_scoring.metrics.ranking import (
    AP_11_POINTS,
    AP_AREA,
    AP_AREA_OF_OBJECTS,
    ELEVEN_RECALLS,
    RankingMeasure,
    Runs,
    as_weights,
    mean_of_classes,
    weighted_roc_auc,
)
from heldout_scoring.statistics.bootstrap import (
    Draws,
    headline_by_replicate,
    resample_confusions,
    resample_rankings,
)
from heldout_scoring.tasks.labels import count_positives_by_image
from tests.scoring import oracles
from tests.scoring.builders import IMAGES, detections, ground_truth
from tests.scoring.oracles import Prediction, Thing

Oracle = Callable[[list[int], int], float]


def area(said: list[int], positives: int) -> float:
    return oracles.area(said, positives)


def eleven(said: list[int], positives: int) -> float:
    return oracles.eleven(said, positives, ELEVEN_RECALLS)


def some_things(rng: np.random.Generator) -> list[Thing]:
    images = sorted(rng.integers(0, IMAGES, rng.integers(0, 9)).tolist())
    corners = rng.integers(1, 30, (len(images), 2)).tolist()
    return [
        Thing(image, (x, y, x + 10, y + 10), difficult=bool(rng.random() < 0.25))
        for image, (x, y) in zip(images, corners, strict=True)
    ]


def some_predictions(rng: np.random.Generator, things: list[Thing]) -> list[Prediction]:
    """Predictions near the objects and elsewhere, with many ties."""
    predictions = []
    for _ in range(rng.integers(0, 25)):
        confidence = float(rng.integers(0, 6) / 8)
        x, y = rng.integers(1, 30, 2).tolist()
        image = int(rng.integers(0, IMAGES))
        if things and rng.random() < 0.6:
            thing = things[rng.integers(len(things))]
            image, (x, y, *_) = thing.image, thing.box
        predictions.append(Prediction(image, confidence, (x, y, x + 10, y + 11)))
    return predictions


def scored_again(
    predictions: list[Prediction], things: list[Thing], times: list[int], oracle: Oracle
) -> float:
    """The score with every image repeated as often as it was drawn, along with its objects and lines."""
    copies = {image: [image * 100 + copy for copy in range(times[image])] for image in range(IMAGES)}
    lines = [
        Prediction(copy, each.confidence, each.box) for each in predictions for copy in copies[each.image]
    ]
    objects = [Thing(copy, each.box, each.difficult) for each in things for copy in copies[each.image]]
    positives = sum(not each.difficult for each in objects)
    said = oracles.outcomes(lines, objects, 0.5)
    if positives == 0:
        return float("nan")
    value = oracle(said, positives)
    return 0.0 if np.isnan(value) else value  # all ignored: nothing is found


def kept(predictions: list[Prediction], things: list[Thing]) -> tuple[RankedPredictions, Integers]:
    lines, objects = detections(predictions), ground_truth(things)
    matched = match_pascal(lines, objects, iou_inclusive, 0.5)
    ranked = RankedPredictions(
        "cat",
        objects.positives,
        lines.image[matched.order],
        lines.confidence[matched.order],
        matched.outcomes,
    )
    image = np.repeat(np.arange(len(objects.count)), objects.count)
    positives = np.bincount(image[~objects.difficult], minlength=len(objects.count))
    return ranked, positives.astype(np.int32)


@pytest.mark.parametrize(
    ("measure", "oracle"),
    [(AP_AREA, area), (AP_AREA_OF_OBJECTS, area), (AP_11_POINTS, eleven)],
)
def test_a_replicate_equals_scoring_the_repeated_images(measure: RankingMeasure, oracle: Oracle) -> None:
    rng = np.random.default_rng(5)
    draws = Draws(IMAGES, 12)
    weights = draws.weights(0, 12)
    compared = 0
    while compared < 60:
        things = some_things(rng)
        predictions = some_predictions(rng, things)
        ranked, positives = kept(predictions, things)
        if not ranked.positives:
            continue
        compared += 1

        found = resample_rankings([ranked], positives[None], measure.weighted, draws)[0]

        again = [scored_again(predictions, things, column.tolist(), oracle) for column in weights.T]
        np.testing.assert_allclose(found, again, rtol=0, atol=1e-14)


@pytest.mark.parametrize(("times", "kind"), [((15, 15, 15), np.uint8), ((16, 70, 400), np.uint16)])
def test_heavy_weights_do_not_overflow(times: tuple[int, ...], kind: type) -> None:
    outcomes = np.tile(np.array([0, 1, 0, 0, 1, 1], np.int8), 30)
    image = np.tile(np.array([0, 1, 0, 2, 1, 2], np.int32), 30)
    positives = np.array([0, 90, 30], np.int32)
    weights = as_weights(np.array([times]).T)

    steps = Runs.of(np.sort(image), np.sort(outcomes), positives).steps(weights)

    assert weights.dtype == kind
    heavy = np.array(times)[np.sort(image)]
    assert steps.true_positives[0, -1] == heavy[np.sort(outcomes) == 1].sum()
    assert steps.false_positives[0, -1] == heavy[np.sort(outcomes) == 0].sum()


def test_drawing_every_image_once_gives_the_score_itself() -> None:
    rng = np.random.default_rng(8)
    image = rng.integers(0, 50, 3000).astype(np.int32)
    outcomes = rng.choice([-1, 0, 1], 3000, p=[0.1, 0.6, 0.3]).astype(np.int8)
    positives = np.bincount(image[outcomes == TRUE_POSITIVE], minlength=50).astype(np.int32) + 3
    ranked = RankedPredictions("cat", int(positives.sum()), image, np.linspace(1, 0, 3000), outcomes)
    once = np.ones((50, 1), np.uint8)

    for measure in (AP_AREA, AP_11_POINTS):
        [found] = measure.weighted(ranked, positives)(once)

        assert found == pytest.approx(measure.of(outcomes, ranked.positives), abs=1e-13)


def test_a_class_without_objects_has_the_measures_value_in_each_replicate() -> None:
    ranked = RankedPredictions("cat", 0, np.array([0], np.int32), np.array([0.5]), np.array([0], np.int8))
    nothing = np.zeros((1, 3), np.int32)

    by_area = resample_rankings([ranked], nothing, AP_AREA.weighted, Draws(3, 4))
    by_levels = resample_rankings([ranked], nothing, AP_11_POINTS.weighted, Draws(3, 4))

    assert np.isnan(by_area).all()
    assert by_levels.tolist() == [[0, 0, 0, 0]]


def test_a_replicate_of_roc_auc_equals_scoring_the_repeated_images() -> None:
    rng = np.random.default_rng(3)
    for _ in range(30):
        confidence = -np.sort(-rng.integers(0, 8, 15) / 8)
        outcomes = rng.choice([IGNORED, 0, 1], 15).astype(np.int8)
        image = rng.permutation(15).astype(np.int32)
        ranked = RankedPredictions("cat", int(np.count_nonzero(outcomes == 1)), image, confidence, outcomes)
        draws = Draws(15, 10)

        [found] = resample_rankings([ranked], count_positives_by_image([ranked], 15), weighted_roc_auc, draws)

        for value, weights in zip(found, draws.weights(0, 10).T, strict=True):
            times = weights[image]
            again = RankedPredictions(
                "cat", 0, np.repeat(image, times), np.repeat(confidence, times), np.repeat(outcomes, times)
            )
            assert value == pytest.approx(roc_auc(again), abs=1e-14, nan_ok=True)


def test_a_segmentation_is_resampled_by_image() -> None:
    counts = np.random.default_rng(1).integers(0, 9, (6, 3, 3)).astype(np.int64)
    counts[0] = 2**31 // 9 * (counts[0] > 4)  # many pixels, drawn several times
    draws = Draws(6, 5)

    found = resample_confusions(
        ImageCounts.of(["background", "cat", "dog"], list(counts)), iou_of_labels, draws
    )

    for column, weights in zip(found.T, draws.weights(0, 5).T.tolist(), strict=True):
        copies = list(chain.from_iterable([counts[image]] * times for image, times in enumerate(weights)))
        assert column.tolist() == iou_of_labels(np.sum(copies, axis=0)).tolist()


def test_memory_grows_with_the_label_pairs_that_occur() -> None:
    labels, images = 151, 100
    matrix = np.zeros((labels, labels), np.int64)
    matrix[:8, :8] = 1000
    counts = ImageCounts.of([str(label) for label in range(labels)], [matrix] * images)

    tracemalloc.start()
    resample_confusions(counts, iou_of_labels, Draws(images, 128))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert most < images * matrix.nbytes / 4


def test_each_replicate_draws_as_many_images_as_there_are() -> None:
    weights = Draws(1001, 300).weights(0, 300)

    assert weights.sum(axis=0, dtype=np.int64).tolist() == [1001] * 300
    assert weights.dtype == np.uint8
    assert abs(float((weights == 0).mean()) - np.exp(-1)) < 0.002
    assert np.abs(weights.mean(axis=1) - 1).max() < 5 / np.sqrt(300)


def test_draws_do_not_depend_on_how_many_are_made_at_once() -> None:
    together = Draws(77).weights(0, 200)

    assert np.array_equal(Draws(77).weights(130, 131)[:, 0], together[:, 130])
    assert not np.array_equal(together[:, 0], together[:, 1])
    assert not np.array_equal(Draws(77, seed=1).weights(0, 1), together[:, :1])


def test_draws_never_change_between_versions() -> None:
    weights = Draws(501).weights(0, 64)

    assert hashlib.sha256(weights.tobytes()).hexdigest()[:16] == "25220b86b4c9316d"


def test_weights_of_many_images_do_not_overflow() -> None:
    weights = Draws(70_000).weights(0, 1)

    assert weights.sum(dtype=np.int64) == 70_000


def test_replicates_in_blocks_equal_single_replicates() -> None:
    ranked = RankedPredictions(
        "cat", 3, np.arange(5, dtype=np.int32), np.linspace(1, 0, 5), np.array([1, 0, 1, 0, 1], np.int8)
    )
    positives, weighted_metric, draws = (
        np.array([[1, 0, 1, 0, 1]], np.int32),
        AP_AREA.weighted,
        Draws(5, 300),
    )

    found = resample_rankings([ranked], positives, weighted_metric, draws)[0]

    one_by_one = [weighted_metric(ranked, positives[0])(draws.weights(k, k + 1))[0] for k in range(300)]
    np.testing.assert_array_equal(found, one_by_one)


def test_the_headline_is_the_average_of_each_replicate() -> None:
    values = np.array([[0.1, np.nan], [0.3, 0.5]])

    headline = headline_by_replicate(values, mean_of_classes)

    assert headline.tolist() == [0.2, 0.5]  # of the classes drawn


def test_a_class_that_never_has_a_value_leaves_no_headline() -> None:
    values = np.array([[np.nan, np.nan], [0.3, 0.5]])

    assert np.isnan(headline_by_replicate(values, mean_of_classes)).all()


def test_no_classes_give_no_rows() -> None:
    found: Floats = resample_rankings([], np.zeros((0, 4), np.int32), AP_AREA.weighted, Draws(4, 3))

    assert found.shape == (0, 3)
    assert count_positives_by_image([], 4).shape == (0, 4)
