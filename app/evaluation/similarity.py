"""Similar methods: find nearly identical results on a board, as a hint for organisers."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final

import structlog
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import ColumnElement, Select, delete, func, or_, select, true
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session, aliased, contains_eager, joinedload

import heldout_scoring
from app.challenges import challenges
from app.challenges.challenges import PhaseView, organised_by
from app.core import audit
from app.core.access import Actor, require_active
from app.core.errors import ConflictError, NotFoundError
from app.evaluation import near_duplicates
from app.evaluation.near_duplicates import Likeness, similarity_of_sketches
from app.jobs import queue
from app.jobs.sandbox import ChildLimits, LimitExceededError, run_in_subprocess
from app.models import (
    JobKind,
    Method,
    Phase,
    Result,
    ResultState,
    SimilarPair,
    Sketch,
    Submission,
    Upload,
)
from app.platform import Platform
from app.storage import content_key

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Subject:
    """A result to compare. fingerprint: equal for equal predictions; "" for old results that have none."""

    result_id: int
    phase_id: int
    competition: int
    dataset: str
    method_id: int
    fingerprint: str
    archive: str  # storage key, as is the description
    description: str


@dataclass(frozen=True, slots=True)
class PairSide:
    """One result of a pair."""

    result_id: int
    submission: int
    method: str
    team_id: int
    team: str
    entered_at: datetime


@dataclass(frozen=True, slots=True)
class Pair:
    """Two similar results of a board. The values are explained in `near_duplicates.Likeness`."""

    id: int
    competition: int
    newer: PairSide
    older: PairSide
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
        """Whether both results belong to the same team."""
        return self.newer.team_id == self.older.team_id


@dataclass(frozen=True, slots=True)
class PairList:
    """A page of pairs, newest first. next: the `before` of the next page, None on the last."""

    phase: PhaseView
    dismissed: bool
    pairs: tuple[Pair, ...]
    next: int | None


class Dismissal(BaseModel):
    """The reason for accepting that two results are similar."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    reason: Annotated[str, Field(min_length=1, max_length=1000, description="recorded in the audit log")]


MAX_COMPARED: Final = 5  # results that a new one is fully compared with
MIN_SKETCH_SIMILARITY: Final = 0.7  # for a full comparison
# two results are similar if one of these values is reached
MIN_RANK_CORRELATION: Final = 0.95
MIN_COMMON_BOXES: Final = 0.5  # fraction of equal boxes
MIN_COMMON_PIXELS: Final = 0.9  # fraction of equal pixels


def choose_for_comparison(
    subject: Subject, others: Sequence[Subject], similarities: Mapping[int, float]
) -> tuple[int, ...]:
    """Choose the results to fully compare a new one with: identical ones first, then those with the most similar sketches.

    At most `MAX_COMPARED`, however many results a board has. similarities: of sketches, by result id.
    """
    same = {each.result_id for each in others if has_same_predictions(subject, each)}
    similar = [
        each.result_id for each in others if similarities.get(each.result_id, 0) >= MIN_SKETCH_SIMILARITY
    ]
    order = sorted(
        {*same, *similar}, key=lambda result: (result not in same, -similarities.get(result, 0), result)
    )
    return tuple(order[:MAX_COMPARED])


def has_same_predictions(one: Subject, other: Subject) -> bool:
    """Whether two results have the same predictions, however their archives are packed."""
    return one.fingerprint == other.fingerprint != ""


def are_similar(likeness: Likeness) -> bool:
    """Whether two results are more similar than independently developed methods usually are.

    >>> are_similar(Likeness(0.97, 0.1, None)), are_similar(Likeness(0.7, None, None))
    (True, False)
    """
    limits = (
        (likeness.rank_correlation, MIN_RANK_CORRELATION),
        (likeness.common_boxes, MIN_COMMON_BOXES),
        (likeness.common_pixels, MIN_COMMON_PIXELS),
    )
    return any(value is not None and value >= limit for value, limit in limits)


