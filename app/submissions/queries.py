"""Uploads, methods, submissions and their runs in the database."""

import uuid
from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Select,
    and_,
    func,
    null,
    select,
    true,
)
from sqlalchemy.orm import Session, aliased

from app.access import Action, Actor, State
from app.disclosure.schemas import RunScore
from app.editions.queries import is_past_embargo
from app.jobs import queue
from app.memberships.queries import is_public
from app.methods.rules import SHOWN_STATES
from app.models import (
    Board,
    ClassScore,
    Edition,
    Entry,
    GroundTruth,
    Member,
    Method,
    Phase,
    Run,
    Submission,
    Team,
    Upload,
)
from app.results.schemas import ShownRun
from app.row_pages import RowPage, page_of
from app.submissions.rules import PriorEntry
from app.submissions.schemas import SubmissionRow
from app.uploads.views import FoundResult, results_of
from app.visibility import rows_for

PAGE = 100  # entries
ANY_ENTRY, ANY_RUN = (
    aliased(Entry),
    aliased(Run),
)  # made once: an alias costs more than the rest of a statement


def visible_submissions(actor: Actor) -> ColumnElement[bool]:
    """The submissions that somebody may read; for statements that join Method and Phase."""
    has_result = (
        select(ANY_ENTRY.id)
        .where(
            ANY_ENTRY.submission_id == Submission.id,
            ANY_ENTRY.state.in_(SHOWN_STATES),
            ANY_ENTRY.published_run_id.is_not(None),
        )
        .correlate(Submission)
    )
    return rows_for(
        actor,
        Action.READ_SUBMISSION,
        team=Method.team_id,
        edition=Phase.edition_id,
        states={
            State.PRIVATE: true(),
            State.PUBLIC: and_(is_public(), is_past_embargo(Submission.phase_id), has_result.exists()),
        },
    )


def team_of_upload(session: Session, actor: Actor, upload_id: uuid.UUID) -> int | None:
    """The reader's team that an upload belongs to."""
    statement = select(Upload.team_id).where(Upload.id == upload_id, Upload.team_id.in_(actor.teams))
    return session.scalar(statement)


def stored_upload(session: Session, user_id: int, team_id: int, upload_id: uuid.UUID) -> Upload | None:
    """An upload of this team, if the person is in it; locked until the end of the transaction."""
    is_member = select(Member.user_id).where(Member.team_id == team_id, Member.user_id == user_id).exists()
    statement = select(Upload).where(Upload.id == upload_id, Upload.team_id == team_id, is_member)
    return session.scalar(statement.with_for_update(of=Upload))


def prior_entries(session: Session, team_id: int, phase_id: int) -> list[PriorEntry]:
    """What the team entered in this phase before."""
    statement = (
        select(Method.name, Entry.competition, Entry.state)
        .select_from(Entry)
        .join(Method, Entry.method_id == Method.id)
        .where(Method.team_id == team_id, Entry.phase_id == phase_id)
    )
    return [PriorEntry(*row) for row in session.execute(statement)]


def submission_of_key(session: Session, user_id: int, key: str) -> Submission | None:
    """What this person sent under this idempotency key."""
    return session.scalar(
        select(Submission).where(Submission.user_id == user_id, Submission.idempotency_key == key)
    )


def boards_for(session: Session, phase_id: int, competitions: Sequence[int]) -> list[Board]:
    """What the phase's competitions are scored under now."""
    statement = select(Board).where(Board.phase_id == phase_id, Board.competition.in_(competitions))
    return list(session.scalars(statement.order_by(Board.competition)))


def _is_public_result() -> ColumnElement[bool]:
    return and_(is_public(), is_past_embargo(Entry.phase_id), Entry.state.in_(SHOWN_STATES))


def submission_of(
    session: Session, actor: Actor, submission_id: int
) -> tuple[Submission, Method, Team, Upload] | None:
    """A submission that the reader may see, with what belongs to it."""
    statement = (
        select(Submission, Method, Team, Upload)
        .join(Method, Submission.method_id == Method.id)
        .join(Team, Method.team_id == Team.id)
        .join(Upload, Submission.upload_id == Upload.id)
        .join(Phase, Submission.phase_id == Phase.id)
        .where(Submission.id == submission_id, visible_submissions(actor))
    )
    return session.execute(statement).one_or_none()


