"""Confirming a checked upload as a method's result, and reading submissions."""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import structlog
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.access import Actor
from app.database_errors import violated_constraint
from app.disclosure import queries as disclosure
from app.disclosure.rules import Sight, sight_of
from app.editions import queries as editions
from app.editions.rules import tasks_of
from app.editions.schemas import PhaseState, PhaseView
from app.errors import ConflictError, ForbiddenError, NotFoundError, RefusedError
from app.jobs import places
from app.jobs.places import Places
from app.memberships import queries as memberships
from app.methods import queries as method_queries
from app.methods import service as methods
from app.methods.rules import SHOWN_STATES
from app.models import RunState, Submission, Upload
from app.participation import service as participation
from app.platform import Platform
from app.quotas import service as quotas
from app.quotas.rules import quota_lines, rate_limit_fields, slots_to_use
from app.quotas.schemas import QuotaLine
from app.results import service as results
from app.results.schemas import Asked, ResultDetail, ShownRun, Standing
from app.row_pages import RowPage
from app.submissions import queries
from app.submissions.rules import (
    Archive,
    Proposal,
    archive_of,
    is_replaceable,
    race_conflict,
    refusals,
    smallest_proposal,
    statement_refusals,
    wanted,
)
from app.submissions.schemas import (
    Confirmation,
    NewSubmission,
    RunScores,
    RunView,
    SubmissionRow,
    SubmissionView,
    run_view,
    submission_view,
)
from app.uploads.views import UploadView

log = structlog.get_logger()


def confirm(
    platform: Platform, actor: Actor, requested: NewSubmission, key: str | None = None
) -> tuple[int, bool]:
    """Take a checked upload as a method's result; returns the id of the submission, and whether it is a new one.

    The rows are written in one transaction; workers are notified after it. The same `key` with the same content
    gives the same submission again.
    Raises NotFoundError, RefusedError with all reasons, ConflictError for a key that was used for something else.
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
        platform.cache.forget_versions(None if is_known else "queue")  # boards say nothing of a new method
        platform.notifier.wake_workers(count=max(1, min(runs, slots)))
    return submission_id, runs > 0


def _confirm(
    session: Session, actor: Actor, requested: NewSubmission, key: str | None, digest: bytes
) -> tuple[int, int, bool]:
    """The id of the submission, how many runs were queued (none where the key was used before), and whether the method is known."""
    assert actor.user_id is not None
    team_id = queries.team_of_upload(session, actor, requested.upload) or 0
    memberships.lock_person(session, actor.user_id)  # so that nobody can race quotas and one-result rule
    memberships.lock_team(session, team_id)
    if key and (before := queries.submission_of_key(session, actor.user_id, key)) is not None:
        if before.request_digest != digest:
            message = f"the idempotency key {key!r} was used for submission {before.id}; use another key"
            raise ConflictError(message)
        return before.id, 0, True
    upload, phase = _upload_and_phase(session, actor, team_id, requested)
    archive = archive_of(upload)
    chosen = tuple(sorted(set(requested.competitions or archive.competitions)))
    prior = queries.prior_entries(session, team_id, phase.id)
    proposal = Proposal(requested.method.name, chosen, tasks_of(phase), requested.method.is_baseline)
    usage = quotas.usage(session, phase, team_id, actor.user_id)
    method, against = methods.describe(
        session, actor, (phase.edition_id, team_id), requested.method, make_public=requested.make_public
    )
    now = editions.now(session)
    found = [
        *participation.against_submission(session, actor, phase),
        *refusals(now, phase, archive, proposal, prior, usage),
        *statement_refusals(phase, proposal, requested.training),
        *against,
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
    """The upload to confirm, and the phase that it is for.

    Raises NotFoundError, and ForbiddenError for a baseline that no organiser sends.
    """
    assert actor.user_id is not None
    upload = queries.stored_upload(session, actor.user_id, team_id, requested.upload)
    phase = editions.phase_of_id(session, upload.phase_id) if upload else None
    if upload is None or phase is None:
        raise NotFoundError(f"your team has no upload {requested.upload}")
    if requested.method.is_baseline and not actor.runs(phase.edition_id):
        raise ForbiddenError("only organisers enter baselines")
    return upload, phase


def _enter(
    session: Session,
    submission: Submission,
    phase: PhaseView,
    upload: Upload,
    proposal: Proposal,
    slots: Mapping[str, list[int]],
) -> tuple[int, int]:
    """Write an accepted submission with an entry for each competition; its id, and how many runs were queued."""
    session.add(submission)
    session.flush()
    boards = queries.boards_for(session, phase.id, proposal.competitions)
    for board in boards:
        slot = extra.pop() if (extra := slots.get(proposal.tasks[board.competition])) else None
        queries.enter(session, submission, board, upload, slot, is_replaceable=is_replaceable(phase))
    return submission.id, len(boards)


def confirmation(platform: Platform, actor: Actor, upload: UploadView) -> Confirmation:
    """What the form that confirms an upload shows: the team's methods, the quota, and what is against it.

    Raises NotFoundError.
    """
    with platform.transaction() as session:
        phase = editions.phase_of(session, upload.edition, upload.image_set)
        assert phase is not None
        team_id = memberships.team_in(session, actor.user_id, phase.edition_id) or 0
        prior = queries.prior_entries(session, team_id, phase.id)
        own = method_queries.methods_of(session, phase.edition_id, team_id)
        usage = quotas.usage(session, phase, team_id, actor.user_id or 0)
        personal = participation.against_submission(session, actor, phase)
        now = editions.now(session)
    archive = Archive(upload.started_at, upload.valid, upload.competitions, upload.is_removed)
    smallest = smallest_proposal(archive, tasks_of(phase))
    against = (*personal, *refusals(now, phase, archive, smallest, prior, usage))
    tasks = [smallest.tasks[number] for number in smallest.competitions]
    return Confirmation(
        phase=phase,
        methods=own,
        quota=quota_lines(now, phase.quotas, tasks, usage),
        refusals=tuple(refusal.message for refusal in against),
    )


def team_rows(
    platform: Platform,
    actor: Actor,
    teams: Collection[int],
    *,
    only_public: bool = False,
    before: int | None = None,
) -> RowPage[SubmissionRow]:
    """What these teams have entered, or their public results, newest first; before: the last submission of the page before."""
    with platform.transaction() as session:
        page = queries.rows_of_teams(session, teams, only_public=only_public, before=before)
        return _shown_rows(platform, session, actor, page, editions.all_phases(session))


def own_page(
    platform: Platform, actor: Actor, before: int | None
) -> tuple[RowPage[SubmissionRow], dict[PhaseView, tuple[QuotaLine, ...]]]:
    """What somebody's teams have entered, with what is left in the open phases that they have submitted to, on the first page."""
    with platform.snapshot() as session:
        phases = editions.all_phases(session)
        page = queries.rows_of_teams(session, actor.teams, only_public=False, before=before)
        rows = _shown_rows(platform, session, actor, page, phases)
        if before:
            return rows, {}
        entered = queries.phases_entered(session, actor.teams)
        limited = [phase for phase in phases if phase.quotas and phase.id in entered]
        open_phases = [phase for phase in limited if phase.state is PhaseState.OPEN]
        return rows, {phase: quotas.lines(session, actor, phase) for phase in open_phases}


