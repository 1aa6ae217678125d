"""What needs an organiser, and how it goes: their challenges as cards, and the overview of each."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from sqlalchemy import distinct, func, literal, select
from sqlalchemy.dialects.postgresql import aggregate_order_by
from sqlalchemy.orm import Session

import heldout_scoring
from app.challenges import challenges
from app.challenges.challenges import PhaseView
from app.challenges.phase_rules import PhaseState
from app.core.access import TRIED, Action, Actor, require_challenge, rows_for
from app.evaluation import rescoring, similarity
from app.evaluation.rescoring import RescoreView, UndecidedCursor
from app.images import label_reports
from app.jobs import heartbeats
from app.models import (
    Approval,
    Challenge,
    ChallengeVisibility,
    Heartbeat,
    Method,
    Result,
    ResultState,
    RunState,
    Service,
    Submission,
    Team,
    Upload,
)
from app.notifications import mailing, threads
from app.organising import run_counts
from app.organising.applied_versions import AppliedVersion, RequestedCopy, copies_of, versions_of
from app.organising.run_counts import EMPTY_QUEUE, WaitingForRepair
from app.organising.submissions import TableQuery, TableRow, load_rows, statement_of
from app.platform import Platform
from app.web.formats import plural

LATEST = 8  # rows of the table
MOST_COUNTED = 10_000  # uploads of the funnel, the latest ones
LATEST_INVALID = 100  # uploads whose problems are counted
RECENTLY = timedelta(days=30)  # how far back they go
MOST_PROBLEMS = 8


@dataclass(frozen=True, slots=True)
class Asked:
    """How much people wait for an answer to: questions of teams, and reports of labels."""

    questions: int = 0
    reports: int = 0


@dataclass(frozen=True, slots=True)
class OrganiserPhase:
    """A phase with its queue, ground truth and running re-scoring."""

    phase: PhaseView
    results: int
    queued: int
    running: int
    failed: int
    ground_truth: int  # the newest version
    shown_ground_truth: int  # the version that the boards show
    rescore: RescoreView | None
    not_offered: Mapping[int, str]  # competitions without ground truth, and what the annotation lacks
    stopped_counting: bool = False  # results is a lower bound
    more_queued: bool = False  # queued is a lower bound
    more_failed: bool = False  # failed is a lower bound: older runs were not counted
    damaged: tuple[WaitingForRepair, ...] = ()  # damaged files whose repair runs are waiting for
    alike: int = 0  # pairs of similar results that were not dismissed
    rescore_seconds: int | None = (
        None  # that scoring all its results again would take; None if nobody can say
    )

    @property
    def needs_publishing(self) -> bool:
        """Whether boards would switch only when an organiser publishes what scoring everything again gives."""
        return bool(self.results) and self.shown_ground_truth != self.ground_truth and not self.phase.is_draft


@dataclass(frozen=True, slots=True)
class OrganiserOverview:
    """Phases; lacks_worker: whether runs are or may be queued and no worker of any version is alive; lacks_mail: no mail is sent."""

    phases: tuple[OrganiserPhase, ...]
    lacks_worker: bool


@dataclass(frozen=True, slots=True)
class Need:
    """Something that waits for an organiser, and the page where it is dealt with."""

    title: str
    text: str
    address: str  # empty if there is nothing that an organiser can do
    link: str  # what it says
    is_blocking: bool = False  # nobody can submit until then


@dataclass(frozen=True, slots=True)
class MailState:
    """Whether mail is sent at all, and to how many people mail about a challenge could not be delivered lately."""

    is_away: bool
    undelivered: int


@dataclass(frozen=True, slots=True)
class Card:
    """A challenge in the list of one's own."""

    code: str
    title: str
    is_viewed: bool  # the reader may only read
    is_draft: bool
    phases: tuple[PhaseView, ...]
    teams: int
    results: int
    queued: int
    needs: tuple[Need, ...]


@dataclass(frozen=True, slots=True)
class Cards:
    """One's challenges, newest first."""

    challenges: tuple[Card, ...]
    lacks_worker: bool


