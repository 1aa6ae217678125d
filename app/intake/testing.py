"""Test runs: whatever is submitted to a draft, by its organisers and by the real path; deleted before the draft opens.

And the phases of a draft, which are deleted with their test runs when they are made again.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import (
    ColumnElement,
    ScalarSelect,
    Select,
    Text,
    and_,
    cast,
    delete,
    func,
    or_,
    select,
    update,
)
from sqlalchemy.orm import Session

from app.core import audit
from app.core.errors import ConflictError
from app.figures.board_figures import FIGURE, FIGURES
from app.images.overlays import HARD, OF_RUNS, TRUTH
from app.images.pictures import PICTURES
from app.models import (
    AnonymousLink,
    Answer,
    Artefact,
    Board,
    BoardGroups,
    Challenge,
    DataFile,
    Event,
    EventKind,
    ExtraSlot,
    GroundTruth,
    Job,
    Method,
    Phase,
    Rescore,
    Result,
    ResultState,
    Run,
    RunState,
    Submission,
    Team,
    TeamMessage,
    Thread,
    Upload,
)
from app.platform import Platform
from app.storage import content_key
from app.submissions.retention import ARCHIVES, removable

ARTEFACTS = "artefacts"


@dataclass(frozen=True, slots=True)
class DeletedTests:
    """What is left to remove from the stores after test runs were deleted: uploads, and the keys of contents."""

    uploads: tuple[uuid.UUID, ...] = ()
    archives: frozenset[str] = frozenset()
    artefacts: frozenset[str] = frozenset()


def is_tested(session: Session, challenge_id: int) -> bool:
    """Whether a result of a draft was scored with the newest annotation of its phase."""
    newest = (
        select(GroundTruth.id)
        .where(GroundTruth.phase_id == Result.phase_id)
        .order_by(GroundTruth.version.desc())
        .limit(1)
        .correlate(Result)
        .scalar_subquery()
    )
    scored = (
        select(Run.id)
        .join(Run.result)
        .join(Result.phase)
        .where(
            Phase.challenge_id == challenge_id, Run.state == RunState.SCORED, Run.ground_truth_id == newest
        )
    )
    return session.scalar(scored.limit(1)) is not None


def delete_all(session: Session, user_id: int | None, challenge: Challenge) -> DeletedTests:
    """Delete the test runs of a draft, which the caller has locked, with everything that was made of them.

    Who confirms an upload or records a score meanwhile does so before, or finds it deleted. The teams that uploaded are deleted
    too, with their methods; per-image statistics stay in private storage until it is swept. Afterwards call `remove_contents`.
    """
    here = Phase.challenge_id == challenge.id
    session.execute(select(Phase.id).where(here).order_by(Phase.id).with_for_update(key_share=True))
    phases = select(Phase.id).where(here)
    uploads = session.execute(select(Upload.id, Upload.sha256).where(Upload.phase_id.in_(phases))).all()
    if not uploads:
        return DeletedTests()
    publications = session.scalar(select(func.delete_test_publications(challenge.id)))
    artefacts = delete_submissions(session, challenge.id)
    audit.record(
        session,
        user_id,
        "challenge.clear_tests",
        f"challenge {challenge.id}",
        challenge_id=challenge.id,
        details={"uploads": len(uploads), "publications": publications},
    )
    keys = {content_key(sha256, upload) for upload, sha256 in uploads if sha256}
    return DeletedTests(
        tuple(upload for upload, _ in uploads),
        frozenset(removable(session, ARCHIVES, keys)),
        frozenset(removable(session, ARTEFACTS, set(artefacts))),
    )


def delete_submissions(session: Session, challenge_id: int) -> Sequence[str]:
    """Delete all uploads to the locked phases of a challenge, whose publications were deleted, with what was made of them.

    The teams that uploaded are deleted, too, with their methods. Returns the keys of drawings.
    """
    phases = select(Phase.id).where(Phase.challenge_id == challenge_id)
    teams = set(session.scalars(select(Upload.team_id).where(Upload.phase_id.in_(phases)).distinct()))
    results = select(Result.id).where(Result.phase_id.in_(phases))
    runs = select(Run.id).where(Run.result_id.in_(results))
    submissions = select(Submission.id).where(Submission.phase_id.in_(phases))
    _delete_jobs(session, teams, results, runs)
    artefacts = session.scalars(
        delete(Artefact).where(_is_of_tests(phases, runs)).returning(Artefact.key)
    ).all()
    published = (Result.phase_id.in_(phases), Result.published_run_id.is_not(None))
    ended = {"state": ResultState.FAILED, "published_run_id": None, "published_generation": None}
    session.execute(update(Result).where(*published).values(ended))
    for table, condition in (
        (AnonymousLink, AnonymousLink.result_id.in_(results)),
        (Thread, or_(Thread.team_id.in_(teams), Thread.submission_id.in_(submissions))),
        (BoardGroups, BoardGroups.phase_id.in_(phases)),
        (Run, Run.result_id.in_(results)),
        (Rescore, Rescore.phase_id.in_(phases)),
        (Result, Result.phase_id.in_(phases)),
        (Submission, Submission.phase_id.in_(phases)),
        (Upload, Upload.phase_id.in_(phases)),
        (Answer, Answer.method_id.in_(select(Method.id).where(Method.team_id.in_(teams)))),
        (Method, Method.team_id.in_(teams)),
        (Event, and_(Event.challenge_id == challenge_id, Event.kind == EventKind.RUNS_FAILED)),
        (Team, Team.id.in_(teams)),
    ):
        session.execute(delete(table).where(condition), execution_options={"synchronize_session": False})
    return artefacts


def delete_phases(session: Session, challenge_id: int) -> None:
    """Delete the phases of a locked draft, whose test runs were deleted. Raises ConflictError as `require_no_files` does."""
    require_no_files(session, challenge_id)
    phases = _phases(challenge_id)
    session.execute(delete(Artefact).where(_is_of_phases(challenge_id)))
    for table in (Rescore, BoardGroups, Board, ExtraSlot, GroundTruth):
        session.execute(delete(table).where(table.phase_id.in_(phases)))
    for about in (Thread, TeamMessage):
        session.execute(update(about).where(about.phase_id.in_(phases)).values(phase_id=None))
    session.execute(delete(Phase).where(Phase.challenge_id == challenge_id))


def require_no_files(session: Session, challenge_id: int) -> None:
    """Raise ConflictError if a file belongs to a phase of a draft or follows its dates."""
    columns = (DataFile.phase_id, DataFile.from_phase_id, DataFile.until_phase_id)
    follows = or_(*(column.in_(_phases(challenge_id)) for column in columns))
    if name := session.scalar(select(DataFile.name).where(follows).limit(1)):
        raise ConflictError(f"The file {name} belongs to a phase or follows its dates; change that first")


def _phases(challenge_id: int) -> ScalarSelect[int]:
    return select(Phase.id).where(Phase.challenge_id == challenge_id).scalar_subquery()


def _delete_jobs(session: Session, teams: set[int], results: Select[int], runs: Select[int]) -> None:
    """Delete what waits to be done about test runs; a worker that is at it finds its claim lost, and records nothing."""
    of_run, of_result = Job.payload["run_id"].as_integer(), Job.payload["result_id"].as_integer()
    session.execute(
        delete(Job).where(
            or_(Job.run_id.in_(runs), Job.team_id.in_(teams), of_run.in_(runs), of_result.in_(results))
        ),
        execution_options={"synchronize_session": False},
    )


def _is_of_tests(phases: Select[int], runs: Select[int]) -> ColumnElement[bool]:
    """Whether an artefact was drawn of test runs, or of a board with them."""
    of_phase = cast(func.split_part(Artefact.subject, "/", 1), Text).in_(
        select(cast(phases.subquery().c.id, Text))
    )
    of_run = Artefact.subject.in_(select(cast(runs.subquery().c.id, Text)))
    return or_(
        and_(Artefact.kind.in_((FIGURES, FIGURE, HARD)), of_phase), and_(Artefact.kind.in_(OF_RUNS), of_run)
    )


def is_artefact_of(challenge_id: int) -> ColumnElement[bool]:
    """Whether an artefact was made of anything in a challenge but its data sets."""
    phases = select(Phase.id).where(Phase.challenge_id == challenge_id)
    results = select(Result.id).where(Result.phase_id.in_(phases))
    runs = select(Run.id).where(Run.result_id.in_(results))
    return or_(_is_of_tests(phases, runs), _is_of_phases(challenge_id))


def _is_of_phases(challenge_id: int) -> ColumnElement[bool]:
    """Whether an artefact was made of the images or the annotation of phases; its content is removed by the daily sweep."""
    phases = select(cast(Phase.id, Text)).where(Phase.challenge_id == challenge_id)
    truths = select(cast(GroundTruth.id, Text)).join(GroundTruth.phase)
    return or_(
        and_(Artefact.kind == PICTURES, func.split_part(Artefact.subject, "/", 1).in_(phases)),
        and_(Artefact.kind == TRUTH, Artefact.subject.in_(truths.where(Phase.challenge_id == challenge_id))),
    )


def remove_contents(platform: Platform, deleted: DeletedTests) -> None:
    """Remove the stored archives and drawings of deleted test runs, after the transaction that deleted them."""
    for upload in deleted.uploads:
        platform.archives.discard(upload)
    for key in deleted.archives:
        platform.archives.delete(key)
    for key in deleted.artefacts:
        platform.artefacts.delete(key)
