"""When files of a data set are available: dates, or the opening and closing of phases."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Self

from sqlalchemy import ColumnElement, ScalarSelect, case, func, select
from sqlalchemy.orm import aliased

from app.models import Audience, DataFile, FileKind, Phase, PhaseMoment


class Stage(StrEnum):
    """Where a file is in its availability."""

    COMING = "coming"
    AVAILABLE = "available"
    OVER = "over"


@dataclass(frozen=True, slots=True)
class Moment:
    """One end of a file's availability; at: None while the phase that it follows has no such date."""

    at: datetime | None
    event: str = ""  # such as "closing of val", if it follows a phase


@dataclass(frozen=True, slots=True)
class Availability:
    """From when and until when a file is available; without a start at once, without an end forever."""

    start: Moment | None = None
    end: Moment | None = None

    def stage(self, now: datetime) -> Stage:
        """Return the stage at `now`. A file that waits for a date which is not known yet is coming."""
        if self.start is not None and (self.start.at is None or now < self.start.at):
            return Stage.COMING
        if self.end is not None and self.end.at is not None and now >= self.end.at:
            return Stage.OVER
        return Stage.AVAILABLE

    @classmethod
    def of_dates(cls, dates: dict[str, Any]) -> Self:
        """Parse an object that DATES has made."""
        return cls(*(_moment(dates[name]) for name in ("from", "until")))


def _moment(parts: dict[str, Any]) -> Moment | None:
    if parts["at"] is None and parts["event"] is None:
        return None
    return Moment(datetime.fromisoformat(parts["at"]) if parts["at"] else None, parts["event"] or "")


def audience_of(offers: Iterable[dict[str, Any]] | None, now: datetime) -> Audience | None:
    """Return for whom the images or the annotation are that these files offer now, the largest audience of several.

    None if no file is available now; everybody without any file, so that nothing is said about dates.

    >>> audience_of(None, datetime(2026, 1, 1)).value
    'everybody'
    """
    if not offers:
        return Audience.EVERYBODY
    available = {
        each["audience"] for each in offers if Availability.of_dates(each).stage(now) is Stage.AVAILABLE
    }
    return next((each for each in Audience if each in available), None)  # the largest comes first


def includes(one: Audience | None, other: Audience | None) -> bool:
    """Whether there are two audiences, and everybody of the other belongs to the one.

    >>> includes(Audience.EVERYBODY, Audience.TEAMS), includes(Audience.TEAMS, Audience.TERMS), includes(Audience.EVERYBODY, None)
    (True, False, False)
    """
    order = [*Audience]  # the largest comes first
    return one is not None and other is not None and order.index(one) <= order.index(other)


FROM, UNTIL = aliased(Phase), aliased(Phase)  # the phases that a file's dates follow


def _date(at: Any, phase: Any, moment: Any) -> ColumnElement[Any]:
    followed = case((moment == PhaseMoment.OPENING, phase.opens_at), else_=phase.closes_at)
    event = case((phase.id.is_not(None), moment + " of " + phase.image_set))
    return func.jsonb_build_object("at", func.coalesce(at, followed), "event", event)


# the dates of a file, for statements that join FROM and UNTIL
DATES: ColumnElement[Any] = func.jsonb_build_object(
    "from",
    _date(DataFile.from_at, FROM, DataFile.from_moment),
    "until",
    _date(DataFile.until_at, UNTIL, DataFile.until_moment),
)


def offers_of(kind: FileKind) -> ColumnElement[Any]:
    """Return dates and audiences of the files that offer a phase's images or annotation, for statements with Phase; null if there are none.

    A file for all phases counts where none is for the phase alone.
    """
    return func.coalesce(
        _offers(kind, DataFile.phase_id == Phase.id),
        _offers(kind, DataFile.phase_id.is_(None), DataFile.challenge_id == Phase.challenge_id),
    )


def _offers(kind: FileKind, *which: ColumnElement[bool]) -> ScalarSelect[Any]:
    offer = DATES.op("||")(func.jsonb_build_object("audience", DataFile.audience))
    return (
        select(func.jsonb_agg(offer))
        .outerjoin(FROM, DataFile.from_phase_id == FROM.id)
        .outerjoin(UNTIL, DataFile.until_phase_id == UNTIL.id)
        .where(
            *which,
            DataFile.kind.in_((kind, FileKind.BOTH)),
            DataFile.deleted_at.is_(None),
        )
        .correlate(Phase)
        .scalar_subquery()
    )
