"""Inviting people into a team by a link, and joining by one."""

import secrets
from datetime import timedelta

from sqlalchemy import func
from sqlalchemy.orm import Session

from app.access import Actor
from app.errors import ConflictError, InvitationEnded, NotFoundError, Refusal, RefusedError, refuse
from app.invitations import queries
from app.invitations.schemas import InvitationView, NewInvitation, NewLink, Offer
from app.memberships import queries as memberships
from app.memberships.rules import Place, joining_refusals
from app.memberships.service import join, managed, record
from app.models import Edition, Invitation, Team, User
from app.platform import Platform
from app.secret_hashes import hash_of_token

MAX_OPEN = 20  # invitations of a team that can be used at the same time


def invite(platform: Platform, actor: Actor, team_id: int, new: NewInvitation) -> NewLink:
    """A link that lets people join a team; only its hash is kept.

    Raises NotFoundError, ForbiddenError, ConflictError for too many at once.
    """
    token = secrets.token_urlsafe(24)
    with platform.transaction() as session:
        team = managed(session, actor, team_id)
        if len(queries.invitations_of(session, team_id)) >= MAX_OPEN:
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
        record(session, actor.user_id, "team.invite", team_id, edition_id=team.edition_id, details=details)
    url = f"{platform.settings.address.rstrip('/')}/invitations/{token}"
    return NewLink(invitation.id, token, url, new.uses, invitation.expires_at)


def open_invitations(session: Session, team_id: int) -> tuple[InvitationView, ...]:
    """The invitations of a team that can be used."""
    return queries.invitations_of(session, team_id)


def revoke(platform: Platform, actor: Actor, team_id: int, invitation_id: int) -> None:
    """End an invitation; who has joined by it stays.

    Raises NotFoundError, ForbiddenError.
    """
    with platform.transaction() as session:
        team = managed(session, actor, team_id)
        invitation = queries.invitation_of(session, team_id, invitation_id)
        if invitation is None:
            raise NotFoundError(f"the team has no invitation {invitation_id}")
        if invitation.revoked_at is None:
            invitation.revoked_at = func.clock_timestamp()
            facts = {"edition_id": team.edition_id, "details": {"invitation": invitation_id}}
            record(session, actor.user_id, "team.revoke_invitation", team_id, **facts)


def offer(platform: Platform, actor: Actor, token: str) -> Offer | None:
    """What a link offers to this reader; none if it cannot be used any more."""
    with platform.snapshot() as session:
        invitation = queries.usable(session, hash_of_token(token))
        if invitation is None:
            return None
        team = session.get_one(Team, invitation.team_id)
        edition = session.get_one(Edition, team.edition_id)
        inviter = session.get(User, invitation.created_by) if invitation.created_by else None
        present = memberships.place_in(session, actor.user_id, team.edition_id)
        alone = present if present and not present.others and present.team_id != team.id else None
        return Offer(
            team=team.name,
            edition=edition.code,
            edition_title=edition.title,
            members=memberships.count_members(session, team.id),
            invited_by=inviter.name if inviter else "",
            leaves=alone.standing.name if alone else None,
            keeps_results=alone is not None and queries.has_methods(session, alone.team_id),
            refusals=tuple(each.message for each in _against(session, team, present)),
        )


def _against(session: Session, team: Team, present: Place | None) -> list[Refusal]:
    standing = memberships.standing(session, team.id)
    assert standing is not None
    return list(joining_refusals(team.id, standing, present))


def accept(platform: Platform, actor: Actor, token: str) -> int:
    """Join the team that a link invites to; returns its id.

    Raises RefusedError.
    """
    assert actor.user_id is not None
    with platform.transaction() as session:
        memberships.lock_person(session, actor.user_id)
        invitation, team = _locked(session, actor.user_id, hash_of_token(token))
        refuse(_against(session, team, memberships.place_in(session, actor.user_id, team.edition_id)))
        invitation.uses_left -= 1
        join(session, team, actor.user_id)
        facts = {"edition_id": team.edition_id, "details": {"invitation": invitation.id}}
        record(session, actor.user_id, "team.join", team.id, **facts)
        return team.id


def _locked(session: Session, user_id: int, token_hash: bytes) -> tuple[Invitation, Team]:
    """An invitation and its team, locked after the teams that joining changes, as everywhere.

    Raises RefusedError for an invitation that cannot be used.
    """
    found = queries.usable(session, token_hash)
    if found is not None:
        team = session.get_one(Team, found.team_id)
        present = memberships.team_in(session, user_id, team.edition_id)
        memberships.lock_teams(session, {team.id, present or team.id})
        invitation = queries.lock_usable(session, token_hash)
        if invitation is not None:
            return invitation, team
    message = "this invitation was used up or revoked, or has expired; ask the team for another"
    raise RefusedError([InvitationEnded(message)])
