"""Similar methods: find results of a board that are nearly identical, as a hint to organisers."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final

import structlog
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import ColumnElement, Select, and_, delete, func, or_, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session, aliased

import scoring
from app.challenges import challenges
from app.challenges.challenges import PhaseView, organised_by
from app.core import audit
from app.core.access import Actor
from app.core.errors import ConflictError, NotFoundError
from app.jobs import queue, sandbox
from app.jobs.sandbox import ChildLimits, LimitExceededError, run_in_subprocess
from app.models import (
    AlikePair,
    Challenge,
    Disclosure,
    JobKind,
    Method,
    Phase,
    Result,
    ResultState,
    Sketch,
    Submission,
    Team,
    Upload,
    User,
)
from app.platform import Platform
from app.storage import content_key
from scoring.analysis.near_duplicates import Likeness, similarity_of_sketches


@dataclass(frozen=True, slots=True)
class Subject:
    """A result to compare; fingerprint: equal for equal predictions, or "" from before there was one."""

    result_id: int
    phase_id: int
    competition: int
    dataset: str
    method_id: int
    fingerprint: str
    archive: str  # keys in storage
    description: str


@dataclass(frozen=True, slots=True)
class Side:
    """One of two results."""

    result_id: int
    submission: int
    method: str
    team_id: int
    team: str
    entered_at: datetime


@dataclass(frozen=True, slots=True)
class Pair:
    """Two results of a board that are alike; figures as in `scoring.analysis.near_duplicates.Likeness`."""

    id: int
    competition: int
    newer: Side
    older: Side
    same_predictions: bool
    rank_correlation: float | None
    common_boxes: float | None
    common_pixels: float | None
    found_at: datetime
    dismissed_at: datetime | None
    dismissed_by: str | None
    dismiss_reason: str | None

    @property
    def is_of_one_team(self) -> bool:
        """Whether both are of the same team."""
        return self.newer.team_id == self.older.team_id


@dataclass(frozen=True, slots=True)
class PairList:
    """A page of pairs, the newest first; `next` is the `before` of the next page."""

    phase: PhaseView
    dismissed: bool
    pairs: tuple[Pair, ...]
    next: int | None


class Dismissal(BaseModel):
    """Why two results may be alike."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    reason: Annotated[str, Field(min_length=1, max_length=1000, description="for the audit")]


COMPARED: Final = 5  # results that a new one is compared with in full, at most
ALIKE_SKETCHES: Final = 0.7  # a similarity from which two are compared in full
RANKS: Final = 0.95  # rank correlation from which two results are alike
BOXES: Final = 0.5  # fraction of equal boxes
PIXELS: Final = 0.9  # fraction of equal pixels


def chosen(subject: Subject, others: Sequence[Subject], similarities: Mapping[int, float]) -> tuple[int, ...]:
    """The results to compare a new one with in full: those that say the same first, then the most alike sketches.

    At most `COMPARED`, however many results a board has; similarities: of sketches, by result.
    """
    same = {each.result_id for each in others if says_the_same(subject, each)}
    alike = [each.result_id for each in others if similarities.get(each.result_id, 0) >= ALIKE_SKETCHES]
    order = sorted(
        {*same, *alike}, key=lambda result: (result not in same, -similarities.get(result, 0), result)
    )
    return tuple(order[:COMPARED])


def says_the_same(one: Subject, other: Subject) -> bool:
    """Whether two results hold the same predictions, however they are packed."""
    return one.fingerprint == other.fingerprint != ""


def are_alike(likeness: Likeness) -> bool:
    """Whether figures are such as two methods seldom reach that were made apart.

    >>> are_alike(Likeness(0.97, 0.1, None)), are_alike(Likeness(0.7, None, None))
    (True, False)
    """
    limits = (
        (likeness.rank_correlation, RANKS),
        (likeness.common_boxes, BOXES),
        (likeness.common_pixels, PIXELS),
    )
    return any(figure is not None and figure >= limit for figure, limit in limits)


