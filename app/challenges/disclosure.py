"""The disclosure policy: what a reader may see of a phase's results. Pure functions."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import ceil, log2
from statistics import fmean
from typing import Final, Protocol

from app.challenges.challenges import PhaseView
from app.core.access import Actor
from app.models import Disclosure
from heldout_scoring import ClassResult


@dataclass(frozen=True, slots=True)
class StoredScore:
    """A score in [0, 1]; `reason` says why there is no value.

    held_out_value: what readers see while the annotation is hidden; low, high: the 95 % confidence interval, once it is
    computed; positives, predictions: counts, of a class.
    """

    value: float | None
    held_out_value: float | None
    reason: str | None
    low: float | None = None
    high: float | None = None
    positives: int | None = None
    predictions: int | None = None


@dataclass(frozen=True, slots=True)
class DisclosureChange:
    """The disclosure of a phase before a change; None for values that it left alone."""

    at: datetime
    disclosure: Disclosure | None
    details_at_close: bool | None


@dataclass(frozen=True, slots=True)
class Use:
    """A team's scored output: the number of results, of values of classes in them, and of ladder steps."""

    results: int
    values: int
    steps: int


@dataclass(frozen=True, slots=True)
class ProbingSigns:
    """How many prediction files of a team's scored results look like probing, one file per class.

    constant: one confidence for everything; partial: few predictions.
    """

    constant: int
    partial: int
    classes: int


@dataclass(frozen=True, slots=True)
class Exposure:
    """How much a team can have learnt about a phase's hidden labels.

    archives: scored; contents: distinct ones; incomplete: results that omit predictions; lists: those that look like probing;
    bits: see `bits_so_far`.
    """

    team_id: int
    team: str
    archives: int
    contents: int
    incomplete: int
    use: Use
    lists: ProbingSigns
    bits: float | None


@dataclass(frozen=True, slots=True)
class DisclosureLevel:
    """A level of disclosure, in the words of every page that explains it.

    shown: what participants see until the phase is over; recovered: the percentage of all labels that the best attacker
    of SECURITY.md recovers in a year with the default quota, at most; None if everything is shown. rule: in the rules of the
    challenge; notice: before one submits; hidden: beside a result, what of it is hidden until the phase is over.
    """

    shown: str
    meant_for: str
    recovered: float | None
    rule: str
    notice: str
    hidden: str


DISCLOSURE_LEVELS: Final = {
    Disclosure.FULL: DisclosureLevel(
        shown="Every digit, curves, intervals, counts, matrices.",
        meant_for="Annotation that is public, such as that of val.",
        recovered=None,
        rule="The annotation is public, so nothing of a score is hidden: lists round it to tenths of a percent, CSV and JSON have every digit.",
        notice="You see everything of the score: pages round it, CSV and JSON have every digit, and there are curves and details.",
        hidden="",
    ),
    Disclosure.CLASSES: DisclosureLevel(
        shown="Each class and the mean, in tenths of a percent.",
        meant_for="The usual rule for a held-out test set, as on the PASCAL VOC server.",
        recovered=1.42,
        rule="The annotation is hidden: each class and the mean are shown, in tenths of a percent.",
        notice="You see each class and the mean in tenths of a percent.",
        hidden="Curves, confidence intervals and counts are hidden",
    ),
    Disclosure.MEAN: DisclosureLevel(
        shown="Only the mean, in tenths of a percent; the classes when the phase is over.",
        meant_for="Test sets that stay in use for years.",
        recovered=0.03,
        rule="The annotation is hidden: only the mean is shown, in tenths of a percent.",
        notice="You see the mean in tenths of a percent, and no class.",
        hidden="Everything but the mean is hidden",
    ),
    Disclosure.LADDER: DisclosureLevel(
        shown="The mean of the team's best result so far, and a new one only where it beats that by a standard error; the"
        " classes when the phase is over.",
        meant_for="Test sets on which many people tune their methods.",
        recovered=0.01,
        rule="The annotation is hidden: only the mean is shown, in tenths of a percent, and a new mean only if it beats the best"
        " one of the team by a standard error.",
        notice="You see a new mean only if it is clearly better than the best one of your team.",
        hidden="The mean is that of the team's best result so far, unless this one beats it by a standard error; everything else"
        " is hidden",
    ),
    Disclosure.AT_CLOSE: DisclosureLevel(
        shown="No scores until the phase is over; then each class and the mean.",
        meant_for="A challenge with a date.",
        recovered=0.0,
        rule="The annotation is hidden: no scores are shown.",
        notice="You see no score until the phase is over.",
        hidden="Scores are hidden",
    ),
}
"""The levels of `Disclosure`; a test compares the figures with SECURITY.md."""

