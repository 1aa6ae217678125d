"""Tables of the images of a phase, and of the picture of a challenge."""

from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, ForeignKeyConstraint, Index, true
from sqlalchemy.orm import Mapped, mapped_column

from app.models.challenges import Challenge, GroundTruth, Phase
from app.models.table import Base, ImageMode


class PictureSource(Base):
    """Where workers find the images of a phase, and who may see them; a phase without a row has no images."""

    __tablename__ = "picture_source"
    phase_id: Mapped[int] = mapped_column(ForeignKey(Phase.id, ondelete="CASCADE"), primary_key=True)
    mode: Mapped[ImageMode]
    folder: Mapped[str]  # opened only by workers, and only if mode is link
    # whether everyone sees them while the annotation is hidden
    is_public: Mapped[bool] = mapped_column(default=False)
    # whether organisers see hidden annotation drawn over them
    draws_truth: Mapped[bool] = mapped_column(default=False)
    problem: Mapped[str | None]  # why the rest cannot be made, such as an unavailable folder
    # whether everybody who sees the images can download them as one archive
    offers_archive: Mapped[bool] = mapped_column(default=True, server_default=true())
    archive_key: Mapped[str | None]  # of the archive in the store of files; None until it is made
    archive_size: Mapped[int | None] = mapped_column(BigInteger)
    archive_problem: Mapped[str | None]  # why it cannot be made


class PictureBatch(Base):
    """Consecutive images that are made and stored together."""

    __tablename__ = "picture_batch"
    phase_id: Mapped[int] = mapped_column(
        ForeignKey(PictureSource.phase_id, ondelete="CASCADE"), primary_key=True
    )
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    fingerprint: Mapped[str]  # of the files and of how they are rendered
    copy_key: Mapped[str | None]  # of the original files in private storage
    made: Mapped[str | None]  # the fingerprint of what has been made


class Picture(Base):
    """An image of a phase, by its position in the order of the image sets."""

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
    name: Mapped[str]  # as in prediction files
    width: Mapped[int | None]  # in pixels; None until the image is opened
    height: Mapped[int | None]
    file: Mapped[str | None]  # path within the folder; None if there is no file
    problem: Mapped[str | None]  # why it cannot be shown


class NextPictures(Base):
    """Images that came with a version of the annotation, and are the phase's once its boards show that version."""

    __tablename__ = "next_pictures"
    ground_truth_id: Mapped[int] = mapped_column(
        ForeignKey(GroundTruth.id, ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    mode: Mapped[ImageMode]
    folder: Mapped[str]  # as in PictureSource


class NextPictureBatch(Base):
    """A future PictureBatch with its images."""

    __tablename__ = "next_picture_batch"
    ground_truth_id: Mapped[int] = mapped_column(
        ForeignKey(NextPictures.ground_truth_id, ondelete="CASCADE"), primary_key=True
    )
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    fingerprint: Mapped[str]
    copy_key: Mapped[str | None]  # that of the same batch of the images shown now if it has the same files
    pictures: Mapped[list[dict[str, Any]]]  # the columns of each Picture that come with its file


class ChallengePicture(Base):
    """The picture that organisers chose for their challenge, as JPEG in two sizes."""

    __tablename__ = "challenge_picture"
    challenge_id: Mapped[int] = mapped_column(ForeignKey(Challenge.id, ondelete="CASCADE"), primary_key=True)
    alt: Mapped[str]  # what it shows
    digest: Mapped[str]  # in its address
    large: Mapped[bytes] = mapped_column(deferred=True)
    small: Mapped[bytes] = mapped_column(deferred=True)
