"""Measures for many weightings at once, compared to the measure itself on repeated images."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heldout_scoring.data.matches import IGNORED, RankedPredictions
from heldout_scoring.metrics.ranking import AP_11_POINTS, AP_AREA, RankingMeasure, as_weights

IMAGES = 5
predictions = st.lists(st.tuples(st.integers(0, IMAGES - 1), st.sampled_from([1, 0, -1])), max_size=25)
objects = st.lists(st.integers(0, 2), min_size=IMAGES, max_size=IMAGES)
weights = st.lists(st.lists(st.integers(0, 4), min_size=IMAGES, max_size=IMAGES), min_size=1, max_size=4)


@pytest.mark.parametrize("measure", [AP_AREA, AP_11_POINTS])
@given(ranked=predictions, there=objects, drawn=weights)
def test_a_weighting_has_the_value_of_repeated_images(
    measure: RankingMeasure, ranked: list[tuple[int, int]], there: list[int], drawn: list[list[int]]
) -> None:
    image = np.array([place for place, _ in ranked], np.int32)
    outcomes = np.array([outcome for _, outcome in ranked], np.int8)
    ranking = RankedPredictions("person", sum(there), image, np.linspace(1, 0, len(image)), outcomes)
    times = as_weights(np.array(drawn).T)

    values = measure.weighted(ranking, np.array(there, np.int32))(times)

    for row, value in zip(drawn, values.tolist(), strict=True):
        repeated = np.repeat(outcomes, np.array(row)[image])
        positives = int(np.dot(row, there))
        if sum(there) and not positives:
            assert math.isnan(value)
        elif positives and not np.all(repeated == IGNORED):
            assert value == pytest.approx(measure.of(repeated, positives), abs=1e-12)