def runs_of(session: Session, submission_id: int) -> list[ShownRun]:
    """The entries of a submission, each with the run to show: the board's, else the latest."""
    latest = (
        select(ANY_RUN.id)
        .where(ANY_RUN.entry_id == Entry.id)
        .order_by((ANY_RUN.id == Entry.published_run_id).desc().nulls_last(), ANY_RUN.id.desc())
        .limit(1)
        .correlate(Entry)
        .scalar_subquery()
    )
    count = select(func.count()).where(ANY_RUN.entry_id == Entry.id).correlate(Entry).scalar_subquery()
    statement = (
        select(Entry, Run, count, GroundTruth.version)
        .select_from(Entry)
        .join(Run, Run.id == latest)
        .join(GroundTruth, Run.ground_truth_id == GroundTruth.id)
        .where(Entry.submission_id == submission_id)
        .order_by(Entry.competition)
    )
    return [ShownRun(*row) for row in session.execute(statement)]


def truth_versions(session: Session, numbers: Sequence[int]) -> dict[int, int]:
    """The version of each of these ground truths."""
    statement = select(GroundTruth.id, GroundTruth.version).where(GroundTruth.id.in_(numbers))
    return dict(session.execute(statement).all())


def scores_of(session: Session, run_ids: Sequence[int]) -> dict[int, list[RunScore]]:
    """The scores of runs, that of all classes first, then the classes in their order."""
    found: dict[int, list[RunScore]] = {}
    statement: Select[*tuple[Any, ...]] = (
        select(
            ClassScore.run_id, ClassScore.class_name, ClassScore.value, ClassScore.held_out_value, ClassScore.reason,
            ClassScore.low, ClassScore.high, ClassScore.positives, ClassScore.predictions,
        )
        .where(ClassScore.run_id.in_(run_ids))
        .order_by(ClassScore.run_id, ClassScore.position)
    )  # fmt: skip
    for run, *score in session.execute(statement):
        found.setdefault(run, []).append(RunScore(*score))
    return found


def rows_of_teams(
    session: Session, teams: Collection[int], *, only_public: bool, before: int | None
) -> RowPage[tuple[SubmissionRow, int, int | None]]:
    """The entries of these teams, or their public results, newest first, each with its run and the run whose mean the ladder shows for it.

    before: the last submission of the page before. Positions and means are filled in by the service.
    """
    latest = (
        select(func.max(ANY_RUN.id)).where(ANY_RUN.entry_id == Entry.id).correlate(Entry).scalar_subquery()
    )
    run = func.coalesce(Entry.published_run_id, latest)
    statement = (
        select(
            Submission.id, Edition.code, Phase.image_set, Entry.competition, Method.name, Submission.created_at,
            Entry.state, Run.state, Run.id, null(), Run.failure_message, Run.ladder_run_id,
        )
        .select_from(Entry)
        .join(Submission, Entry.submission_id == Submission.id)
        .join(Phase, Entry.phase_id == Phase.id)
        .join(Edition, Phase.edition_id == Edition.id)
        .join(Method, Entry.method_id == Method.id)
        .join(Run, Run.id == run)
        .where(Method.team_id.in_(teams), _is_public_result() if only_public else true())
        .where(Submission.id < before if before else true())
        .order_by(Submission.id.desc(), Entry.competition)
        .limit(PAGE + 1)
    )  # fmt: skip
    found = [(SubmissionRow(*row), ladder) for *row, ladder in session.execute(statement)]
    rows = [(row, row.position or 0, ladder) for row, ladder in found]
    return page_of(rows, PAGE, number=lambda one: one[0].submission)


def phases_entered(session: Session, teams: Collection[int]) -> set[int]:
    """The phases that these teams have submitted to."""
    submitted = (
        select(Submission.id)
        .join(Method, Submission.method_id == Method.id)
        .where(Submission.phase_id == Phase.id, Method.team_id.in_(teams))
        .exists()
    )
    return set(session.scalars(select(Phase.id).where(submitted)))


def enter(
    session: Session,
    submission: Submission,
    board: Board,
    upload: Upload,
    extra_slot_id: int | None,
    *,
    is_replaceable: bool,
) -> None:
    """Make a submission an entry of a board, with a run in the queue."""
    found = results_of(upload.report).get(board.competition, FoundResult())
    entry = Entry(
        submission_id=submission.id,
        method_id=submission.method_id,
        phase_id=submission.phase_id,
        competition=board.competition,
        extra_slot_id=extra_slot_id,
        is_replaceable=is_replaceable,
        is_complete=found.is_complete,
        fingerprint=found.fingerprint,
        constant_lists=list(found.constant),
        partial_lists=list(found.partial),
    )
    session.add(entry)
    session.flush()
    run = Run(
        entry_id=entry.id,
        ground_truth_id=board.ground_truth_id,
        protocol=board.protocol,
        scorer=board.scorer,
        team_id=upload.team_id,
    )
    session.add(run)
    session.flush()
    queue.add_runs(session, [run.id])
