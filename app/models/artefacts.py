"""What workers have made for pages to show."""

from datetime import datetime

from sqlalchemy import BigInteger, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from app.models.table import Base, key_column, now_column


class Artefact(Base):
    """A file that a worker made for pages: a row names its content in the artefact store, and from what it was made."""

    __tablename__ = "artefact"
    __table_args__ = (UniqueConstraint("kind", "subject"),)
    id: Mapped[int] = key_column()
    kind: Mapped[str]
    subject: Mapped[str]  # what it shows, e.g. "7/3/median" of a board
    version: Mapped[str]  # of what it was made from; the same version need not be made again
    key: Mapped[str] = mapped_column(index=True)  # of its content, which no other row names
    media_type: Mapped[str]
    size: Mapped[int] = mapped_column(BigInteger)
    as_of: Mapped[datetime]  # when the data were read from which it was made
    created_at: Mapped[datetime] = now_column()