def _subjects() -> Select[*tuple[Any, ...]]:
    """Scored results where the annotation is held out; where it is open, alike results cost nobody anything."""
    statement: Select[*tuple[Any, ...]] = (
        select(
            Result.id, Result.phase_id, Result.competition, Challenge.dataset, Result.method_id, Result.fingerprint,
            Upload.sha256, Upload.id, Phase.description_key,
        )
        .select_from(Result)
        .join(Submission, Result.submission_id == Submission.id)
        .join(Upload, Submission.upload_id == Upload.id)
        .join(Phase, Result.phase_id == Phase.id)
        .join(Challenge, Phase.challenge_id == Challenge.id)
        .where(Result.state == ResultState.SCORED, Phase.disclosure != Disclosure.FULL)
    )  # fmt: skip
    return statement


def _subject(row: Sequence[Any]) -> Subject:
    result, phase, competition, dataset, method, fingerprint, sha256, upload, description = row
    archive = content_key(sha256 or "", upload)
    return Subject(result, phase, competition, dataset, method, fingerprint, archive, description)


def subject_of(session: Session, result_id: int) -> Subject | None:
    """A scored result of a held-out phase; none for any other."""
    row = session.execute(_subjects().where(Result.id == result_id)).one_or_none()
    return _subject(row) if row else None


def other_subjects(session: Session, subject: Subject, limit: int) -> list[tuple[Subject, bytes]]:
    """The newest other methods' results on the board of one, with their sketches."""
    statement = (
        _subjects()
        .add_columns(Sketch.content)
        .join(Sketch, Sketch.result_id == Result.id)
        .where(
            Sketch.phase_id == subject.phase_id,
            Sketch.competition == subject.competition,
            Result.method_id != subject.method_id,
        )
        .order_by(Sketch.result_id.desc())
        .limit(limit)
    )
    return [(_subject(row), content) for *row, content in session.execute(statement)]


def sketch_of(session: Session, result_id: int) -> bytes | None:
    """The sketch of a result."""
    return session.scalar(select(Sketch.content).where(Sketch.result_id == result_id))


def store_sketch(session: Session, subject: Subject, content: bytes) -> None:
    """Keep a sketch; a second one of the same result is dropped."""
    values = {
        "result_id": subject.result_id,
        "phase_id": subject.phase_id,
        "competition": subject.competition,
    }
    session.execute(insert(Sketch).values(**values, content=content).on_conflict_do_nothing())


def has_pair(session: Session, result_id: int, other_id: int) -> bool:
    """Whether two results were found to be alike."""
    older, newer = sorted((result_id, other_id))
    statement = select(AlikePair.id).where(AlikePair.result_id == newer, AlikePair.other_id == older)
    return session.scalar(statement) is not None


def store_pair(
    session: Session, one: Subject, other: Subject, likeness: Likeness, *, same_predictions: bool
) -> None:
    """Keep a pair; one that is there stays as it is, dismissed or not."""
    older, newer = sorted((one.result_id, other.result_id))
    statement = insert(AlikePair).values(
        phase_id=one.phase_id,
        result_id=newer,
        other_id=older,
        same_predictions=same_predictions,
        rank_correlation=likeness.rank_correlation,
        common_boxes=likeness.common_boxes,
        common_pixels=likeness.common_pixels,
    )
    session.execute(statement.on_conflict_do_nothing())


def _stands(result: type[Result]) -> ColumnElement[bool]:
    return result.state == ResultState.SCORED


# made once: an alias costs more than the rest of a statement
SIDES: Final = tuple((aliased(Result), aliased(Submission), aliased(Method), aliased(Team)) for _ in range(2))
ONE, OTHER = (result for result, *_ in SIDES)
OPEN_PAIRS: Final = (
    select(AlikePair.phase_id, func.count())
    .join(ONE, ONE.id == AlikePair.result_id)
    .join(OTHER, OTHER.id == AlikePair.other_id)
    .where(AlikePair.dismissed_at.is_(None), _stands(ONE), _stands(OTHER))
    .group_by(AlikePair.phase_id)
)