@dataclass(frozen=True, slots=True)
class Funnel:
    """How many uploads of a challenge came how far."""

    uploads: int
    valid: int
    submitted: int
    scored: int
    public: int

    @property
    def is_partial(self) -> bool:
        """Whether older uploads were not counted."""
        return self.uploads >= MOST_COUNTED

    @property
    def steps(self) -> tuple[tuple[str, int], ...]:
        """Each step with its number."""
        return (
            ("uploads", self.uploads),
            ("valid", self.valid),
            ("submitted", self.submitted),
            ("scored", self.scored),
            ("public", self.public),
        )


@dataclass(frozen=True, slots=True)
class FrequentProblem:
    """A problem in the reports of recent uploads, with an example."""

    code: str
    uploads: int  # that have it
    teams: int
    example: str
    upload: str  # the id of the one with the example


@dataclass(frozen=True, slots=True)
class ChallengeOverview:
    """What an organiser sees first of a challenge."""

    code: str
    title: str
    is_viewed: bool
    phases: tuple[OrganiserPhase, ...]
    needs: tuple[Need, ...]
    funnel: Funnel
    teams: int
    workers: int
    oldest_queued: timedelta | None
    latest: tuple[TableRow, ...]
    problems: tuple[FrequentProblem, ...]


def overview(platform: Platform, actor: Actor, following: UndecidedCursor | None = None) -> OrganiserOverview:
    """Return every phase that the actor organises, with its queue, ground truth and running re-scoring.

    following: the page of a re-scoring's undecided runs, by default the first.
    """
    with platform.transaction() as session:
        return load_overview(session, challenges.organised_phases(session, actor), following)


@dataclass(frozen=True, slots=True)
class PhaseList:
    """The phases of a challenge. versions: of the annotation of each, newest first; copies: earlier ones that were asked for."""

    code: str
    title: str
    is_viewed: bool
    phases: tuple[OrganiserPhase, ...]
    lacks_worker: bool
    versions: Mapping[int, tuple[AppliedVersion, ...]]
    copies: Mapping[int, RequestedCopy] = field(default_factory=dict)


def phases_of(
    platform: Platform, actor: Actor, code: str, following: UndecidedCursor | None = None
) -> PhaseList:
    """Return the phases of a challenge, as `overview` does. Raises NotFoundError."""
    with platform.snapshot() as session:
        challenge = require_challenge(session, actor, code, Action.READ_ORGANISING)
        found = load_overview(session, challenges.phases_of(session, code), following)
        phase_ids = [row.phase.id for row in found.phases]
        versions, copies = versions_of(session, phase_ids), copies_of(session, phase_ids)
    is_viewed = actor.views_challenge(challenge.id)
    return PhaseList(
        challenge.code, challenge.title, is_viewed, found.phases, found.lacks_worker, versions, copies
    )


def load_overview(
    session: Session, phases: Collection[PhaseView], following: UndecidedCursor | None = None
) -> OrganiserOverview:
    """Return these phases with what an organiser sees of them."""
    queues, beyond = run_counts.queues_of_phases(session)
    damaged = run_counts.waiting_for_repair(session)
    rescores = rescoring.open_rescores(session, [phase.id for phase in phases], following)
    newest, shown = challenges.truth_versions(session)
    not_offered = challenges.reasons_not_offered(session)
    alike, pace = similarity.count_open(session), rescoring.pace(session)
    may_wait = RunState.QUEUED in beyond or any(queues.get(phase.id, EMPTY_QUEUE).queued for phase in phases)
    lacks_worker = may_wait and not heartbeats.alive_workers(session)
    found = tuple(
        OrganiserPhase(
            phase=phase,
            results=(queue := queues.get(phase.id, EMPTY_QUEUE)).results,
            queued=queue.queued,
            running=queue.running,
            failed=queue.failed,
            ground_truth=newest.get(phase.id, 0),
            shown_ground_truth=shown.get(phase.id, 0),
            rescore=rescores.get(phase.id),
            not_offered=not_offered.get(phase.id, {}),
            stopped_counting=queue.results == run_counts.MAX_COUNT,
            more_queued=RunState.QUEUED in beyond,
            more_failed=RunState.FAILED in beyond,
            damaged=damaged.get(phase.id, ()),
            alike=alike.get(phase.id, 0),
            rescore_seconds=pace.expected_seconds(queue.results),
        )
        for phase in phases
    )
    return OrganiserOverview(found, lacks_worker)


