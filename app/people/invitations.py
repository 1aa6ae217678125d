"""Invitations: links with which people join a team."""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import ColumnElement, and_, func, select
from sqlalchemy.orm import Session

from app.core.access import Actor, require_active, visible_to
from app.core.errors import (
    ConflictError,
    InvitationEnded,
    NotFoundError,
    Refusal,
    RefusedError,
    raise_if_refused,
)
from app.core.secret_hashes import hash_of_token
from app.jobs import events
from app.models import Challenge, EventKind, Invitation, Team, User
from app.people import teams
from app.people.locking import lock_person
from app.people.teams import Membership, has_members, join, joining_refusals, managed, record
from app.platform import Platform


class NewTeamLink(BaseModel):
    """How often a new link may be used, and for how long."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    uses: Annotated[int, Field(ge=1, le=20, description="how many people may join with it")] = 1
    days: Annotated[int, Field(ge=1, le=30, description="until it expires")] = 7


class Acceptance(BaseModel):
    """The secret of a link."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    token: Annotated[str, Field(max_length=100, description="the part of the link after /invitations/")]


@dataclass(frozen=True, slots=True)
class TeamLink:
    """A link that was just created. Its secret is shown only once."""

    id: int
    token: str
    url: str
    uses: int
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class TeamInvitation:
    """A usable invitation, as shown to the team's members."""

    id: int
    uses_left: int
    created_by: str
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class OfferedTeam:
    """What an invitation offers, and what accepting it means for the reader."""

    team: str
    challenge: str
    challenge_title: str
    members: int
    invited_by: str
    leaves: str | None  # the team that the reader leaves by joining, having been alone in it
    keeps_results: bool  # that team has results, which stay under its name
    refusals: tuple[str, ...]


def is_usable() -> ColumnElement[bool]:
    """Whether an invitation can be used to join."""
    return and_(
        Invitation.uses_left > 0,
        Invitation.revoked_at.is_(None),
        Invitation.expires_at > func.clock_timestamp(),
        has_members(Invitation.team_id),
    )


def find_usable(session: Session, actor: Actor, token_hash: bytes) -> Invitation | None:
    """Return an invitation that the reader can use."""
    seen = select(Team.id).where(visible_to(actor, Team.challenge_id))
    statement = select(Invitation).where(Invitation.token_hash == token_hash, is_usable())
    return session.scalar(statement.where(Invitation.team_id.in_(seen)))


def lock_usable(session: Session, token_hash: bytes) -> Invitation | None:
    """Return an invitation that can be used, locked so that other uses wait for the outcome of this one."""
    statement = select(Invitation).where(Invitation.token_hash == token_hash, is_usable())
    return session.scalar(statement.with_for_update().execution_options(populate_existing=True))


def invitation_of(session: Session, team_id: int, invitation_id: int) -> Invitation | None:
    """Return an invitation of a team."""
    return session.scalar(
        select(Invitation).where(Invitation.id == invitation_id, Invitation.team_id == team_id)
    )


def invitations_of(session: Session, team_id: int) -> tuple[TeamInvitation, ...]:
    """Return a team's usable invitations, newest first."""
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
    return tuple(TeamInvitation(*row) for row in session.execute(statement))


MAX_OPEN = 20  # usable invitations of a team at a time


def invite(platform: Platform, actor: Actor, team_id: int, new: NewTeamLink) -> TeamLink:
    """Create a link to join a team. Only its hash is stored.

    Raises NotFoundError, ForbiddenError, ConflictError if the team has too many.
    """
    token = secrets.token_urlsafe(24)
    with platform.transaction() as session:
        team = managed(session, actor, team_id)
        if len(invitations_of(session, team_id)) >= MAX_OPEN:
            raise ConflictError(f"A team can have at most {MAX_OPEN} open invitations; revoke one first")
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
        _tell(session, team, actor, has_joined=False)
    url = f"{platform.settings.address.rstrip('/')}/invitations/{token}"
    return TeamLink(invitation.id, token, url, new.uses, invitation.expires_at)


def revoke(platform: Platform, actor: Actor, team_id: int, invitation_id: int) -> None:
    """Revoke an invitation. People who have joined with it stay members.

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


def offer(platform: Platform, actor: Actor, token: str) -> OfferedTeam | None:
    """Return what a link offers this reader, or None if it can no longer be used."""
    with platform.snapshot() as session:
        invitation = find_usable(session, actor, hash_of_token(token))
        if invitation is None:
            return None
        team = session.get_one(Team, invitation.team_id)
        challenge = session.get_one(Challenge, team.challenge_id)
        inviter = session.get(User, invitation.created_by) if invitation.created_by else None
        present = teams.membership_in(session, actor.user_id, team.challenge_id)
        alone = present if present and not present.others and present.team_id != team.id else None
        return OfferedTeam(
            team=team.name,
            challenge=challenge.code,
            challenge_title=challenge.title,
            members=teams.count_members(session, team.id),
            invited_by=inviter.name if inviter else "",
            leaves=alone.standing.name if alone else None,
            keeps_results=alone is not None and teams.has_methods(session, alone.team_id),
            refusals=tuple(each.message for each in _refusals(session, team, present)),
        )


def _refusals(session: Session, team: Team, present: Membership | None) -> list[Refusal]:
    standing = teams.team_status(session, team.id)
    assert standing is not None
    most = session.scalar(select(Challenge.most_members).where(Challenge.id == team.challenge_id))
    is_full = most is not None and teams.count_members(session, team.id) >= most
    return list(joining_refusals(team.id, standing, present, most if is_full else None))


def accept(session: Session, actor: Actor, token: str) -> int:
    """Join the team that a link invites to, and return its id.

    Raises RefusedError.
    """
    assert actor.user_id is not None
    lock_person(session, actor.user_id)
    invitation, team = _locked(session, actor, hash_of_token(token))
    require_active(session, team.challenge_id)
    raise_if_refused(_refusals(session, team, teams.membership_in(session, actor.user_id, team.challenge_id)))
    invitation.uses_left -= 1
    join(session, team, actor.user_id)
    facts = {"challenge_id": team.challenge_id, "details": {"invitation": invitation.id}}
    record(session, actor.user_id, "team.join", team.id, **facts)
    _tell(session, team, actor, has_joined=True)
    return team.id


def _tell(session: Session, team: Team, actor: Actor, *, has_joined: bool) -> None:
    """Record for the other members that somebody made an invitation, or has joined with one."""
    events.record(
        session,
        EventKind.INVITATION,
        challenge_id=team.challenge_id,
        team_id=team.id,
        by=actor.user_id,
        has_joined=has_joined,
    )


def _locked(session: Session, actor: Actor, token_hash: bytes) -> tuple[Invitation, Team]:
    """Lock an invitation and its team, after the teams that joining changes, in the usual order.

    Raises RefusedError if the invitation cannot be used.
    """
    found = find_usable(session, actor, token_hash)
    if found is not None:
        team = session.get_one(Team, found.team_id)
        present = teams.team_in(session, actor.user_id, team.challenge_id)
        teams.lock_teams(session, {team.id, present or team.id})
        invitation = lock_usable(session, token_hash)
        if invitation is not None:
            return invitation, team
    message = "this invitation was used up or revoked, or has expired; ask the team for another"
    raise RefusedError([InvitationEnded(message)])
