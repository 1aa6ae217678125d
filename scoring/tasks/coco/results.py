"""The result of COCO's evaluation."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from scoring.data.checking import some_of
from scoring.results import Explanation
from scoring.tasks.coco.explaining import Evidence, explain


@dataclass(frozen=True, slots=True)
class CocoClass:
    """The figures of one class, in [0, 1] or None where no object counts; value is its AP, reason why there is none.

    positives: objects that are not crowds; predictions: detections.
    """

    name: str
    value: float | None
    reason: str | None
    positives: int
    predictions: int
    figures: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class CocoResult:
    """The twelve figures of a set of detections, altogether and by class; the headline is AP.

    receipt: sha256, in hexadecimal, of what decided these numbers and nothing else: both files, the protocol and the
    scorer's version. evidence: what was scored, precision and recall in full, and the matches.
    """

    protocol: str
    measure: str
    figures: Mapping[str, float | None]
    classes: tuple[CocoClass, ...]
    receipt: str
    evidence: Evidence = field(repr=False, compare=False)

    @property
    def headline(self) -> float | None:
        """AP, in [0, 1]; None where no class has an object that counts."""
        return self.figures["AP"]

    def __getitem__(self, class_name: str) -> CocoClass:
        """The figures of a class. Raises KeyError for an unknown one."""
        found = {each.name: each for each in self.classes}
        if class_name not in found:
            raise KeyError(f"the result has no class '{class_name}'; it has {some_of(list(found))}")
        return found[class_name]

    def explain(self) -> tuple[Explanation, ...]:
        """Why a figure is below 1, or is none, class by class.

        crowd: crowds need not be found and hide what is detected in them; area: objects without an area, or whose
        annotated area is of another range of sizes than their box or mask; cap: detections beyond the most that count;
        tie: equal confidences or IoU that the order of the files decides; id: annotations numbered 0; missed: objects
        without a detection; wrong: detections without an object. Raises LookupError for results by the rules of LVIS.
        """
        if self.protocol != "coco":
            raise LookupError("explanations are those of COCO's rules")
        return explain(self.evidence)

    def to_plain(self) -> dict[str, Any]:
        """The result as JSON has it."""
        return {
            "protocol": self.protocol,
            "measure": self.measure,
            "headline": self.headline,
            "figures": dict(self.figures),
            "classes": {
                each.name: {
                    "value": each.value,
                    "reason": each.reason,
                    "positives": each.positives,
                    "predictions": each.predictions,
                    "figures": dict(each.figures),
                }
                for each in self.classes
            },
            "receipt": self.receipt,
        }

    def __str__(self) -> str:
        """A table: the figures in percent, of all classes and of each."""
        rows = [("", *self.figures), _row("all", self.figures)]
        rows += [_row(each.name, each.figures) for each in self.classes]
        wide = max(len(row[0]) for row in rows)
        return "\n".join(row[0].ljust(wide) + "".join(cell.rjust(7) for cell in row[1:]) for row in rows)


def _row(name: str, figures: Mapping[str, float | None]) -> tuple[str, ...]:
    return name, *("-" if value is None else f"{100 * value:.1f}" for value in figures.values())
