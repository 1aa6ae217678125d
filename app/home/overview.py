"""What a challenge's page shows beside its phases: texts, leaders, numbers of its data, and what is next for its reader."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session

from app.challenges import asking, challenges, terms, texts
from app.challenges.asking import Asking
from app.challenges.challenges import PhaseView
from app.challenges.phase_rules import PhaseState
from app.challenges.texts import ChallengeTexts
from app.core.access import Actor
from app.models import Board, GroundTruth, Submission, Team, Upload
from app.people import teams
from app.platform import Platform
from app.results.leaders import BoardCounts, BoardSummary, board_summaries
from app.submissions import quotas
from app.submissions.quotas import QuotaLine


@dataclass(frozen=True, slots=True)
class PhaseNumbers:
    """Public numbers of a phase's data. objects: None while the annotation is hidden."""

    image_set: str
    images: int
    objects: int | None


@dataclass(frozen=True, slots=True)
class Overview:
    """The overview of a challenge.

    leaders_on: the phase of the leaders; leaders: a board of each task; classes: names, of all phases; boards: of all phases.
    """

    texts: ChallengeTexts
    leaders_on: str | None = None
    leaders: tuple[BoardSummary, ...] = ()
    numbers: tuple[PhaseNumbers, ...] = ()
    classes: tuple[str, ...] = ()
    boards: tuple[BoardSummary, ...] = ()


@dataclass(frozen=True, slots=True)
class StepToSubmission:
    """A step to the first submission. address: the page for it; is_next: the first that is not done."""

    title: str
    hint: str
    address: str
    link: str
    is_done: bool = False
    is_next: bool = False


@dataclass(frozen=True, slots=True)
class PersonProgress:
    """What somebody has done towards a submission to a challenge. confirmed: with a confirmed e-mail address."""

    registered: bool = False
    confirmed: bool = False
    accepted_terms: bool = False
    uploaded: bool = False
    submitted: bool = False


@dataclass(frozen=True, slots=True)
class OwnQuota:
    """What is left for the reader's team in a phase."""

    image_set: str
    lines: tuple[QuotaLine, ...]


@dataclass(frozen=True, slots=True)
class OwnView:
    """The part of a challenge's page that depends on its reader.

    contact: empty for visitors and if there is none; organisers: who they are, Markdown.
    """

    challenge: str
    steps: tuple[StepToSubmission, ...]
    team: str | None
    quotas: tuple[OwnQuota, ...]
    has_contact: bool
    contact: str
    asking: Asking
    organisers: str


def overview(
    session: Session,
    challenge_id: int,
    phases: Sequence[PhaseView],
    shown: PhaseView | None,
    counted: BoardCounts,
) -> Overview:
    """Load the public part of the overview. shown: the phase whose leaders are listed."""
    statistics = _statistics(session, phases)
    names = (row["name"] for phase in phases for row in statistics.get(phase.id, {}).get("rows", ()))
    boards = board_summaries(session, phases, counted)
    return Overview(
        texts.texts_of(session, challenge_id),
        shown.image_set if shown else None,
        leaders_by_task([each for each in boards if shown and each.phase == shown.ref]),
        tuple(_numbers(phase, statistics[phase.id]["total"]) for phase in phases if statistics.get(phase.id)),
        tuple(dict.fromkeys(names)),
        boards,
    )


def _numbers(phase: PhaseView, total: Mapping[str, int]) -> PhaseNumbers:
    """Return what is public of the totals: the image lists are, the number of objects is part of the annotation."""
    objects = None if phase.is_held_out else total["objects"]
    return PhaseNumbers(phase.image_set, total["images"], objects)


def _statistics(session: Session, phases: Sequence[PhaseView]) -> dict[int, dict[str, Any]]:
    """Return the statistics of the newest ground truth that the boards of each phase use."""
    statement = (
        select(GroundTruth.phase_id, GroundTruth.statistics)
        .join(Board, Board.ground_truth_id == GroundTruth.id)
        .where(Board.phase_id.in_([phase.id for phase in phases]))
        .ext(distinct_on(GroundTruth.phase_id))
        .order_by(GroundTruth.phase_id, GroundTruth.version.desc())
    )
    return dict(session.execute(statement).all())


def leaders_by_task(boards: Sequence[BoardSummary]) -> tuple[BoardSummary, ...]:
    """Return the first board of each task that has a method whose mean is shown."""
    first = {board.task: board for board in reversed(boards) if board.leaders}
    return tuple(board for board in boards if first.get(board.task) is board)


