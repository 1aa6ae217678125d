"""Invitations: links by which people join a team."""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import ColumnElement, and_, func, select
from sqlalchemy.orm import Session

from app.core.access import Actor
from app.core.errors import ConflictError, InvitationEnded, NotFoundError, Refusal, RefusedError, refuse
from app.core.secret_hashes import hash_of_token
from app.models import Challenge, Invitation, Method, Team, User
from app.people import teams
from app.people.teams import Place, has_members, join, joining_refusals, managed, record
from app.platform import Platform


class NewInvitation(BaseModel):
    """How often and how long a new link may be used."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    uses: Annotated[int, Field(ge=1, le=20, description="how many people may join by it")] = 1
    days: Annotated[int, Field(ge=1, le=30, description="until it expires")] = 7


class Acceptance(BaseModel):
    """The secret of a link."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    token: Annotated[str, Field(max_length=100, description="what stands after /invitations/ in the link")]


@dataclass(frozen=True, slots=True)
class NewLink:
    """A link that was just made; its secret is shown once."""

    id: int
    token: str
    url: str
    uses: int
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class InvitationView:
    """An invitation that can still be used, as the team's members see it."""

    id: int
    uses_left: int
    created_by: str
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Offer:
    """What somebody is invited to, and what joining means for them."""

    team: str
    challenge: str
    challenge_title: str
    members: int
    invited_by: str
    leaves: str | None  # the team that they are alone in and leave by joining
    keeps_results: bool  # that team has results, which stay under its name
    refusals: tuple[str, ...]


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


MAX_OPEN = 20  # invitations of a team that can be used at the same time


def invite(platform: Platform, actor: Actor, team_id: int, new: NewInvitation) -> NewLink:
    """A link that lets people join a team; only its hash is kept.

    Raises NotFoundError, ForbiddenError, ConflictError for too many at once.
    """
    token = secrets.token_urlsafe(24)
    with platform.transaction() as session:
        team = managed(session, actor, team_id)
        if len(invitations_of(session, team_id)) >= MAX_OPEN:
            raise ConflictError(f"A team has at most {MAX_OPEN} invitations at a time; revoke one")
        invitation = Invitation(
            team_id=team_id,
            token_hash=hash_of_token(token),
            uses_left=new.uses,
            created_by=actor.user_id,
            expires_at=func.clock_timestamp() + timedelta(days=new.days),
        )
        session.add(invitation)
        session.flush()
        session.refresh(invitation)
        details = {
            "invitation": invitation.id,
            "uses": new.uses,
            "expires_at": invitation.expires_at.isoformat(),
        }
        record(
            session, actor.user_id, "team.invite", team_id, challenge_id=team.challenge_id, details=details
        )
    url = f"{platform.settings.address.rstrip('/')}/invitations/{token}"
    return NewLink(invitation.id, token, url, new.uses, invitation.expires_at)


def open_invitations(session: Session, team_id: int) -> tuple[InvitationView, ...]:
    """The invitations of a team that can be used."""
    return invitations_of(session, team_id)


def revoke(platform: Platform, actor: Actor, team_id: int, invitation_id: int) -> None:
    """End an invitation; who has joined by it stays.

    Raises NotFoundError, ForbiddenError.
    """
    with platform.transaction() as session:
        team = managed(session, actor, team_id)
        invitation = invitation_of(session, team_id, invitation_id)
        if invitation is None:
            raise NotFoundError(f"the team has no invitation {invitation_id}")
        if invitation.revoked_at is None:
            invitation.revoked_at = func.clock_timestamp()
            facts = {"challenge_id": team.challenge_id, "details": {"invitation": invitation_id}}
            record(session, actor.user_id, "team.revoke_invitation", team_id, **facts)


def offer(platform: Platform, actor: Actor, token: str) -> Offer | None:
    """What a link offers to this reader; none if it cannot be used any more."""
    with platform.snapshot() as session:
        invitation = usable(session, hash_of_token(token))
        if invitation is None:
            return None
        team = session.get_one(Team, invitation.team_id)
        challenge = session.get_one(Challenge, team.challenge_id)
        inviter = session.get(User, invitation.created_by) if invitation.created_by else None
        present = teams.place_in(session, actor.user_id, team.challenge_id)
        alone = present if present and not present.others and present.team_id != team.id else None
        return Offer(
            team=team.name,
            challenge=challenge.code,
            challenge_title=challenge.title,
            members=teams.count_members(session, team.id),
            invited_by=inviter.name if inviter else "",
            leaves=alone.standing.name if alone else None,
            keeps_results=alone is not None and has_methods(session, alone.team_id),
            refusals=tuple(each.message for each in _against(session, team, present)),
        )


def _against(session: Session, team: Team, present: Place | None) -> list[Refusal]:
    standing = teams.standing_of(session, team.id)
    assert standing is not None
    return list(joining_refusals(team.id, standing, present))


def accept(platform: Platform, actor: Actor, token: str) -> int:
    """Join the team that a link invites to; returns its id.

    Raises RefusedError.
    """
    assert actor.user_id is not None
    with platform.transaction() as session:
        teams.lock_person(session, actor.user_id)
        invitation, team = _locked(session, actor.user_id, hash_of_token(token))
        refuse(_against(session, team, teams.place_in(session, actor.user_id, team.challenge_id)))
        invitation.uses_left -= 1
        join(session, team, actor.user_id)
        facts = {"challenge_id": team.challenge_id, "details": {"invitation": invitation.id}}
        record(session, actor.user_id, "team.join", team.id, **facts)
        return team.id


def _locked(session: Session, user_id: int, token_hash: bytes) -> tuple[Invitation, Team]:
    """An invitation and its team, locked after the teams that joining changes, as everywhere.

    Raises RefusedError for an invitation that cannot be used.
    """
    found = usable(session, token_hash)
    if found is not None:
        team = session.get_one(Team, found.team_id)
        present = teams.team_in(session, user_id, team.challenge_id)
        teams.lock_teams(session, {team.id, present or team.id})
        invitation = lock_usable(session, token_hash)
        if invitation is not None:
            return invitation, team
    message = "this invitation was used up or revoked, or has expired; ask the team for another"
    raise RefusedError([InvitationEnded(message)])