def _subjects() -> Select[Result]:
    """Select scored results of held-out phases. On open phases, similar results do no harm."""
    archive = joinedload(Result.submission).load_only(Submission.upload_id)
    return (
        select(Result)
        .join(Result.phase)
        .options(
            archive.joinedload(Submission.upload).load_only(Upload.sha256),
            contains_eager(Result.phase).joinedload(Phase.challenge),
        )
        .where(Result.state == ResultState.SCORED, Phase.is_held_out)
    )


def _subject(result: Result) -> Subject:
    upload = result.submission.upload
    return Subject(
        result_id=result.id,
        phase_id=result.phase_id,
        competition=result.competition,
        dataset=result.phase.challenge.dataset,
        method_id=result.method_id,
        fingerprint=result.fingerprint,
        archive=content_key(upload.sha256 or "", upload.id),
        description=result.phase.description_key,
    )


def subject_of(session: Session, result_id: int) -> Subject | None:
    """Load a scored result of a held-out phase, or None for any other result."""
    result = session.scalar(_subjects().where(Result.id == result_id))
    return _subject(result) if result else None


def other_subjects(session: Session, subject: Subject, limit: int) -> list[tuple[Subject, bytes]]:
    """Load the newest results of other methods on the same board, with their sketches."""
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
    return [(_subject(result), content) for result, content in session.execute(statement)]


def sketch_of(session: Session, result_id: int) -> bytes | None:
    """Load the sketch of a result, or None if it has none."""
    return session.scalar(select(Sketch.content).where(Sketch.result_id == result_id))


def store_sketch(session: Session, subject: Subject, content: bytes) -> None:
    """Store a sketch unless the result already has one."""
    values = {
        "result_id": subject.result_id,
        "phase_id": subject.phase_id,
        "competition": subject.competition,
    }
    session.execute(insert(Sketch).values(**values, content=content).on_conflict_do_nothing())


def has_pair(session: Session, result_id: int, other_id: int) -> bool:
    """Whether two results were already found to be similar."""
    older, newer = sorted((result_id, other_id))
    statement = select(SimilarPair.id).where(SimilarPair.result_id == newer, SimilarPair.other_id == older)
    return session.scalar(statement) is not None


def store_pair(
    session: Session, one: Subject, other: Subject, likeness: Likeness, *, same_predictions: bool
) -> None:
    """Store a pair. An existing pair stays as it is, dismissed or not."""
    older, newer = sorted((one.result_id, other.result_id))
    statement = insert(SimilarPair).values(
        phase_id=one.phase_id,
        result_id=newer,
        other_id=older,
        same_predictions=same_predictions,
        rank_correlation=likeness.rank_correlation,
        common_boxes=likeness.common_boxes,
        common_pixels=likeness.common_pixels,
    )
    session.execute(statement.on_conflict_do_nothing())


def _is_scored(result: type[Result]) -> ColumnElement[bool]:
    return result.state == ResultState.SCORED


# created once: aliases cost more than the rest of a statement
ONE, OTHER = aliased(Result), aliased(Result)
_SIDES: Final = tuple(
    joinedload(side).options(
        joinedload(Result.submission).load_only(Submission.created_at),
        joinedload(Result.method).load_only(Method.name).joinedload(Method.team),
    )
    for side in (SimilarPair.result, SimilarPair.other)
)
OPEN_PAIRS: Final = (
    select(SimilarPair.phase_id, func.count())
    .join(ONE, ONE.id == SimilarPair.result_id)
    .join(OTHER, OTHER.id == SimilarPair.other_id)
    .where(SimilarPair.dismissed_at.is_(None), _is_scored(ONE), _is_scored(OTHER))
    .group_by(SimilarPair.phase_id)
)


