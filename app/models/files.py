"""Tables of the files that a challenge offers for download."""

import uuid
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from app.models.challenges import Challenge, Phase
from app.models.people import User
from app.models.table import Audience, Base, FileKind, PhaseMoment, enum_type, key_column, now_column


def _is_one_date(name: str) -> CheckConstraint:
    return CheckConstraint(
        f"({name}_phase_id IS NULL) = ({name}_moment IS NULL) AND ({name}_at IS NULL OR {name}_phase_id IS NULL)",
        name=f"{name}_one_date",
    )


class DataFile(Base):
    """A file of a challenge's data set; its bytes are in the store of files.

    It is available from a date, or from the opening or closing of a phase, and until another; without a first date at once,
    without a last one forever.
    """

    __tablename__ = "data_file"
    __table_args__ = (
        Index(
            "uq_data_file_name",
            "challenge_id",
            "name",
            unique=True,
            postgresql_where=text("deleted_at IS NULL"),
        ),
        Index("ix_data_file_phase", "phase_id"),
        Index("ix_data_file_key", "key"),
        _is_one_date("from"),
        _is_one_date("until"),
        CheckConstraint("(key IS NULL) OR (version > 0 AND size IS NOT NULL)", name="stored_has_version"),
    )
    id: Mapped[int] = key_column()
    challenge_id: Mapped[int] = mapped_column(ForeignKey(Challenge.id))
    phase_id: Mapped[int | None] = mapped_column(ForeignKey(Phase.id))  # whose images or annotation it has
    name: Mapped[str]  # under which it is saved
    title: Mapped[str]
    kind: Mapped[FileKind]
    image_licence: Mapped[str] = mapped_column(default="")  # an SPDX identifier, or text
    annotation_licence: Mapped[str] = mapped_column(default="")
    from_at: Mapped[datetime | None]
    from_phase_id: Mapped[int | None] = mapped_column(ForeignKey(Phase.id))
    from_moment: Mapped[PhaseMoment | None] = mapped_column(enum_type(PhaseMoment, "from_moment"))
    until_at: Mapped[datetime | None]
    until_phase_id: Mapped[int | None] = mapped_column(ForeignKey(Phase.id))
    until_moment: Mapped[PhaseMoment | None] = mapped_column(enum_type(PhaseMoment, "until_moment"))
    audience: Mapped[Audience]
    version: Mapped[int] = mapped_column(default=0)  # 0 until its bytes have arrived
    key: Mapped[str | None]  # of its content in storage; None before it arrives and after it is deleted
    size: Mapped[int | None] = mapped_column(BigInteger)
    sha256: Mapped[str | None]
    stored_at: Mapped[datetime | None]
    # the versions before this one, oldest first: their number, sha256, size, and when each was replaced
    earlier: Mapped[list[dict[str, Any]]] = mapped_column(default=list)
    created_at: Mapped[datetime] = now_column()
    deleted_at: Mapped[datetime | None]
    challenge: Mapped[Challenge] = relationship(viewonly=True, lazy="raise")
    phase: Mapped[Phase | None] = relationship(foreign_keys=phase_id, viewonly=True, lazy="raise")


class MadeFile(Base):
    """A file that a worker makes of what is public: the annotation of a phase, or, without a phase, a challenge's development kit.

    made_of: a digest of everything that is in it; phases: those whose annotation is in it.
    """

    __tablename__ = "made_file"
    __table_args__ = (
        Index("ix_made_file_challenge", "challenge_id"),
        Index("uq_made_file_kit", "challenge_id", unique=True, postgresql_where=text("phase_id IS NULL")),
        Index("uq_made_file_phase", "phase_id", unique=True),
        CheckConstraint("(key IS NULL) = (size IS NULL)", name="stored_has_size"),
    )
    id: Mapped[int] = key_column()
    challenge_id: Mapped[int] = mapped_column(ForeignKey(Challenge.id, ondelete="CASCADE"))
    phase_id: Mapped[int | None] = mapped_column(ForeignKey(Phase.id, ondelete="CASCADE"))
    made_of: Mapped[str]
    phases: Mapped[list[int]] = mapped_column(default=list)
    key: Mapped[str | None]  # of its content in the store of files
    size: Mapped[int | None] = mapped_column(BigInteger)
    problem: Mapped[str] = mapped_column(default="", server_default=text("''"))  # why it cannot be made
    # of a kit: a digest of every row that the challenge's files follow from, when they were last found as they should be
    seen: Mapped[str | None]


class DataUpload(Base):
    """The bytes of a new version of a file, while they arrive."""

    __tablename__ = "data_upload"
    __table_args__ = (CheckConstraint("size > 0", name="size_positive"),)
    id: Mapped[uuid.UUID] = mapped_column(primary_key=True, default=uuid.uuid4)
    file_id: Mapped[int] = mapped_column(ForeignKey(DataFile.id, ondelete="CASCADE"), index=True)
    user_id: Mapped[int] = mapped_column(ForeignKey(User.id))
    size: Mapped[int] = mapped_column(BigInteger)  # as declared
    expected_sha256: Mapped[str | None]
    started_at: Mapped[datetime] = now_column()


class DataDownload(Base):
    """Who has downloaded a version of a file, under which version of the terms: one row, however many requests it took."""

    __tablename__ = "data_download"
    __table_args__ = (
        UniqueConstraint(
            "file_id",
            "user_id",
            "version",
            "terms_version",
            name="uq_data_download_file_id",
            postgresql_nulls_not_distinct=True,
        ),
        Index("ix_data_download_user_id", "user_id"),
    )
    id: Mapped[int] = key_column()
    file_id: Mapped[int] = mapped_column(ForeignKey(DataFile.id, ondelete="CASCADE"))
    user_id: Mapped[int | None] = mapped_column(
        ForeignKey(User.id, ondelete="CASCADE")
    )  # None: not logged in
    version: Mapped[int]  # of the file
    terms_version: Mapped[int | None]  # of the terms that the person had accepted
    requests: Mapped[int] = mapped_column(default=1)  # several if it was resumed or repeated
    first_at: Mapped[datetime] = now_column()
    last_at: Mapped[datetime] = now_column()
