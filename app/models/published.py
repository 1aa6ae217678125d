"""Results as they were published elsewhere."""

from datetime import datetime

from sqlalchemy.orm import Mapped, mapped_column

from app.models.table import Base, now_column


class PublishedEdition(Base):
    """An edition whose results this server shows as a paper printed them; the numbers are in the program."""

    __tablename__ = "published_edition"
    code: Mapped[str] = mapped_column(primary_key=True)  # in addresses: voc2007
    added_at: Mapped[datetime] = now_column()
