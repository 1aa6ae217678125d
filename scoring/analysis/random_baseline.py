"""What an order at random is worth: the score that says nothing."""

import math
from dataclasses import replace
from typing import Final

import numpy as np

from scoring.data.matches import RankedPredictions
from scoring.metrics.labels import Value
from scoring.metrics.ranking import IGNORED

ORDERS: Final = 100
SEED: Final = 2012


def random_baseline(
    ranked: RankedPredictions, value: Value, *, orders: int = ORDERS, seed: int = SEED
) -> float | None:
    """The mean score of random orders of the images that a class is scored on, in [0, 1]; None where there is no score.

    Precision depends on the share of positives, so this differs from class to class. Only how many verdicts of each
    kind there are counts here, not their order, nor the confidences. The random numbers are those of
    `scoring.statistics.resampling.Draws`. Source: Everingham et al., "The PASCAL Visual Object Classes (VOC)
    Challenge", 2010, section 6.1.3 and Figure 9, where it is the score of a single random order.

    >>> from scoring.metrics.labels import ranked_average_precision
    >>> ranked = RankedPredictions("cat", 1, np.arange(2), np.array([0.9, 0.5]), np.array([1, 0], np.int8))
    >>> random_baseline(ranked, ranked_average_precision)
    0.745
    """
    outcomes = np.sort(ranked.outcomes[ranked.outcomes != IGNORED])
    places = np.arange(len(outcomes), dtype=np.int32)
    falling = -places.astype(np.float64)
    generator = np.random.PCG64(seed)
    total = 0.0
    for _ in range(orders):
        order = np.argsort(generator.random_raw(len(outcomes)), kind="stable")
        total += value(replace(ranked, image=places, confidence=falling, outcomes=outcomes[order]))
    return None if math.isnan(total) else total / orders