HELD_OUT_DECIMALS: Final = (
    3  # of values in [0, 1]; more would only help those who probe the hidden annotation
)


class Scored(Protocol):
    """A stored score of a class or of all; `held_out_value` is what readers see, before rounding, of hidden annotation."""

    @property
    def value(self) -> float | None:
        """The score itself, in [0, 1]."""

    @property
    def held_out_value(self) -> float | None:
        """The score, with 0 where a class has no value because of the ground truth; None only where predictions are missing."""

    @property
    def reason(self) -> str | None:
        """Why there is no value."""


@dataclass(frozen=True, slots=True)
class Visibility:
    """What one reader sees of a phase's results.

    means, classes: these values; details: every digit and exact times, curves, intervals, counts, matrices, further tables,
    and reasons that depend on the ground truth; by_ladder: the mean is the ladder's; only_complete: no values of classes
    from an incomplete result; beyond_public: the reader sees more than participants do.
    """

    means: bool
    classes: bool
    details: bool
    by_ladder: bool = False
    only_complete: bool = False
    beyond_public: bool = False

    @property
    def decimals(self) -> int | None:
        """Decimals shown of values in [0, 1]; None for every digit."""
        return None if self.details else HELD_OUT_DECIMALS

    def of_result(self, *, is_complete: bool) -> "Visibility":
        """Return what is visible of one result, which may lack predictions that the phase asks for."""
        return self if is_complete or not self.only_complete else replace(self, classes=False)

    def mean(self, own: Scored | None, ladder: Scored | None = None) -> float | None:
        """Return the mean of a result; `ladder` is the score that the ladder shows for it, by default its own."""
        if own is None or not self.means:
            return None
        return self._value((ladder or own) if self.by_ladder else own)

    def value(self, score: Scored) -> float | None:
        """Return the score of a class; None if the reader may not see it."""
        return self._value(score) if self.classes else None

    def interval(self, score: StoredScore) -> tuple[float | None, float | None]:
        """Return the confidence interval of a score; (None, None) if the details are hidden."""
        return (score.low, score.high) if self.details else (None, None)

    def reason(self, score: Scored) -> str | None:
        """Return why there is no value. Reasons that depend on the ground truth are details."""
        return score.reason if self.details or score.held_out_value is None else None

    def moment(self, moment: datetime) -> datetime:
        """Return a time, cut to the minute if details are hidden, because durations depend on the number of true positives.

        >>> PUBLIC[Disclosure.CLASSES].moment(datetime(2026, 11, 21, 9, 30, 59, 999999)).isoformat()
        '2026-11-21T09:30:00'
        """
        return moment if self.details else moment.replace(second=0, microsecond=0)

    def _value(self, score: Scored) -> float | None:
        if self.details:
            return score.value
        return None if score.held_out_value is None else round(score.held_out_value, HELD_OUT_DECIMALS)


PUBLIC: Final = {
    Disclosure.FULL: Visibility(means=True, classes=True, details=True),
    Disclosure.CLASSES: Visibility(means=True, classes=True, details=False),
    Disclosure.MEAN: Visibility(means=True, classes=False, details=False),
    Disclosure.LADDER: Visibility(means=True, classes=False, details=False, by_ladder=True),
    Disclosure.AT_CLOSE: Visibility(means=False, classes=False, details=False),
}
"""What everyone sees until a phase is over."""

EVERYTHING: Final = PUBLIC[Disclosure.FULL]


def public_visibility(phase: PhaseView) -> Visibility:
    """Return what participants and the public see.

    Once a held-out phase is over, the mean and the values of classes are shown, and the details only if its organiser chose
    so: with curves, random rankings reached 90 % mAP in three submissions, and test sets are used again.
    """
    if not phase.is_over:
        return replace(PUBLIC[phase.disclosure], only_complete=phase.only_complete)
    if phase.details_at_close or not phase.is_held_out:
        return EVERYTHING
    return PUBLIC[Disclosure.CLASSES]


def visibility_for(actor: Actor, phase: PhaseView) -> Visibility:
    """Return what this reader sees. Organisers always see everything."""
    public = public_visibility(phase)
    if actor.organises_challenge(phase.challenge_id):
        return replace(EVERYTHING, beyond_public=not public.details)
    return public


