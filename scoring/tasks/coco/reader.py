"""Detections read from COCO's JSON and from arrays, all classes together."""

from collections.abc import Iterator

import numpy as np

from scoring.data.boxes import BoxConvention, convert_boxes
from scoring.data.checking import DataError
from scoring.data.description import UNKNOWN_SIDE
from scoring.data.detections import Detections
from scoring.data.ground_truth import GroundTruth
from scoring.data.instance_masks import InstanceMasks
from scoring.data.masks import masks_of_arrays
from scoring.errors import Problems
from scoring.metrics.coco.arrays import CocoDetections
from scoring.readers.coco_json.detections import CocoResults, read_coco_detections
from scoring.readers.image_index import ImageIndex
from scoring.tasks.matching_names import places_of
from scoring.tasks.task import Keyed


def read_boxes(data: bytes, images: ImageIndex, /, *, file: str, problems: Problems) -> CocoResults:
    """Read detections with boxes.

    >>> from scoring.data.description import Description, Image
    >>> images = ImageIndex.of(Description("COCO", "val", ("cat",), (), (Image("3", 9, 9),), class_numbers=(7,)))
    >>> found = b'[{"image_id": 3, "category_id": 7, "bbox": [0, 0, 4, 2], "score": 0.5}]'
    >>> read_boxes(found, images, file="detections.json", problems=Problems()).boxes.tolist()
    [[0.0, 0.0, 4.0, 2.0]]
    """
    return read_coco_detections(data, images.numbers, file=file, problems=problems, most=images.max_lines)


def read_segmentations(data: bytes, images: ImageIndex, /, *, file: str, problems: Problems) -> CocoResults:
    """Read detections with masks; where the first one has a box, the area of all is that of their boxes.

    >>> from scoring.data.description import Description, Image
    >>> images = ImageIndex.of(Description("COCO", "val", ("cat",), (), (Image("3", 2, 2),), class_numbers=(7,)))
    >>> whole = b'"segmentation": {"size": [2, 2], "counts": [0, 4]}'
    >>> found = b'[{"image_id": 3, "category_id": 7, "score": 0.5, ' + whole + b"}]"
    >>> read_segmentations(found, images, file="segmentations.json", problems=Problems()).detections.area.tolist()
    [4.0]
    """
    return read_coco_detections(
        data, images.numbers, file=file, problems=problems, masks=True, most=images.max_lines
    )


def accepts_boxes(predictions: object) -> bool:
    """Whether these are detections with boxes."""
    return isinstance(predictions, Detections)


def accepts_masks(predictions: object) -> bool:
    """Whether these are detections with masks."""
    return isinstance(predictions, InstanceMasks)


def split_boxes(predictions: Detections, truth: GroundTruth) -> Iterator[Keyed[CocoResults]]:
    """All detections as one file has them, with half-open boxes.

    Raises DataError for detections in an image, or of a class, that the ground truth does not have.
    """
    lists = truth.lists
    convention = predictions.convention or truth.tables.convention
    edges = convert_boxes(predictions.boxes, convention, BoxConvention.HALF_OPEN)
    sides = edges[:, 2:] - edges[:, :2] if predictions.sizes is None else predictions.sizes
    boxes = np.concatenate([edges[:, :2], sides], axis=1)
    with np.errstate(over="ignore"):  # huge boxes have an infinite area
        areas = boxes[:, 2] * boxes[:, 3]
    detections = CocoDetections(
        places_of("image", predictions.image, predictions.images, lists.images[: lists.main]),
        places_of("class", predictions.label, predictions.classes, lists.classes),
        predictions.score,
        areas,
    )
    yield Keyed("detections", CocoResults(detections, boxes, None))


def split_masks(predictions: InstanceMasks, truth: GroundTruth) -> Iterator[Keyed[CocoResults]]:
    """All detections as one file has them, with the areas of their masks.

    Raises DataError for detections in an image, or of a class, that the ground truth does not have, and for a mask of another
    size than its image, where that is known.
    """
    lists = truth.lists
    image = places_of("image", predictions.image, predictions.images, lists.images[: lists.main])
    label = places_of("class", predictions.label, predictions.classes, lists.classes)
    found = np.array([each.shape for each in predictions.masks], np.int64).reshape(-1, 2)
    expected = truth.tables.sizes[image].astype(np.int64)[:, ::-1]
    differs = (found != expected).any(axis=1) & (expected[:, 0] != UNKNOWN_SIDE)
    for row in np.flatnonzero(differs)[:1].tolist():
        name, shape = lists.images[image[row]], tuple(expected[row].tolist())
        raise DataError(
            f"expected masks of shape {shape} in the image '{name}', found {predictions.masks[row].shape}"
        )
    masks = masks_of_arrays(predictions.masks)
    detections = CocoDetections(image, label, predictions.score, masks.area.astype(np.float64))
    yield Keyed("segmentations", CocoResults(detections, masks.boxes, masks))
