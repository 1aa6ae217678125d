"""The rules of a phase: what it accepts and shows, which of them contradict each other, which changes are unfair, and words.

Pages, the API, the command line, data sets and the steps of a new challenge translate to `PhaseRules` and decide nothing of this.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from math import ceil
from typing import Any, Final, Self

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.models import WHOLE_PHASE, Disclosure, Phase, Publication, Quota, in_order
from app.web.formats import plural
from app.web.zones import MINUTE

DAY: Final = timedelta(days=1)
DEFAULT_GRACE: Final = timedelta(hours=1)
HELD_OUT_QUOTAS: Final = (Quota(2, 7), Quota(30, 365))  # unless an organiser chooses others
DEFAULT_WINDOW: Final = 7  # days of a quota that is given without any
LONGEST_WINDOW: Final = 3660  # days
MOST_RESULTS: Final = 1_000_000  # of a quota
TOTAL: Final = "all"  # in place of the days of a quota in total
NOTICE: Final = timedelta(days=3)  # the least time until a deadline that is brought forward
LEAST_FIRST: Final = (
    Disclosure.AT_CLOSE,
    Disclosure.LADDER,
    Disclosure.MEAN,
    Disclosure.CLASSES,
    Disclosure.FULL,
)


class PhaseState(StrEnum):
    """Whether a phase accepts submissions now."""

    UPCOMING = "upcoming"
    OPEN = "open"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class RuleProblem:
    """Why rules cannot be as they are, and the rules that this is about."""

    message: str
    about: frozenset[str]


def _problem(message: str, *about: str) -> RuleProblem:
    return RuleProblem(message, frozenset(about))


@dataclass(frozen=True, slots=True)
class PlannedClose:
    """The dates that a phase had before it was closed early; a later deadline is counted from them."""

    closes_at: datetime | None
    frozen_from: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseRules:
    """Everything that decides what a phase accepts and shows.

    closes_at: None: never; grace: after the close, for uploads that were started before it, unless the phase is closed early;
    planned: what was set before it was closed early, None if it was not; frozen_from: others see no result that is submitted
    later until the phase is over.
    """

    opens_at: datetime
    closes_at: datetime | None = None
    grace: timedelta = DEFAULT_GRACE
    quotas: tuple[Quota, ...] = ()  # for each team, person, and task; the shortest window first
    disclosure: Disclosure
    details_at_close: bool = False  # everything is shown once a held-out phase is over
    only_complete: bool = False  # values of classes are shown only for complete results
    embargo: bool = False  # only a result's team and organisers see it until the phase is over
    frozen_from: datetime | None = None
    planned: PlannedClose | None = None

    @classmethod
    def of(cls, row: Phase) -> "PhaseRules":
        """Return the rules of a stored phase."""
        return PhaseRules(**rules_of_row(row))

    @property
    def is_held_out(self) -> bool:
        """Whether the annotation is hidden."""
        return self.disclosure.is_held_out

    @property
    def closes_early(self) -> bool:
        """Whether organisers close it before its deadline, or did."""
        return self.planned is not None

    @property
    def grace_in_force(self) -> timedelta:
        """The grace period: none if it closes early."""
        return timedelta(0) if self.closes_early else self.grace

    @property
    def over_at(self) -> datetime | None:
        """When no upload can be confirmed any more; None for never."""
        return None if self.closes_at is None else self.closes_at + self.grace_in_force

    def is_over_at(self, now: datetime) -> bool:
        """Whether it has closed and no upload that was started in time can be scored any more."""
        return self.over_at is not None and now >= self.over_at

    def is_frozen_at(self, now: datetime) -> bool:
        """Whether others see no new results until it is over."""
        return self.frozen_from is not None and self.frozen_from <= now and not self.is_over_at(now)

    def state_at(self, now: datetime) -> PhaseState:
        """Return its state. At the moment of closing it is closed."""
        if now < self.opens_at:
            return PhaseState.UPCOMING
        if self.closes_at is not None and now >= self.closes_at:
            return PhaseState.CLOSED
        return PhaseState.OPEN

    @property
    def frozen_days(self) -> int:
        """For how many days before its deadline the rows of others are frozen, as it was set; 0 if they are not."""
        dates = self.planned or self
        if dates.frozen_from is None or dates.closes_at is None:
            return 0
        return ceil((dates.closes_at - dates.frozen_from) / DAY)

    @property
    def reveals(self) -> bool:
        """Whether the public sees more once it is over, such as the classes behind a mean."""
        shows_more = self.is_held_out and (self.disclosure is not Disclosure.CLASSES or self.details_at_close)
        return self.embargo or self.frozen_from is not None or self.only_complete or shows_more

    def closed_early(self, at: datetime, now: datetime) -> Self:
        """Return the rules with another close, before the deadline and without grace; a later deadline brings all back."""
        return replace(
            self,
            closes_at=at,
            frozen_from=moved_freeze(self.frozen_from, self.closes_at, at, now),
            planned=self.planned or PlannedClose(self.closes_at, self.frozen_from),
        )

    def with_deadline(self, closes_at: datetime | None, now: datetime) -> Self:
        """Return the rules with another deadline; the days in which rows are frozen move along.

        A later one than that of a phase that closes early brings back what was set before.
        """
        if closes_at == self.closes_at:
            return self
        if (
            self.planned
            and closes_at is not None
            and self.closes_at is not None
            and closes_at < self.closes_at
        ):
            return self.closed_early(closes_at, now)
        before = self.planned or self
        frozen_from = moved_freeze(before.frozen_from, before.closes_at, closes_at, now)
        return replace(self, closes_at=closes_at, frozen_from=frozen_from, planned=None)

    def changed(
        self, now: datetime, *, closes_at: datetime | None, frozen_days: int | None = None, **others: Any
    ) -> Self:
        """Return the rules with these changes. frozen_days: none given, or as many as before, move with the deadline."""
        rules = self.with_deadline(closes_at, now)
        if frozen_days is not None and frozen_days != self.frozen_days:
            rules = rules.frozen_for(frozen_days)
        return replace(rules, **others)

    def frozen_for(self, days: int) -> Self:
        """Return the rules with the rows of others frozen for so many days before the deadline, or not."""
        planned = self.planned and replace(
            self.planned, frozen_from=self._freeze(self.planned.closes_at, days)
        )
        return replace(self, frozen_from=self._freeze(self.closes_at, days), planned=planned)

    def _freeze(self, closes_at: datetime | None, days: int) -> datetime | None:
        # without a deadline any time will do, because that is a contradiction
        return (closes_at or self.opens_at) - days * DAY if days else None

    def contradictions(self) -> Iterator[RuleProblem]:
        """Yield what cannot be true together."""
        if self.closes_at is not None and self.closes_at <= self.opens_at:
            yield _problem(
                f"the phase would close ({format_rule(self.closes_at)}) before it opens ({format_rule(self.opens_at)})",
                "closes_at", "opens_at",
            )  # fmt: skip
        if self.is_held_out and not self.quotas:
            yield _problem(
                "a held-out phase needs a quota, because every score reveals something of the hidden annotation",
                "quotas", "disclosure",
            )  # fmt: skip
        if self.closes_at is None:
            yield from self._without_close()
        if self.frozen_from is not None and not self.is_held_out:
            yield _problem(
                "rows are frozen on held-out phases only; elsewhere a newer result takes the place of the one before",
                "frozen_from", "disclosure",
            )  # fmt: skip
        if self.closes_at is not None and self.frozen_from is not None and self.frozen_from <= self.opens_at:
            yield _problem(
                "the rows of others would be frozen from the opening on; choose fewer days", "frozen_from"
            )

    def _without_close(self) -> Iterator[RuleProblem]:
        if self.disclosure is Disclosure.AT_CLOSE:
            yield _problem(
                "scores are shown when the phase closes, so it needs a closing date",
                "closes_at",
                "disclosure",
            )
        if self.embargo:
            yield _problem(
                "an embargo ends when the phase closes, so it needs a closing date", "closes_at", "embargo"
            )
        if self.frozen_from is not None:
            yield _problem(
                "the rows of others are frozen before the phase closes, so it needs a closing date",
                "closes_at", "frozen_from",
            )  # fmt: skip


RULES: Final = tuple(each.name for each in fields(PhaseRules))


def rules_of_row(row: Phase) -> dict[str, Any]:
    """Return the rules of a stored phase by their names."""
    stored = {name: getattr(row, name) for name in RULES if name != "planned"}
    if row.planned_grace is None:
        return stored
    planned = PlannedClose(row.planned_closes_at, row.planned_frozen_from)
    return stored | {"grace": row.planned_grace, "planned": planned}


def store(rules: PhaseRules, row: Phase) -> None:
    """Store the rules of a phase.

    The columns of the close are those in force, so that statements and processes of the release before compare nothing else;
    what was set before a phase was closed early stands beside them.
    """
    for name in RULES:
        if name != "planned":
            setattr(row, name, getattr(rules, name))
    row.quotas, row.grace = in_order(rules.quotas), rules.grace_in_force
    planned = rules.planned
    row.planned_grace = None if planned is None else rules.grace
    row.planned_closes_at = None if planned is None else planned.closes_at
    row.planned_frozen_from = None if planned is None else planned.frozen_from


def has_results(session: Session, phase_id: int) -> bool:
    """Whether any score was ever recorded in a phase, other than of test runs."""
    statement = select(Publication.id).where(
        Publication.phase_id == phase_id, Publication.run_id.is_not(None), Publication.is_test.is_(False)
    )
    return session.scalar(statement.limit(1)) is not None


def moved_freeze(
    frozen_from: datetime | None, before: datetime | None, after: datetime | None, now: datetime
) -> datetime | None:
    """Return when the rows of others freeze after a deadline was moved: as long before it, unless they are frozen already.

    Nothing that others have seen disappears, and nothing that was frozen is shown earlier. The time stays if the deadline is removed,
    which is a contradiction.
    """
    if frozen_from is None or before is None or after is None:
        return frozen_from
    return frozen_from if frozen_from <= now else max(now, after - (before - frozen_from))


def new_contradictions(before: PhaseRules | None, after: PhaseRules) -> list[RuleProblem]:
    """Return the contradictions that a change makes; those of the rules before it are left to other changes."""
    known = set(before.contradictions()) if before else set()
    return [each for each in after.contradictions() if each not in known]


def unfair_changes(
    before: PhaseRules, after: PhaseRules, now: datetime, *, has_results: bool
) -> Iterator[RuleProblem]:
    """Yield what is unfair to those who take part in a change of the rules of a phase."""
    if has_results:
        yield from _unfair_to_results(before, after, now)
    yield from _unfair_close(before, after, now)


def _unfair_to_results(before: PhaseRules, after: PhaseRules, now: datetime) -> Iterator[RuleProblem]:
    if after.opens_at != before.opens_at and after.opens_at > now:
        yield _problem(
            "the phase already has results, so its opening cannot move into the future", "opens_at"
        )
    if after.embargo != before.embargo:
        yield _problem("the phase already has results, so its embargo cannot change", "embargo")
    if after.frozen_from != before.with_deadline(after.closes_at, now).frozen_from:
        yield from _unfair_freeze(before, after, now)
    if not before.is_over_at(now) and after.is_held_out and _shows_more(before, after):
        yield _problem(
            "results were submitted while less was shown; until the phase is over its disclosure can only become stricter, or"
            " full once the annotation is public",
            "disclosure",
        )


def _unfair_freeze(before: PhaseRules, after: PhaseRules, now: datetime) -> Iterator[RuleProblem]:
    if before.is_frozen_at(now):
        yield _problem(
            "the rows of others are frozen already, so their days cannot change before the phase is over",
            "frozen_from",
        )
    elif after.frozen_from is not None and after.frozen_from <= now:
        yield _problem(
            "results that others have seen would disappear; freeze the rows for fewer days", "frozen_from"
        )


def _shows_more(before: PhaseRules, after: PhaseRules) -> bool:
    """Whether participants see more before the phase is over; a ladder may also have compared existing results."""
    more = LEAST_FIRST.index(after.disclosure) > LEAST_FIRST.index(before.disclosure)
    return more or (before.only_complete and not after.only_complete)


def _unfair_close(before: PhaseRules, after: PhaseRules, now: datetime) -> Iterator[RuleProblem]:
    old, new = before.closes_at, after.closes_at
    state = before.state_at(now)
    if state is PhaseState.CLOSED:
        if before.is_over_at(now) and not after.is_over_at(now) and before.reveals:
            yield _problem(
                "what was hidden became public when the phase closed, so it cannot reopen", "closes_at"
            )
        elif after.grace < before.grace and not before.closes_early:
            yield _problem("the phase is closed, so the grace period cannot become shorter", "grace")
    elif state is PhaseState.OPEN and new is not None and (old is None or new < old):
        if new <= now:
            yield _problem("the deadline would be in the past", "closes_at")
        elif new < now + NOTICE:
            yield _problem(
                f"a deadline that is brought forward must be at least {NOTICE.days} days away, so that people can finish",
                "closes_at",
            )


@dataclass(frozen=True, slots=True)
class RuleChange:
    """A rule that has changed, with its values as text."""

    name: str
    before: str
    after: str


def rule_changes(before: PhaseRules, after: PhaseRules) -> tuple[RuleChange, ...]:
    """List the rules in force that differ."""
    pairs = ((name, _in_force(before, name), _in_force(after, name)) for name in RULES if name != "planned")
    return tuple(
        RuleChange(name, format_rule(old), format_rule(new)) for name, old, new in pairs if old != new
    )


def _in_force(rules: PhaseRules, name: str) -> object:
    return rules.grace_in_force if name == "grace" else getattr(rules, name)


def quotas_of_new_phase(given: tuple[Quota, ...] | None, disclosure: Disclosure) -> tuple[Quota, ...]:
    """Return the quotas of a new phase. A held-out one always has some, because every score reveals something.

    >>> [str(quota) for quota in quotas_of_new_phase(None, Disclosure.CLASSES)], quotas_of_new_phase(None, Disclosure.FULL)
    (['2 in 7 days', '30 in 365 days'], ())
    """
    if given is None:
        return HELD_OUT_QUOTAS if disclosure.is_held_out else ()
    return in_order(given)


def parse_quota(text: str) -> Quota:
    """Parse a quota: results, results/days, or results/all for a quota in total.

    Raises ValueError for anything else.

    >>> print(parse_quota("30/365"), parse_quota("2"), parse_quota("30/all"), sep="; ")
    30 in 365 days; 2 in 7 days; 30 in total
    """
    found = re.fullmatch(r"([1-9]\d{0,6})(?:/([1-9]\d{0,3}|all))?", text.strip(), re.ASCII)
    if found is None:
        raise ValueError(
            f"a quota is written as results/days, such as 2/7, or 30/{TOTAL} for 30 in total, not {text!r}"
        )
    results, days = int(found[1]), found[2] or DEFAULT_WINDOW
    if results > MOST_RESULTS:
        raise ValueError(f"a quota has at most {MOST_RESULTS} results, not {results}")
    if days == TOTAL or int(days) >= WHOLE_PHASE:
        return Quota(results, None)
    if int(days) > LONGEST_WINDOW:
        raise ValueError(
            f"the results of a quota are counted over at most {LONGEST_WINDOW} days, not {days}; {results}/{TOTAL} is a quota"
            " in total"
        )
    return Quota(results, int(days))


def quotas_in_words(quotas: Iterable[Quota]) -> str:
    """Write quotas as a sentence has them; empty if there are none.

    >>> quotas_in_words([Quota(1, 7), Quota(30, None)])
    '1 result in 7 days and 30 results in total, per task'
    """
    words = " and ".join(f"{plural(quota.results, 'result')} {quota.span}" for quota in quotas)
    return words and f"{words}, per task"


def format_rule(value: object) -> str:
    """Format a rule's value as text; times are in UTC, to the minute.

    >>> format_rule(datetime(2027, 1, 31, 12, tzinfo=UTC)), format_rule(timedelta(days=7)), format_rule(None)
    ('31 Jan 2027 12:00 UTC', '7 days', 'none')
    """
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return "; ".join(map(str, value)) or "none"
    if isinstance(value, datetime):
        return f"{value.astimezone(UTC):{MINUTE}}"
    if isinstance(value, timedelta):
        days = value // timedelta(days=1)
        whole = value == timedelta(days=days) and days
        return (f"{days} day" + "s" * (days > 1)) if whole else f"{value // timedelta(minutes=1)} minutes"
    return str(value)
