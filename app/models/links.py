"""Anonymous links to results."""

from datetime import datetime

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from app.models.people import User
from app.models.runs import Run
from app.models.submissions import Entry
from app.models.table import Base, key_column, now_column


class AnonymousLink(Base):
    """An address under which anybody reads one scoring of an entry, and not whose it is."""

    __tablename__ = "anonymous_link"
    id: Mapped[int] = key_column()
    token: Mapped[str] = mapped_column(unique=True)  # readable: its team copies it again from the page
    entry_id: Mapped[int] = mapped_column(ForeignKey(Entry.id), index=True)
    run_id: Mapped[int] = mapped_column(ForeignKey(Run.id))  # what it shows, whatever is scored later
    created_by: Mapped[int | None] = mapped_column(ForeignKey(User.id, ondelete="SET NULL"))
    created_at: Mapped[datetime] = now_column()
    revoked_at: Mapped[datetime | None]
    revealed_at: Mapped[datetime | None]  # since when it leads to the page of the submission
