"""Scored runs and their stored statistics."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, and_, select
from sqlalchemy.orm import Session

import scoring
from app.models import Board, Challenge, ClassScore, GroundTruth, Phase, Result, ResultState, Run, RunState


@dataclass(frozen=True, slots=True)
class ScoredRun:
    """The keys of a run's statistics and ground truth, and its report without exhibits."""

    statistics: str
    truth: str
    truth_id: str  # its public identifier
    report: scoring.Result


def stands_on_board(result: type[Result] = Result) -> ColumnElement[bool]:
    """Whether a result is on its board, for statements that join Result and Board."""
    return and_(
        Board.phase_id == result.phase_id,
        Board.competition == result.competition,
        Board.generation == result.published_generation,
        result.state == ResultState.SCORED,
    )


def scored_run(session: Session, run_id: int) -> ScoredRun | None:
    """Return a scored run with the data its intervals are computed from; None if it is missing or has no statistics."""
    statement = (
        select(Run, Result.competition, Challenge.dataset, GroundTruth)
        .join(Result, Run.result_id == Result.id)
        .join(GroundTruth, Run.ground_truth_id == GroundTruth.id)
        .join(Phase, GroundTruth.phase_id == Phase.id)
        .join(Challenge, Phase.challenge_id == Challenge.id)
        .where(Run.id == run_id, Run.state == RunState.SCORED, Run.statistics_key.is_not(None))
    )
    row = session.execute(statement).one_or_none()
    if row is None:
        return None
    run, competition, dataset, truth = row
    scores = session.scalars(
        select(ClassScore).where(ClassScore.run_id == run_id).order_by(ClassScore.position)
    ).all()
    report = _report(run, scoring.competition_of(dataset, competition), scores)
    return ScoredRun(run.statistics_key or "", truth.key, str(truth.public_id), report) if report else None


def _report(run: Run, info: scoring.CompetitionInfo, scores: Sequence[ClassScore]) -> scoring.Result | None:
    """Return the report from the stored rows; the statistics identify the ground truth."""
    headline = next((score for score in scores if score.class_name is None), None)
    if headline is None:
        return None
    return scoring.Result(
        competition=info.number,
        task=info.task,
        protocol=run.protocol,
        measure=run.measure or "",
        headline=headline.value,
        headline_reason=headline.reason,
        classes=tuple(
            scoring.ClassResult(
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
