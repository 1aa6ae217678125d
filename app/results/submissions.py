"""Submissions with their results, as the reader may see them."""

import enum
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import (
    ColumnElement,
    and_,
    case,
    func,
    or_,
    select,
    true,
)
from sqlalchemy.orm import Session, aliased, contains_eager

from app.challenges import challenges
from app.challenges.challenges import PhaseView, is_open_to_others
from app.challenges.disclosure import StoredScore, Visibility, visibility_for, withheld
from app.challenges.phase_rules import PhaseState
from app.core.access import Action, Actor, ResultVisibility, rows_for
from app.core.errors import NotFoundError
from app.core.paging import RowPage, page_of
from app.jobs import places
from app.jobs.places import Places, Wait
from app.models import (
    GroundTruth,
    Method,
    Phase,
    Result,
    ResultState,
    Run,
    RunState,
    Submission,
    Team,
    Upload,
)
from app.people.teams import is_public
from app.platform import Platform
from app.results import details
from app.results.details import (
    BoardHistory,
    DetailRequest,
    PublishedRun,
    Rank,
    ResultDetail,
    ShownRun,
    seconds_between,
)
from app.results.exhibits import ClassValue
from app.results.recording import is_no_preview
from app.results.scores import RunScores, load_headlines, load_scores
from app.results.withdrawing import withdrawal_refusal
from app.submissions import quotas
from app.submissions.methods import (
    SHOWN_STATES,
    MethodView,
    Training,
    method_view,
    training_text,
    unpublishable,
    unpublishable_reason,
)
from app.submissions.quotas import QuotaLine
from heldout_scoring.competitions import name_of


@dataclass(frozen=True, slots=True)
class Retry:
    """Why an attempt to score a run ended without a result."""

    attempt: int
    at: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class RunView:
    """One scoring of a result."""

    id: int
    state: RunState
    attempt: int
    queued_at: datetime
    claimed_at: datetime | None
    finished_at: datetime | None
    failure_message: str | None
    position: int | None  # in the queue; 1 is next
    wait_seconds: int | None  # expected
    has_worker: bool  # a worker that can score it is running
    protocol: str
    measure: str | None
    ground_truth: int  # version
    scorer: str
    receipt: str | None  # keyed: only this server can confirm it
    plain_receipt: str | None  # anyone can compute it; None while the annotation is hidden
    headline: float | None
    headline_reason: str | None
    low: float | None  # of the 95 % confidence interval of the headline
    high: float | None
    classes: tuple[ClassValue, ...]
    is_rescore: bool
    waits_for: Wait | None = None  # None if it does not wait
    seconds_waited: float | None = None  # in the queue; hidden with the details
    seconds_scored: float | None = None  # likewise
    retries: tuple[Retry, ...] = ()  # why it was attempted more than once; for organisers


@dataclass(frozen=True, slots=True)
class SubmissionResult:
    """A submission's result in one competition."""

    id: int
    competition: int
    title: str
    state: ResultState
    is_complete: bool | None  # it has all predictions that the phase asks for; for organisers
    shown: RunView  # the board's run, or the latest
    runs: int
    withdrawn_at: datetime | None
    withdraw_reason: str | None
    can_withdraw: bool  # the reader may withdraw it from its board
    can_cancel: bool = False  # the reader's team may still cancel it at no cost, because it waits
    can_refund: bool = False  # the reader may give its quota back
    cancelled_at: datetime | None = None
    refunded_at: datetime | None = None  # when an organiser gave its quota back; for its team and organisers
    refund_reason: str | None = None
    # among the rows that the reader sees on its board; None while it is not on the board
    rank: Rank | None = None
    # runs that were on its board, latest first, if it has several
    history: tuple[PublishedRun, ...] = ()


