"""Intervals in the database."""

from sqlalchemy import update
from sqlalchemy.orm import Session

import scoring
from app.models import ClassScore


def store(session: Session, run_id: int, intervals: scoring.IntervalTable) -> None:
    """Write the bounds of each class, and of the headline; writing them again changes nothing."""
    for name, bounds in intervals.by_class().items():
        session.execute(
            update(ClassScore)
            .where(ClassScore.run_id == run_id, ClassScore.class_name.is_not_distinct_from(name))
            .values(low=bounds.low, high=bounds.high)
        )