def select_pairs(
    session: Session, phase_id: int, before: int | None, limit: int, *, dismissed: bool
) -> list[Pair]:
    """The pairs of a phase whose results stand, the newest first, by id below `before`."""
    statement: Select[*tuple[Any, ...]] = select(AlikePair, User.name).outerjoin(
        User, AlikePair.dismissed_by == User.id
    )
    for (result, submission, method, team), number in zip(
        SIDES, (AlikePair.result_id, AlikePair.other_id), strict=True
    ):
        statement = (
            statement.add_columns(
                result.id, submission.id, method.name, team.id, team.name, submission.created_at,
                *((result.competition,) if number is AlikePair.other_id else ()),
            )
            .join(result, result.id == number)
            .join(submission, result.submission_id == submission.id)
            .join(method, result.method_id == method.id)
            .join(team, method.team_id == team.id)
            .where(_stands(result))
        )  # fmt: skip
    is_dismissed = AlikePair.dismissed_at.is_not(None)
    found = [AlikePair.phase_id == phase_id, is_dismissed if dismissed else ~is_dismissed]
    if before is not None:
        found.append(AlikePair.id < before)
    rows = session.execute(statement.where(*found).order_by(AlikePair.id.desc()).limit(limit))
    return [_pair(*row) for row in rows]


def _pair(pair: AlikePair, dismissed_by: str | None, *sides: Any) -> Pair:
    return Pair(
        id=pair.id,
        competition=sides[-1],
        newer=Side(*sides[:6]),
        older=Side(*sides[6:12]),
        same_predictions=pair.same_predictions,
        rank_correlation=pair.rank_correlation,
        common_boxes=pair.common_boxes,
        common_pixels=pair.common_pixels,
        found_at=pair.found_at,
        dismissed_at=pair.dismissed_at,
        dismissed_by=dismissed_by,
        dismiss_reason=pair.dismiss_reason,
    )


def count_open(session: Session) -> dict[int, int]:
    """By phase, the pairs that nobody has dismissed and whose results stand."""
    return dict(session.execute(OPEN_PAIRS).all())


def organised_pair(session: Session, actor: Actor, pair_id: int) -> tuple[AlikePair, int] | None:
    """A pair of a phase that somebody organises, locked, with the id of its challenge."""
    statement = (
        select(AlikePair, Phase.challenge_id)
        .join(Phase, AlikePair.phase_id == Phase.id)
        .where(AlikePair.id == pair_id, organised_by(actor))
    )
    row = session.execute(statement.with_for_update(of=AlikePair)).one_or_none()
    return (row[0], row[1]) if row else None


def forget_ended(session: Session) -> None:
    """Delete the sketches and pairs of results that were withdrawn."""
    ended = select(Result.id).where(Result.state == ResultState.WITHDRAWN)
    session.execute(delete(Sketch).where(Sketch.result_id.in_(ended)))
    is_ended = or_(AlikePair.result_id.in_(ended), AlikePair.other_id.in_(ended))
    session.execute(delete(AlikePair).where(and_(is_ended)))


log = structlog.get_logger()

PAGE = 50  # pairs
BOARD = 5000  # of the newest results of a board, a new one is compared with the sketches of so many
NOTHING = Likeness(None, None, None)


def compare(platform: Platform, payload: Mapping[str, Any]) -> None:
    """Look for results that are like the result in `payload`, or compare it with the `other_id` there; twice gives the same.

    The first delivery makes the result's sketch and compares it with those of its board, which takes about a millisecond for a
    thousand; for the few that are alike it leaves a message each, whose delivery reads both archives. So a board of n results
    costs n readings and at most 5 n comparisons, not n². Raises whatever keeps storage or the child process from working.
    """
    with platform.transaction() as session:
        subject = subject_of(session, int(payload["result_id"]))
        other = subject_of(session, int(payload["other_id"])) if "other_id" in payload else None
    if subject is None:
        return  # withdrawn in the meantime, or nothing of it is hidden
    if other is not None:
        _compare(platform, subject, other)
    elif "other_id" not in payload:
        _look_for_alike(platform, subject)


def _look_for_alike(platform: Platform, subject: Subject) -> None:
    with platform.transaction() as session:
        sketch = sketch_of(session, subject.result_id)
    if sketch is None:
        sketch = _sketch(platform, subject)
        with platform.transaction() as session:  # before others are read: of two at once, one sees the other
            store_sketch(session, subject, sketch)
    with platform.transaction() as session:
        others = other_subjects(session, subject, BOARD)
        task = scoring.competition_of(subject.dataset, subject.competition).task
        found = similarity_of_sketches(sketch, [each for _, each in others], pixels=task == "segmentation")
        similarities = {each.result_id: found[place].item() for place, (each, _) in enumerate(others)}
        for other_id in chosen(subject, [each for each, _ in others], similarities):
            if not has_pair(session, subject.result_id, other_id):
                queue.add(session, JobKind.SIMILARITY, {"result_id": subject.result_id, "other_id": other_id})


