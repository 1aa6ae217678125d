"""What the COCO measures take."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np

from scoring.data.arrays import Flags, Floats, Integers, Places
from scoring.data.checking import DataError, assert_is
from scoring.metrics.rule_values import as_count, as_counts, as_ranges, as_shares, as_thresholds, short_names

EVERY_SIZE: Final = 0
"""The first of the area ranges: objects of every size."""

FREQUENCIES: Final = "rcf"
"""How LVIS calls rare, common and frequent classes in APr, APc and APf, in the order of their numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class CocoRules:
    """What of the COCO measures may be set.

    iou_thresholds: float64 (thresholds,), above 0 and up to 1; recalls: float64 (points,), from 0 to 1, where precision is read;
    max_detections: numbers of detections of a class in an image, of which the largest is what is matched at most; all three in any
    order, and kept rising;
    areas: for each range of sizes its name, smallest and largest area, both included, the first one every size; in_image: detections of all classes in an image of which
    the most confident count, None for any number; federated: in an image only classes count that are annotated in it or known
    to be absent, and unmatched detections of classes that are not annotated throughout are ignored. Raises DataError for anything else.

    >>> replace(COCO_RULES, max_detections=[100, 10]).max_detections
    (10, 100)
    """

    iou_thresholds: Floats
    recalls: Floats
    max_detections: tuple[int, ...]
    areas: tuple[tuple[str, float, float], ...]
    in_image: int | None = None
    federated: bool = False

    def __post_init__(self) -> None:
        """Check what is set, and sort it."""
        assert_is(self.federated, bool, "as 'federated'")
        for name, value in (
            ("iou_thresholds", as_thresholds("iou_thresholds", self.iou_thresholds)),
            ("recalls", as_shares("recalls", self.recalls)),
            ("max_detections", as_counts("max_detections", self.max_detections)),
            ("areas", as_ranges("areas", self.areas)),
            ("in_image", None if self.in_image is None else as_count("in_image", self.in_image)),
        ):
            object.__setattr__(self, name, value)
        if self.federated and (taken := set(FREQUENCIES).intersection(self.sizes)):
            raise DataError(
                f"AP{min(taken)} is of classes by their frequency in these rules: call the range in 'areas' otherwise"
            )

    @property
    def sizes(self) -> tuple[str, ...]:
        """How figures call the ranges of areas after the first one, such as "s" in APs."""
        return short_names([name for name, _, _ in self.areas[1:]])


COCO_RULES: Final = CocoRules(
    iou_thresholds=np.linspace(0.5, 0.95, 10),
    recalls=np.linspace(0.0, 1.0, 101),
    max_detections=(1, 10, 100),
    areas=(
        ("all", 0.0, 1e10),
        ("small", 0.0, 32.0**2),
        ("medium", 32.0**2, 96.0**2),
        ("large", 96.0**2, 1e10),
    ),
)
"""The official settings for boxes and masks. Source: pycocotools 2.0.11, cocoeval.py, Params.setDetParams."""


LVIS_RULES: Final = replace(COCO_RULES, max_detections=(300,), in_image=300, federated=True)
"""The settings of LVIS. Source: lvis 0.5.3, eval.py, Params; results.py, limit_dets_per_image."""


@dataclass(frozen=True, slots=True, eq=False)
class CocoObjects:
    """Ground truth, in the order of the annotation file.

    image, label: int32 (m,), numbers from 0, images in rising order of their identifiers; area: float64 (m,), the
    annotated one in pixels; crowd: bool (m,), regions that are ignored and may be matched again and again; unnumbered:
    bool (m,), annotations whose id is 0, of which pycocotools counts every match as a false positive.
    """

    image: Integers
    label: Integers
    area: Floats
    crowd: Flags
    unnumbered: Flags


@dataclass(frozen=True, slots=True, eq=False)
class CocoDetections:
    """Detections, in the order of the results file.

    image, label: int32 (n,), as in CocoObjects; confidence: float64 (n,), no NaN; area: float64 (n,), in pixels;
    exempt: bool (n,), or None for nowhere: detections that are ignored where they match nothing, as LVIS does in images
    whose objects of the class are not all annotated.
    """

    image: Integers
    label: Integers
    confidence: Floats
    area: Floats
    exempt: Flags | None = None

    def __len__(self) -> int:
        return len(self.image)


PairIoU = Callable[[Places, Places], Floats]
"""IoU of pairs: intp (p,), rows of detections, and intp (p,), rows of objects, give float64 (p,)."""


def box_iou(detected: Floats, annotated: Floats, crowd: Flags) -> PairIoU:
    """IoU of half-open boxes, and with a crowd the share of the detection that lies in it.

    detected: float64 (n, 4), annotated: float64 (m, 4), left, top, width, height in pixels; crowd: bool (m,).
    The operations and their order are those of pycocotools 2.0.11, maskApi.c, bbIou.

    >>> iou = box_iou(np.array([[0.0, 0, 10, 10]]), np.array([[0.0, 0, 10, 5]]), np.array([False]))
    >>> iou(np.array([0]), np.array([0])).item()
    0.5
    """
    return partial(_iou_of_pairs, detected, annotated, crowd)  # no closure, which could not be pickled


def _iou_of_pairs(
    detected: Floats, annotated: Floats, crowd: Flags, detections: Places, objects: Places
) -> Floats:
    left, top, right, bottom, area = _sides(detected[detections])
    other_left, other_top, other_right, other_bottom, other_area = _sides(annotated[objects])
    width = np.minimum(right, other_right) - np.maximum(left, other_left)
    height = np.minimum(bottom, other_bottom) - np.maximum(top, other_top)
    shared = np.maximum(width, 0) * np.maximum(height, 0)
    union = np.where(crowd[objects], area, area + other_area - shared)
    found: Floats = shared / np.where(shared > 0, union, 1)
    return found


@np.errstate(over="ignore")
def _sides(boxes: Floats) -> tuple[Floats, ...]:
    left, top, width, height = np.ascontiguousarray(boxes.T)
    return left, top, width + left, height + top, width * height
