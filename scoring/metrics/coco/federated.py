"""Which detections count where not every class is annotated in every image."""

from dataclasses import replace

import numpy as np

from scoring.data.arrays import Flags, Integers, Places
from scoring.data.tables import Federation
from scoring.metrics.coco.arrays import CocoDetections, CocoObjects
from scoring.metrics.ranking import rank


def most_confident_in_images(detections: CocoDetections, most: int) -> Places:
    """The rows of the `most` most confident detections of each image, intp (k,), in their order; equal ones count as they stand.

    Source: lvis 0.5.3, results.py, limit_dets_per_image.

    >>> three = CocoDetections(np.zeros(3, np.int32), np.zeros(3, np.int32), np.array([0.5, 0.9, 0.5]), np.ones(3))
    >>> most_confident_in_images(three, 2).tolist()
    [0, 1]
    """
    ranked = rank(detections.confidence)
    order = ranked[np.argsort(detections.image[ranked], kind="stable")]
    image = detections.image[order]
    nth = np.arange(len(order)) - np.searchsorted(image, image)
    found: Places = np.sort(order[nth < most])
    return found


def annotated(detections: CocoDetections, objects: CocoObjects, federation: Federation) -> Flags:
    """Whether each detection has an area, and its class is annotated in its image or known to be absent: bool (n,).

    Source: lvis 0.5.3, eval.py, LVISEval._prepare; lvis.py, LVIS.get_ann_ids.

    >>> zero, one, no = np.zeros(1, np.int32), np.ones(1), np.zeros(1, np.bool_)
    >>> pairs = Federation(np.empty((0, 2), np.int32), np.empty((0, 2), np.int32), np.zeros(2, np.int8))
    >>> found = CocoDetections(np.zeros(2, np.int32), np.array([0, 1], np.int32), np.ones(2), np.ones(2))
    >>> annotated(found, CocoObjects(zero, zero, one, no, no), pairs).tolist()
    [True, False]
    """
    positive = np.stack([objects.image, objects.label], axis=1)
    known = _are_among(detections, np.concatenate([positive, federation.negative]))
    found: Flags = known & (detections.area > 0)
    return found


def with_exemptions(detections: CocoDetections, federation: Federation) -> CocoDetections:
    """The detections, those exempt whose class is not annotated throughout in their image.

    Source: lvis 0.5.3, eval.py, LVISEval.evaluate_img.

    >>> pairs = Federation(np.empty((0, 2), np.int32), np.array([[0, 1]], np.int32), np.zeros(2, np.int8))
    >>> found = CocoDetections(np.zeros(2, np.int32), np.array([0, 1], np.int32), np.ones(2), np.ones(2))
    >>> with_exemptions(found, pairs).exempt.tolist()
    [False, True]
    """
    return replace(detections, exempt=_are_among(detections, federation.inexhaustive))


def _are_among(detections: CocoDetections, pairs: Integers) -> Flags:
    images, labels = pairs.astype(np.int64).T
    width = int(max(labels.max(initial=0), detections.label.max(initial=0))) + 1
    found: Flags = np.isin(
        detections.image.astype(np.int64) * width + detections.label, images * width + labels
    )
    return found
