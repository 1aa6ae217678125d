"""What a comparison of methods contains."""

from itertools import combinations

import numpy as np
import pytest

from app.boards.comparisons import (
    Compared,
    chosen_methods,
    differences_figure,
    obstacle_of,
    scores_figure,
    statistics_of,
)
from app.core.errors import MalformedError
from app.web.charts.dots import Range, symmetric
from app.web.charts.shapes import Circle
from heldout_scoring.analysis.images import ImageOutcomes
from heldout_scoring.statistics.bootstrap import Draws, Replicates, Setup
from heldout_scoring.statistics.comparison import standings
from tests.pages.comparison_views import comparison

SETUP = Setup("detection", "voc2012", "0f")
NOISE = np.random.default_rng(7).normal(0, 0.01, 200)


def compared(
    *scores: float | None,
    names: tuple[str, ...] = ("cat", "dog"),
    errors: tuple[int, ...] = (0, 0),
    seed: int = 1,
) -> Compared:
    """A method with these scores (classes, then the mean) and these numbers of errors in two images."""
    noise = np.random.default_rng(seed).normal(0, 0.01, (len(scores), 200))
    values = np.array([np.nan if score is None else score for score in scores])[:, None] + noise
    images = np.array(errors, np.int32)
    outcomes = ImageOutcomes(("a", "b"), images + 1, np.ones_like(images), 0 * images)
    return Replicates(SETUP, Draws(9, 200), names, scores, values), outcomes


def test_more_than_five_methods_are_refused() -> None:
    assert chosen_methods(list(range(5))) == (0, 1, 2, 3, 4)
    with pytest.raises(MalformedError, match="at most 5 methods"):
        chosen_methods(list(range(6)))


def test_results_of_different_versions_have_no_common_statistics() -> None:
    assert obstacle_of([(1, "1", "voc2012"), (1, "1", "voc2012")]) is None
    assert obstacle_of([(1, "1", "voc2012"), (1, "2", "voc2012")]) is not None


def test_classes_are_compared_with_the_first_method_and_means_in_pairs() -> None:
    found = statistics_of(
        [compared(0.5, 0.5, 0.5), compared(0.7, 0.5, 0.6, seed=2), compared(0.4, 0.5, 0.45, seed=3)]
    )

    assert [(pair.one, pair.other) for pair in found.pairs] == [(0, 1), (0, 2), (1, 2)]
    assert [pair.difference.value for pair in found.pairs] == pytest.approx([0.1, -0.05, -0.15])
    cat, dog = found.classes
    assert [each.value for each in cat.differences] == pytest.approx([0.2, -0.1])
    assert [each.value for each in dog.differences] == pytest.approx([0.0, 0.0])
    assert found.replicates == 200


def test_p_values_are_corrected_over_all_classes_and_methods_together() -> None:
    found = statistics_of(
        [compared(0.5, 0.5, 0.5), compared(0.7, 0.5, 0.6, seed=2), compared(0.4, 0.5, 0.45, seed=3)]
    )

    tests = [each for row in found.classes for each in row.differences]
    smallest = min(tests, key=lambda each: each.p_value or 0.0)
    assert smallest.p_value is not None
    assert smallest.holm == pytest.approx(4 * smallest.p_value)
    assert all(each.holm is not None and each.holm >= (each.p_value or 0.0) for each in tests)
    assert found.classes[0].differences[0].holm is not None
    assert found.classes[0].differences[0].holm < 0.001
    assert found.classes[1].differences[0].holm == 1.0


def test_letters_and_p_values_come_from_one_test_whatever_is_chosen() -> None:
    scores = (0.5, 0.503, 0.52, 0.6, 0.61)
    methods = [compared(score, score, score, seed=seed) for seed, score in enumerate(scores)]
    board = standings({str(place): each for place, (each, _) in enumerate(methods)})
    letters = {each.name: each.letters for each in board.methods}

    everything = statistics_of(methods, board.family)
    for one, other in combinations(range(len(scores)), 2):
        alone = statistics_of([methods[one], methods[other]], board.family)
        [pair] = alone.pairs
        [same] = [each for each in everything.pairs if (each.one, each.other) == (one, other)]
        assert pair.difference.holm == same.difference.holm
        assert pair.difference.holm is not None
        share = bool(set(letters[str(one)]) & set(letters[str(other)]))
        assert share == (pair.difference.holm >= 0.05)
        assert (alone.tests, alone.is_of_board) == (10, True)


def test_with_a_class_missing_only_common_classes_are_compared_and_no_images() -> None:
    found = statistics_of([compared(0.5, 0.5, 0.5), compared(0.6, None, names=("dog",), errors=(0, 9))])

    assert [each.name for each in found.classes] == ["dog"]
    assert found.classes[0].differences[0].value == pytest.approx(0.1)
    assert found.pairs[0].difference.value is None
    assert found.pairs[0].difference.holm is None
    assert found.images == ()


def test_methods_without_a_common_class_are_not_compared_by_class() -> None:
    found = statistics_of([compared(0.5, None, names=("cat",)), compared(0.6, None, names=("dog",))])

    assert found.classes == ()


def test_only_images_in_which_the_methods_differ_are_listed() -> None:
    found = statistics_of([compared(0.5, 0.5, 0.5, errors=(2, 0)), compared(0.6, 0.5, 0.5, errors=(2, 7))])

    [image] = found.images
    assert (image.image, image.positives, image.missed, image.false) == ("b", 1, (0, 7), (0, 0))


def test_a_method_does_not_differ_from_itself() -> None:
    found = statistics_of([compared(0.5, 0.5, 0.5), compared(0.5, 0.5, 0.5)])

    assert [each.difference.holm for each in found.pairs] == [1.0]
    assert found.images == ()


def test_a_method_keeps_its_colour_in_every_figure() -> None:
    view = comparison(3)

    scores, differences = scores_figure(view), differences_figure(view)

    assert scores is not None
    assert differences is not None
    colours = [
        sorted({shape.style for shape in drawing.shapes if isinstance(shape, Circle)})
        for drawing in (scores.drawing, differences)
    ]
    assert colours == [["dot series-0", "dot series-1", "dot series-2"]] * 2
    assert scores.drawing.height == differences.height  # the rows of both stand beside each other


def test_nothing_is_drawn_if_values_are_hidden() -> None:
    view = comparison(2, classes=(), statistics=None)

    assert scores_figure(view) is None
    assert differences_figure(view) is None


def test_an_axis_of_differences_is_symmetric() -> None:
    assert symmetric([0.2, -0.01]) == Range(-0.2, 0.2)
