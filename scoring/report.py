"""What comes out of a scoring: numbers for every class, and exhibits that a page can show."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Final, Self

import numpy as np

from scoring.answers import RankedAnswers
from scoring.measures.confusion import ConfusionMatrix
from scoring.measures.ranking import IGNORED, RIGHT, WRONG, PrecisionRecall, precision_recall
from scoring.measures.roc import RocCurve, ends_of_ties


@dataclass(frozen=True, slots=True)
class ClassResult:
    """The score of one class in [0, 1], or why there is none; what there was to find, and the answers given."""

    name: str
    value: float | None
    reason: str | None
    positives: int
    answers: int


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """Names and scores in [0, 1]."""

    kind: ClassVar[str] = "score_table"
    title: str
    rows: tuple[tuple[str, float | None], ...]

    def to_plain(self) -> dict[str, Any]:
        """The table as JSON has it."""
        return {"kind": self.kind, "title": self.title, "rows": [list(row) for row in self.rows]}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """What `to_plain` said.

        >>> table = ScoreTable("Average precision", (("car", 0.5), ("cat", None)))
        >>> ScoreTable.from_plain(table.to_plain()) == table
        True
        """
        return cls(plain["title"], tuple((name, value) for name, value in plain["rows"]))


@dataclass(frozen=True, slots=True)
class Curve:
    """Precision over recall: positives to find, and one int8 for each answer, the best first, as `ranking` has them."""

    kind: ClassVar[str] = "curve"
    class_name: str
    positives: int
    verdicts: bytes

    def points(self) -> PrecisionRecall:
        """Every point as the kit's program draws it: one for each answer, NaN where nothing is counted yet.

        >>> Curve("car", 2, bytes([1, 0, 1])).points().precision.round(2).tolist()
        [1.0, 0.5, 0.67]
        """
        return precision_recall(np.frombuffer(self.verdicts, np.int8), self.positives)

    def envelope(self, levels: int = 41) -> list[float]:
        """The best precision at each of so many recalls from 0 to 1 or beyond; 0 where it is never reached.

        >>> Curve("car", 2, bytes([1, 0, 1])).envelope(3)
        [1.0, 1.0, 0.6666666666666666]
        """
        points = self.points()
        best = np.fmax.accumulate(points.precision[::-1])[::-1]
        wanted = np.arange(levels) / (levels - 1)
        reached = np.searchsorted(points.recall, wanted) if self.positives else np.full(levels, len(best))
        values: list[float] = np.nan_to_num(np.append(best, 0.0))[reached].tolist()
        return values

    def to_plain(self) -> dict[str, Any]:
        """The curve as JSON has it: where the few answers are that are not wrong.

        >>> Curve("car", 2, bytes([1, 0, 1])).to_plain()["right"]
        [0, 2]
        """
        verdicts = np.frombuffer(self.verdicts, np.int8)
        return {
            "kind": self.kind,
            "class_name": self.class_name,
            "positives": self.positives,
            "answers": len(verdicts),
            "right": np.flatnonzero(verdicts == RIGHT).tolist(),
            "ignored": np.flatnonzero(verdicts == IGNORED).tolist(),
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """What `to_plain` said.

        >>> curve = Curve("car", 2, bytes([1, 0, 1]))
        >>> Curve.from_plain(curve.to_plain()) == curve
        True
        """
        verdicts = np.full(plain["answers"], WRONG, np.int8)
        verdicts[np.array(plain["right"], np.intp)] = RIGHT
        verdicts[np.array(plain["ignored"], np.intp)] = IGNORED
        return cls(plain["class_name"], plain["positives"], verdicts.tobytes())


Exhibit = ScoreTable | Curve | RocCurve | ConfusionMatrix
EXHIBITS: Final[Mapping[str, type[Exhibit]]] = {
    each.kind: each for each in (ScoreTable, Curve, RocCurve, ConfusionMatrix)
}
"""Every kind that a report holds, by its name; a page has a template for each."""


def draw_precision(ranked: RankedAnswers) -> Curve:
    """Precision over recall, a point for each row."""
    return Curve(ranked.class_name, ranked.positives, ranked.verdicts.tobytes())


def draw_roc(ranked: RankedAnswers) -> RocCurve:
    """Found over false alarms, a point for each confidence."""
    return RocCurve(ranked.class_name, ranked.verdicts.tobytes(), ends_of_ties(ranked.confidence).tobytes())


Draw = Callable[[RankedAnswers], Curve | RocCurve]
"""What a page shows of a ranking."""


@dataclass(frozen=True, slots=True)
class Report:
    """The result of an archive in a competition.

    headline and values are in [0, 1], or None with a reason. receipt: sha256, in hexadecimal, of the result files, the
    truth's fingerprint, the protocol, the scorer's version, and the classes chosen, if a subset was declared: what
    decided these numbers and nothing else.
    """

    competition: int
    protocol: str
    measure: str
    headline: float | None
    headline_reason: str | None
    classes: tuple[ClassResult, ...]
    exhibits: tuple[Exhibit, ...]
    scorer: str
    receipt: str

    def to_json(self) -> str:
        """One line of JSON, the same for the same report."""
        plain = {name: getattr(self, name) for name in (each.name for each in fields(self))}
        plain["classes"] = [asdict(each) for each in self.classes]
        plain["exhibits"] = [exhibit.to_plain() for exhibit in self.exhibits]
        return json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote; raises KeyError, TypeError or ValueError for anything else.

        >>> row = ClassResult("car", 0.5, None, positives=2, answers=3)
        >>> report = Report(3, "voc2012", "Average precision", 0.5, None, (row,), (), scorer="1", receipt="")
        >>> Report.from_json(report.to_json()) == report
        True
        """
        plain = json.loads(text)
        classes = tuple(ClassResult(**each) for each in plain.pop("classes"))
        exhibits = tuple(EXHIBITS[each["kind"]].from_plain(each) for each in plain.pop("exhibits"))
        return cls(classes=classes, exhibits=exhibits, **plain)
