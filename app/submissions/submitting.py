"""Submitting a checked upload as the results of a method."""

import hashlib
import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Annotated

import structlog
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import (
    select,
)
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.challenges import challenges, terms
from app.challenges.challenges import PhaseView, tasks_of
from app.core.access import Actor
from app.core.database import violated_constraint
from app.core.errors import ConflictError, ForbiddenError, NotFoundError, RefusedError
from app.jobs import places, queue
from app.models import Board, Member, Method, Result, Run, Submission, Upload
from app.people import teams
from app.people.locking import lock_person
from app.platform import Platform
from app.submissions import checking, methods, quotas
from app.submissions.acceptance import (
    ONLY_ORGANISERS,
    PriorResult,
    Proposal,
    archive_of,
    is_replaceable,
    race_conflict,
    refusals,
    statement_refusals,
    wanted,
)
from app.submissions.methods import NewMethod, Training
from app.submissions.quotas import quota_lines, rate_limit_fields, slots_to_use
from app.submissions.uploads import FoundResult, is_outdated, results_of

log = structlog.get_logger()


class NewSubmission(BaseModel):
    """A request to score an upload as the results of a method."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    upload: Annotated[uuid.UUID, Field(description="a checked upload without problems")]
    method: Annotated[
        NewMethod, Field(description="the method; a method of your team with the same name is reused")
    ]
    competitions: Annotated[
        Annotated[tuple[int, ...], Field(min_length=1)] | None,
        Field(description="numbers of competitions; default: all that the archive has files for"),
    ] = None
    training: Annotated[
        Training, Field(description="the data the method was trained on; not required for baselines")
    ] = Training()
    make_public: Annotated[
        bool,
        Field(
            description="make the method public as soon as it is scored; default: only your team and the organisers see it"
        ),
    ] = False


def team_of_upload(session: Session, actor: Actor, upload_id: uuid.UUID) -> int | None:
    """Return the reader's team that an upload belongs to."""
    statement = select(Upload.team_id).where(Upload.id == upload_id, Upload.team_id.in_(actor.teams))
    return session.scalar(statement)


def stored_upload(session: Session, user_id: int, team_id: int, upload_id: uuid.UUID) -> Upload | None:
    """Return an upload of this team, if the person is a member; locked until the end of the transaction."""
    is_member = select(Member.user_id).where(Member.team_id == team_id, Member.user_id == user_id).exists()
    statement = select(Upload).where(Upload.id == upload_id, Upload.team_id == team_id, is_member)
    return session.scalar(statement.with_for_update(of=Upload))


def prior_results(session: Session, team_id: int, phase_id: int) -> list[PriorResult]:
    """Return the team's earlier results in this phase, without those that were cancelled before they were started."""
    statement = (
        select(Method.name, Result.competition, Result.state)
        .select_from(Result)
        .join(Result.method)
        .where(Method.team_id == team_id, Result.phase_id == phase_id, Result.cancelled_at.is_(None))
    )
    return [PriorResult(*row) for row in session.execute(statement)]


def submission_of_key(session: Session, user_id: int, key: str) -> Submission | None:
    """Return the person's submission with this idempotency key."""
    return session.scalar(
        select(Submission).where(Submission.user_id == user_id, Submission.idempotency_key == key)
    )


def boards_for(session: Session, phase_id: int, competitions: Sequence[int]) -> list[Board]:
    """Return the boards of these competitions, which say what results are scored under."""
    statement = select(Board).where(Board.phase_id == phase_id, Board.competition.in_(competitions))
    return list(session.scalars(statement.order_by(Board.competition)))


