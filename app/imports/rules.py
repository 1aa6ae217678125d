"""Which names an edition and an image set may have, and what becomes of a phase's rules."""

import re
from collections.abc import Iterator
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any

from app.editions.rules import quotas_of
from app.imports.schemas import NONE, Change, Rules, TreeImport
from app.models import Disclosure, Quota

LONGEST_NAME = 40
DEFAULT_GRACE = timedelta(hours=1)
DEFAULT_WINDOW = 7  # days of a quota that is given without any

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
# words that stand in addresses where an edition or an image set stands, or may do so one day
_RESERVED = frozenset(
    [
        "account",
        "admin",
        "api",
        "boards",
        "competitions",
        "description",
        "docs",
        "editions",
        "entries",
        "health",
        "leaderboards",
        "login",
        "logout",
        "methods",
        "new",
        "organise",
        "phases",
        "ready",
        "register",
        "rescores",
        "runs",
        "static",
        "submissions",
        "submit",
        "uploads",
    ]
)


def check_name(name: str, what: str) -> None:
    """Raise ValueError for a name that cannot stand in addresses; `what` is "edition code" or "image set".

    >>> check_name("VOC2007", "edition code")
    """
    if not _NAME.fullmatch(name) or ".." in name:
        expected = "letters, digits, '_', '.' and '-', beginning with a letter or digit"
        raise ValueError(f"{what} {name!r} cannot stand in addresses; expected {expected}")
    if len(name) > LONGEST_NAME:
        raise ValueError(f"{what} {name!r} has {len(name)} characters; at most {LONGEST_NAME} are allowed")
    if name.lower() in _RESERVED:
        raise ValueError(f"{what} {name!r} is reserved, because addresses of other pages contain it")


def date_of(text: str) -> datetime:
    """A date and time with its time zone, in UTC.

    Raises ValueError for anything else, also where the zone is missing.

    >>> date_of("2027-01-31T12:00+02:00").isoformat()
    '2027-01-31T10:00:00+00:00'
    """
    expected = "expected a date and time with its time zone, such as 2027-01-31T12:00Z"
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a date; {expected}") from None
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone; {expected} (Z stands for UTC)")
    return moment.astimezone(UTC)


def quota_from(text: str) -> Quota:
    """A quota as it is typed: results, or results and days.

    Raises ValueError for anything else.

    >>> print(quota_from("30/365"), quota_from("2"), sep="; ")
    30 in 365 days; 2 in 7 days
    """
    found = re.fullmatch(r"([1-9]\d{0,5})(?:/([1-9]\d{0,3}))?", text.strip(), re.ASCII)
    if found is None:
        raise ValueError(f"a quota is written as results/days, such as 2/7, not {text!r}")
    return Quota(int(found[1]), int(found[2] or DEFAULT_WINDOW))


def new_rules(request: TreeImport, now: datetime) -> Rules:
    """The rules of a phase that is imported for the first time. Raises ValueError where they contradict each other."""
    nothing = Rules(
        disclosure=Disclosure.CLASSES,
        details_at_close=False,
        only_complete=False,
        quotas=(),
        opens_at=now,
        closes_at=None,
        grace=DEFAULT_GRACE,
        embargo=False,
    )
    return changed_rules(nothing, request, now)


def changed_rules(rules: Rules, request: TreeImport, now: datetime) -> Rules:
    """The rules of a phase with the given options applied. Raises ValueError where they contradict each other."""
    disclosure = _or(request.disclosure, rules.disclosure)
    closes_at = now + request.closes_in if request.closes_in else _or(request.closes_at, rules.closes_at)
    result = Rules(
        disclosure=disclosure,
        details_at_close=_or(request.details_at_close, rules.details_at_close),
        only_complete=_or(request.only_complete, rules.only_complete),
        quotas=quotas_of(request.quotas if request.quotas is not None else rules.quotas or None, disclosure),
        opens_at=_or(request.opens_at, rules.opens_at),
        closes_at=None if closes_at is NONE else closes_at,
        grace=_or(request.grace, rules.grace),
        embargo=_or(request.embargo, rules.embargo),
    )
    for problem in _contradictions(result, request):
        raise ValueError(problem)
    return result


def _or(given: Any, otherwise: Any) -> Any:
    return otherwise if given is None else given


def _contradictions(rules: Rules, request: TreeImport) -> Iterator[str]:
    if request.closes_in is not None and request.closes_at is not None:
        yield "either a closing date or the days until then can be given, not both"
    if not rules.quotas and rules.disclosure is not Disclosure.FULL:
        yield "a held-out phase needs a quota, because every score reveals something of the hidden annotation"
    if rules.closes_at is None and rules.disclosure is Disclosure.AT_CLOSE:
        yield "a phase that discloses scores at its close needs a closing date"
    if rules.closes_at is None and rules.embargo:
        yield "others see results when the phase closes, so an embargo needs a closing date"
    if rules.closes_at is not None and rules.closes_at <= rules.opens_at:
        yield f"the phase would close ({shown(rules.closes_at)}) before it opens ({shown(rules.opens_at)})"


def embargo_refusal(before: Rules, after: Rules, *, has_results: bool) -> str | None:
    """Why the embargo of a phase may not change so; none if it may."""
    if after.embargo != before.embargo and has_results:
        return "results are recorded already, so when others see them cannot change"
    return None


def changes(before: Rules, after: Rules) -> tuple[Change, ...]:
    """What differs, in words."""
    pairs = ((each.name, getattr(before, each.name), getattr(after, each.name)) for each in fields(Rules))
    return tuple(
        Change(name.replace("_", " "), shown(old), shown(new)) for name, old, new in pairs if old != new
    )


def warnings(before: Rules, after: Rules) -> Iterator[str]:
    """What a change of disclosure means."""
    if after.disclosure == before.disclosure:
        return
    if after.disclosure is Disclosure.FULL:
        yield (
            "the annotation is public now: every digit, curve, interval and count of every result is shown to everybody, and"
            " cannot be taken back once somebody has read it"
        )
    elif before.disclosure is Disclosure.FULL:
        yield (
            "the annotation is held out from now on, but curves and counts were public until now: anybody who kept them knows"
            " much of the labels"
        )


def shown(value: object) -> str:
    """A rule's value in words: times in UTC, to the minute.

    >>> shown(datetime(2027, 1, 31, 12, tzinfo=UTC)), shown(timedelta(days=7)), shown(None)
    ('2027-01-31 12:00 UTC', '7 days', 'none')
    """
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return "; ".join(map(str, value)) or "none"
    if isinstance(value, datetime):
        return f"{value.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    if isinstance(value, timedelta):
        days = value // timedelta(days=1)
        whole = value == timedelta(days=days) and days
        return (f"{days} day" + "s" * (days > 1)) if whole else f"{value // timedelta(minutes=1)} minutes"
    return str(value)
