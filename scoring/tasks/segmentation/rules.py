"""How segmentations are scored."""

from dataclasses import dataclass
from typing import Final

from scoring.metrics.averaging import Average, mean_of_classes
from scoring.metrics.confusion import (
    PixelMeasure,
    PixelTotal,
    class_accuracy,
    iou_of_labels,
    pixel_accuracy,
)


@dataclass(frozen=True, slots=True)
class LabelMapMeasure:
    """What is drawn from a confusion matrix for each label, and what it is called."""

    name: str
    of: PixelMeasure


@dataclass(frozen=True, slots=True)
class LabelMapTotal:
    """What is drawn from a confusion matrix as a whole, and what it is called."""

    name: str
    of: PixelTotal


@dataclass(frozen=True, slots=True)
class SegmentationRules:
    """How label images are scored.

    Every pixel that is not void (255) counts once, by its true and its predicted label; the background is a label like others.
    total: a number for all pixels, shown beside the others.
    """

    measure: LabelMapMeasure
    average: Average
    total: LabelMapTotal | None = None


BY_IOU: Final = SegmentationRules(LabelMapMeasure("Intersection over union", iou_of_labels), mean_of_classes)
"""From 2008 on; there was no segmentation in 2006, for which these rules stand too."""


BY_CLASS_ACCURACY: Final = SegmentationRules(
    LabelMapMeasure("Class accuracy", class_accuracy),
    mean_of_classes,
    LabelMapTotal("Pixel accuracy", pixel_accuracy),
)
