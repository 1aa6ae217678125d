"""The score of random rankings."""

import math
from dataclasses import replace
from typing import Final

import numpy as np

from scoring.data.matches import RankedPredictions
from scoring.metrics.labels import Value
from scoring.metrics.ranking import IGNORED

PERMUTATIONS: Final = 100
SEED: Final = 2012


def random_baseline(
    ranked: RankedPredictions, value: Value, *, permutations: int = PERMUTATIONS, seed: int = SEED
) -> float | None:
    """The mean score in [0, 1] of random permutations of a class's ranking; None where it has no score.

    Precision depends on the prevalence, so this differs between classes. Only the number of positives and negatives
    matters, not their order. Random numbers are the raw output of PCG64. Source: Everingham et al., "The PASCAL Visual Object Classes (VOC)
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
    for _ in range(permutations):
        order = np.argsort(generator.random_raw(len(outcomes)), kind="stable")
        total += value(replace(ranked, image=places, confidence=falling, outcomes=outcomes[order]))
    return None if math.isnan(total) else total / permutations
