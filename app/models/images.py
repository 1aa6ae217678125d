"""Tables of the images of a phase, of what people report about their labels, and of the picture of a challenge."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, ForeignKeyConstraint, Index, text, true
from sqlalchemy.orm import Mapped, mapped_column, relationship

from app.models.challenges import Challenge, GroundTruth, Phase
from app.models.people import User
from app.models.table import Base, ImageMode, LabelProblem, key_column, now_column


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


class LabelReport(Base):
    """What a person says is wrong with a label of an image whose annotation is public; deleted with their account."""

    __tablename__ = "label_report"
    __table_args__ = (
        Index("ix_label_report_image", "phase_id", "image", "id"),
        Index("ix_label_report_open", "phase_id", "id", postgresql_where=text("closed_at IS NULL")),
        Index("ix_label_report_person", "user_id", "created_at"),
        CheckConstraint(
            "(closed_at IS NULL) = (answer = '' AND corrected_in IS NULL)", name="closed_has_answer"
        ),
    )
    id: Mapped[int] = key_column()
    phase_id: Mapped[int] = mapped_column(ForeignKey(Phase.id, ondelete="CASCADE"))
    image: Mapped[str]  # its name, which it keeps when the pictures are replaced
    user_id: Mapped[int] = mapped_column(ForeignKey(User.id, ondelete="CASCADE"))
    kind: Mapped[LabelProblem]
    text: Mapped[str]  # plain
    version: Mapped[int | None]  # of the annotation that was shown; None if there was no board yet
    created_at: Mapped[datetime] = now_column()
    closed_at: Mapped[datetime | None]
    closed_by: Mapped[int | None] = mapped_column(ForeignKey(User.id))
    answer: Mapped[str] = mapped_column(default="", server_default="")  # of organisers, plain
    corrected_in: Mapped[int | None]  # the version of the annotation without the problem
    phase: Mapped[Phase] = relationship(viewonly=True, lazy="raise")
    reporter: Mapped[User] = relationship(foreign_keys=user_id, viewonly=True, lazy="raise")


class ChallengePicture(Base):
    """The picture that organisers chose for their challenge, as JPEG in two sizes."""

    __tablename__ = "challenge_picture"
    challenge_id: Mapped[int] = mapped_column(ForeignKey(Challenge.id, ondelete="CASCADE"), primary_key=True)
    alt: Mapped[str]  # what it shows
    digest: Mapped[str]  # in its address
    large: Mapped[bytes] = mapped_column(deferred=True)
    small: Mapped[bytes] = mapped_column(deferred=True)


class TextImage(Base):
    """An image that organisers sent for the texts of their challenge, as JPEG. name: of its file, with its size."""

    __tablename__ = "text_image"
    challenge_id: Mapped[int] = mapped_column(ForeignKey(Challenge.id, ondelete="CASCADE"), primary_key=True)
    name: Mapped[str] = mapped_column(primary_key=True)
    alt: Mapped[str]  # what it shows
    content: Mapped[bytes] = mapped_column(deferred=True)
    added_at: Mapped[datetime] = now_column()