@dataclass(frozen=True, slots=True)
class SubmissionView:
    """A submission with its results."""

    id: int
    challenge: str
    challenge_title: str
    image_set: str
    method: MethodView
    training_data: str  # as stated by its team
    team: str
    team_id: int
    upload_id: uuid.UUID | None  # for its team, to download the archive and its report
    filename: str
    size: int
    sha256: str
    received_at: datetime
    checked_at: datetime
    created_at: datetime
    results: tuple[SubmissionResult, ...]
    is_ours: bool  # the reader is in its team, or organises or views the challenge
    may_download: bool  # its archive
    is_organised: bool  # the reader is an organiser of its challenge
    is_member: bool  # the reader is in its team
    can_make_public: bool  # the reader is in its team, and the method is not public yet
    unpublishable: str | None  # why it cannot be made public yet
    is_final: bool  # waiting will not change it
    beyond_public: bool  # the reader is an organiser, who sees more than participants
    withheld: str | None  # the parts of the results hidden from this reader, and until when
    draws_images: bool = False  # images can be viewed

    def result_in_detail(self, competition: int | None) -> SubmissionResult | None:
        """Return the result of a competition; by default the first scored one, or else the first."""
        chosen = [result for result in self.results if result.competition == competition]
        scored = [result for result in self.results if result.shown.state is RunState.SCORED]
        return next(iter((*chosen, *scored, *self.results)), None)


def is_final(result: ResultState, run: RunState) -> bool:
    """Whether waiting will not change a result."""
    return result is not ResultState.PENDING and run not in (RunState.QUEUED, RunState.RUNNING)


class QuotaEffect(enum.StrEnum):
    """What a result costs its team's quota."""

    COUNTS = "counts"
    EXTRA = "extra slot"  # beyond the quotas, granted by an organiser
    REFUNDED = "given back"
    CANCELLED = "cancelled"
    NONE = "costs nothing"


@dataclass(frozen=True, slots=True)
class SubmissionRow:
    """A row of "my submissions": one result."""

    submission: int
    challenge: str
    image_set: str
    competition: int
    method: str
    created_at: datetime
    state: ResultState
    run_state: RunState
    position: int | None
    mean: float | None
    failure_message: str | None
    is_public: bool = False  # everybody sees the method
    quota: QuotaEffect | None = None  # None for people outside of the team
    is_waiting: bool = False  # no worker has started it: its team can cancel it
    waits_for: Wait | None = None  # None if it does not wait
    name: str = ""  # of the competition
    method_id: int = 0
    upload_id: uuid.UUID | None = None  # for its team, to submit its archive again
    challenge_title: str = ""
    is_mean_shown: bool = False  # the reader may see it, so that a blank says that there is none

    @property
    def shown_state(self) -> str:
        """The state as shown on pages."""
        if self.quota is QuotaEffect.CANCELLED:
            return "cancelled"
        return self.run_state if self.state is ResultState.PENDING else self.state


def by_method(rows: Sequence[SubmissionRow]) -> tuple[tuple[SubmissionRow, ...], ...]:
    """Return the rows in groups of one method, in the order of their first rows."""
    methods: dict[int, list[SubmissionRow]] = {}
    for row in rows:
        methods.setdefault(row.method_id, []).append(row)
    return tuple(map(tuple, methods.values()))


def run_view(
    run: Run,
    version: int,
    scores: RunScores,
    ladder: StoredScore | None,
    queue: Places,
    visibility: Visibility,
) -> RunView:
    """Return a run as the reader may see it. version: of its ground truth; ladder: what the ladder shows for its mean, if not its own."""
    headline = scores.get(None)
    bounded = headline if visibility.details else None
    return RunView(
        id=run.id,
        state=run.state,
        attempt=run.attempt,
        queued_at=visibility.moment(run.queued_at),
        claimed_at=run.claimed_at and visibility.moment(run.claimed_at),
        finished_at=run.finished_at and visibility.moment(run.finished_at),
        failure_message=run.failure_message,
        position=queue.place(run),
        wait_seconds=queue.wait_seconds(run),
        has_worker=queue.has_worker(run),
        protocol=run.protocol,
        measure=run.measure,
        ground_truth=version,
        scorer=run.scorer,
        receipt=run.receipt,
        plain_receipt=run.plain_receipt,
        headline=visibility.mean(headline, ladder),
        headline_reason=visibility.reason(headline) if headline else None,
        low=bounded.low if bounded else None,
        high=bounded.high if bounded else None,
        classes=class_values(scores, visibility),
        is_rescore=run.rescore_id is not None,
        waits_for=queue.wait(run.id),
        seconds_waited=seconds_between(run.queued_at, run.claimed_at) if visibility.details else None,
        seconds_scored=seconds_between(run.claimed_at, run.finished_at) if visibility.details else None,
    )


