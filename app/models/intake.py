"""Tables of data sets that organisers send: their files, encrypted in segments, the keys of the workers, and trial results."""

import uuid
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from app.models.challenges import Challenge, GroundTruth, Phase
from app.models.people import User
from app.models.table import Base, IntakeRole, IntakeState, enum_type, key_column, now_column


class IntakeKey(Base):
    """A key pair of the workers; the web process encrypts for the newest, and only private storage has the secret key."""

    __tablename__ = "intake_key"
    id: Mapped[int] = key_column()
    name: Mapped[str] = mapped_column(unique=True)  # of the secret key in the store of keys
    public_key: Mapped[str] = mapped_column(unique=True)  # as age writes it
    created_at: Mapped[datetime] = now_column()


class Intake(Base):
    """A data set on its way into a challenge; nothing of it is used before it is applied."""

    __tablename__ = "intake"
    __table_args__ = (
        Index("ix_intake_challenge", "challenge_id", "created_at"),
        Index("ix_intake_changed_at", "changed_at"),
    )
    id: Mapped[uuid.UUID] = mapped_column(primary_key=True, default=uuid.uuid4)
    challenge_id: Mapped[int] = mapped_column(ForeignKey(Challenge.id))
    user_id: Mapped[int] = mapped_column(ForeignKey(User.id))  # who started it
    state: Mapped[IntakeState] = mapped_column(
        enum_type(IntakeState, is_open=True), default=IntakeState.RECEIVING
    )
    progress: Mapped[dict[str, Any]] = mapped_column(default=dict)  # of a worker: what it does, done, total
    report: Mapped[dict[str, Any] | None]  # what was found, without anything of hidden annotation but counts
    message: Mapped[str] = mapped_column(default="")  # why it failed, or was not applied
    request: Mapped[dict[str, Any] | None]  # how to apply it
    # the JSON of `intake.reports.ClassChoice`s; None: the classes stay as they are
    classes: Mapped[list[dict[str, Any]] | None]
    # the JSON of `intake.reports.Audience`s; None: nobody has answered
    audiences: Mapped[list[dict[str, Any]] | None]
    # the JSON of an `intake.reports.TableChoice`; None: tables say themselves how they are read
    tables: Mapped[dict[str, Any] | None]
    # whether hidden images get names that say nothing
    is_neutral: Mapped[bool] = mapped_column(default=False, server_default=text("false"))
    # of what was read of its files, encrypted for workers, in the store of data sets; None: it has to be read again
    kept_key: Mapped[str | None]
    phase_id: Mapped[int | None] = mapped_column(ForeignKey(Phase.id, ondelete="SET NULL"), index=True)
    version: Mapped[int | None]  # of the ground truth that it became
    warned_at: Mapped[datetime | None]  # when people were told that it will be removed
    created_at: Mapped[datetime] = now_column()
    changed_at: Mapped[datetime] = now_column()


class IntakeFile(Base):
    """A file of a data set; its bytes are encrypted in segments, or lie in the import folder of the workers."""

    __tablename__ = "intake_file"
    __table_args__ = (
        UniqueConstraint("intake_id", "role", "name"),
        CheckConstraint("size >= 0 AND received BETWEEN 0 AND size", name="received_within_size"),
    )
    id: Mapped[uuid.UUID] = mapped_column(primary_key=True, default=uuid.uuid4)
    intake_id: Mapped[uuid.UUID] = mapped_column(ForeignKey(Intake.id, ondelete="CASCADE"))
    role: Mapped[IntakeRole] = mapped_column(enum_type(IntakeRole, is_open=True))
    name: Mapped[str]
    size: Mapped[int] = mapped_column(BigInteger)  # as declared
    received: Mapped[int] = mapped_column(BigInteger, default=0)  # the end of its last segment
    writer: Mapped[uuid.UUID | None]  # the request that may add segments: the newest
    path: Mapped[str | None]  # below the import folder, of files that are already there
    created_at: Mapped[datetime] = now_column()


class IntakeSegment(Base):
    """A part of a file, encrypted for a key of the workers; objects without a row do not count."""

    __tablename__ = "intake_segment"
    __table_args__ = (Index("ix_intake_segment_key", "key"), Index("ix_intake_segment_key_id", "key_id"))
    file_id: Mapped[uuid.UUID] = mapped_column(
        ForeignKey(IntakeFile.id, ondelete="CASCADE"), primary_key=True
    )
    offset: Mapped[int] = mapped_column("start", BigInteger, primary_key=True, autoincrement=False)
    length: Mapped[int] = mapped_column(BigInteger)  # of the plaintext
    key: Mapped[str]  # of the object in the store of data sets
    key_id: Mapped[int] = mapped_column(ForeignKey(IntakeKey.id))


