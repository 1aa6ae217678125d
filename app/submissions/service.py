"""Confirming a checked upload as a method's result, and reading what became of it."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

import scoring
from app.access import Actor
from app.editions import queries as editions
from app.editions.rules import disclosed, sees_everything
from app.editions.schemas import PhaseView
from app.errors import ConflictError, ForbiddenError, NotFoundError
from app.exhibits.schemas import CurveView, ExhibitView, curve_view, exhibits_of
from app.models import Board, Entry, EntryState, Method, Run, RunState, Submission, Upload
from app.platform import Platform
from app.submissions import queries
from app.submissions.rules import Archive, Past, Refusal, RefusalCode, RefusedError, counting, refusals
from app.submissions.schemas import (
    Confirmation,
    EntryView,
    NewSubmission,
    RunView,
    SubmissionRow,
    SubmissionView,
    Waiting,
    run_view,
)
from app.uploads.schemas import UploadView, competitions_of


def confirm(
    platform: Platform, actor: Actor, wanted: NewSubmission, key: str | None = None
) -> tuple[int, bool]:
    """Take a checked upload as a method's result; returns the submission's number, and whether it is a new one.

    The rows are written in one transaction and the doorbell rings after it. The same `key` with the same content
    gives the same submission again.
    Raises NotFoundError, RefusedError with all reasons, ConflictError for a key that was used for something else.
    """
    if wanted.method.is_baseline and not actor.is_organiser:
        raise ForbiddenError("only organisers enter baselines")
    digest = hashlib.sha256(json.dumps(wanted.model_dump(mode="json"), sort_keys=True).encode()).digest()
    try:
        with platform.transaction() as session:
            number, is_new = _confirm(session, actor, wanted, key, digest)
    except IntegrityError as error:
        raise _of_race(error) from error
    if is_new:
        platform.doorbell.ring()
    return number, is_new


def _confirm(
    session: Session, actor: Actor, wanted: NewSubmission, key: str | None, digest: bytes
) -> tuple[int, bool]:
    assert actor.team_id is not None
    assert actor.user_id is not None
    queries.lock_team(session, actor.team_id)
    before = queries.submission_of_key(session, actor.user_id, key) if key else None
    if before is not None:
        if before.request_digest != digest:
            raise ConflictError(f"the idempotency key {key!r} was used for another submission ({before.id})")
        return before.id, False
    upload = queries.stored_upload(session, actor.team_id, wanted.upload)
    phase = editions.phase_of_id(session, upload.phase_id) if upload else None
    if upload is None or phase is None:
        raise NotFoundError(f"your team has no upload {wanted.upload}")
    archive = _archive(upload)
    chosen = tuple(sorted(set(wanted.competitions or archive.competitions)))
    past = queries.past_entries(session, actor.team_id, phase.id)
    found = refusals(editions.now(session), phase, archive, wanted.method.name, chosen, past)
    if found:
        raise RefusedError(found)
    submission = Submission(
        upload_id=upload.id,
        phase_id=phase.id,
        method_id=_method(session, actor.team_id, wanted).id,
        user_id=actor.user_id,
        idempotency_key=key,
        request_digest=digest,
    )
    session.add(submission)
    session.flush()
    for board in queries.boards_for(session, phase.id, chosen):
        _enter(session, submission, board)
    return submission.id, True


def _archive(upload: Upload) -> Archive:
    return Archive(upload.started_at, upload.valid, competitions_of(upload.report))


def _method(session: Session, team_id: int, wanted: NewSubmission) -> Method:
    """The team's method of this name; what is told about it now stands from now on."""
    method = queries.method_of_name(session, team_id, wanted.method.name)
    if method is None:
        method = Method(team_id=team_id, **wanted.method.model_dump())
        session.add(method)
    else:
        for field, told in wanted.method.model_dump(exclude={"name"}).items():
            if told:
                setattr(method, field, told)
    session.flush()
    return method


def _enter(session: Session, submission: Submission, board: Board) -> None:
    entry = Entry(
        submission_id=submission.id,
        method_id=submission.method_id,
        phase_id=submission.phase_id,
        competition=board.competition,
    )
    session.add(entry)
    session.flush()
    session.add(
        Run(
            entry_id=entry.id,
            ground_truth_id=board.ground_truth_id,
            protocol=board.protocol,
            scorer=board.scorer,
        )
    )


def _of_race(error: IntegrityError) -> Exception:
    """The database's constraints are the last word on what the rules said a moment before."""
    if "uq_entry_one_result" in str(error):
        sentence = "this method already has a result here, and a method has one"
        return RefusedError([Refusal(RefusalCode.ONE_RESULT, sentence)])
    return ConflictError(
        "the same was sent twice at the same time; look at your submissions, and send it again"
    )


def confirmation(platform: Platform, actor: Actor, upload: UploadView) -> Confirmation:
    """What stands beside the button that has an upload scored: the team's methods, the quota, and what is against it.

    Raises NotFoundError.
    """
    with platform.transaction() as session:
        phase = editions.phase_of(session, upload.edition, upload.image_set)
        assert phase is not None
        team_id = actor.team_id or 0
        past = queries.past_entries(session, team_id, phase.id)
        methods = queries.methods_of(session, team_id)
        now = editions.now(session)
    archive = Archive(upload.started_at, upload.valid, upload.competitions)
    against = refusals(now, phase, archive, "", archive.competitions, past) if upload.valid else []
    return Confirmation(
        phase=phase,
        methods=methods,
        quota=_quota_sentence(
            phase, [counting(now, phase.quota_window, one, past) for one in archive.competitions]
        ),
        refusals=tuple(refusal.sentence for refusal in against),
    )


