"""Scored runs and their stored statistics."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import and_, or_, select, true
from sqlalchemy.orm import Session, joinedload

import heldout_scoring
from app.challenges.challenges import is_open_to_others, organised_by
from app.core.access import Action, Actor, ResultVisibility, rows_for
from app.models import Challenge, ClassScore, GroundTruth, Method, Phase, Result, Run, RunState, Submission
from app.people.teams import is_public
from app.results.recording import is_no_preview

WITH_SOURCES: Final = (
    joinedload(Run.result).joinedload(Result.submission).joinedload(Submission.upload),
    joinedload(Run.ground_truth),
)
"""Options that load what a run was scored from."""


@dataclass(frozen=True, slots=True)
class ScoredRun:
    """The keys of a run's statistics and ground truth, and its report without exhibits."""

    statistics: str
    truth: str
    truth_id: str  # its public identifier
    report: heldout_scoring.Result


def scored_run(session: Session, run_id: int) -> ScoredRun | None:
    """Return a scored run with the data its intervals are computed from; None if it is missing or has no statistics."""
    statement = (
        select(Run, Result.competition, Challenge.dataset, GroundTruth)
        .join(Run.result)
        .join(Run.ground_truth)
        .join(GroundTruth.phase)
        .join(Phase.challenge)
        .where(Run.id == run_id, Run.state == RunState.SCORED, Run.statistics_key.is_not(None))
    )
    row = session.execute(statement).one_or_none()
    if row is None:
        return None
    run, competition, dataset, truth = row
    scores = session.scalars(
        select(ClassScore).where(ClassScore.run_id == run_id).order_by(ClassScore.position)
    ).all()
    report = _report(run, heldout_scoring.competition_of(dataset, competition), scores)
    return ScoredRun(run.statistics_key or "", truth.key, str(truth.public_id), report) if report else None


def _report(
    run: Run, info: heldout_scoring.CompetitionInfo, scores: Sequence[ClassScore]
) -> heldout_scoring.Result | None:
    """Return the report from the stored rows; the statistics identify the ground truth."""
    headline = next((score for score in scores if score.class_name is None), None)
    if headline is None:
        return None
    return heldout_scoring.Result(
        competition=info.number,
        task=info.task,
        protocol=run.protocol,
        measure=run.measure or "",
        headline=headline.value,
        headline_reason=headline.reason,
        classes=tuple(
            heldout_scoring.ClassResult(
                score.class_name, score.value, score.reason, score.positives or 0, score.predictions or 0
            )
            for score in scores
            if score.class_name is not None
        ),
        exhibits=(),
        scorer=run.scorer,
        truth="",
        receipt="",
    )


def was_discarded(session: Session, run_id: int) -> bool:
    """Whether the scores of a run were discarded with its re-scoring, so that nothing is computed from them any more."""
    return session.scalar(select(Run.state).where(Run.id == run_id)) is RunState.ABANDONED


def visible_run(session: Session, actor: Actor, run_id: int) -> tuple[Run, Phase] | None:
    """Return a run whose submission the reader may see, and its phase; of other teams, only runs on boards.

    Nobody but the organisers sees the run of a re-scoring that is not published.
    """
    on_board = and_(
        is_public(),
        is_open_to_others(Result.phase_id, Result.submission_id),
        Result.published_run_id == Run.id,
    )
    shown = rows_for(
        actor,
        Action.READ_SUBMISSION,
        team=Method.team_id,
        challenge=Phase.challenge_id,
        states={ResultVisibility.PRIVATE: true(), ResultVisibility.PUBLIC: on_board},
    )
    statement = (
        select(Run, Phase)
        .join(Run.result)
        .join(Result.phase)
        .join(Result.method)
        .where(Run.id == run_id, shown, or_(organised_by(actor), is_no_preview()))
    )
    return session.execute(statement).one_or_none()