def needs_of(
    code: str, phases: Iterable[OrganiserPhase], waiting_teams: int, mail: MailState, asked: Asked
) -> tuple[Need, ...]:
    """Return what waits for an organiser, what keeps people from submitting first."""
    here = f"/organise/challenges/{code}"
    found = [need for row in phases for need in _needs_of_phase(here, row)]
    if asked.questions:
        title = f"{plural(asked.questions, 'question')} of teams"
        found.append(Need(title, "", f"{here}/threads?state=open", "Answer"))
    if asked.reports:
        title = f"{plural(asked.reports, 'report')} of labels"
        found.append(Need(title, "", f"{here}/label-reports?state=open", "Look at them"))
    if waiting_teams:
        title = (
            f"{waiting_teams} teams wait for approval" if waiting_teams > 1 else "1 team waits for approval"
        )
        found.append(Need(title, "", f"{here}/teams?state=waiting", "Decide"))
    if mail.is_away:
        text = "The mail server has been away for more than ten minutes. Mail waits, and nothing is lost; the admins know."
        found.append(Need("No mail is sent", text, "", ""))
    if mail.undelivered:
        title = f"Mail could not be delivered to {plural(mail.undelivered, 'address')} in the last week"
        text = (
            "These people see everything under Notifications; the admins of this server know the addresses."
        )
        found.append(Need(title, text, "", ""))
    return tuple(sorted(found, key=lambda need: not need.is_blocking))


def _mail_states(session: Session) -> Callable[[int], MailState]:
    """Return a function that tells how mail about a challenge fares."""
    is_away, failures = mailing.trouble(session) is not None, mailing.failures_by_challenge(session)
    return lambda challenge_id: MailState(is_away, failures.get(challenge_id, 0))


def _needs_of_phase(here: str, row: OrganiserPhase) -> Iterator[Need]:
    phase, truth = row.phase, f"{here}/ground-truth#phase-{row.phase.id}"
    if not row.ground_truth and phase.state is not PhaseState.CLOSED:
        yield Need(
            f"Nobody can submit to {phase.image_set}",
            "It has no ground truth.",
            truth,
            "Add ground truth",
            is_blocking=True,
        )
    elif phase.state is not PhaseState.CLOSED:
        for title, reason in _closed_tasks(row):
            text = f"The annotation of {phase.image_set} lacks what it needs: {reason}."
            yield Need(
                f"Nobody can submit to {title}", text, truth, "Look at the annotation", is_blocking=True
            )
    if phase.paused_at:
        where = f"/organise/phases/{phase.id}#scoring"
        yield Need(f"Scoring of {phase.image_set} is paused", phase.pause_reason, where, "Resume")
    if row.failed:
        title = f"{row.failed} {'run' if row.failed == 1 else 'runs'} of {phase.image_set} failed"
        where = f"{here}/submissions?state=failed&phase={phase.image_set}"
        yield Need(title, "Errors on our side; nothing was counted.", where, "Run again")
    for each in row.damaged:
        title = f"{each.runs} {'run waits' if each.runs == 1 else 'runs wait'} for a repair"
        yield Need(title, f"A {each.what} on the server is damaged; its admins see which.", truth, "Details")
    if row.rescore and row.rescore.failed:
        title = f"The re-scoring of {phase.image_set} waits for {plural(row.rescore.failed, 'decision')}"
        yield Need(title, "The boards stay as they are until all are made.", truth, "Decide")
    elif row.rescore and row.rescore.has_preview:
        title = f"The scores of {phase.image_set} under version {row.ground_truth} are ready"
        text = "The boards show the old ones until you publish them."
        yield Need(title, text, f"/organise/rescores/{row.rescore.id}", "Look at the preview")
    if row.alike:
        title = f"{row.alike} similar {'pair' if row.alike == 1 else 'pairs'} of methods in {phase.image_set}"
        yield Need(title, "", f"/organise/phases/{phase.id}/alike", "Compare")