def _quota_sentence(phase: PhaseView, used: Sequence[Sequence[Past]]) -> str | None:
    if phase.quota is None:
        return None
    left = phase.quota - max(map(len, used), default=0)
    return f"uses 1 of the {left} left of {phase.quota} in {phase.quota_window.days} days"


def my_rows(platform: Platform, actor: Actor) -> tuple[SubmissionRow, ...]:
    """What the reader's team has entered, newest first."""
    if actor.team_id is None:
        return ()
    with platform.transaction() as session:
        rows = queries.rows_of_team(session, actor.team_id)
        places = queries.waiting_order(session)
        phases = {(phase.edition, phase.image_set): phase for phase in editions.all_phases(session)}
    everything = {key: sees_everything(actor, phase.disclosure) for key, phase in phases.items()}
    return tuple(
        replace(
            row,
            position=places.get(row.position or 0),
            mean=disclosed(row.mean, everything=everything[row.edition, row.image_set]),
        )
        for row in rows
    )


def submission_page(platform: Platform, actor: Actor, number: int) -> SubmissionView:
    """A submission with everything this reader may see of it.

    Raises NotFoundError, also for what is there but not for this reader.
    """
    with platform.snapshot() as session:
        found = queries.submission_of(session, actor, number)
        if found is None:
            raise NotFoundError(f"there is no submission {number}, or it is not public")
        submission, method, team, upload = found
        phase = editions.phase_of_id(session, submission.phase_id)
        assert phase is not None
        runs = queries.runs_of(session, number)
        ours = actor.is_organiser or (actor.team_id is not None and actor.team_id == method.team_id)
        visible = [row for row in runs if ours or row[0].state is EntryState.SCORED]
        views = _run_views(session, actor, phase, [run for _, run, _ in visible])
    assert upload.received_at is not None
    assert upload.checked_at is not None
    return SubmissionView(
        id=submission.id,
        edition=phase.edition,
        image_set=phase.image_set,
        method=queries.method_view(method),
        team=team.name,
        filename=upload.filename if ours else "",
        size=upload.received,
        sha256=upload.sha256 or "",
        received_at=upload.received_at,
        checked_at=upload.checked_at,
        created_at=submission.created_at,
        entries=tuple(_entry_view(phase, entry, views[run.id], count) for entry, run, count in visible),
        is_ours=ours,
        is_final=all(run.state not in (RunState.QUEUED, RunState.RUNNING) for _, run, _ in visible),
    )


def _entry_view(phase: PhaseView, entry: Entry, shown: RunView, runs: int) -> EntryView:
    title = scoring.competition_of(phase.dataset, entry.competition).title
    return EntryView(entry.id, entry.competition, title, entry.state, shown, runs)


def _run_views(session: Session, actor: Actor, phase: PhaseView, runs: Sequence[Run]) -> dict[int, RunView]:
    """The runs as this reader may see them, by number."""
    scores = queries.scores_of(session, [run.id for run in runs])
    versions = queries.truth_versions(session, [run.ground_truth_id for run in runs])
    waiting = _waiting(session) if any(run.state is RunState.QUEUED for run in runs) else Waiting({}, None)
    everything = sees_everything(actor, phase.disclosure)
    return {
        run.id: run_view(
            run, versions[run.ground_truth_id], scores.get(run.id, []), waiting, everything=everything
        )
        for run in runs
    }


def _waiting(session: Session) -> Waiting:
    return Waiting(queries.waiting_order(session), queries.usual_seconds(session))


def curves(
    platform: Platform, actor: Actor, run_id: int, class_name: str | None = None
) -> tuple[CurveView, ...]:
    """The curves of a run: every point where all is public, else an envelope with two decimals.

    Raises NotFoundError.
    """
    kept, everything = _kept(platform, actor, run_id)
    drawn = (scoring.Curve.from_plain(one) for one in kept if one["kind"] == scoring.Curve.kind)
    return tuple(curve_view(curve, everything) for curve in drawn if class_name in (None, curve.class_name))


def tables(platform: Platform, actor: Actor, run_id: int) -> tuple[ExhibitView, ...]:
    """The tables of a run that stand beside its scores, such as with difficult objects included. Raises NotFoundError."""
    kept, everything = _kept(platform, actor, run_id)
    return tuple(
        each for each in exhibits_of(kept, everything=everything) if each.kind == scoring.ScoreTable.kind
    )


def exhibits(platform: Platform, actor: Actor, run: RunView) -> tuple[ExhibitView, ...]:
    """What a page shows of a scored run: its table, and what it draws.

    Raises NotFoundError.
    """
    kept, everything = _kept(platform, actor, run.id)
    table = ExhibitView("score_table", run.measure or "Score", run.classes, run.headline, run.low, run.high)
    return (table, *exhibits_of(kept, everything=everything))


def _kept(platform: Platform, actor: Actor, run_id: int) -> tuple[list[dict[str, Any]], bool]:
    """The exhibits of a run and whether the reader may see everything; of an incomplete one on a held-out phase none."""
    with platform.transaction() as session:
        found = queries.visible_run(session, actor, run_id)
        if found is None:
            raise NotFoundError(f"there is no run {run_id}, or it is not public")
        run, phase = found
        everything = sees_everything(actor, phase.disclosure)
        headline = next(iter(queries.scores_of(session, [run.id]).get(run.id, [])), None)
        complete = headline is not None and headline.value is not None
        return (queries.exhibits_of(session, run.id) if complete or everything else []), everything
