"""The ladders of teams in the database."""

from sqlalchemy import and_, func, select, update
from sqlalchemy.orm import Session, aliased

from app.ladder.schemas import Rung
from app.models import ClassScore, Disclosure, Entry, Phase, Run, RunState


def has_ladder(session: Session, run_id: int) -> bool:
    """Whether a run is shown by a ladder; runs of a re-scoring are not compared, `carry_over` is for them."""
    statement = (
        select(Run.id)
        .join(Entry, Run.entry_id == Entry.id)
        .join(Phase, Entry.phase_id == Phase.id)
        .where(Run.id == run_id, Run.rescore_id.is_(None), Phase.disclosure == Disclosure.LADDER)
    )
    return session.scalar(statement) is not None


def lock(session: Session, run_id: int) -> None:
    """Let one result of a team at a time climb, until the end of the transaction."""
    name = func.concat("ladder of team ", Run.team_id, " in phase ", Entry.phase_id)
    lock = func.pg_advisory_xact_lock(func.hashtextextended(name, 0))
    session.execute(select(lock).join(Entry, Run.entry_id == Entry.id).where(Run.id == run_id))


def best(session: Session, run_id: int) -> Rung | None:
    """The highest step of the run's team on its board under the run's versions; withdrawn results count, too."""
    own, own_entry = aliased(Run), aliased(Entry)
    statement = (
        select(Run.id, ClassScore.held_out_value)
        .select_from(own)
        .join(own_entry, own.entry_id == own_entry.id)
        .join(Run, and_(Run.team_id == own.team_id, Run.id != own.id))
        .join(Entry, Run.entry_id == Entry.id)
        .join(ClassScore, and_(ClassScore.run_id == Run.id, ClassScore.class_name.is_(None)))
        .where(
            own.id == run_id,
            Entry.phase_id == own_entry.phase_id,
            Entry.competition == own_entry.competition,
            Run.ladder_run_id == Run.id,
            Run.state == RunState.SCORED,
            Run.ground_truth_id == own.ground_truth_id,
            Run.scorer == own.scorer,
            ClassScore.held_out_value.is_not(None),
        )
        .order_by(ClassScore.held_out_value.desc(), Run.id)
        .limit(1)
    )
    row = session.execute(statement).one_or_none()
    return Rung(row[0], row[1] or 0.0) if row else None


def show_own(session: Session, phase_id: int) -> None:
    """Let every result of a phase show its own mean, which has been seen before the phase got a ladder."""
    of_phase = select(Entry.id).where(Entry.phase_id == phase_id)
    session.execute(
        update(Run)
        .where(Run.entry_id.in_(of_phase), Run.state == RunState.SCORED, Run.ladder_run_id.is_(None))
        .values(ladder_run_id=Run.id),
        execution_options={"synchronize_session": False},
    )


def carry_over(session: Session, rescore_id: int) -> None:
    """Let the runs of a re-scoring show what those before them showed, as it is scored now.

    Before their boards switch. An entry that showed the mean of one that was not scored again goes on showing the old one.
    """
    old, shown, again = aliased(Run), aliased(Run), aliased(Run)
    places = (
        select(Entry.id.label("entry_id"), func.coalesce(again.id, shown.id).label("shown_id"))
        .join(old, old.id == Entry.published_run_id)
        .join(shown, shown.id == old.ladder_run_id)
        .outerjoin(
            again,
            and_(
                again.rescore_id == rescore_id,
                again.entry_id == shown.entry_id,
                again.state == RunState.SCORED,
            ),
        )
        .subquery()
    )
    session.execute(
        update(Run)
        .where(Run.rescore_id == rescore_id, Run.state == RunState.SCORED, Run.entry_id == places.c.entry_id)
        .values(ladder_run_id=places.c.shown_id),
        execution_options={"synchronize_session": False},
    )