def retries_of(run: Run) -> tuple[Retry, ...]:
    """Return why earlier attempts of a run ended, oldest first."""
    return tuple(
        Retry(each["attempt"], datetime.fromisoformat(each["at"]), each["reason"]) for each in run.retries
    )


def class_values(scores: RunScores, visibility: Visibility) -> tuple[ClassValue, ...]:
    """Return the scores of classes as the reader may see them. Counts and intervals would reveal hidden objects."""
    shows, details = visibility.classes, visibility.details
    return tuple(
        ClassValue(
            name=name,
            value=visibility.value(score),
            low=score.low if details else None,
            high=score.high if details else None,
            reason=visibility.reason(score),
            positives=score.positives if details else None,
            predictions=score.predictions if details else None,
        )
        for name, score in scores.items()
        if shows and name is not None
    )


def may_cancel(result: Result, run: RunView) -> bool:
    """Whether a result waits for a worker, as far as is known before it is locked."""
    never_shown = result.state is ResultState.PENDING and result.published_run_id is None
    return never_shown and run.state is RunState.QUEUED


def may_refund(phase: PhaseView, method: Method, result: Result) -> bool:
    """Whether a result may cost quota that has not been given back."""
    may_count = result.state is ResultState.PENDING or result.published_run_id is not None
    return bool(phase.quotas) and not method.is_baseline and may_count and result.refunded_at is None


def result_view(
    actor: Actor, phase: PhaseView, method: Method, row: ShownRun, shown: RunView, standing: BoardHistory
) -> SubmissionResult:
    """Return a result as the reader may see it, with the run to show and how many runs it has."""
    result = row.result
    is_organised, is_member = actor.organises_challenge(phase.challenge_id), actor.is_member(method.team_id)
    is_ours = is_organised or is_member or actor.views_challenge(phase.challenge_id)
    refusal = withdrawal_refusal(
        result.state,
        is_organiser=is_organised,
        is_public=method.public_at is not None,
        reason="given in the form",
    )
    return SubmissionResult(
        id=result.id,
        competition=result.competition,
        title=name_of(phase.dataset, result.competition),
        state=result.state,
        is_complete=result.is_complete if visibility_for(actor, phase).beyond_public else None,
        shown=replace(shown, retries=retries_of(row.run)) if is_organised else shown,
        runs=row.runs,
        withdrawn_at=result.withdrawn_at and visibility_for(actor, phase).moment(result.withdrawn_at),
        withdraw_reason=result.withdraw_reason if is_ours else None,
        can_withdraw=(is_organised or is_member) and refusal is None,
        can_cancel=is_member and may_cancel(result, shown),
        can_refund=is_organised and may_refund(phase, method, result),
        cancelled_at=result.cancelled_at and visibility_for(actor, phase).moment(result.cancelled_at),
        refunded_at=result.refunded_at if is_ours else None,
        refund_reason=result.refund_reason if is_ours else None,
        rank=standing.ranks.get(result.id),
        history=standing.histories.get(result.id, ()),
    )


def submission_view(
    actor: Actor,
    phase: PhaseView,
    found: tuple[Submission, Method, Team, Upload],
    visible: Sequence[ShownRun],
    views: Mapping[int, RunView],
    standing: BoardHistory,
) -> SubmissionView:
    """Return a submission as the reader may see it, with its `visible` results."""
    submission, method, team, upload = found
    assert upload.received_at is not None
    assert upload.checked_at is not None
    visibility, view = visibility_for(actor, phase), method_view(method)
    is_organised, is_member = actor.organises_challenge(phase.challenge_id), actor.is_member(method.team_id)
    is_ours = is_organised or is_member or actor.views_challenge(phase.challenge_id)
    training = Training.model_validate(submission.training)
    return SubmissionView(
        id=submission.id,
        challenge=phase.challenge,
        challenge_title=phase.challenge_title,
        image_set=phase.image_set,
        method=replace(view, public_at=view.public_at and visibility.moment(view.public_at)),
        training_data=training_text(training, is_baseline=method.is_baseline),
        team=team.name,
        team_id=team.id,
        upload_id=upload.id if is_ours else None,
        filename=upload.filename if is_ours else "",
        size=upload.received,
        sha256=upload.sha256 or "",
        received_at=visibility.moment(upload.received_at),
        checked_at=visibility.moment(upload.checked_at),
        created_at=visibility.moment(submission.created_at),
        results=tuple(result_view(actor, phase, method, row, views[row.run.id], standing) for row in visible),
        is_ours=is_ours,
        may_download=is_organised or is_member,
        is_organised=is_organised,
        is_member=is_member,
        can_make_public=method.public_at is None and is_member,
        unpublishable=None,
        is_final=all(is_final(row.result.state, row.run.state) for row in visible),
        withheld=withheld(phase, visibility, is_complete=all(row.result.is_complete for row in visible)),
        beyond_public=visibility.beyond_public,
        draws_images=phase.draws_images,
    )


