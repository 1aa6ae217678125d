"""How a score depends on the overlap that is asked for."""

import math
from collections.abc import Sequence
from typing import Final

from scoring.analysis.placing import PlacedAnswers
from scoring.arrays import Labels
from scoring.findings import Sweep, SweepPoint, Swept
from scoring.measures.matching import Sought
from scoring.measures.ranking import Measure
from scoring.protocols import DetectionRules

OVERLAPS: Final = tuple(level / 10 for level in range(1, 10))


def sweep_overlap(
    placed: PlacedAnswers, sought: Sought, rules: DetectionRules, levels: Sequence[float] = OVERLAPS
) -> Sweep:
    """The score of a class if so much overlap were asked for, everything else by the rules.

    sought: as `rules.seek` leaves it. Source: Everingham et al., "The PASCAL Visual Object Classes (VOC)
    Challenge", 2010, section 6.2.3 and Figure 19.

    >>> import numpy as np
    >>> from scoring.answers import RankedAnswers
    >>> one, boxes = np.zeros(1, np.int32), np.array([[1.0, 1, 10, 10]])
    >>> placed = PlacedAnswers(RankedAnswers("cat", 1, one, np.array([0.9]), np.ones(1, np.int8)), boxes)
    >>> objects = Sought(one, one + 1, boxes + (0, 0, 0, 5), one > 0, one > 0)
    >>> from scoring.protocols import PROTOCOLS
    >>> sweep = sweep_overlap(placed, objects, PROTOCOLS["voc2012"].detection, [0.5, 0.6, 0.7])
    >>> [point.value for point in sweep.points]
    [1.0, 1.0, 0.0]
    """
    answers = placed.as_detections()
    judged = (rules.judge(answers, sought, rules.overlap, level).verdicts for level in levels)
    points = tuple(
        point_of(level, verdicts, sought.positives, rules.measure.of)
        for level, verdicts in zip(levels, judged, strict=True)
    )
    return Sweep(placed.ranked.class_name, Swept.OVERLAP, points)


def point_of(level: float, verdicts: Labels, positives: int, measure: Measure) -> SweepPoint:
    """What a ranking is worth at a level of a sweep.

    >>> import numpy as np
    >>> from scoring.measures.ranking import average_precision
    >>> point_of(0.5, np.array([1, 0], np.int8), 2, average_precision)
    SweepPoint(level=0.5, value=0.5, positives=2)
    """
    value = measure(verdicts, positives) if positives else math.nan
    return SweepPoint(level, None if math.isnan(value) else value, positives)
