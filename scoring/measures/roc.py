"""Right answers found against false alarms raised: the curve of 2006 and the area under it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from scoring.arrays import Flags, Floats, Labels
from scoring.measures.ranking import IGNORED, RIGHT, WRONG


@dataclass(frozen=True, slots=True, eq=False)
class RocPoints:
    """The kit's curve, from (0, 0) to (1, 1), with a point where each run of equal confidences ends.

    false_alarms: the share of negatives ranked up to there, found: that of positives; float64 (n,) each. NaN where there is no
    negative or no positive at all.
    """

    false_alarms: Floats
    found: Floats


def ends_of_ties(confidence: Floats) -> Flags:
    """Which answers are the last of their confidence; confidence: float64 (n,), falling.

    >>> ends_of_ties(np.array([0.9, 0.5, 0.5, -np.inf])).tolist()
    [True, False, True, True]
    """
    ends = np.ones(len(confidence), np.bool_)
    np.not_equal(confidence[1:], confidence[:-1], out=ends[:-1])
    return ends


def roc(verdicts: Labels, ends: Flags) -> RocPoints:
    """The curve of a ranking: verdicts int8 (n,), the best answer first; ends: bool (n,), see `ends_of_ties`.

    Equal confidences are one step, in whatever order they stand. Source: VOC2006 development kit, VOCroc.m.

    >>> roc(np.array([1, 0, 1], np.int8), np.array([True, True, True])).found.tolist()
    [0.0, 0.5, 0.5, 1.0, 1.0]
    """
    return RocPoints(_shares(verdicts == WRONG, ends), _shares(verdicts == RIGHT, ends))


def _shares(counted: Flags, ends: Flags) -> Floats:
    so_far = np.cumsum(counted, dtype=np.float64)
    with np.errstate(invalid="ignore"):  # 0/0 is NaN, on purpose
        shares = so_far[ends] / np.count_nonzero(counted)
    return np.concatenate([[0.0], shares, [1.0]])


def area_under_roc(points: RocPoints) -> float:
    """The area under the lower steps of the curve: a step up counts from the next false alarm on only.

    NaN where there is no positive or no negative. Source: VOC2006 development kit, VOCroc.m.

    >>> area_under_roc(roc(np.array([1, 0, 1], np.int8), np.array([True, True, True])))
    0.5
    """
    found = points.found
    kept = np.ones(len(found), np.bool_)
    np.not_equal(found[1:-1], found[:-2], out=kept[1:-1])
    steps = np.diff(points.false_alarms[kept]) * found[kept][:-1]
    return float(np.cumsum(steps)[-1])  # added up from left to right, as everywhere


@dataclass(frozen=True, slots=True)
class RocCurve:
    """Found over false alarms: one int8 for each ranked image, the best first, and one byte, 1 where a tie ends."""

    kind: ClassVar[str] = "roc_curve"
    class_name: str
    verdicts: bytes
    ends: bytes

    def points(self) -> RocPoints:
        """Every point as the kit's program draws it.

        >>> RocCurve("car", bytes([1, 0, 1]), bytes([1, 1, 1])).points().found.tolist()
        [0.0, 0.5, 0.5, 1.0, 1.0]
        """
        return roc(np.frombuffer(self.verdicts, np.int8), np.frombuffer(self.ends, np.bool_))

    def envelope(self, levels: int = 41) -> list[float]:
        """What is found at most with each of so many shares of false alarms, from 0 to 1; 0 where nothing is known.

        >>> RocCurve("car", bytes([1, 0, 1]), bytes([1, 1, 1])).envelope(3)
        [0.5, 0.5, 1.0]
        """
        points = self.points()
        wanted = np.arange(levels) / (levels - 1)
        if np.isnan(points.false_alarms).any():
            return [0.0] * levels
        reached = np.searchsorted(points.false_alarms, wanted, side="right") - 1
        values: list[float] = np.nan_to_num(points.found)[reached].tolist()
        return values

    def to_plain(self) -> dict[str, Any]:
        """The curve as JSON has it: where the answers are that are not wrong, and those that tie with the next one."""
        verdicts = np.frombuffer(self.verdicts, np.int8)
        return {
            "kind": self.kind,
            "class_name": self.class_name,
            "answers": len(verdicts),
            "right": np.flatnonzero(verdicts == RIGHT).tolist(),
            "ignored": np.flatnonzero(verdicts == IGNORED).tolist(),
            "tied": np.flatnonzero(~np.frombuffer(self.ends, np.bool_)).tolist(),
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """What `to_plain` said.

        >>> curve = RocCurve("car", bytes([1, 0, 1]), bytes([1, 0, 1]))
        >>> RocCurve.from_plain(curve.to_plain()) == curve
        True
        """
        verdicts = np.full(plain["answers"], WRONG, np.int8)
        verdicts[np.array(plain["right"], np.intp)] = RIGHT
        verdicts[np.array(plain["ignored"], np.intp)] = IGNORED
        ends = np.ones(plain["answers"], np.bool_)
        ends[np.array(plain["tied"], np.intp)] = False
        return cls(plain["class_name"], verdicts.tobytes(), ends.tobytes())
