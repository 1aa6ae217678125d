"""Tables of methods, uploads, submissions and results."""

import uuid
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from app.models.challenges import Challenge, Phase
from app.models.people import User
from app.models.table import Base, QuestionKind, ResultState, UploadState, key_column, now_column
from app.models.teams import Team


class Method(Base):
    """A method of a team, with its description on the board."""

    __tablename__ = "method"
    __table_args__ = (
        UniqueConstraint("challenge_id", "name_key"),
        # for searches by prefix
        Index("ix_method_name_key", "name_key", postgresql_ops={"name_key": "text_pattern_ops"}),
    )
    id: Mapped[int] = key_column()
    challenge_id: Mapped[int] = mapped_column(ForeignKey(Challenge.id))
    team_id: Mapped[int] = mapped_column(ForeignKey(Team.id), index=True)
    name: Mapped[str]
    name_key: Mapped[str]  # the same for names that look alike
    title: Mapped[str] = mapped_column(default="")
    contributors: Mapped[str] = mapped_column(default="")
    affiliation: Mapped[str] = mapped_column(default="")
    description: Mapped[str] = mapped_column(default="")
    paper_url: Mapped[str] = mapped_column(default="")
    code_url: Mapped[str] = mapped_column(default="")
    is_baseline: Mapped[bool] = mapped_column(default=False)
    public_at: Mapped[datetime | None]  # when it became visible to everyone on the boards
    hidden_at: Mapped[datetime | None]  # by an organiser; it is private until one shows it again
    hide_reason: Mapped[str | None]
    revision: Mapped[int] = mapped_column(default=0)  # incremented when what boards show of it changes
    created_at: Mapped[datetime] = now_column()
    challenge: Mapped[Challenge] = relationship(viewonly=True, lazy="raise")
    team: Mapped[Team] = relationship(viewonly=True, lazy="raise")


class MethodChange(Base):
    """A change to the details of a public method; append-only."""

    __tablename__ = "method_change"
    id: Mapped[int] = key_column()
    method_id: Mapped[int] = mapped_column(ForeignKey(Method.id), index=True)
    user_id: Mapped[int] = mapped_column(ForeignKey(User.id))
    changed_at: Mapped[datetime] = now_column()
    before: Mapped[dict[str, Any]]  # the changed fields with their old values


class Question(Base):
    """A question that a challenge asks about its methods."""

    __tablename__ = "question"
    id: Mapped[int] = key_column()
    challenge_id: Mapped[int] = mapped_column(ForeignKey(Challenge.id), index=True)
    position: Mapped[int] = mapped_column(default=0)  # questions are shown in this order
    text: Mapped[str]
    kind: Mapped[QuestionKind]
    unit: Mapped[str] = mapped_column(default="")  # of numbers
    choices: Mapped[list[str]] = mapped_column(default=list)  # the possible answers of a choice
    is_required: Mapped[bool] = mapped_column(default=False)  # for public methods
    is_column: Mapped[bool] = mapped_column(default=False)  # of boards
    is_filter: Mapped[bool] = mapped_column(default=False)  # of boards
    created_at: Mapped[datetime] = now_column()


class Answer(Base):
    """A method's answer to a question of its challenge."""

    __tablename__ = "answer"
    method_id: Mapped[int] = mapped_column(ForeignKey(Method.id), primary_key=True)
    question_id: Mapped[int] = mapped_column(
        ForeignKey(Question.id, ondelete="CASCADE"), primary_key=True, index=True
    )
    text: Mapped[str]  # yes, no, a choice, a decimal number, text, or an address


class Upload(Base):
    """A received or partly received archive. Not a submission yet, so it does not count against quotas."""

    __tablename__ = "upload"
    __table_args__ = (
        CheckConstraint("size > 0", name="size_positive"),
        CheckConstraint("received >= 0 AND received <= size", name="received_within_size"),
        CheckConstraint(
            "state <> 'checked' OR (valid IS NOT NULL AND report IS NOT NULL)", name="checked_has_report"
        ),
        CheckConstraint(
            "(state IN ('rejected', 'expired')) = (removed_at IS NOT NULL)", name="removed_has_time"
        ),
        Index("ix_upload_due", "state", "started_at"),
        Index("ix_upload_team", "team_id", "started_at", "id"),
        Index("ix_upload_phase", "phase_id", "started_at", "id"),
        Index("ix_upload_person", "user_id", "state"),
    )
    id: Mapped[uuid.UUID] = mapped_column(primary_key=True, default=uuid.uuid4)
    phase_id: Mapped[int] = mapped_column(ForeignKey(Phase.id))
    team_id: Mapped[int] = mapped_column(ForeignKey(Team.id))
    user_id: Mapped[int] = mapped_column(ForeignKey(User.id))
    filename: Mapped[str]
    size: Mapped[int] = mapped_column(BigInteger)  # as declared
    received: Mapped[int] = mapped_column(BigInteger, default=0)
    expected_sha256: Mapped[str | None]
    competitions: Mapped[list[int] | None]  # only these; None: all for which it has files
    sha256: Mapped[str | None]  # of the stored archive; with the id, its key in the archive store
    state: Mapped[UploadState] = mapped_column(default=UploadState.RECEIVING)
    valid: Mapped[bool | None]
    report: Mapped[dict[str, Any] | None]
    started_at: Mapped[datetime] = now_column()
    received_at: Mapped[datetime | None]
    checked_at: Mapped[datetime | None]
    # the digest of the public description that it was checked by
    description_digest: Mapped[str | None]
    check_until: Mapped[datetime | None]  # a check in progress ends by then
    removed_at: Mapped[datetime | None]
    phase: Mapped[Phase] = relationship(viewonly=True, lazy="raise")
    team: Mapped[Team] = relationship(viewonly=True, lazy="raise")


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
    training: Mapped[dict[str, Any]]  # the team's statement about the training data
    created_at: Mapped[datetime] = now_column()
    upload: Mapped[Upload] = relationship(viewonly=True, lazy="raise")
    phase: Mapped[Phase] = relationship(viewonly=True, lazy="raise")
    method: Mapped[Method] = relationship(viewonly=True, lazy="raise")


