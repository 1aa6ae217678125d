"""Comparing a new result with the others of its board, and what organisers do with those that are alike."""

import json
from collections.abc import Mapping
from typing import Any

import structlog
from sqlalchemy import func

import scoring
from app import children
from app.access import Actor
from app.audit import queries as audit
from app.editions import queries as editions
from app.errors import ConflictError, NotFoundError
from app.jobs import queue
from app.models import JobKind
from app.platform import Platform
from app.sandbox import ChildLimits, LimitExceededError, run_in_subprocess
from app.similarity import queries
from app.similarity.rules import are_alike, chosen, says_the_same
from app.similarity.schemas import Dismissal, PairList, Subject
from scoring.analysis.near_duplicates import Likeness, similarity_of_sketches

log = structlog.get_logger()

PAGE = 50  # pairs
BOARD = 5000  # of the newest results of a board, a new one is compared with the sketches of so many
NOTHING = Likeness(None, None, None)


def compare(platform: Platform, payload: Mapping[str, Any]) -> None:
    """Look for results that are like the entry in `payload`, or compare it with the `other_id` there; twice gives the same.

    The first delivery makes the entry's sketch and compares it with those of its board, which takes about a millisecond for a
    thousand; for the few that are alike it leaves a message each, whose delivery reads both archives. So a board of n results
    costs n readings and at most 5 n comparisons, not n². Raises whatever keeps storage or the child process from working.
    """
    with platform.transaction() as session:
        subject = queries.subject(session, int(payload["entry_id"]))
        other = queries.subject(session, int(payload["other_id"])) if "other_id" in payload else None
    if subject is None:
        return  # withdrawn in the meantime, or nothing of it is hidden
    if other is not None:
        _compare(platform, subject, other)
    elif "other_id" not in payload:
        _look_for_alike(platform, subject)


def _look_for_alike(platform: Platform, subject: Subject) -> None:
    with platform.transaction() as session:
        sketch = queries.sketch_of(session, subject.entry_id)
    if sketch is None:
        sketch = _sketch(platform, subject)
        with platform.transaction() as session:  # before others are read: of two at once, one sees the other
            queries.store_sketch(session, subject, sketch)
    with platform.transaction() as session:
        others = queries.others(session, subject, BOARD)
        task = scoring.competition_of(subject.dataset, subject.competition).task
        found = similarity_of_sketches(sketch, [each for _, each in others], pixels=task == "segmentation")
        similarities = {each.entry_id: found[place].item() for place, (each, _) in enumerate(others)}
        for other_id in chosen(subject, [each for each, _ in others], similarities):
            if not queries.has_pair(session, subject.entry_id, other_id):
                queue.add(session, JobKind.SIMILARITY, {"entry_id": subject.entry_id, "other_id": other_id})


def _limits(platform: Platform) -> ChildLimits:
    settings = platform.settings
    return ChildLimits(seconds=settings.delivery_seconds, memory=settings.child_memory, nice=5)


def _sketch(platform: Platform, subject: Subject) -> bytes:
    with (
        platform.archives.materialise(subject.archive) as archive,
        platform.descriptions.materialise(subject.description) as description,
    ):
        return run_in_subprocess(
            _limits(platform), children.sketch, archive, description, subject.competition
        )


def _compare(platform: Platform, subject: Subject, other: Subject) -> None:
    same = says_the_same(subject, other)
    try:
        likeness = _likeness(platform, subject, other)
    except LimitExceededError as error:
        log.warning("results not compared", one=subject.entry_id, other=other.entry_id, error=str(error))
        likeness = NOTHING
    if same or are_alike(likeness):
        with platform.transaction() as session:
            queries.store_pair(session, subject, other, likeness, same_predictions=same)


def _likeness(platform: Platform, subject: Subject, other: Subject) -> Likeness:
    with (
        platform.archives.materialise(subject.archive) as one,
        platform.archives.materialise(other.archive) as two,
        platform.descriptions.materialise(subject.description) as description,
    ):
        output = run_in_subprocess(
            _limits(platform), children.likeness, one, two, description, subject.competition
        )
    return Likeness(**json.loads(output))


def pairs(
    platform: Platform, actor: Actor, phase_id: int, before: int | None = None, *, dismissed: bool = False
) -> PairList:
    """The pairs of alike results of a phase, at most `PAGE` of them, by id below `before`, or those that were dismissed.

    Raises NotFoundError, also for a phase that somebody does not organise.
    """
    with platform.snapshot() as session:
        phases = editions.organised_phases(session, actor)
        phase = next((each for each in phases if each.id == phase_id), None)
        if phase is None:
            raise NotFoundError(f"there is no phase {phase_id}")
        rows = queries.pairs(session, phase_id, before, PAGE + 1, dismissed=dismissed)
    return PairList(phase, dismissed, tuple(rows[:PAGE]), rows[PAGE - 1].id if len(rows) > PAGE else None)


def dismiss(platform: Platform, actor: Actor, pair_id: int, dismissal: Dismissal) -> int:
    """Take a pair off the list, with a reason; returns the id of its phase. Raises NotFoundError, ConflictError."""
    return _decide(platform, actor, pair_id, dismissal.reason)


def restore(platform: Platform, actor: Actor, pair_id: int) -> int:
    """Put a pair back on the list; returns the id of its phase. Raises NotFoundError, ConflictError."""
    return _decide(platform, actor, pair_id, None)


def _decide(platform: Platform, actor: Actor, pair_id: int, reason: str | None) -> int:
    with platform.transaction() as session:
        found = queries.organised_pair(session, actor, pair_id)
        if found is None:
            raise NotFoundError(f"there is no pair {pair_id} in an edition that you organise")
        pair, edition_id = found
        if (pair.dismissed_at is None) == (reason is None):
            raise ConflictError(f"pair {pair_id} is {'not' if reason is None else 'already'} dismissed")
        audit.record(
            session,
            actor.user_id,
            "pair.restore" if reason is None else "pair.dismiss",
            f"pair {pair_id}",
            edition_id=edition_id,
            reason=reason or "",
            before={"reason": pair.dismiss_reason},
            after={"reason": reason},
            details={"entries": [pair.entry_id, pair.other_id]},
        )
        pair.dismissed_at = None if reason is None else func.clock_timestamp()
        pair.dismissed_by = None if reason is None else actor.user_id
        pair.dismiss_reason = reason
        phase_id: int = pair.phase_id
    return phase_id


def sweep(platform: Platform) -> None:
    """Delete what is kept of results that were withdrawn."""
    with platform.transaction() as session:
        queries.forget_ended(session)