def steps_of(
    challenge: str, done: PersonProgress, *, has_terms: bool, submit_to: str | None
) -> tuple[StepToSubmission, ...]:
    """Return the four steps to a submission, with the next one marked.

    submit_to: the image set of the phase to submit to, None while none is open. Whoever has uploaded has the data, which can
    be downloaded without an account.
    """
    here = f"/challenges/{challenge}"
    register = (
        StepToSubmission(
            "Confirm your e-mail address",
            "Hidden annotation needs a confirmed address",
            f"/account/address?next={here}",
            "Confirm",
            done.confirmed,
        )
        if done.registered and not done.confirmed
        else StepToSubmission(
            "Register",
            "Reading needs no account; submitting does",
            f"/register?next={here}",
            "Register",
            done.confirmed,
        )
    )
    accept = (
        StepToSubmission(
            "Accept the terms",
            "Once for each version",
            f"{here}/terms",
            "Read the terms",
            done.accepted_terms,
        )
        if has_terms
        else StepToSubmission(
            "Read the rules",
            "Dates, quotas, and what is shown of a score",
            f"{here}/rules",
            "Rules",
            done.uploaded,
        )
    )
    download = StepToSubmission(
        "Download the data",
        "Images, lists, and an example of a valid result",
        f"{here}/data",
        "Data",
        done.uploaded,
    )
    submit = StepToSubmission(
        "Upload and submit",
        "Checks are free; only a score uses the quota",
        f"{here}/{submit_to}/submit" if submit_to else here,
        "Submit results",
        done.submitted,
    )
    steps = (register, accept, download, submit)
    following = next((step for step in steps if not step.is_done), None)
    return tuple(replace(step, is_next=step is following) for step in steps)


def own_view(platform: Platform, actor: Actor, code: str) -> OwnView:
    """Load the part of a challenge's page that depends on its reader. Raises NotFoundError."""
    with platform.snapshot() as session:
        challenge = challenges.find_challenge(session, code)
        phases = challenges.phases_of(session, code)
        current = terms.current_terms(session, code, actor.user_id)
        contact = texts.contact_of(session, challenge.id)
        team_id = teams.team_of(session, actor, challenge.id) if actor.is_logged_in else None
        is_own = actor.is_logged_in
        done = PersonProgress(
            registered=is_own,
            confirmed=is_own and actor.is_verified,
            accepted_terms=current is not None and current.accepted_at is not None,
            uploaded=is_own and _has_uploaded(session, actor, phases),
            submitted=is_own and _has_submitted(session, actor, phases),
        )
        return OwnView(
            code,
            steps_of(code, done, has_terms=current is not None, submit_to=_submit_to(phases)),
            session.scalar(select(Team.name).where(Team.id == team_id)) if team_id else None,
            _quotas(session, actor, phases) if is_own else (),
            bool(contact),
            contact if is_own else "",
            asking.asking_of(session, challenge.id),
            texts.texts_of(session, challenge.id).organisers,
        )


def _submit_to(phases: Sequence[PhaseView]) -> str | None:
    """Choose the open phase to begin with: one with public annotation and no quota if there is one."""
    is_open = [phase for phase in phases if phase.state is PhaseState.OPEN]
    first = min(is_open, key=lambda phase: (phase.is_held_out, phase.id), default=None)
    return first.image_set if first else None


def _has_uploaded(session: Session, actor: Actor, phases: Iterable[PhaseView]) -> bool:
    ids = [phase.id for phase in phases]
    own = select(Upload.id).where(Upload.user_id == actor.user_id, Upload.phase_id.in_(ids)).limit(1)
    return session.scalar(own) is not None


def _has_submitted(session: Session, actor: Actor, phases: Iterable[PhaseView]) -> bool:
    ids = [phase.id for phase in phases]
    own = (
        select(Submission.id)
        .join(Submission.upload)
        .where(Upload.user_id == actor.user_id, Upload.phase_id.in_(ids))
    )
    return session.scalar(own.limit(1)) is not None


def _quotas(session: Session, actor: Actor, phases: Sequence[PhaseView]) -> tuple[OwnQuota, ...]:
    open_ = (phase for phase in phases if phase.state is PhaseState.OPEN and phase.quotas)
    return tuple(OwnQuota(phase.image_set, quotas.lines(session, actor, phase)) for phase in open_)
