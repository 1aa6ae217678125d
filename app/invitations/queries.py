"""Invitations in the database."""

from sqlalchemy import ColumnElement, and_, func, select
from sqlalchemy.orm import Session

from app.invitations.schemas import InvitationView
from app.memberships.queries import has_members
from app.models import Invitation, Method, User


def is_usable() -> ColumnElement[bool]:
    """Whether somebody can join by an invitation."""
    return and_(
        Invitation.uses_left > 0,
        Invitation.revoked_at.is_(None),
        Invitation.expires_at > func.clock_timestamp(),
        has_members(Invitation.team_id),
    )


def usable(session: Session, token_hash: bytes) -> Invitation | None:
    """An invitation that can be used."""
    return session.scalar(select(Invitation).where(Invitation.token_hash == token_hash, is_usable()))


def lock_usable(session: Session, token_hash: bytes) -> Invitation | None:
    """An invitation that can be used, locked; others wait until it is known whether this use counts."""
    statement = select(Invitation).where(Invitation.token_hash == token_hash, is_usable())
    return session.scalar(statement.with_for_update().execution_options(populate_existing=True))


def invitation_of(session: Session, team_id: int, invitation_id: int) -> Invitation | None:
    """An invitation of a team."""
    return session.scalar(
        select(Invitation).where(Invitation.id == invitation_id, Invitation.team_id == team_id)
    )


def invitations_of(session: Session, team_id: int) -> tuple[InvitationView, ...]:
    """The invitations of a team that can be used, newest first."""
    columns = (
        Invitation.id,
        Invitation.uses_left,
        func.coalesce(User.name, ""),
        Invitation.created_at,
        Invitation.expires_at,
    )
    statement = (
        select(*columns)
        .outerjoin(User, Invitation.created_by == User.id)
        .where(Invitation.team_id == team_id, is_usable())
        .order_by(Invitation.id.desc())
    )
    return tuple(InvitationView(*row) for row in session.execute(statement))


def has_methods(session: Session, team_id: int) -> bool:
    """Whether anything was entered in the name of a team."""
    return session.scalar(select(Method.id).where(Method.team_id == team_id).limit(1)) is not None
