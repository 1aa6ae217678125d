"""Scores as they are stored, and the ways to disclose them as a page explains them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from app.models import Disclosure


@dataclass(frozen=True, slots=True)
class StoredScore:
    """A score in [0, 1] with what readers see of it while the annotation is hidden; `reason` says why there is no value.

    low, high: its 95 % confidence interval, once it is computed.
    """

    value: float | None
    held_out_value: float | None
    reason: str | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class RunScore:
    """A score of a run, as `StoredScore`: of a class, or of all of them together where there is no name."""

    class_name: str | None
    value: float | None
    held_out_value: float | None
    reason: str | None
    low: float | None = None
    high: float | None = None
    positives: int | None = None
    predictions: int | None = None


@dataclass(frozen=True, slots=True)
class TermsChange:
    """What of a phase's terms a change replaced, as it was; None for what it left alone."""

    at: datetime
    disclosure: Disclosure | None
    details_at_close: bool | None


@dataclass(frozen=True, slots=True)
class Use:
    """What a team has had scored: results, the values of classes in them, and those that were steps of a ladder."""

    results: int
    values: int
    steps: int


@dataclass(frozen=True, slots=True)
class Lists:
    """How many lists of classes in a team's scored results had one confidence for everything, or few predictions; of how many classes."""

    constant: int
    partial: int
    classes: int


@dataclass(frozen=True, slots=True)
class Exposure:
    """How much a team can have learnt of a phase's hidden labels.

    archives: scored; contents: different ones; incomplete: results that leave out predictions; lists: those that probe; bits: see
    `bits_so_far`.
    """

    team_id: int
    team: str
    archives: int
    contents: int
    incomplete: int
    use: Use
    lists: Lists
    bits: float | None


@dataclass(frozen=True, slots=True)
class Leak:
    """A way to disclose scores as its page explains it.

    shown: what participants see until the phase is over; recovered: of all labels, what the best of the attackers in SECURITY.md
    recovers in a year with the default quota at most, in percent; None where it is everything.
    """

    shown: str
    meant_for: str
    recovered: float | None


LEAKS: Final = {
    Disclosure.FULL: Leak(
        "Every digit, curves, intervals, counts, matrices.",
        "Annotation that is public, such as that of val.",
        None,
    ),
    Disclosure.CLASSES: Leak(
        "Each class and the mean, in tenths of a percent.",
        "The usual way of a held-out test set, as the PASCAL VOC server had it.",
        1.42,
    ),
    Disclosure.MEAN: Leak(
        "The mean alone, in tenths of a percent; the classes when the phase is over.",
        "Test sets that are used for years.",
        0.03,
    ),
    Disclosure.LADDER: Leak(
        "The mean of the team's best result so far, and a new one only where it beats that by a standard error; the classes"
        " when the phase is over.",
        "Test sets that many tune their methods on.",
        0.01,
    ),
    Disclosure.AT_CLOSE: Leak(
        "No scores until the phase is over; then each class and the mean.", "A challenge with a date.", 0.0
    ),
}
"""The rows of `Disclosure`; a test compares the figures with SECURITY.md."""