PAGE = 50  # results

ANY_RESULT = aliased(Result)

ANY_RUN = aliased(Run)


def visible_submissions(actor: Actor) -> ColumnElement[bool]:
    """The submissions that the reader may see, for statements that join Method and Phase."""
    has_result = (
        select(ANY_RESULT.id)
        .where(
            ANY_RESULT.submission_id == Submission.id,
            ANY_RESULT.state.in_(SHOWN_STATES),
            ANY_RESULT.published_run_id.is_not(None),
        )
        .correlate(Submission)
    )
    return rows_for(
        actor,
        Action.READ_SUBMISSION,
        team=Method.team_id,
        challenge=Phase.challenge_id,
        states={
            ResultVisibility.PRIVATE: true(),
            ResultVisibility.PUBLIC: and_(
                is_public(), is_open_to_others(Submission.phase_id, Submission.id), has_result.exists()
            ),
        },
    )


def _is_public_result() -> ColumnElement[bool]:
    return and_(
        is_public(), is_open_to_others(Result.phase_id, Result.submission_id), Result.state.in_(SHOWN_STATES)
    )


def submission_of(
    session: Session, actor: Actor, submission_id: int
) -> tuple[Submission, Method, Team, Upload] | None:
    """Return a submission that the reader may see, with its related rows."""
    statement = (
        select(Submission, Method, Team, Upload)
        .join(Submission.method)
        .join(Method.team)
        .join(Submission.upload)
        .join(Submission.phase)
        .where(Submission.id == submission_id, visible_submissions(actor))
    )
    return session.execute(statement).one_or_none()


def runs_of(session: Session, submission_id: int) -> list[ShownRun]:
    """Return the results of a submission, each with the run to show: the board's, else the latest."""
    latest = (
        select(ANY_RUN.id)
        .where(ANY_RUN.result_id == Result.id, is_no_preview(ANY_RUN))
        .order_by((ANY_RUN.id == Result.published_run_id).desc().nulls_last(), ANY_RUN.id.desc())
        .limit(1)
        .correlate(Result)
        .scalar_subquery()
    )
    own = ANY_RUN.result_id == Result.id, is_no_preview(ANY_RUN)
    count = select(func.count()).where(*own).correlate(Result).scalar_subquery()
    statement = (
        select(Result, Run, count, GroundTruth.version)
        .select_from(Result)
        .join(Run, Run.id == latest)
        .join(Run.ground_truth)
        .where(Result.submission_id == submission_id)
        .order_by(Result.competition)
    )
    return [ShownRun(*row) for row in session.execute(statement)]


def quota_effect() -> ColumnElement[str]:
    """What a result costs its team's quota, for statements that join Method and Phase."""
    return case(
        (Result.cancelled_at.is_not(None), QuotaEffect.CANCELLED.value),
        (Result.refunded_at.is_not(None), QuotaEffect.REFUNDED.value),
        (or_(Method.is_baseline, ~quotas.counts(), Phase.stored_quotas == []), QuotaEffect.NONE.value),
        (Result.extra_slot_id.is_not(None), QuotaEffect.EXTRA.value),
        else_=QuotaEffect.COUNTS.value,
    )


def _is_waiting() -> ColumnElement[bool]:
    """Whether a result waits for a worker, for statements that join Run."""
    return and_(
        Result.state == ResultState.PENDING, Result.published_run_id.is_(None), Run.state == RunState.QUEUED
    )


