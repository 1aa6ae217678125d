"""Measures of a ranking, each with its form for the bootstrap."""

from dataclasses import dataclass, field
from typing import Final

from scoring.metrics.ranking import (
    Measure,
    average_precision,
    average_precision_11_points,
    average_precision_of_objects,
)
from scoring.metrics.weighting import (
    WeightedMeasure,
    WeightedMetric,
    weighted_average_precision,
    weighted_average_precision_11_points,
)


@dataclass(frozen=True, slots=True)
class RankingMeasure:
    """A measure of a ranking: its name, the function, and the same function for weighted images.

    `weighted` serves the bootstrap only. It decides no score and so does not appear in a receipt.
    """

    name: str
    of: Measure
    weighted: WeightedMetric = field(repr=False)


AP_11_POINTS: Final = RankingMeasure(
    "11-point average precision",
    average_precision_11_points,
    WeightedMeasure(average_precision_11_points, weighted_average_precision_11_points),
)


AP_AREA: Final = RankingMeasure(
    "Average precision",
    average_precision,
    WeightedMeasure(average_precision, weighted_average_precision),
)


AP_AREA_OF_OBJECTS: Final = RankingMeasure(
    AP_AREA.name,
    average_precision_of_objects,
    WeightedMeasure(average_precision_of_objects, weighted_average_precision),
)
"""The same area, NaN for every class without objects, as in the TensorFlow Object Detection API."""