def _closed_tasks(row: OrganiserPhase) -> Iterator[tuple[str, str]]:
    """Yield the tasks none of whose competitions is offered, each with the reason."""
    tasks: dict[str, list[int]] = {}
    for each in heldout_scoring.competitions(row.phase.dataset):
        if each.number in row.phase.left_out:
            continue
        tasks.setdefault(each.task, []).append(each.number)
    for numbers in tasks.values():
        if all(number in row.not_offered for number in numbers):
            title = heldout_scoring.competition_of(row.phase.dataset, numbers[0]).title.lower()
            yield title, row.not_offered[numbers[0]]


def cards(platform: Platform, actor: Actor) -> Cards:
    """Return the challenges that the actor organises or views, with what needs them."""
    with platform.snapshot() as session:
        theirs = rows_for(actor, Action.READ_ORGANISING, challenge=Challenge.id)
        shown = select(Challenge).where(theirs, Challenge.code != TRIED)
        listed = session.scalars(shown.order_by(Challenge.id.desc())).all()
        found = load_overview(session, challenges.read_phases(session, actor))
        teams, mail = _teams(session, [each.id for each in listed]), _mail_states(session)
        asked = _asked(session, actor, [each.id for each in listed])
    return Cards(
        tuple(
            _card(actor, each, found.phases, teams.get(each.id, (0, 0)), mail(each.id), asked[each.id])
            for each in listed
        ),
        found.lacks_worker,
    )


def _asked(session: Session, actor: Actor, challenge_ids: Iterable[int]) -> Mapping[int, Asked]:
    """Count what people wait for an answer to, in the challenges that the actor organises, not only views."""
    theirs = [each for each in challenge_ids if actor.organises_challenge(each)]
    questions, reports = threads.count_open(session, theirs), label_reports.count_open(session, theirs)
    return defaultdict(Asked, {each: Asked(questions.get(each, 0), reports.get(each, 0)) for each in theirs})


def _card(
    actor: Actor,
    challenge: Challenge,
    phases: Sequence[OrganiserPhase],
    teams: tuple[int, int],
    mail: MailState,
    asked: Asked,
) -> Card:
    own = [row for row in phases if row.phase.challenge_id == challenge.id]
    total, waiting = teams
    return Card(
        code=challenge.code,
        title=challenge.title,
        is_viewed=actor.views_challenge(challenge.id),
        is_draft=challenge.visibility is ChallengeVisibility.DRAFT,
        phases=tuple(row.phase for row in own),
        teams=total,
        results=sum(row.results for row in own),
        queued=sum(row.queued + row.running for row in own),
        needs=needs_of(challenge.code, own, waiting, mail, asked),
    )


def _teams(session: Session, challenge_ids: Collection[int]) -> dict[int, tuple[int, int]]:
    """Count, by challenge, the teams and those that wait for approval."""
    waits = func.count().filter(Team.approval == Approval.WAITING)
    statement = select(Team.challenge_id, func.count(), waits).where(Team.challenge_id.in_(challenge_ids))
    rows = session.execute(statement.group_by(Team.challenge_id))
    return {challenge: (total, waiting) for challenge, total, waiting in rows}


def challenge_overview(platform: Platform, actor: Actor, code: str) -> ChallengeOverview:
    """Return what an organiser sees first of a challenge. Raises NotFoundError."""
    with platform.snapshot() as session:
        challenge = require_challenge(session, actor, code, Action.READ_ORGANISING)
        phases = {each.id: each for each in challenges.phases_of(session, code)}
        found = load_overview(session, phases.values())
        total, waiting = _teams(session, [challenge.id]).get(challenge.id, (0, 0))
        asked = _asked(session, actor, [challenge.id])[challenge.id]
        latest = load_rows(session, actor, phases, statement_of(challenge.id, TableQuery(), (), None, LATEST))
        return ChallengeOverview(
            code=challenge.code,
            title=challenge.title,
            is_viewed=actor.views_challenge(challenge.id),
            phases=found.phases,
            needs=needs_of(challenge.code, found.phases, waiting, _mail_states(session)(challenge.id), asked),
            funnel=_funnel(session, phases),
            teams=total,
            workers=_workers(session),
            oldest_queued=_oldest_queued(session, phases),
            latest=tuple(latest),
            problems=_frequent_problems(session, phases),
        )


