"""What counts against quotas, in the database."""

from collections.abc import Mapping
from datetime import timedelta

from sqlalchemy import ColumnElement, func, or_, select, true, union
from sqlalchemy.orm import Session

from app.models import (
    Disclosure,
    Entry,
    EntryState,
    ExtraSlot,
    GroundTruth,
    Method,
    Phase,
    Publication,
    Submission,
    Team,
    User,
)
from app.quotas.schemas import CountedResult, SlotView
from app.row_pages import RowPage, page_of

PAGE = 200  # slots
MOST_TEAMS = 200  # offered in a form, which takes others, too


def counts() -> ColumnElement[bool]:
    """Whether an entry revealed a score, or is about to."""
    was_published = (
        select(Publication.id)
        .where(Publication.entry_id == Entry.id, Publication.run_id.is_not(None))
        .correlate(Entry)
        .exists()
    )
    return or_(Entry.state == EntryState.PENDING, was_published)


def counted_results(
    session: Session, phase_id: int, tasks: Mapping[int, str], team_id: int, user_id: int, longest: timedelta
) -> list[CountedResult]:
    """Results of the team, and of the person in any team, that count in a phase: whose score was published once, or is awaited.

    Those in other held-out phases count, too, where they were scored against the same ground truth. What was refused or
    failed without a score costs nothing, nor do baselines of organisers.
    """
    mine = union(
        select(Submission.id)
        .join(Method, Submission.method_id == Method.id)
        .where(Method.team_id == team_id),
        select(Submission.id).where(Submission.user_id == user_id),
    ).subquery()
    own = select(GroundTruth.fingerprint).where(GroundTruth.phase_id == phase_id)
    sharing = (
        select(GroundTruth.phase_id)
        .join(Phase, GroundTruth.phase_id == Phase.id)
        .where(GroundTruth.fingerprint.in_(own), Phase.disclosure != Disclosure.FULL)
    )
    statement = (
        select(
            Entry.competition,
            Submission.created_at,
            Method.team_id == team_id,
            Submission.user_id == user_id,
        )
        .select_from(mine)
        .join(Submission, Submission.id == mine.c.id)
        .join(Method, Submission.method_id == Method.id)
        .join(Entry, Entry.submission_id == Submission.id)
        .where(
            or_(Entry.phase_id == phase_id, Entry.phase_id.in_(sharing)),
            Method.is_baseline.is_(False),
            Entry.extra_slot_id.is_(None),
            Submission.created_at > func.clock_timestamp() - longest,
            counts(),
        )
    )
    return [
        CountedResult(tasks.get(competition, ""), confirmed_at, is_teams, is_persons)
        for competition, confirmed_at, is_teams, is_persons in session.execute(statement)
    ]


def free_slots(session: Session, phase_id: int, team_id: int) -> dict[str, list[int]]:
    """By task, the extra slots of a team that are neither used nor taken back, the oldest first."""
    is_used = (
        select(Entry.id).where(Entry.extra_slot_id == ExtraSlot.id, counts()).correlate(ExtraSlot).exists()
    )
    statement = (
        select(ExtraSlot.task, ExtraSlot.id)
        .where(
            ExtraSlot.phase_id == phase_id,
            ExtraSlot.team_id == team_id,
            ExtraSlot.taken_back_at.is_(None),
            ~is_used,
        )
        .order_by(ExtraSlot.id)
    )
    found: dict[str, list[int]] = {}
    for task, slot_id in session.execute(statement):
        found.setdefault(task, []).append(slot_id)
    return found


def slot_views(session: Session, phase_id: int, before: int | None = None) -> RowPage[SlotView]:
    """A page of the extra slots of a phase, the latest first; before: the last one of the page before."""
    used_by = (
        select(func.max(Entry.submission_id))
        .where(Entry.extra_slot_id == ExtraSlot.id, counts())
        .correlate(ExtraSlot)
        .scalar_subquery()
    )
    statement = (
        select(
            ExtraSlot.id, Team.name, ExtraSlot.task, ExtraSlot.reason, User.name, ExtraSlot.granted_at,
            ExtraSlot.taken_back_at, used_by,
        )
        .join(Team, ExtraSlot.team_id == Team.id)
        .outerjoin(User, ExtraSlot.granted_by == User.id)
        .where(ExtraSlot.phase_id == phase_id, ExtraSlot.id < before if before else true())
        .order_by(ExtraSlot.id.desc())
        .limit(PAGE + 1)
    )  # fmt: skip
    found = [SlotView(*row) for row in session.execute(statement)]
    return page_of(found, PAGE, number=lambda slot: slot.id)


def slot_of(session: Session, slot_id: int) -> tuple[ExtraSlot, int] | None:
    """An extra slot with the edition that it is of."""
    statement = select(ExtraSlot, Phase.edition_id).join(Phase, ExtraSlot.phase_id == Phase.id)
    row = session.execute(statement.where(ExtraSlot.id == slot_id)).one_or_none()
    return (row[0], row[1]) if row else None


def team_called(session: Session, edition_id: int, name_key: str) -> int | None:
    """The team of this folded name in an edition."""
    return session.scalar(select(Team.id).where(Team.edition_id == edition_id, Team.name_key == name_key))


def team_names(session: Session, edition_id: int) -> list[str]:
    """The first names of an edition's teams, as many as a form suggests."""
    statement = select(Team.name).where(Team.edition_id == edition_id).order_by(Team.name).limit(MOST_TEAMS)
    return list(session.scalars(statement))


def count_teams(session: Session, edition_id: int) -> int:
    """How many teams an edition has."""
    return session.scalar(select(func.count()).where(Team.edition_id == edition_id)) or 0