def select_pairs(
    session: Session, phase_id: int, before: int | None, limit: int, *, dismissed: bool
) -> list[Pair]:
    """Load the pairs of a phase whose results are still scored, newest first, with ids below `before`."""
    statement = (
        select(SimilarPair)
        .join(ONE, ONE.id == SimilarPair.result_id)
        .join(OTHER, OTHER.id == SimilarPair.other_id)
        .options(*_SIDES, joinedload(SimilarPair.dismisser))
        .where(
            SimilarPair.phase_id == phase_id,
            SimilarPair.dismissed_at.is_not(None) if dismissed else SimilarPair.dismissed_at.is_(None),
            SimilarPair.id < before if before is not None else true(),
            _is_scored(ONE),
            _is_scored(OTHER),
        )
        .order_by(SimilarPair.id.desc())
        .limit(limit)
    )
    return [_pair(pair) for pair in session.scalars(statement)]


def _pair(pair: SimilarPair) -> Pair:
    return Pair(
        id=pair.id,
        competition=pair.other.competition,
        newer=_side(pair.result),
        older=_side(pair.other),
        same_predictions=pair.same_predictions,
        rank_correlation=pair.rank_correlation,
        common_boxes=pair.common_boxes,
        common_pixels=pair.common_pixels,
        found_at=pair.found_at,
        dismissed_at=pair.dismissed_at,
        dismissed_by=pair.dismisser.name if pair.dismisser else None,
        dismiss_reason=pair.dismiss_reason,
    )


def _side(result: Result) -> PairSide:
    return PairSide(
        result_id=result.id,
        submission=result.submission_id,
        method=result.method.name,
        team_id=result.method.team.id,
        team=result.method.team.name,
        entered_at=result.submission.created_at,
    )


def count_open(session: Session) -> dict[int, int]:
    """Count, by phase, the pairs that are not dismissed and whose results are still scored."""
    return dict(session.execute(OPEN_PAIRS).all())


def organised_pair(session: Session, actor: Actor, pair_id: int) -> tuple[SimilarPair, int]:
    """Lock a pair of a phase that the actor organises. Returns it with the id of its challenge. Raises NotFoundError."""
    statement = (
        select(SimilarPair, Phase.challenge_id)
        .join(Phase, SimilarPair.phase_id == Phase.id)
        .where(SimilarPair.id == pair_id, organised_by(actor))
    )
    row = session.execute(statement.with_for_update(of=SimilarPair)).one_or_none()
    if row is None:
        raise NotFoundError(f"there is no pair {pair_id} in the challenges that you organise")
    return row[0], row[1]


def delete_withdrawn(session: Session) -> None:
    """Delete the sketches and pairs of withdrawn results."""
    withdrawn = select(Result.id).where(Result.state == ResultState.WITHDRAWN)
    session.execute(delete(Sketch).where(Sketch.result_id.in_(withdrawn)))
    has_withdrawn = or_(SimilarPair.result_id.in_(withdrawn), SimilarPair.other_id.in_(withdrawn))
    session.execute(delete(SimilarPair).where(has_withdrawn))


PAGE = 50  # pairs
MAX_SKETCHES = 5000  # compare a new result with the sketches of so many others, the newest of its board
NOTHING = Likeness(None, None, None)


def compare(platform: Platform, payload: Mapping[str, Any]) -> None:
    """Look for results similar to the result in `payload`, or compare it with the `other_id` there. Idempotent.

    The first job computes the result's sketch and compares it with all others of the board, about a millisecond per thousand.
    For each of the few similar ones it queues another job, which reads both archives. So a board of n results takes n sketches
    and at most 5 n full comparisons, not n². Raises any error of storage or the child process.
    """
    with platform.transaction() as session:
        subject = subject_of(session, int(payload["result_id"]))
        other = subject_of(session, int(payload["other_id"])) if "other_id" in payload else None
    if subject is None:
        return  # withdrawn meanwhile, or not held out
    if other is not None:
        _compare(platform, subject, other)
    elif "other_id" not in payload:
        _find_similar(platform, subject)


