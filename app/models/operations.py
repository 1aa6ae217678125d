"""Tables of audit records, heartbeats, outages, notices, jobs and mail."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from app.models.challenges import Phase
from app.models.people import User
from app.models.runs import Run
from app.models.table import Base, JobKind, Queue, Service, ServicePart, key_column, now_column
from app.models.teams import Team


class Heartbeat(Base):
    """A process that was alive at `seen_at`."""

    __tablename__ = "heartbeat"
    name: Mapped[str] = mapped_column(primary_key=True)  # host and process
    service: Mapped[Service]
    scorer: Mapped[str | None]  # the scorer version of a worker
    slots: Mapped[int] = mapped_column(default=0)  # how many runs a worker scores at the same time
    seen_at: Mapped[datetime] = now_column()


class Outage(Base):
    """A time of at least a minute in which something that people need was not available; written when it is back."""

    __tablename__ = "outage"
    __table_args__ = (
        CheckConstraint("ended_at > started_at", name="ends_after_start"),
        Index("ix_outage_ended_at", "part", "ended_at"),
    )
    id: Mapped[int] = key_column()
    part: Mapped[ServicePart]
    started_at: Mapped[datetime]
    ended_at: Mapped[datetime]


class Extension(Base):
    """A phase whose deadline was moved because of an outage, by a process of the release before."""

    __tablename__ = "extension"
    outage_id: Mapped[int] = mapped_column(ForeignKey(Outage.id, ondelete="CASCADE"), primary_key=True)
    phase_id: Mapped[int] = mapped_column(
        ForeignKey(Phase.id, ondelete="CASCADE"), primary_key=True, index=True
    )
    minutes: Mapped[int]
    extended_at: Mapped[datetime] = now_column()
    extended_by: Mapped[int | None] = mapped_column(ForeignKey(User.id, ondelete="SET NULL"))


class Notice(Base):
    """What admins tell everybody on the status page, from and until a time."""

    __tablename__ = "notice"
    __table_args__ = (CheckConstraint("ends_at IS NULL OR ends_at >= starts_at", name="ends_after_start"),)
    id: Mapped[int] = key_column()
    title: Mapped[str]
    text: Mapped[str] = mapped_column(default="")  # Markdown
    starts_at: Mapped[datetime]
    ends_at: Mapped[datetime | None]
    created_at: Mapped[datetime] = now_column()
    created_by: Mapped[int | None] = mapped_column(ForeignKey(User.id, ondelete="SET NULL"))


class DamagedContent(Base):
    """Stored content whose bytes have changed, until a sweep finds it repaired."""

    __tablename__ = "damaged_content"
    __table_args__ = (UniqueConstraint("store", "key"),)
    id: Mapped[int] = key_column()
    store: Mapped[str]
    key: Mapped[str]
    what: Mapped[str]  # e.g. "stored archive"
    found_at: Mapped[datetime] = now_column()
    checked_at: Mapped[datetime] = now_column()


class AuditRecord(Base):
    """Who did what, when and why; the application can add rows but not change them."""

    __tablename__ = "audit"
    __table_args__ = (
        Index("ix_audit_challenge", "challenge_id", "id"),
        Index("ix_audit_subject", "subject", "id"),
    )
    id: Mapped[int] = key_column()
    at: Mapped[datetime] = now_column()
    user_id: Mapped[int | None] = mapped_column(ForeignKey(User.id))  # None: command line or sweep
    action: Mapped[str]
    subject: Mapped[str]  # the object of the action, e.g. "result 7"
    reason: Mapped[str] = mapped_column(default="")
    # its organisers can read this record; no foreign key, because records outlive drafts that are deleted
    challenge_id: Mapped[int | None] = mapped_column(BigInteger)
    before: Mapped[dict[str, Any] | None]  # the old values of what changed
    after: Mapped[dict[str, Any] | None]  # the new values
    details: Mapped[dict[str, Any]] = mapped_column(default=dict)


WAITING = "lease_until IS NULL AND dead_at IS NULL"


class Job(Base):
    """Work to be done after a change; added in the transaction of the change and deleted when done.

    The rows are authoritative; messages only wake workers.
    """

    __tablename__ = "job"
    __table_args__ = (
        Index(  # the order in which jobs are claimed
            "ix_job_waiting",
            "queue",
            "scorer",
            "priority",
            "turn",
            "queued_at",
            "id",
            postgresql_where=text(WAITING),
        ),
        Index("ix_job_claimed", "queue", "scorer", postgresql_where=text("lease_until IS NOT NULL")),
        Index(  # the last turn of an owner in a queue
            "ix_job_owner",
            "owner",
            "queue",
            "scorer",
            "priority",
            "turn",
            postgresql_where=text("owner IS NOT NULL"),
        ),
        Index(  # the same for rows of the release before
            "ix_job_team",
            "team_id",
            "scorer",
            "priority",
            "turn",
            postgresql_where=text("team_id IS NOT NULL"),
        ),
        Index("ix_job_key", "kind", "key", postgresql_where=text("key IS NOT NULL")),
        Index("ix_job_dead", "dead_at", "id", postgresql_where=text("dead_at IS NOT NULL")),
        Index(
            "ix_job_damaged_content_id",
            "damaged_content_id",
            postgresql_where=text("damaged_content_id IS NOT NULL"),
        ),
        CheckConstraint(
            "attempt >= 0 AND failures >= 0 AND postponements >= 0 AND lost_leases >= 0",
            name="counts_not_negative",
        ),
        CheckConstraint("run_id IS NULL OR kind = 'run'", name="run_of_a_run"),
    )
    id: Mapped[int] = key_column()
    kind: Mapped[JobKind]
    queue: Mapped[Queue]
    scorer: Mapped[str] = mapped_column(default="")  # the required scorer version; empty: any worker
    run_id: Mapped[int | None] = mapped_column(ForeignKey(Run.id, ondelete="CASCADE"), unique=True)
    key: Mapped[str | None]  # waiting jobs with the same kind and key are coalesced
    payload: Mapped[dict[str, Any]] = mapped_column(default=dict)
    priority: Mapped[int] = mapped_column(default=0)  # lower numbers first
    # whose work it is, such as "team 7" or "challenge 3"; owners take turns within a priority
    owner: Mapped[str | None]
    team_id: Mapped[int | None] = mapped_column(ForeignKey(Team.id))  # for processes of the release before
    turn: Mapped[int] = mapped_column(default=0)  # the round in which it is claimed
    queued_at: Mapped[datetime] = now_column()
    not_before: Mapped[datetime | None]  # end of the pause before a retry; None: immediately
    damaged_content_id: Mapped[int | None] = mapped_column(  # the job waits until this is repaired
        ForeignKey(DamagedContent.id, ondelete="SET NULL")
    )
    lease_until: Mapped[datetime | None]  # a worker has claimed it until then
    attempt: Mapped[int] = mapped_column(default=0)  # only ever incremented: a fencing token for all writes
    failures: Mapped[int] = mapped_column(default=0)  # attempts that failed because of the job itself
    # attempts that ended because the database or storage was unavailable
    postponements: Mapped[int] = mapped_column(default=0)
    lost_leases: Mapped[int] = mapped_column(default=0)  # attempts that ended because the worker was lost
    dead_at: Mapped[datetime | None]  # when it failed for good; admins see it
    error: Mapped[str | None]  # of the last attempt


class MailRequest(Base):
    """A requested mail, counted towards limits for a day; the address is stored as a hash."""

    __tablename__ = "mail_request"
    __table_args__ = (
        Index("ix_mail_request_address", "address_hash", "at"),
        Index("ix_mail_request_person", "user_id", "at"),
        Index("ix_mail_request_at", "at"),
    )
    id: Mapped[int] = key_column()
    at: Mapped[datetime] = now_column()
    letter: Mapped[str]
    address_hash: Mapped[bytes]
    user_id: Mapped[int | None] = mapped_column(ForeignKey(User.id, ondelete="SET NULL"))


class MailLink(Base):
    """A single-use link that was mailed to a person."""

    __tablename__ = "mail_link"
    __table_args__ = (Index("ix_mail_link_expires_at", "expires_at"),)
    token_hash: Mapped[bytes] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey(User.id, ondelete="CASCADE"), index=True)
    purpose: Mapped[str]
    address: Mapped[str]  # where it was mailed to; using the link confirms this address
    created_at: Mapped[datetime] = now_column()
    expires_at: Mapped[datetime]
