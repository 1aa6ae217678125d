"""What is competed in: editions, phases, ground truth, boards."""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from app.models.states import Disclosure
from app.models.table import Base, key_column, now_column


class Edition(Base):
    """A year's challenge."""

    __tablename__ = "edition"
    id: Mapped[int] = key_column()
    code: Mapped[str] = mapped_column(unique=True)  # in addresses: VOC2007, sample
    title: Mapped[str]
    dataset: Mapped[str]  # the kit's folder: results/<dataset>/Main
    created_at: Mapped[datetime] = now_column()


class Phase(Base):
    """An image set of an edition, with its rules."""

    __tablename__ = "phase"
    __table_args__ = (UniqueConstraint("edition_id", "image_set"),)
    id: Mapped[int] = key_column()
    edition_id: Mapped[int] = mapped_column(ForeignKey(Edition.id))
    image_set: Mapped[str]
    disclosure: Mapped[Disclosure]
    protocol: Mapped[str]
    description_key: Mapped[str]  # the public description in storage
    opens_at: Mapped[datetime]
    closes_at: Mapped[datetime | None]
    grace: Mapped[timedelta] = mapped_column(default=timedelta(hours=1))
    quota: Mapped[int | None]  # methods scored per team and competition within the window
    quota_window: Mapped[timedelta] = mapped_column(default=timedelta(days=7))


class GroundTruth(Base):
    """One imported version of a phase's annotation: immutable, named by the hash of its content."""

    __tablename__ = "ground_truth"
    __table_args__ = (UniqueConstraint("phase_id", "version"), UniqueConstraint("phase_id", "fingerprint"))
    id: Mapped[int] = key_column()
    phase_id: Mapped[int] = mapped_column(ForeignKey(Phase.id))
    version: Mapped[int]
    fingerprint: Mapped[str]
    statistics: Mapped[dict[str, Any]]
    imported_at: Mapped[datetime] = now_column()


class Board(Base):
    """A leaderboard: what is scored how in one competition of a phase, under one ground truth and scorer."""

    __tablename__ = "board"
    phase_id: Mapped[int] = mapped_column(ForeignKey(Phase.id), primary_key=True)
    competition: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    protocol: Mapped[str]
    ground_truth_id: Mapped[int] = mapped_column(ForeignKey(GroundTruth.id))
    scorer: Mapped[str]
    version: Mapped[int] = mapped_column(default=0)  # grows with every change that a reader can see
    updated_at: Mapped[datetime] = now_column()
