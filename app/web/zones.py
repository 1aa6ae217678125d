"""Dates in forms: a date and a time without a zone, as browsers send them, and the zone beside it."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Annotated, Any, Final
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, AwareDatetime, BeforeValidator

AOE: Final = timezone(timedelta(hours=-12), "AoE")
ZONES: Final[Mapping[str, tzinfo]] = {"UTC": UTC, "AoE": AOE}
FORM: Final = "%Y-%m-%dT%H:%M"
DAY: Final = "%-d %b %Y"
MINUTE: Final = f"{DAY} %H:%M UTC"
WITH_WEEKDAY: Final = f"%a {MINUTE}"
YEARS: Final = range(1970, 3000)  # with others, time zones and periods lead out of what can be computed


def usable(moment: datetime) -> datetime:
    """Return a time that can be computed with. Raises ValueError for one that cannot be meant.

    >>> usable(datetime(9999, 12, 31, tzinfo=UTC))
    Traceback (most recent call last):
    ValueError: must be in a year from 1970 to 2999
    """
    if moment.year not in YEARS:
        raise ValueError(f"must be in a year from {YEARS[0]} to {YEARS[-1]}")
    return moment


def _no_number(given: object) -> object:
    """Refuse a text of digits, such as a year, which would count as seconds since 1970."""
    if isinstance(given, str) and "-" not in given[1:]:
        raise ValueError("must be a date and a time with its zone, such as 2027-03-31T12:00Z")
    return given


def _in_utc(moment: datetime) -> datetime:
    """The same time in UTC, as it is stored, so that two ways to write it are equal."""
    return moment.astimezone(UTC)


Moment = Annotated[
    AwareDatetime, BeforeValidator(_no_number), AfterValidator(usable), AfterValidator(_in_utc)
]


def aoe(moment: datetime) -> str:
    """Format a time anywhere on earth, the last zone in which a day ends.

    >>> aoe(datetime(2027, 4, 1, 11, 59, tzinfo=UTC))
    'Wed 31 Mar 2027 23:59 AoE'
    """
    return f"{moment.astimezone(AOE):%a {DAY} %H:%M} AoE"


def date_in_words(moment: datetime) -> str:
    """Format a time in UTC with its weekday, as sentences and pages say when something begins, ends or is possible again.

    >>> date_in_words(datetime(2027, 4, 1, 11, 59, tzinfo=UTC))
    'Thu 1 Apr 2027 11:59 UTC'
    """
    return f"{moment.astimezone(UTC):{WITH_WEEKDAY}}"


def in_form(moment: datetime | None) -> str:
    """Format a time in UTC as a form has it; empty for None."""
    return f"{moment.astimezone(UTC):{FORM}}" if moment else ""


def parse_moment(text: str, zone: str) -> datetime:
    """Parse the date and time of a form in this zone: UTC, AoE, or a name such as Europe/Berlin.

    Of a time that a zone has twice, the first is meant. Raises ValueError, also for one that a zone skips.

    >>> parse_moment("2027-03-31T23:59", "AoE").astimezone(UTC).isoformat()
    '2027-04-01T11:59:00+00:00'
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError("must be a date and a time") from error
    if len(text) <= len("2027-03-31"):  # midnight is seldom meant, and of which day nobody knows
        raise ValueError("must be a date and a time")
    if moment.tzinfo is not None:
        raise ValueError("must be a date and a time without a zone; choose the zone beside it")
    placed = usable(moment.replace(tzinfo=_zone(zone)))
    if placed.astimezone(UTC).astimezone(placed.tzinfo).replace(tzinfo=None) != moment:
        raise ValueError(f"does not exist in {zone}, where clocks are put forward at that time")
    return placed


def _zone(name: str) -> tzinfo:
    try:
        return ZONES.get(name) or ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise ValueError(f"has an unknown time zone: {name}") from error


def moments_of(form: Mapping[str, Any], names: Iterable[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the times of these fields of a form, None for empty ones, and the problems of those that are none.

    The zone of `opens_at` is in the field `opens_zone`.
    """
    moments: dict[str, Any] = {}
    problems: dict[str, str] = {}
    for name in names:
        moments[name] = None
        if form[name]:
            try:
                moments[name] = parse_moment(form[name], form.get(zone_field(name)) or "UTC")
            except ValueError as error:
                problems[name] = str(error)
    return moments, problems


def zone_field(name: str) -> str:
    """Return the name of the field with the zone of a time.

    >>> zone_field("opens_at")
    'opens_zone'
    """
    return f"{name.removesuffix('_at')}_zone"
