"""COCO's two tasks: their functions."""

from dataclasses import replace
from typing import Final

from scoring.archives.checking import nothing_to_add
from scoring.tasks.coco.checks import check_boxes, check_segmentations
from scoring.tasks.coco.reader import (
    accepts_boxes,
    accepts_masks,
    read_boxes,
    read_segmentations,
    split_boxes,
    split_masks,
)
from scoring.tasks.coco.scoring import columns, match, resample, score
from scoring.tasks.coco.truth import (
    load_boxes,
    load_masks,
    missing_boxes,
    missing_boxes_of_lvis,
    missing_masks,
    missing_masks_of_lvis,
    select,
)
from scoring.tasks.detection.checks import remark_on_boxes
from scoring.tasks.task import Task, one_for_each_image

COCO_DETECTION: Final = Task(
    name="coco-detection",
    title="Detection, boxes",
    read=read_boxes,
    check_file=check_boxes,
    check_all=remark_on_boxes,
    accepts=accepts_boxes,
    split=split_boxes,
    missing_truth=missing_boxes,
    load=load_boxes,
    match=match,
    score=score,
    resample=resample,
    fewest_lines=one_for_each_image,
    columns=columns,
    select=select,
)
"""How boxes are scored by COCO's rules, all classes in one file."""


COCO_SEGMENTATION: Final = replace(
    COCO_DETECTION,
    name="coco-segmentation",
    title="Instance segmentation, masks",
    read=read_segmentations,
    check_file=check_segmentations,
    check_all=nothing_to_add,
    accepts=accepts_masks,
    split=split_masks,
    missing_truth=missing_masks,
    load=load_masks,
)
"""How masks are scored by COCO's rules, all classes in one file."""


LVIS_DETECTION: Final = replace(COCO_DETECTION, name="lvis-detection", missing_truth=missing_boxes_of_lvis)
"""How boxes are scored where not every class is annotated in every image."""


LVIS_SEGMENTATION: Final = replace(
    COCO_SEGMENTATION, name="lvis-segmentation", missing_truth=missing_masks_of_lvis
)
"""How masks are scored where not every class is annotated in every image."""
