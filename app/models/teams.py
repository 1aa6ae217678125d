"""Tables of teams, their members and invitations."""

from datetime import datetime

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    UniqueConstraint,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column, relationship

from app.models.challenges import Challenge
from app.models.people import User
from app.models.table import Approval, Base, key_column, now_column


class Team(Base):
    """A participant in a challenge: one or more people."""

    __tablename__ = "team"
    __table_args__ = (
        UniqueConstraint("challenge_id", "name_key"),
        UniqueConstraint("id", "challenge_id"),  # the target of the members' foreign key
        Index("ix_team_suspended", "id", postgresql_where=text("suspended_at IS NOT NULL")),
        Index("ix_team_hidden", "id", postgresql_where=text("hides_results")),
        CheckConstraint("suspended_at IS NOT NULL OR NOT hides_results", name="hidden_is_suspended"),
    )
    id: Mapped[int] = key_column()
    challenge_id: Mapped[int] = mapped_column(ForeignKey(Challenge.id))
    name: Mapped[str]
    name_key: Mapped[str]  # the same for all names that look alike
    affiliation: Mapped[str] = mapped_column(default="")
    approval: Mapped[Approval] = mapped_column(default=Approval.APPROVED)
    approval_reason: Mapped[str] = mapped_column(default="")
    suspended_at: Mapped[datetime | None]
    suspension_reason: Mapped[str] = mapped_column(default="")
    hides_results: Mapped[bool] = mapped_column(default=False)  # of a suspended team, on boards
    created_at: Mapped[datetime] = now_column()
    challenge: Mapped[Challenge] = relationship(viewonly=True, lazy="raise")


class Member(Base):
    """A member of a team; a person is in at most one team of a challenge."""

    __tablename__ = "member"
    __table_args__ = (
        UniqueConstraint("challenge_id", "user_id"),
        ForeignKeyConstraint(["team_id", "challenge_id"], [Team.id, Team.challenge_id], ondelete="CASCADE"),
    )
    team_id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    user_id: Mapped[int] = mapped_column(
        ForeignKey(User.id, ondelete="CASCADE"), primary_key=True, index=True
    )
    challenge_id: Mapped[int] = mapped_column(BigInteger)
    is_owner: Mapped[bool] = mapped_column(default=False)
    is_named: Mapped[bool] = mapped_column(default=False)  # agreed to be named on the team's public page
    joined_at: Mapped[datetime] = now_column()


class Invitation(Base):
    """A link with which people can join a team; stored as a hash."""

    __tablename__ = "invitation"
    __table_args__ = (CheckConstraint("uses_left >= 0", name="uses_left_not_negative"),)
    id: Mapped[int] = key_column()
    team_id: Mapped[int] = mapped_column(ForeignKey(Team.id, ondelete="CASCADE"), index=True)
    token_hash: Mapped[bytes] = mapped_column(unique=True)
    uses_left: Mapped[int]
    created_by: Mapped[int | None] = mapped_column(ForeignKey(User.id, ondelete="SET NULL"))
    created_at: Mapped[datetime] = now_column()
    expires_at: Mapped[datetime]
    revoked_at: Mapped[datetime | None]