def _limits(platform: Platform) -> ChildLimits:
    settings = platform.settings
    return ChildLimits(seconds=settings.delivery_seconds, memory=settings.child_memory, nice=5)


def _sketch(platform: Platform, subject: Subject) -> bytes:
    with (
        platform.archives.materialise(subject.archive) as archive,
        platform.descriptions.materialise(subject.description) as description,
    ):
        return run_in_subprocess(_limits(platform), sandbox.sketch, archive, description, subject.competition)


def _compare(platform: Platform, subject: Subject, other: Subject) -> None:
    same = says_the_same(subject, other)
    try:
        likeness = _likeness(platform, subject, other)
    except LimitExceededError as error:
        log.warning("results not compared", one=subject.result_id, other=other.result_id, error=str(error))
        likeness = NOTHING
    if same or are_alike(likeness):
        with platform.transaction() as session:
            store_pair(session, subject, other, likeness, same_predictions=same)


def _likeness(platform: Platform, subject: Subject, other: Subject) -> Likeness:
    with (
        platform.archives.materialise(subject.archive) as one,
        platform.archives.materialise(other.archive) as two,
        platform.descriptions.materialise(subject.description) as description,
    ):
        output = run_in_subprocess(
            _limits(platform), sandbox.likeness, one, two, description, subject.competition
        )
    return Likeness(**json.loads(output))


def pairs(
    platform: Platform, actor: Actor, phase_id: int, before: int | None = None, *, dismissed: bool = False
) -> PairList:
    """The pairs of alike results of a phase, at most `PAGE` of them, by id below `before`, or those that were dismissed.

    Raises NotFoundError, also for a phase that somebody does not organise.
    """
    with platform.snapshot() as session:
        phases = challenges.organised_phases(session, actor)
        phase = next((each for each in phases if each.id == phase_id), None)
        if phase is None:
            raise NotFoundError(f"there is no phase {phase_id}")
        rows = select_pairs(session, phase_id, before, PAGE + 1, dismissed=dismissed)
    return PairList(phase, dismissed, tuple(rows[:PAGE]), rows[PAGE - 1].id if len(rows) > PAGE else None)


def dismiss(platform: Platform, actor: Actor, pair_id: int, dismissal: Dismissal) -> int:
    """Take a pair off the list, with a reason; returns the id of its phase. Raises NotFoundError, ConflictError."""
    return _decide(platform, actor, pair_id, dismissal.reason)


def restore(platform: Platform, actor: Actor, pair_id: int) -> int:
    """Put a pair back on the list; returns the id of its phase. Raises NotFoundError, ConflictError."""
    return _decide(platform, actor, pair_id, None)


def _decide(platform: Platform, actor: Actor, pair_id: int, reason: str | None) -> int:
    with platform.transaction() as session:
        found = organised_pair(session, actor, pair_id)
        if found is None:
            raise NotFoundError(f"there is no pair {pair_id} in a challenge that you organise")
        pair, challenge_id = found
        if (pair.dismissed_at is None) == (reason is None):
            raise ConflictError(f"pair {pair_id} is {'not' if reason is None else 'already'} dismissed")
        audit.record(
            session,
            actor.user_id,
            "pair.restore" if reason is None else "pair.dismiss",
            f"pair {pair_id}",
            challenge_id=challenge_id,
            reason=reason or "",
            before={"reason": pair.dismiss_reason},
            after={"reason": reason},
            details={"results": [pair.result_id, pair.other_id]},
        )
        pair.dismissed_at = None if reason is None else func.clock_timestamp()
        pair.dismissed_by = None if reason is None else actor.user_id
        pair.dismiss_reason = reason
        phase_id: int = pair.phase_id
    return phase_id


def sweep(platform: Platform) -> None:
    """Delete what is kept of results that were withdrawn."""
    with platform.transaction() as session:
        forget_ended(session)
