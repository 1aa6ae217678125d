"""How classification and action classification are scored."""

from dataclasses import dataclass, field
from typing import Final

from scoring.exhibits import Draw, draw_precision, draw_roc
from scoring.metrics.averaging import Average
from scoring.metrics.labels import (
    Value,
    ranked_average_precision,
    ranked_average_precision_11_points,
    roc_auc,
)
from scoring.metrics.measures import AP_11_POINTS, AP_AREA
from scoring.metrics.roc import weighted_roc_auc
from scoring.metrics.weighting import WeightedMetric


@dataclass(frozen=True, slots=True)
class LabelMeasure:
    """A measure of a ranking of labelled images or persons: its name, the function, and the curve that shows it.

    weighted: the same function for weighted images. It serves the bootstrap only, decides no score and so does not
    appear in a receipt.
    """

    name: str
    of: Value
    draw: Draw
    weighted: WeightedMetric = field(repr=False)


@dataclass(frozen=True, slots=True)
class LabelRules:
    """The measure of each class, and how the classes are averaged.

    Images or persons with the label 1 are positives, those with -1 negatives; those with 0, which have difficult objects
    only, are ignored. What has no prediction ranks last, in the order of the ground truth.
    """

    measure: LabelMeasure
    average: Average


ROC_AUC: Final = LabelMeasure("ROC AUC", roc_auc, draw_roc, weighted_roc_auc)

LABELS_AP_11_POINTS: Final = LabelMeasure(
    AP_11_POINTS.name, ranked_average_precision_11_points, draw_precision, AP_11_POINTS.weighted
)

LABELS_AP_AREA: Final = LabelMeasure(AP_AREA.name, ranked_average_precision, draw_precision, AP_AREA.weighted)
