"""Pictures of a phase."""

from sqlalchemy import CheckConstraint, ForeignKey, ForeignKeyConstraint, Index
from sqlalchemy.orm import Mapped, mapped_column

from app.models.challenges import Phase
from app.models.table import Base, ImageMode


class PictureSource(Base):
    """Where workers find the pictures of a phase, and who sees them; a phase without a row has none."""

    __tablename__ = "picture_source"
    phase_id: Mapped[int] = mapped_column(ForeignKey(Phase.id, ondelete="CASCADE"), primary_key=True)
    mode: Mapped[ImageMode]
    folder: Mapped[str]  # opened by workers alone, and only where mode is link
    is_public: Mapped[bool] = mapped_column(
        default=False
    )  # everybody sees them while the annotation is hidden
    draws_truth: Mapped[bool] = mapped_column(
        default=False
    )  # organisers see hidden annotation drawn over them
    problem: Mapped[str | None]  # why the rest cannot be made, such as a folder that is away


class PictureBatch(Base):
    """Some pictures that follow each other, made and kept together."""

    __tablename__ = "picture_batch"
    phase_id: Mapped[int] = mapped_column(
        ForeignKey(PictureSource.phase_id, ondelete="CASCADE"), primary_key=True
    )
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    fingerprint: Mapped[str]  # of the files and how they are made
    copy_key: Mapped[str | None]  # the files themselves in private storage
    made: Mapped[str | None]  # the fingerprint of what has been made


class Picture(Base):
    """A picture of a phase, by its place in the order of the image sets."""

    __tablename__ = "picture"
    __table_args__ = (
        ForeignKeyConstraint(
            ["phase_id", "batch"], [PictureBatch.phase_id, PictureBatch.number], ondelete="CASCADE"
        ),
        Index("uq_picture_name", "phase_id", "name", unique=True),
        Index("ix_picture_batch", "phase_id", "batch"),
        CheckConstraint("width > 0 AND height > 0", name="sides_positive"),
    )
    phase_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    position: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)  # from 0
    batch: Mapped[int]
    name: Mapped[str]  # as result files call the image
    width: Mapped[int | None]  # in pixels; none: not known before the picture is opened
    height: Mapped[int | None]
    file: Mapped[str | None]  # below the folder; none: there is no file
    problem: Mapped[str | None]  # why there is nothing to show