def add_result(
    session: Session,
    submission: Submission,
    board: Board,
    upload: Upload,
    extra_slot_id: int | None,
    *,
    is_replaceable: bool,
) -> None:
    """Create a submission's result on a board, and queue its run."""
    found = results_of(upload.report).get(board.competition, FoundResult())
    result = Result(
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
    session.add(result)
    session.flush()
    run = Run(
        result_id=result.id,
        ground_truth_id=board.ground_truth_id,
        protocol=board.protocol,
        scorer=board.scorer,
        team_id=upload.team_id,
    )
    session.add(run)
    session.flush()
    queue.add_runs(session, [run.id])


def confirm(
    platform: Platform, actor: Actor, requested: NewSubmission, key: str | None = None
) -> tuple[int, bool]:
    """Submit a checked upload as a method's results. Return the submission's id, and whether it is new.

    The rows are written in one transaction; workers are notified afterwards. The same `key` with the same content returns
    the same submission again. Raises NotFoundError, RefusedError with all reasons, ConflictError for a key that was used
    for other content, OutdatedCheckError for an upload that has to be checked again first.
    """
    digest = hashlib.sha256(json.dumps(requested.model_dump(mode="json"), sort_keys=True).encode()).digest()
    try:
        with platform.transaction() as session:
            submission_id, runs, is_known = _confirm(session, actor, requested, key, digest)
            slots = sum(places.slots_of(platform, session).values())
    except IntegrityError as error:
        raise race_conflict(violated_constraint(error)) from error
    if runs:
        log.info("submission confirmed", submission=submission_id, runs=runs)
        platform.cache.expire_versions(None if is_known else "queue")  # boards do not show a new method yet
        platform.notifier.wake_workers(count=max(1, min(runs, slots)))
    return submission_id, runs > 0


def _confirm(
    session: Session, actor: Actor, requested: NewSubmission, key: str | None, digest: bytes
) -> tuple[int, int, bool]:
    """Return the submission's id, how many runs were queued (0 if the key was used before), and whether the method is known."""
    assert actor.user_id is not None
    phase_id = session.scalar(select(Upload.phase_id).where(Upload.id == requested.upload))
    if phase_id is not None:
        challenges.keep_dates(session, phase_id)
    team_id = team_of_upload(session, actor, requested.upload) or 0
    lock_person(session, actor.user_id)  # quota and one-result rule are decided under these locks
    teams.lock_team(session, team_id)
    if key and (before := submission_of_key(session, actor.user_id, key)) is not None:
        if before.request_digest != digest:
            message = f"the idempotency key {key!r} was used for submission {before.id}; use another key"
            raise ConflictError(message)
        return before.id, 0, True
    upload, phase = _upload_and_phase(session, actor, team_id, requested)
    _require_current_check(session, upload.id, phase)
    archive = archive_of(upload)
    chosen = tuple(sorted(set(requested.competitions or archive.competitions)))
    prior = prior_results(session, team_id, phase.id)
    proposal = Proposal(requested.method.name, chosen, tasks_of(phase), requested.method.is_baseline)
    usage = quotas.usage(session, phase, team_id, actor.user_id)
    method, method_refusals = methods.create_or_update_method(
        session, actor, (phase.challenge_id, team_id), requested.method, make_public=requested.make_public
    )
    now = challenges.now(session)
    found = [
        *terms.submission_refusals(session, actor, phase),
        *refusals(now, phase, archive, proposal, prior, usage),
        *statement_refusals(phase, proposal, requested.training),
        *method_refusals,
    ]
    if found or method is None:
        lines = quota_lines(now, phase.quotas, [*wanted(proposal)], usage)
        raise RefusedError(found, rate_limit_fields(now, lines))
    submission = Submission(
        upload_id=upload.id,
        phase_id=phase.id,
        method_id=method.id,
        user_id=actor.user_id,
        idempotency_key=key,
        request_digest=digest,
        training=requested.training.model_dump(mode="json"),
    )
    slots = slots_to_use(now, phase.quotas, wanted(proposal), usage)
    numbers = _enter(session, submission, phase, upload, proposal, slots)
    return *numbers, any(each.method == method.name for each in prior)


def _upload_and_phase(
    session: Session, actor: Actor, team_id: int, requested: NewSubmission
) -> tuple[Upload, PhaseView]:
    """Return the upload to confirm and its phase.

    Raises NotFoundError, and ForbiddenError for a baseline or a test run by someone who is not an organiser.
    """
    assert actor.user_id is not None
    upload = stored_upload(session, actor.user_id, team_id, requested.upload)
    phase = challenges.phase_of_id(session, upload.phase_id) if upload else None
    if upload is None or phase is None:
        raise NotFoundError(f"your team has no upload {requested.upload}")
    if phase.is_draft and not actor.organises_challenge(phase.challenge_id):
        raise ForbiddenError(ONLY_ORGANISERS)
    if requested.method.is_baseline and not actor.organises_challenge(phase.challenge_id):
        raise ForbiddenError("only organisers can submit baselines")
    return upload, phase


def _require_current_check(session: Session, upload_id: uuid.UUID, phase: PhaseView) -> None:
    """Raise OutdatedCheckError if the boards have switched since an upload was checked; they do not until the transaction ends."""
    outdated = select(Upload.id).join(Upload.phase).where(Upload.id == upload_id, is_outdated())
    if session.scalar(outdated) is not None:
        raise checking.OutdatedCheckError(
            f"The annotation of {phase.image_set} was replaced a moment ago; send this again"
        )


def _enter(
    session: Session,
    submission: Submission,
    phase: PhaseView,
    upload: Upload,
    proposal: Proposal,
    slots: Mapping[str, list[int]],
) -> tuple[int, int]:
    """Store an accepted submission with a result per competition. Return its id and how many runs were queued."""
    session.add(submission)
    session.flush()
    boards = boards_for(session, phase.id, proposal.competitions)
    for board in boards:
        slot = extra.pop() if (extra := slots.get(proposal.tasks[board.competition])) else None
        add_result(session, submission, board, upload, slot, is_replaceable=is_replaceable(phase))
    return submission.id, len(boards)
