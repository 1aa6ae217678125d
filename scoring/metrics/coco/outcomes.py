"""What became of each detection, threshold by threshold."""

import numpy as np

from scoring.data.arrays import Labels
from scoring.metrics.coco.arrays import EVERY_SIZE, CocoDetections, CocoObjects, CocoRules
from scoring.metrics.coco.tables import Matched
from scoring.metrics.ranking import FALSE_POSITIVE, IGNORED, TRUE_POSITIVE


def outcomes_of(
    matched: Matched, detections: CocoDetections, objects: CocoObjects, rules: CocoRules, threshold: int
) -> Labels:
    """Whether each detection is a true positive (1), a false positive (0) or ignored (-1) among objects of every size.

    threshold: which of the rules' thresholds, from 0. Returns int8 (k,), in the order of `matched.arranged.by_class`.

    >>> from scoring.metrics.coco.arrays import COCO_RULES
    >>> from scoring.metrics.coco.tables import tabulate_coco
    >>> none, one = np.array([False]), np.zeros(1, np.int32)
    >>> car = CocoObjects(one, one, np.array([100.0]), none, none)
    >>> found = CocoDetections(one, one, np.array([0.9]), np.array([100.0]))
    >>> tables = tabulate_coco(found, car, lambda d, o: np.array([0.72]), images=1, classes=1)
    >>> [outcomes_of(tables.matched(), found, car, COCO_RULES, threshold).item() for threshold in (4, 5)]
    [1, 0]
    """
    _, low, high = rules.areas[EVERY_SIZE]
    arranged = matched.arranged
    ignored = objects.crowd | (objects.area < low) | (objects.area > high)
    unmatched = (detections.area < low) | (detections.area > high)
    if detections.exempt is not None:
        unmatched |= detections.exempt
    found = np.where(unmatched[arranged.by_class], np.int8(IGNORED), np.int8(FALSE_POSITIVE))
    for matches in matched.matches:
        here = matches.threshold == threshold
        places, things = arranged.place[matches.detection[here]], matches.object[here]
        found[places] = np.where(objects.unnumbered[things], FALSE_POSITIVE, TRUE_POSITIVE)
        found[places[ignored[things]]] = IGNORED
    return found
