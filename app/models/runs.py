"""What came of it: runs, scores, exhibits."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from app.models.editions import GroundTruth, Phase
from app.models.people import User
from app.models.states import RunState
from app.models.submissions import Entry
from app.models.table import Base, key_column, now_column


class Rescore(Base):
    """Entries being scored again in the shadow, to be shown all at once."""

    __tablename__ = "rescore"
    id: Mapped[int] = key_column()
    phase_id: Mapped[int] = mapped_column(ForeignKey(Phase.id), index=True)
    entry_id: Mapped[int | None] = mapped_column(ForeignKey(Entry.id))  # none: the whole phase
    ground_truth_id: Mapped[int] = mapped_column(ForeignKey(GroundTruth.id))
    scorer: Mapped[str]
    asked_by: Mapped[int | None] = mapped_column(ForeignKey(User.id))  # none: from the command line
    created_at: Mapped[datetime] = now_column()
    published_at: Mapped[datetime | None]
    abandoned_at: Mapped[datetime | None]


class Run(Base):
    """One scoring of an entry under a ground truth and a scorer; the row is the truth, messages are doorbells."""

    __tablename__ = "run"
    __table_args__ = (
        Index("uq_run_rescore", "rescore_id", "entry_id", unique=True),
        Index(
            "ix_run_waiting", "priority", "queued_at", postgresql_where=text("state IN ('queued', 'running')")
        ),
    )
    id: Mapped[int] = key_column()
    entry_id: Mapped[int] = mapped_column(ForeignKey(Entry.id), index=True)
    rescore_id: Mapped[int | None] = mapped_column(ForeignKey(Rescore.id))
    ground_truth_id: Mapped[int] = mapped_column(ForeignKey(GroundTruth.id))
    protocol: Mapped[str]
    scorer: Mapped[str]
    state: Mapped[RunState] = mapped_column(default=RunState.QUEUED)
    priority: Mapped[int] = mapped_column(default=0)  # smaller goes first
    attempt: Mapped[int] = mapped_column(default=0)
    lease_until: Mapped[datetime | None]
    queued_at: Mapped[datetime] = now_column()
    claimed_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
    sentence: Mapped[str | None]  # why it was refused or failed
    measure: Mapped[str | None]
    receipt: Mapped[str | None]
    statistics_key: Mapped[str | None]  # per-image statistics in private storage


class ClassScore(Base):
    """One class of a run; the headline is the row without a class."""

    __tablename__ = "class_score"
    __table_args__ = (UniqueConstraint("run_id", "class_name", postgresql_nulls_not_distinct=True),)
    id: Mapped[int] = key_column()
    run_id: Mapped[int] = mapped_column(ForeignKey(Run.id, ondelete="CASCADE"))
    class_name: Mapped[str | None]
    position: Mapped[int]
    value: Mapped[float | None]
    reason: Mapped[str | None]  # why there is no value
    positives: Mapped[int | None]
    answers: Mapped[int | None]
    low: Mapped[float | None]
    high: Mapped[float | None]


class Exhibit(Base):
    """A piece of a run's report that a page can show."""

    __tablename__ = "exhibit"
    run_id: Mapped[int] = mapped_column(ForeignKey(Run.id, ondelete="CASCADE"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    kind: Mapped[str]
    content: Mapped[dict[str, Any]]  # as scoring's exhibits write themselves down
