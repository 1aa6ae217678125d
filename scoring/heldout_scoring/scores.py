"""The scores of classes and of a competition, which tasks compute and results hold."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Self

from .data.matches import AllMatches
from .errors import Problem
from .exhibits import Exhibit

NOT_ENTERED: Final = "not entered"
"""The reason of a class without predictions, and how that of a mean without some of its classes begins."""


@dataclass(frozen=True, slots=True)
class ClassResult:
    """The score of one class in [0, 1], or None with the reason, and its numbers of positives and predictions.

    counted_as: what the mean of the classes counts a class without a value as, where it does, as the kits do without objects;
    the reason says so, too. is_entered: False for one without predictions where these may be left out. figures: those of COCO's
    protocols by name, in [0, 1] or None; empty for others, and no part of the JSON form.
    """

    name: str
    value: float | None
    reason: str | None
    positives: int
    predictions: int
    counted_as: float | None = None
    is_entered: bool = True
    figures: Mapping[str, float | None] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def not_entered(cls, name: str, positives: int) -> Self:
        """A class without predictions.

        >>> ClassResult.not_entered("cat", 1).reason
        'not entered'
        """
        return cls(name, None, NOT_ENTERED, positives, 0, is_entered=False)


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why figures are not what one might expect: code, the class, how many objects or detections, and a sentence.

    code: crowd, difficult, area, cap, tie, id, missed or wrong.
    """

    code: str
    class_name: str
    count: int
    message: str


Explain = Callable[[], tuple[Explanation, ...]]
"""Why the figures of COCO's rules are below 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """The scores of one competition; None with a reason, never NaN; explain: by COCO's rules; notes: on the annotation."""

    measure: str
    headline: float | None
    headline_reason: str | None
    classes: tuple[ClassResult, ...]
    exhibits: tuple[Exhibit, ...]
    matches: AllMatches
    explain: Explain | None = None
    notes: tuple[Problem, ...] = ()