@dataclass(frozen=True, slots=True)
class TeamResult:
    """The run that is shown of a team's result, and what that costs: None for people outside of the team."""

    run: Run
    quota: QuotaEffect | None
    is_waiting: bool


def rows_of_teams(
    session: Session, teams: Collection[int], *, only_public: bool, before: int | None
) -> RowPage[TeamResult]:
    """Return results of these teams, newest first.

    only_public: leave out private ones; before: the last submission of the previous page.
    """
    own = ANY_RUN.result_id == Result.id, is_no_preview(ANY_RUN)
    latest = select(func.max(ANY_RUN.id)).where(*own).correlate(Result).scalar_subquery()
    result = contains_eager(Run.result)
    statement = (
        select(Run, quota_effect(), _is_waiting())
        .select_from(Result)
        .join(Result.submission)
        .join(Result.phase)
        .join(Result.method)
        .join(Run, Run.id == func.coalesce(Result.published_run_id, latest))
        .options(
            result.contains_eager(Result.submission).load_only(Submission.created_at, Submission.upload_id),
            result.contains_eager(Result.phase).joinedload(Phase.challenge),
            result.contains_eager(Result.method).load_only(Method.name, Method.public_at),
        )
        .where(Method.team_id.in_(teams), _is_public_result() if only_public else true())
        .where(Submission.id < before if before else true())
        .order_by(Submission.id.desc(), Result.competition)
        .limit(PAGE + 1)
    )
    found = [
        TeamResult(run, None if only_public else QuotaEffect(effect), is_waiting and not only_public)
        for run, effect, is_waiting in session.execute(statement)
    ]
    return page_of(found, PAGE, number=lambda each: each.run.result.submission_id)


def phases_entered(session: Session, teams: Collection[int]) -> set[int]:
    """Return the phases that these teams have submitted to."""
    submitted = (
        select(Submission.id)
        .join(Submission.method)
        .where(Submission.phase_id == Phase.id, Method.team_id.in_(teams))
        .exists()
    )
    return set(session.scalars(select(Phase.id).where(submitted)))


def team_rows(
    platform: Platform,
    actor: Actor,
    teams: Collection[int],
    *,
    only_public: bool = False,
    before: int | None = None,
) -> RowPage[SubmissionRow]:
    """Return the results of these teams, or only public ones, newest first; before: the previous page's last submission."""
    with platform.transaction() as session:
        page = rows_of_teams(session, teams, only_public=only_public, before=before)
        return _shown_rows(platform, session, actor, page, challenges.all_phases(session))


def own_page(
    platform: Platform, actor: Actor, before: int | None
) -> tuple[RowPage[SubmissionRow], dict[PhaseView, tuple[QuotaLine, ...]], frozenset[int]]:
    """Return the results of the reader's teams, and which of their methods cannot be public yet.

    On the first page also the quotas of open phases they submitted to.
    """
    with platform.snapshot() as session:
        phases = challenges.all_phases(session)
        page = rows_of_teams(session, actor.teams, only_public=False, before=before)
        rows = _shown_rows(platform, session, actor, page, phases)
        private = {row.method_id for row in rows.rows if not row.is_public}
        kept = unpublishable(session, private)
        if before:
            return rows, {}, kept
        entered = phases_entered(session, actor.teams)
        limited = [phase for phase in phases if phase.quotas and phase.id in entered]
        open_phases = [phase for phase in limited if phase.state is PhaseState.OPEN]
        return rows, {phase: quotas.lines(session, actor, phase) for phase in open_phases}, kept