def withheld(phase: PhaseView, visibility: Visibility, *, is_complete: bool = True) -> str | None:
    """Return what is hidden of a result, why, and until when; None if nothing is."""
    if visibility.details:
        return None
    row = Disclosure.CLASSES if phase.is_over else phase.disclosure
    until = _until(phase)
    hidden = f"{DISCLOSURE_LEVELS[row].hidden} because the annotation of {phase.image_set} is held out{until}"
    if visibility.only_complete and not is_complete and row is Disclosure.CLASSES:
        return f"{hidden}. The values of classes are hidden, too, because the result is not complete"
    return hidden


def _until(phase: PhaseView) -> str:
    if phase.closes_at is None or phase.is_over:
        return ""
    if phase.details_at_close:
        return "; all details of the scores become public when the phase is over"
    if phase.disclosure is Disclosure.CLASSES:
        return ""
    return "; the values of classes become public when the phase is over"


def current_disclosure(phase: PhaseView) -> Disclosure:
    """Return the disclosure that applies now, which is wider once the phase is over."""
    if not phase.is_over:
        return phase.disclosure
    return Disclosure.FULL if public_visibility(phase).details else Disclosure.CLASSES


def disclosures_so_far(phase: PhaseView, changes: Iterable[DisclosureChange]) -> frozenset[Disclosure]:
    """Return every disclosure that has applied to a phase: the current one and those before these changes, newest first."""
    rows = {current_disclosure(phase)}
    for change in changes:
        phase = replace(
            phase,
            disclosure=change.disclosure or phase.disclosure,
            details_at_close=(
                phase.details_at_close if change.details_at_close is None else change.details_at_close
            ),
            is_over=phase.is_over_at(change.at),
        )
        rows.add(current_disclosure(phase))
    return frozenset(rows)


def bits_so_far(rows: Iterable[Disclosure], use: Use) -> float | None:
    """Return `bits_at_most` for the widest of these disclosures: all results may have been read while it applied."""
    bits = [bits_at_most(row, use) for row in rows]
    return None if None in bits else max(each for each in bits if each is not None)


def bits_at_most(disclosure: Disclosure, use: Use) -> float | None:
    """Return the most information, in bits, that the values shown to a team can carry; None if everything is shown.

    A value in tenths of a percent is one of 1001. If classes are shown, the mean can be one of two neighbours, because it is
    rounded after the values of classes are averaged. A ladder tells for every result whether it moved, and where to.

    >>> round(bits_at_most(Disclosure.CLASSES, Use(results=2, values=40, steps=1)))
    401
    """
    a_value = log2(10**HELD_OUT_DECIMALS + 1)
    match disclosure:
        case Disclosure.FULL:
            return None
        case Disclosure.CLASSES:
            return use.values * a_value + use.results
        case Disclosure.MEAN:
            return use.results * a_value
        case Disclosure.LADDER:
            return use.results + use.steps * a_value
    return 0.0  # nothing is shown until the phase is over


def most_bits(rows: Collection[Disclosure], uses: Iterable[Use]) -> int | None:
    """Return `bits_so_far` of the team that can have learnt most, rounded up to two digits; None if everything was shown.

    Rounding keeps readers from counting results that others keep private.

    >>> most_bits({Disclosure.MEAN}, [Use(results=3, values=0, steps=0), Use(results=31, values=0, steps=0)])
    310
    """
    if Disclosure.FULL in rows:
        return None
    bits = [bits_so_far(rows, use) for use in uses]
    most = ceil(max((each for each in bits if each is not None), default=0.0))
    step: int = 10 ** max(0, len(str(most)) - 2)
    return -(-most // step) * step


def held_out_value(score: ClassResult) -> float | None:
    """Return a class's value to show for hidden annotation: 0 if there is none because of the ground truth.

    It is None only where predictions are missing, as the team knows.

    >>> held_out_value(ClassResult("cat", None, "there is no such object in the set", 0, 3))
    0.0
    >>> held_out_value(ClassResult.not_entered("cat", 2))
    """
    return 0.0 if score.value is None and score.is_entered else score.value


def held_out_mean(mean: float | None, classes: Sequence[ClassResult]) -> float | None:
    """Return the mean to show for hidden annotation: of the held-out values if there is none because of the ground truth.

    >>> cat, dog = ClassResult("cat", 0.5, None, 1, 1), ClassResult("dog", None, "there is no such object in the set", 0, 3)
    >>> held_out_mean(None, [cat, dog]), held_out_mean(None, [cat, ClassResult.not_entered("dog", 2)])
    (0.25, None)
    """
    if mean is not None or not all(each.is_entered for each in classes):
        return mean
    return fmean([held_out_value(each) or 0.0 for each in classes] or [0.0])
