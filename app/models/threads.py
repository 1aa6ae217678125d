"""Tables of questions to organisers, of answers that they publish, and of what they announce to teams."""

import uuid
from datetime import datetime

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from app.models.challenges import Challenge, Phase
from app.models.people import User
from app.models.submissions import Submission, Upload
from app.models.table import AskingPlace, Base, MessageAudience, ThreadState, key_column, now_column
from app.models.teams import Team


class AskingRule(Base):
    """Where the organisers of a challenge are asked; without a row, here."""

    __tablename__ = "asking_rule"
    __table_args__ = (CheckConstraint("(place = 'forum') = (forum <> '')", name="forum_has_address"),)
    challenge_id: Mapped[int] = mapped_column(ForeignKey(Challenge.id, ondelete="CASCADE"), primary_key=True)
    place: Mapped[AskingPlace]
    forum: Mapped[str] = mapped_column(default="")  # https://…


class Thread(Base):
    """A question of a team, or of a person without one, to the organisers of a challenge, with all that follows."""

    __tablename__ = "thread"
    __table_args__ = (
        Index("ix_thread_challenge", "challenge_id", "last_message_id"),
        Index("ix_thread_state", "challenge_id", "state", "last_message_id"),
        Index("ix_thread_team", "team_id", "last_message_id"),
        Index("ix_thread_person", "asked_by", "last_message_id"),
        Index("ix_thread_upload", "upload_id", postgresql_where=text("upload_id IS NOT NULL")),
        CheckConstraint("num_nonnulls(upload_id, submission_id) <= 1", name="about_one_object"),
    )
    id: Mapped[int] = key_column()
    challenge_id: Mapped[int] = mapped_column(ForeignKey(Challenge.id, ondelete="CASCADE"))
    # its members read and continue the thread; None: only the person who asked
    team_id: Mapped[int | None] = mapped_column(ForeignKey(Team.id))
    asked_by: Mapped[int] = mapped_column(ForeignKey(User.id))
    # what it is about: of an upload or a submission also its phase
    phase_id: Mapped[int | None] = mapped_column(ForeignKey(Phase.id))
    upload_id: Mapped[uuid.UUID | None] = mapped_column(ForeignKey(Upload.id, ondelete="SET NULL"))
    submission_id: Mapped[int | None] = mapped_column(ForeignKey(Submission.id))
    title: Mapped[str]
    state: Mapped[ThreadState] = mapped_column(default=ThreadState.OPEN)
    created_at: Mapped[datetime] = now_column()
    # the newest message, by which lists are sorted; 0 only within the transaction that adds the first
    last_message_id: Mapped[int] = mapped_column(BigInteger, default=0)
    challenge: Mapped[Challenge] = relationship(viewonly=True, lazy="raise")
    team: Mapped[Team | None] = relationship(viewonly=True, lazy="raise")
    asker: Mapped[User] = relationship(viewonly=True, lazy="raise")
    phase: Mapped[Phase | None] = relationship(viewonly=True, lazy="raise")
    upload: Mapped[Upload | None] = relationship(viewonly=True, lazy="raise")
    submission: Mapped[Submission | None] = relationship(viewonly=True, lazy="raise")


class ThreadMessage(Base):
    """A message in a thread; never changed."""

    __tablename__ = "thread_message"
    __table_args__ = (
        Index("ix_thread_message_thread", "thread_id", "id"),
        Index("ix_thread_message_author", "author_id", "created_at"),
        Index(
            "ix_thread_message_team", "team_id", "created_at", postgresql_where=text("team_id IS NOT NULL")
        ),
    )
    id: Mapped[int] = key_column()
    thread_id: Mapped[int] = mapped_column(ForeignKey(Thread.id, ondelete="CASCADE"))
    author_id: Mapped[int] = mapped_column(ForeignKey(User.id))
    # whose limit it counts against; None: an organiser's, or of a person without a team
    team_id: Mapped[int | None] = mapped_column(ForeignKey(Team.id))
    is_answer: Mapped[bool]  # by an organiser
    text: Mapped[str]  # Markdown
    created_at: Mapped[datetime] = now_column()


class PublishedAnswer(Base):
    """A question and its answer, as an organiser wrote them for everybody: without anything of the thread they come from."""

    __tablename__ = "published_answer"
    __table_args__ = (
        Index("ix_published_answer_challenge", "challenge_id", "id"),
        CheckConstraint("version > 0", name="version_positive"),
    )
    id: Mapped[int] = key_column()
    public_id: Mapped[uuid.UUID] = mapped_column(unique=True, default=uuid.uuid4)  # its name in feeds
    challenge_id: Mapped[int] = mapped_column(ForeignKey(Challenge.id, ondelete="CASCADE"))
    thread_id: Mapped[int] = mapped_column(ForeignKey(Thread.id, ondelete="CASCADE"), unique=True)
    version: Mapped[int] = mapped_column(default=1)  # incremented with every change
    title: Mapped[str]
    question: Mapped[str]  # Markdown, like the answer
    answer: Mapped[str]
    created_at: Mapped[datetime] = now_column()
    created_by: Mapped[int] = mapped_column(ForeignKey(User.id))
    edited_at: Mapped[datetime | None]


class TeamMessage(Base):
    """An announcement of organisers to teams. In the release before it was a draft until it was sent."""

    __tablename__ = "team_message"
    __table_args__ = (
        Index("ix_team_message_challenge", "challenge_id", "id"),
        Index(
            "ix_team_message_sent", "challenge_id", "sent_at", postgresql_where=text("sent_at IS NOT NULL")
        ),
        CheckConstraint("version > 0", name="version_positive"),
    )
    id: Mapped[int] = key_column()
    challenge_id: Mapped[int] = mapped_column(ForeignKey(Challenge.id, ondelete="CASCADE"))
    version: Mapped[int] = mapped_column(default=1)  # incremented with every change of a draft
    title: Mapped[str]
    text: Mapped[str]  # Markdown
    audience: Mapped[MessageAudience]
    phase_id: Mapped[int | None] = mapped_column(ForeignKey(Phase.id))
    competition: Mapped[int | None]
    team_id: Mapped[int | None] = mapped_column(ForeignKey(Team.id, ondelete="SET NULL"), index=True)
    created_at: Mapped[datetime] = now_column()
    created_by: Mapped[int] = mapped_column(ForeignKey(User.id))
    sent_at: Mapped[datetime | None]
    teams: Mapped[int] = mapped_column(default=0)  # that received it
    people: Mapped[int] = mapped_column(default=0)  # their members at that time


class ReceivedMessage(Base):
    """A team that received an announcement."""

    __tablename__ = "received_message"
    __table_args__ = (
        UniqueConstraint("message_id", "team_id"),
        Index("ix_received_message_team", "team_id", "id"),
    )
    id: Mapped[int] = key_column()
    message_id: Mapped[int] = mapped_column(ForeignKey(TeamMessage.id, ondelete="CASCADE"))
    team_id: Mapped[int] = mapped_column(ForeignKey(Team.id, ondelete="CASCADE"))