class ExtraSlot(Base):
    """One more result in a task than the quota allows, granted to a team by an organiser."""

    __tablename__ = "extra_slot"
    __table_args__ = (Index("ix_extra_slot_team", "phase_id", "team_id"),)
    id: Mapped[int] = key_column()
    phase_id: Mapped[int] = mapped_column(ForeignKey(Phase.id))
    team_id: Mapped[int] = mapped_column(ForeignKey(Team.id, ondelete="CASCADE"), index=True)
    task: Mapped[str]
    reason: Mapped[str]
    granted_by: Mapped[int | None] = mapped_column(ForeignKey(User.id))
    granted_at: Mapped[datetime] = now_column()
    expires_at: Mapped[datetime | None]  # it can be used until then
    taken_back_at: Mapped[datetime | None]
    phase: Mapped[Phase] = relationship(viewonly=True, lazy="raise")
    team: Mapped[Team] = relationship(viewonly=True, lazy="raise")
    granter: Mapped[User | None] = relationship(viewonly=True, lazy="raise")


class Result(Base):
    """The score of a submission in one competition: one per method, or one at a time if the annotation is open."""

    __tablename__ = "result"
    __table_args__ = (
        Index(
            "uq_result_one_result",
            "method_id",
            "phase_id",
            "competition",
            unique=True,
            postgresql_where=text("state IN ('pending', 'scored') AND NOT is_replaceable"),
        ),
        *(
            Index(  # a newer result replaces the scored one once it is scored itself
                f"uq_result_one_{state}",
                "method_id",
                "phase_id",
                "competition",
                unique=True,
                postgresql_where=text(f"state = '{state}' AND is_replaceable"),
            )
            for state in ("pending", "scored")
        ),
        Index(
            "uq_result_extra_slot",
            "extra_slot_id",
            unique=True,
            postgresql_where=text("state IN ('pending', 'scored')"),
        ),
        Index("ix_result_board", "phase_id", "competition", "published_generation"),
        Index(  # each run that is deleted is looked for here
            "ix_result_published_run_id",
            "published_run_id",
            postgresql_where=text("published_run_id IS NOT NULL"),
        ),
        Index("ix_result_fingerprint", "fingerprint", postgresql_where=text("fingerprint <> ''")),
        *(
            Index(  # to read the first rows of a board without the others
                f"ix_result_{key}",
                "phase_id",
                "competition",
                "published_generation",
                key,
                postgresql_where=text(f"state = 'scored' AND {key} IS NOT NULL"),
            )
            for key in ("rank_key", "ladder_rank_key")
        ),
        Index("ix_result_newest", "phase_id", "id", postgresql_where=text("state = 'scored'")),
        Index("ix_result_pending", "phase_id", postgresql_where=text("state = 'pending'")),
        CheckConstraint("competition BETWEEN 1 AND 12", name="competition_known"),
        CheckConstraint("(state = 'withdrawn') = (withdrawn_at IS NOT NULL)", name="withdrawn_has_time"),
        CheckConstraint(
            "(published_run_id IS NULL) = (published_generation IS NULL)", name="published_has_generation"
        ),
        CheckConstraint("state <> 'scored' OR published_run_id IS NOT NULL", name="scored_is_published"),
    )
    id: Mapped[int] = key_column()
    submission_id: Mapped[int] = mapped_column(ForeignKey(Submission.id), index=True)
    method_id: Mapped[int] = mapped_column(ForeignKey(Method.id), index=True)
    phase_id: Mapped[int] = mapped_column(ForeignKey(Phase.id))
    competition: Mapped[int]
    is_complete: Mapped[bool] = mapped_column(default=True)  # has all predictions that the phase requires
    # equal for equal predictions, however they are packed
    fingerprint: Mapped[str] = mapped_column(default="")
    # classes whose predictions all have the same confidence
    constant_lists: Mapped[list[str]] = mapped_column(default=list)
    partial_lists: Mapped[list[str]] = mapped_column(default=list)  # classes with few predictions
    # whether the annotation was open when it was confirmed
    is_replaceable: Mapped[bool] = mapped_column(default=False)
    state: Mapped[ResultState] = mapped_column(default=ResultState.PENDING)
    published_run_id: Mapped[int | None] = mapped_column(ForeignKey("run.id", use_alter=True))
    published_generation: Mapped[int | None]  # the board shows the result while this is its generation
    rank_key: Mapped[int | None]  # for ranking: the published mean in tenths of a percent; -1: no mean
    ladder_rank_key: Mapped[int | None]  # the same for the mean that the ladder shows; None: no ladder
    withdrawn_at: Mapped[datetime | None]
    withdrawn_by: Mapped[int | None] = mapped_column(ForeignKey(User.id))
    withdraw_reason: Mapped[str | None]
    cancelled_at: Mapped[
        datetime | None
    ]  # withdrawn before a worker started it; costs nothing, retires no name
    refunded_at: Mapped[datetime | None]  # when an organiser gave its quota back
    refund_reason: Mapped[str | None]
    extra_slot_id: Mapped[int | None] = mapped_column(ForeignKey(ExtraSlot.id))  # None: within the quotas
    submission: Mapped[Submission] = relationship(viewonly=True, lazy="raise")
    method: Mapped[Method] = relationship(viewonly=True, lazy="raise")
    phase: Mapped[Phase] = relationship(viewonly=True, lazy="raise")