def _shown_rows(
    platform: Platform,
    session: Session,
    actor: Actor,
    page: RowPage[tuple[SubmissionRow, int, int | None]],
    phases: Sequence[PhaseView],
) -> RowPage[SubmissionRow]:
    """Rows as a reader may see them, with their places in the queue and their means."""
    queued = [run for row, run, _ in page.rows if row.run_state is RunState.QUEUED]
    positions = places.places_of(platform, session, queued).places
    headlines = disclosure.headlines(session, {each for _, *runs in page.rows for each in runs})
    sights = {(phase.edition, phase.image_set): sight_of(actor, phase) for phase in phases}
    shown = tuple(
        replace(
            row,
            position=positions.get(run),
            mean=sights[row.edition, row.image_set].mean(headlines.get(run), headlines.get(ladder or 0)),
            created_at=sights[row.edition, row.image_set].moment(row.created_at),
        )
        for row, run, ladder in page.rows
    )
    return RowPage(shown, page.next)


def submission_page(platform: Platform, actor: Actor, submission_id: int) -> SubmissionView:
    """A submission with what this reader may see of it. Raises NotFoundError, also for what is not for this reader."""
    with platform.snapshot() as session:
        return _submission(platform, session, actor, submission_id)[0]


def detailed_page(
    platform: Platform, actor: Actor, submission_id: int, asked: Asked
) -> tuple[SubmissionView, ResultDetail | None]:
    """As `submission_page`, with the details of one entry; none where they are hidden or nothing has been scored."""
    with platform.snapshot() as session:
        view, sight = _submission(platform, session, actor, submission_id)
        entry = view.entry_in_detail(asked.competition)
        if entry is None or entry.shown.state is not RunState.SCORED or not sight.details:
            return view, None
        values = {each.name: each.value for each in entry.shown.classes}
        return view, results.detail(session, entry.shown.id, values, asked.classes)


def _submission(
    platform: Platform, session: Session, actor: Actor, submission_id: int
) -> tuple[SubmissionView, Sight]:
    found = queries.submission_of(session, actor, submission_id)
    if found is None:
        raise NotFoundError(f"there is no submission {submission_id}, or it is not public")
    submission, method, *_ = found
    phase = editions.phase_of_id(session, submission.phase_id)
    assert phase is not None
    sight = sight_of(actor, phase)
    ours = actor.runs(phase.edition_id) or actor.is_member(method.team_id)
    rows = [row for row in queries.runs_of(session, submission_id) if ours or row.entry.state in SHOWN_STATES]
    standing = Standing(
        results.ranks(session, actor, phase, sight, [row.entry for row in rows]),
        results.histories(session, sight, [row.entry for row in rows if row.runs > 1]),
    )
    waiting = [row.run.id for row in rows if row.run.state is RunState.QUEUED]
    views = _run_views(session, sight, rows, places.places_of(platform, session, waiting))
    return submission_view(actor, phase, found, rows, views, standing), sight


def _run_views(session: Session, sight: Sight, rows: Sequence[ShownRun], queue: Places) -> dict[int, RunView]:
    """The runs as a reader may see them, by number."""
    ladder = disclosure.headlines(session, [row.run.ladder_run_id for row in rows])
    scores = queries.scores_of(session, [row.run.id for row in rows])
    return {
        row.run.id: run_view(
            row.run,
            row.ground_truth,
            RunScores(scores.get(row.run.id, []), ladder.get(row.run.ladder_run_id or 0)),
            queue,
            sight.of_result(is_complete=row.entry.is_complete),
        )
        for row in rows
    }
