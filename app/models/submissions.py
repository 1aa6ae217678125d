"""What is handed in: methods, uploads, submissions, entries."""

import uuid
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from app.models.editions import Phase
from app.models.people import Team, User
from app.models.states import EntryState, UploadState
from app.models.table import Base, key_column, now_column


class Method(Base):
    """What a team enters, as it stands on the board."""

    __tablename__ = "method"
    __table_args__ = (Index("uq_method_team_id_name", "team_id", text("lower(name)"), unique=True),)
    id: Mapped[int] = key_column()
    team_id: Mapped[int] = mapped_column(ForeignKey(Team.id))
    name: Mapped[str]
    title: Mapped[str] = mapped_column(default="")
    contributors: Mapped[str] = mapped_column(default="")
    affiliation: Mapped[str] = mapped_column(default="")
    description: Mapped[str] = mapped_column(default="")
    is_baseline: Mapped[bool] = mapped_column(default=False)
    created_at: Mapped[datetime] = now_column()


class Upload(Base):
    """Bytes that arrived. Not yet a submission, costs nothing."""

    __tablename__ = "upload"
    id: Mapped[uuid.UUID] = mapped_column(primary_key=True, default=uuid.uuid4)
    phase_id: Mapped[int] = mapped_column(ForeignKey(Phase.id))
    team_id: Mapped[int] = mapped_column(ForeignKey(Team.id), index=True)
    user_id: Mapped[int] = mapped_column(ForeignKey(User.id))
    filename: Mapped[str]
    size: Mapped[int | None] = mapped_column(BigInteger)  # as announced; none: told by the end of the stream
    received: Mapped[int] = mapped_column(BigInteger, default=0)
    announced_sha256: Mapped[str | None]
    competitions: Mapped[list[int] | None]  # meant for these alone; none: for all that it has files for
    sha256: Mapped[str | None]
    state: Mapped[UploadState] = mapped_column(default=UploadState.RECEIVING)
    valid: Mapped[bool | None]
    report: Mapped[dict[str, Any] | None]
    started_at: Mapped[datetime] = now_column()
    received_at: Mapped[datetime | None]
    checked_at: Mapped[datetime | None]


class Submission(Base):
    """A method's confirmed archive in a phase."""

    __tablename__ = "submission"
    __table_args__ = (UniqueConstraint("user_id", "idempotency_key"),)
    id: Mapped[int] = key_column()
    upload_id: Mapped[uuid.UUID] = mapped_column(ForeignKey(Upload.id), index=True)
    phase_id: Mapped[int] = mapped_column(ForeignKey(Phase.id), index=True)
    method_id: Mapped[int] = mapped_column(ForeignKey(Method.id), index=True)
    user_id: Mapped[int] = mapped_column(ForeignKey(User.id))
    idempotency_key: Mapped[str | None]
    request_digest: Mapped[bytes]
    created_at: Mapped[datetime] = now_column()


class Entry(Base):
    """The one result of a method in a competition of a phase."""

    __tablename__ = "entry"
    __table_args__ = (
        Index(
            "uq_entry_one_result",
            "method_id",
            "phase_id",
            "competition",
            unique=True,
            postgresql_where=text("state IN ('pending', 'scored')"),
        ),
        Index("ix_entry_board", "phase_id", "competition"),
    )
    id: Mapped[int] = key_column()
    submission_id: Mapped[int] = mapped_column(ForeignKey(Submission.id), index=True)
    method_id: Mapped[int] = mapped_column(ForeignKey(Method.id))
    phase_id: Mapped[int] = mapped_column(ForeignKey(Phase.id))
    competition: Mapped[int]
    state: Mapped[EntryState] = mapped_column(default=EntryState.PENDING)
    shown_run_id: Mapped[int | None] = mapped_column(
        ForeignKey("run.id", use_alter=True)
    )  # what the board shows
