"""Analyses of runs in the database."""

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.analyses.schemas import Kept
from app.models import Entry, Phase, Run, RunAnalysis, Submission, Upload
from app.storage import content_key


def source_of(session: Session, run_id: int) -> tuple[str, str]:
    """The keys of the archive of a run and of the description of its phase."""
    statement = (
        select(Upload.sha256, Upload.id, Phase.description_key)
        .select_from(Run)
        .join(Entry, Run.entry_id == Entry.id)
        .join(Submission, Entry.submission_id == Submission.id)
        .join(Upload, Submission.upload_id == Upload.id)
        .join(Phase, Entry.phase_id == Phase.id)
        .where(Run.id == run_id)
    )
    sha256, upload_id, description_key = session.execute(statement).one()
    return content_key(sha256 or "", upload_id), description_key


def is_analysed(session: Session, run_id: int) -> bool:
    """Whether a run has its analysis; a run never changes, so neither does this."""
    return session.scalar(select(RunAnalysis.run_id).where(RunAnalysis.run_id == run_id)) is not None


def store(session: Session, run_id: int, diagnosis: Mapping[str, Any], kept: Kept) -> None:
    """Write the analysis of a run, unless it is there."""
    values = {
        "run_id": run_id,
        "diagnosis": dict(diagnosis),
        "replicates": kept.replicates,
        "image_outcomes": kept.image_outcomes,
    }
    session.execute(insert(RunAnalysis).values(values).on_conflict_do_nothing())


def diagnoses(session: Session, run_ids: Collection[int]) -> dict[int, dict[str, Any]]:
    """By run, the diagnosis as it was written down; a run without an analysis has none."""
    statement = select(RunAnalysis.run_id, RunAnalysis.diagnosis).where(RunAnalysis.run_id.in_(run_ids))
    return dict(session.execute(statement).all())


def kept_of(session: Session, run_ids: Collection[int]) -> dict[int, Kept]:
    """By run, what comparisons are made from; a run without an analysis has nothing."""
    statement = select(RunAnalysis.run_id, RunAnalysis.replicates, RunAnalysis.image_outcomes)
    rows = session.execute(statement.where(RunAnalysis.run_id.in_(run_ids)))
    return {run_id: Kept(replicates, outcomes) for run_id, replicates, outcomes in rows}
