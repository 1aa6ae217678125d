"""Rules of the TensorFlow Object Detection API, by the names of its configurations.

A row computes what the evaluator computes; its variant "-documented" follows the published text where that differs.
Coordinates are used as they are stored: TensorFlow converts neither VOC's pixels nor the edges of Open Images.
Source: tf-models-research-object-detection 2.8.0; g3doc/evaluation_protocols.md; the page of the Open Images Challenge.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from scoring.metrics.averaging import (
    mean_of_classes_with_a_value,
    pool_all_classes,
    pool_classes_with_positives,
)
from scoring.metrics.boxes import iou_half_open
from scoring.metrics.groups import (
    match_open_images,
    match_open_images_challenge,
    match_open_images_challenge_documented,
    match_open_images_documented,
    single_objects_positive,
)
from scoring.metrics.matching import all_objects_positive, match_pascal
from scoring.metrics.measures import AP_AREA_OF_OBJECTS
from scoring.metrics.tensorflow import match_pascal_tensorflow
from scoring.tasks.detection.rules import DetectionRules

_PASCAL: Final = DetectionRules(
    match_pascal_tensorflow,
    iou_half_open,
    0.5,
    AP_AREA_OF_OBJECTS,
    mean_of_classes_with_a_value,
    absent_is_empty=True,
    convention=None,
)


_WEIGHTED: Final = replace(_PASCAL, pool=pool_classes_with_positives)


_OPEN_IMAGES: Final = replace(_PASCAL, match=match_open_images, select_positives=single_objects_positive)


_CHALLENGE: Final = replace(_PASCAL, match=match_open_images_challenge, select_positives=all_objects_positive)


@dataclass(frozen=True, slots=True)
class TensorflowRow:
    """A configuration: its name, what it is called, and its rules."""

    name: str
    title: str
    rules: DetectionRules


def _documented(rules: DetectionRules) -> DetectionRules:
    """The programs ask for an IoU of at least 0.5, the texts for more.

    Source: VOC2010 development kit ("must exceed 50%"), to which g3doc/evaluation_protocols.md refers for PASCAL VOC, weighted or
    not; that page for Open Images V2 ("greater than"); the page of the Open Images Challenge ("IoU > 0.5").
    """
    return replace(rules, iou_threshold=math.nextafter(rules.iou_threshold, 1.0))


TENSORFLOW_ROWS: Final = (
    TensorflowRow("pascal_voc_detection_metrics", "PASCAL VOC", _PASCAL),
    TensorflowRow("weighted_pascal_voc_detection_metrics", "weighted PASCAL VOC", _WEIGHTED),
    TensorflowRow("oid_V2_detection_metrics", "Open Images V2", _OPEN_IMAGES),
    TensorflowRow("oid_challenge_detection_metrics", "Open Images Challenge", _CHALLENGE),
    TensorflowRow(
        "pascal_voc_detection_metrics-documented",
        "PASCAL VOC as documented",
        _documented(replace(_PASCAL, match=match_pascal)),
    ),
    TensorflowRow(
        "weighted_pascal_voc_detection_metrics-documented",
        "weighted PASCAL VOC as documented",
        _documented(replace(_WEIGHTED, match=match_pascal, pool=pool_all_classes)),
    ),
    TensorflowRow(
        "oid_V2_detection_metrics-documented",
        "Open Images V2 as documented",
        _documented(replace(_OPEN_IMAGES, match=match_open_images_documented)),
    ),
    TensorflowRow(
        "oid_challenge_detection_metrics-documented",
        "Open Images Challenge as documented",
        _documented(replace(_CHALLENGE, match=match_open_images_challenge_documented)),
    ),
)


EARLIER_NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "pascal_voc_metrics": "pascal_voc_detection_metrics",
        "weighted_pascal_voc_metrics": "weighted_pascal_voc_detection_metrics",
        "open_images_metrics": "oid_V2_detection_metrics",
    }
)
"""Names that rows had in earlier versions, and those that they have now."""