def _shown_rows(
    platform: Platform,
    session: Session,
    actor: Actor,
    page: RowPage[TeamResult],
    phases: Sequence[PhaseView],
) -> RowPage[SubmissionRow]:
    """Return results as the reader may see them, with their positions in the queue and their means."""
    runs = [each.run for each in page.rows]
    queue = places.places_of(platform, session, [run.id for run in runs if run.state is RunState.QUEUED])
    means = load_headlines(session, (number for run in runs for number in (run.id, run.ladder_run_id)))
    visibilities = {phase.id: visibility_for(actor, phase) for phase in phases}

    def shown(one: TeamResult) -> SubmissionRow:
        run, result = one.run, one.run.result
        visibility, challenge = visibilities[result.phase_id], result.phase.challenge
        return SubmissionRow(
            submission=result.submission_id,
            challenge=challenge.code,
            image_set=result.phase.image_set,
            competition=result.competition,
            name=name_of(challenge.dataset, result.competition),
            method=result.method.name,
            created_at=visibility.moment(result.submission.created_at),
            state=result.state,
            run_state=run.state,
            position=queue.places.get(run.id),
            waits_for=queue.wait(run.id),
            mean=visibility.mean(means.get(run.id), means.get(run.ladder_run_id or 0)),
            failure_message=run.failure_message,
            is_public=result.method.public_at is not None,
            quota=one.quota,
            is_waiting=one.is_waiting,
            method_id=result.method_id,
            upload_id=result.submission.upload_id if one.quota else None,
            challenge_title=challenge.title,
            is_mean_shown=visibility.means and not visibility.by_ladder,
        )

    return RowPage(tuple(map(shown, page.rows)), page.next)


def submission_page(platform: Platform, actor: Actor, submission_id: int) -> SubmissionView:
    """Return a submission as the reader may see it. Raises NotFoundError, also if the reader may not see it."""
    with platform.snapshot() as session:
        return _visible_submission(platform, session, actor, submission_id)[0]


def submission_id_of(platform: Platform, result_id: int) -> int:
    """Return the id of the submission of a result. Raises NotFoundError."""
    with platform.reading() as session:
        found = session.scalar(select(Result.submission_id).where(Result.id == result_id))
    if found is None:
        raise NotFoundError(f"there is no result {result_id}")
    return found


def detailed_page(
    platform: Platform, actor: Actor, submission_id: int, asked: DetailRequest
) -> tuple[SubmissionView, ResultDetail | None]:
    """Return the same with the details of one result; None if they are hidden or nothing has been scored."""
    with platform.snapshot() as session:
        view, visibility = _visible_submission(platform, session, actor, submission_id)
        result = view.result_in_detail(asked.competition)
        if result is None or result.shown.state is not RunState.SCORED or not visibility.details:
            return view, None
        values = {each.name: each.value for each in result.shown.classes}
        return view, details.detail(session, result.shown.id, values, asked.classes)


def _visible_submission(
    platform: Platform, session: Session, actor: Actor, submission_id: int
) -> tuple[SubmissionView, Visibility]:
    found = submission_of(session, actor, submission_id)
    if found is None:
        raise NotFoundError(f"there is no submission {submission_id}, or it is not public")
    submission, method, *_ = found
    phase = challenges.phase_of_id(session, submission.phase_id)
    assert phase is not None
    visibility = visibility_for(actor, phase)
    ours = (
        actor.organises_challenge(phase.challenge_id)
        or actor.views_challenge(phase.challenge_id)
        or actor.is_member(method.team_id)
    )
    rows = [row for row in runs_of(session, submission_id) if ours or row.result.state in SHOWN_STATES]
    standing = BoardHistory(
        details.ranks(session, actor, phase, visibility, [row.result for row in rows]),
        details.histories(session, visibility, [row.result for row in rows if row.runs > 1]),
    )
    waiting = [row.run.id for row in rows if row.run.state is RunState.QUEUED]
    views = _run_views(session, visibility, rows, places.places_of(platform, session, waiting))
    view = submission_view(actor, phase, found, rows, views, standing)
    return replace(view, unpublishable=unpublishable_reason(session, method)), visibility


def _run_views(
    session: Session, visibility: Visibility, rows: Sequence[ShownRun], queue: Places
) -> dict[int, RunView]:
    """Return the runs by id, as the reader may see them."""
    ladder = load_headlines(session, [row.run.ladder_run_id for row in rows])
    scores = load_scores(session, [row.run.id for row in rows])
    return {
        row.run.id: run_view(
            row.run,
            row.ground_truth,
            scores.get(row.run.id, {}),
            ladder.get(row.run.ladder_run_id or 0),
            queue,
            visibility.of_result(is_complete=row.result.is_complete),
        )
        for row in rows
    }
