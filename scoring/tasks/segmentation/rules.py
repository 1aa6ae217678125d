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
    """A measure of each label from a confusion matrix, and its name."""

    name: str
    of: PixelMeasure


@dataclass(frozen=True, slots=True)
class LabelMapTotal:
    """A measure of a whole confusion matrix, and its name."""

    name: str
    of: PixelTotal


@dataclass(frozen=True, slots=True)
class SegmentationRules:
    """How label images are scored.

    Every pixel that is not void (255) counts once, by its true and its predicted label; the background is a label like others.
    total: a further measure of all pixels.
    """

    measure: LabelMapMeasure
    average: Average
    total: LabelMapTotal | None = None


BY_IOU: Final = SegmentationRules(LabelMapMeasure("Intersection over union", iou_of_labels), mean_of_classes)
"""From 2008 on, and for 2006, which had no segmentation."""


BY_CLASS_ACCURACY: Final = SegmentationRules(
    LabelMapMeasure("Class accuracy", class_accuracy),
    mean_of_classes,
    LabelMapTotal("Pixel accuracy", pixel_accuracy),
)