def _funnel(session: Session, phase_ids: Iterable[int]) -> Funnel:
    """Count how far the latest uploads came, at most `MOST_COUNTED`, so that a page of a large challenge stays quick."""
    latest = (
        select(Upload.id, Upload.valid)
        .where(Upload.phase_id.in_(list(phase_ids)))
        .order_by(Upload.started_at.desc())
        .limit(MOST_COUNTED)
        .subquery()
    )
    is_scored = Result.state == ResultState.SCORED
    reached = (
        select(
            Submission.upload_id,
            func.bool_or(is_scored).label("scored"),
            func.bool_or(is_scored & Method.public_at.is_not(None)).label("public"),
        )
        .join(latest, latest.c.id == Submission.upload_id)
        .join(Submission.method)
        .join(Result, Result.submission_id == Submission.id)
        .group_by(Submission.upload_id)
        .subquery()
    )
    statement = (
        select(
            func.count(),
            func.count().filter(latest.c.valid.is_(True)),
            func.count(reached.c.upload_id),
            func.count().filter(reached.c.scored),
            func.count().filter(reached.c.public),
        )
        .select_from(latest)
        .outerjoin(reached, reached.c.upload_id == latest.c.id)
    )
    return Funnel(*session.execute(statement).one())


def _workers(session: Session) -> int:
    alive = Heartbeat.seen_at > func.clock_timestamp() - heartbeats.ALIVE
    statement = select(func.count()).where(Heartbeat.service == Service.WORKER, alive)
    return session.scalar(statement) or 0


def _oldest_queued(session: Session, phase_ids: Iterable[int]) -> timedelta | None:
    """Return how long the oldest submission whose result is pending has waited."""
    pending = (Result.phase_id.in_(list(phase_ids)), Result.state == ResultState.PENDING)
    oldest = select(func.min(Submission.created_at)).join(Result, Result.submission_id == Submission.id)
    return session.scalar(select(func.clock_timestamp() - oldest.where(*pending).scalar_subquery()))


def _frequent_problems(session: Session, phase_ids: Iterable[int]) -> tuple[FrequentProblem, ...]:
    """Return the most frequent problems in the latest invalid uploads of the last days, with the newest example."""
    recent = (
        select(Upload.id, Upload.team_id, Upload.report, Upload.started_at)
        .where(
            Upload.phase_id.in_(list(phase_ids)),
            Upload.valid.is_(False),
            Upload.started_at > func.clock_timestamp() - RECENTLY,
        )
        .order_by(Upload.started_at.desc())
        .limit(LATEST_INVALID)
        .subquery()
    )
    problem = func.jsonb_array_elements(recent.c.report["problems"]).table_valued("value").render_derived()
    field = problem.c.value.op("->>")
    place = func.nullif(func.concat_ws(":", field("file"), field("line")), "")
    listed = (
        select(
            field("code").label("code"), func.concat_ws(": ", place, field("message")).label("line"),
            recent.c.id, recent.c.team_id, recent.c.started_at,
        )
        .select_from(recent.join(problem, literal(True)))
        .subquery()
    )  # fmt: skip
    uploads = func.count(distinct(listed.c.id))
    newest = listed.c.started_at.desc()
    statement = (
        select(
            listed.c.code,
            uploads.label("uploads"),
            func.count(distinct(listed.c.team_id)).label("teams"),
            func.array_agg(aggregate_order_by(listed.c.line, newest))[1].label("line"),
            func.array_agg(aggregate_order_by(listed.c.id, newest))[1].label("upload"),
        )
        .group_by(listed.c.code)
        .order_by(uploads.desc(), listed.c.code)
        .limit(MOST_PROBLEMS)
    )
    return tuple(
        FrequentProblem(row.code or "", row.uploads, row.teams, row.line, str(row.upload))
        for row in session.execute(statement)
    )