def _find_similar(platform: Platform, subject: Subject) -> None:
    with platform.transaction() as session:
        sketch = sketch_of(session, subject.result_id)
    if sketch is None:
        sketch = _sketch(platform, subject)
        with (
            platform.transaction() as session
        ):  # before loading others, so that of two concurrent jobs one sees the other
            store_sketch(session, subject, sketch)
    with platform.transaction() as session:
        others = other_subjects(session, subject, MAX_SKETCHES)
        task = heldout_scoring.competition_of(subject.dataset, subject.competition).task
        values = similarity_of_sketches(sketch, [each for _, each in others], pixels=task == "segmentation")
        team_id = session.scalars(select(Method.team_id).where(Method.id == subject.method_id)).one()
        owner = f"team {team_id}"
        similarities = {each.result_id: values[place].item() for place, (each, _) in enumerate(others)}
        for other_id in choose_for_comparison(subject, [each for each, _ in others], similarities):
            if not has_pair(session, subject.result_id, other_id):
                payload = {"result_id": subject.result_id, "other_id": other_id}
                queue.add(session, JobKind.SIMILARITY, payload, owner=owner)


def _limits(platform: Platform) -> ChildLimits:
    settings = platform.settings
    return ChildLimits(seconds=settings.delivery_seconds, memory=settings.child_memory, nice=5)


def _sketch(platform: Platform, subject: Subject) -> bytes:
    with (
        platform.archives.materialise(subject.archive) as archive,
        platform.descriptions.materialise(subject.description) as description,
    ):
        return run_in_subprocess(
            _limits(platform), near_duplicates.sketch, archive, description, subject.competition
        )


def _compare(platform: Platform, subject: Subject, other: Subject) -> None:
    same = has_same_predictions(subject, other)
    try:
        likeness = _likeness(platform, subject, other)
    except LimitExceededError as error:
        log.warning("results not compared", one=subject.result_id, other=other.result_id, error=str(error))
        likeness = NOTHING
    if same or are_similar(likeness):
        with platform.transaction() as session:
            store_pair(session, subject, other, likeness, same_predictions=same)


def _likeness(platform: Platform, subject: Subject, other: Subject) -> Likeness:
    with (
        platform.archives.materialise(subject.archive) as one,
        platform.archives.materialise(other.archive) as two,
        platform.descriptions.materialise(subject.description) as description,
    ):
        output = run_in_subprocess(
            _limits(platform), near_duplicates.likeness, one, two, description, subject.competition
        )
    return Likeness(**json.loads(output))


def pairs(
    platform: Platform, actor: Actor, phase_id: int, before: int | None = None, *, dismissed: bool = False
) -> PairList:
    """Return a page of the pairs of similar results of a phase, or of those that were dismissed.

    before: list pairs with smaller ids. Raises NotFoundError if the phase does not exist or the actor does not organise it.
    """
    with platform.snapshot() as session:
        phase = challenges.require_phase(session, actor, phase_id)
        rows = select_pairs(session, phase_id, before, PAGE + 1, dismissed=dismissed)
    return PairList(phase, dismissed, tuple(rows[:PAGE]), rows[PAGE - 1].id if len(rows) > PAGE else None)


def dismiss(platform: Platform, actor: Actor, pair_id: int, dismissal: Dismissal) -> int:
    """Dismiss a pair of similar results, with a reason. Returns the id of its phase. Raises NotFoundError, ConflictError."""
    return _decide(platform, actor, pair_id, dismissal.reason)


def restore(platform: Platform, actor: Actor, pair_id: int) -> int:
    """Restore a dismissed pair. Returns the id of its phase. Raises NotFoundError, ConflictError."""
    return _decide(platform, actor, pair_id, None)


def phase_of(platform: Platform, actor: Actor, pair_id: int) -> int:
    """Return the id of the phase of a pair. Raises NotFoundError."""
    with platform.transaction() as session:
        pair, _ = organised_pair(session, actor, pair_id)
        return pair.phase_id


def _decide(platform: Platform, actor: Actor, pair_id: int, reason: str | None) -> int:
    with platform.transaction() as session:
        pair, challenge_id = organised_pair(session, actor, pair_id)
        require_active(session, challenge_id)
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


def delete_pairs_of_withdrawn(platform: Platform) -> None:
    """Delete the sketches and pairs of withdrawn results."""
    with platform.transaction() as session:
        delete_withdrawn(session)
