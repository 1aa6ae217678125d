"""Results that are alike."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from app.models.editions import Phase
from app.models.people import User
from app.models.submissions import Entry
from app.models.table import Base, key_column, now_column


class Sketch(Base):
    """A kilobyte that says roughly what an entry predicts, to find those that are alike."""

    __tablename__ = "sketch"
    __table_args__ = (Index("ix_sketch_board", "phase_id", "competition", "entry_id"),)
    entry_id: Mapped[int] = mapped_column(ForeignKey(Entry.id, ondelete="CASCADE"), primary_key=True)
    phase_id: Mapped[int] = mapped_column(ForeignKey(Phase.id))
    competition: Mapped[int]
    content: Mapped[bytes]


class AlikePair(Base):
    """Two entries of a board that are as alike as if one method had other parameters: a hint to organisers."""

    __tablename__ = "alike_pair"
    __table_args__ = (
        UniqueConstraint("entry_id", "other_id"),
        Index("ix_alike_pair_phase", "phase_id", "id"),
        CheckConstraint("other_id < entry_id", name="other_is_older"),
        CheckConstraint("(dismissed_at IS NULL) = (dismiss_reason IS NULL)", name="dismissed_has_reason"),
    )
    id: Mapped[int] = key_column()
    phase_id: Mapped[int] = mapped_column(ForeignKey(Phase.id))
    entry_id: Mapped[int] = mapped_column(ForeignKey(Entry.id, ondelete="CASCADE"))
    other_id: Mapped[int] = mapped_column(ForeignKey(Entry.id, ondelete="CASCADE"), index=True)
    same_predictions: Mapped[bool]
    rank_correlation: Mapped[float | None]
    common_boxes: Mapped[float | None]
    common_pixels: Mapped[float | None]
    found_at: Mapped[datetime] = now_column()
    dismissed_at: Mapped[datetime | None]  # an organiser knows why they are alike
    dismissed_by: Mapped[int | None] = mapped_column(ForeignKey(User.id))
    dismiss_reason: Mapped[str | None]