class NameSecret(Base):
    """What the neutral names of a challenge's hidden images follow from, encrypted for a key of the workers, who make it."""

    __tablename__ = "name_secret"
    challenge_id: Mapped[int] = mapped_column(
        ForeignKey(Challenge.id, ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    sealed: Mapped[bytes]
    key_id: Mapped[int] = mapped_column(ForeignKey(IntakeKey.id), index=True)


class Trial(Base):
    """The scores of made-up results of a ground truth, for organisers alone; finished_at is empty while they are scored."""

    __tablename__ = "trial"
    ground_truth_id: Mapped[int] = mapped_column(
        ForeignKey(GroundTruth.id, ondelete="CASCADE"), primary_key=True
    )
    # the JSON of `intake.trial_results.TrialTask`s
    scores: Mapped[list[dict[str, Any]]] = mapped_column(default=list)
    message: Mapped[str] = mapped_column(default="")  # why there are none
    requested_at: Mapped[datetime] = now_column()
    finished_at: Mapped[datetime | None]


class TruthCopy(Base):
    """A version of a phase's annotation that a worker stores as the next one: an earlier one again, or the newest with corrected labels.

    The row is deleted with that.
    """

    __tablename__ = "truth_copy"
    phase_id: Mapped[int] = mapped_column(
        ForeignKey(Phase.id, ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    version: Mapped[int]  # to go back to
    newest: Mapped[int]  # when it was asked for
    note: Mapped[str] = mapped_column(default="")
    user_id: Mapped[int] = mapped_column(ForeignKey(User.id))  # who asked for it
    message: Mapped[str] = mapped_column(default="")  # why it was not done; empty while a worker has it
    requested_at: Mapped[datetime] = now_column()
    # whether it becomes the next version with the corrections of that person
    is_corrected: Mapped[bool] = mapped_column(default=False, server_default=text("false"))


class RequestedDiff(Base):
    """How two versions of a phase's annotation differ, for the organiser who asked alone; report, message: empty until it is known."""

    __tablename__ = "version_diff"
    before_id: Mapped[int] = mapped_column(
        ForeignKey(GroundTruth.id, ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    after_id: Mapped[int] = mapped_column(
        ForeignKey(GroundTruth.id, ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    user_id: Mapped[int] = mapped_column(ForeignKey(User.id), primary_key=True, autoincrement=False)
    report: Mapped[dict[str, Any] | None]  # the JSON of an `intake.reports.VersionDiff`
    message: Mapped[str] = mapped_column(default="")  # why there is none
    requested_at: Mapped[datetime] = now_column()


class LabelEdit(Base):
    """The labels of an image as a person corrected them, encrypted for a key of the workers, until they become a version."""

    __tablename__ = "label_edit"
    __table_args__ = (
        UniqueConstraint("phase_id", "user_id", "image"),
        Index("ix_label_edit_user_id", "user_id"),
        Index("ix_label_edit_key_id", "key_id"),
        Index("ix_label_edit_ground_truth_id", "ground_truth_id"),
    )
    id: Mapped[uuid.UUID] = mapped_column(primary_key=True, default=uuid.uuid4)  # another one for each change
    phase_id: Mapped[int] = mapped_column(ForeignKey(Phase.id, ondelete="CASCADE"))
    user_id: Mapped[int] = mapped_column(ForeignKey(User.id, ondelete="CASCADE"))
    image: Mapped[str]
    # the version that is corrected
    ground_truth_id: Mapped[int] = mapped_column(ForeignKey(GroundTruth.id, ondelete="CASCADE"))
    sealed: Mapped[bytes]
    key_id: Mapped[int] = mapped_column(ForeignKey(IntakeKey.id))
    saved_at: Mapped[datetime] = now_column()


class LabelPreview(Base):
    """What the corrections of a person change in a phase's annotation; report, message: empty until a worker knows it."""

    __tablename__ = "label_preview"
    phase_id: Mapped[int] = mapped_column(
        ForeignKey(Phase.id, ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    user_id: Mapped[int] = mapped_column(
        ForeignKey(User.id, ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    id: Mapped[uuid.UUID] = mapped_column(default=uuid.uuid4)  # of this request, by which it is confirmed
    edits: Mapped[list[str]]  # the ids of the corrections
    report: Mapped[dict[str, Any] | None]  # the JSON of an `intake.reports.VersionDiff`
    message: Mapped[str] = mapped_column(default="")  # why there is none
    requested_at: Mapped[datetime] = now_column()
