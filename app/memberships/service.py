"""Teams, and how people come into them and leave them."""

import secrets
from collections.abc import Iterator

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.access import Actor
from app.audit import queries as audit
from app.editions import queries as editions
from app.errors import (
    ConflictError,
    ForbiddenError,
    InTeam,
    MalformedError,
    NameTaken,
    NotFoundError,
    RefusedError,
    refuse,
)
from app.memberships import queries
from app.memberships.rules import giving_up_refusals, leaving_refusals, renaming_refusals
from app.memberships.schemas import NewTeam, TeamChange
from app.models import Invitation, Member, Team
from app.names import lookalike_key
from app.platform import Platform

NAME_TAKEN = "the edition has a team whose name is the same or looks the same; choose another name"


def own_team(session: Session, user_id: int, edition_id: int) -> int:
    """The team of a person in an edition; who has none gets a team of one, named after them."""
    person = queries.lock_person(session, user_id)
    team_id = queries.team_in(session, user_id, edition_id)
    if team_id is not None:
        return team_id
    made = (queries.add_team(session, edition_id, name) for name in _names(person.name))
    team_id = next((each for each in made if each is not None), None)
    if team_id is None:
        raise ConflictError("No name is free for a team of your own; create one with another name")
    _add_member(session, team_id, user_id, edition_id, is_owner=True)
    return team_id


def _names(name: str) -> Iterator[str]:
    """Names for the team of one person: their own, then with a number."""
    yield name
    yield from (f"{name} {number}" for number in range(2, 6))
    yield f"{name} {secrets.token_hex(4)}"


def _add_member(session: Session, team_id: int, user_id: int, edition_id: int, *, is_owner: bool) -> None:
    session.add(Member(team_id=team_id, user_id=user_id, edition_id=edition_id, is_owner=is_owner))
    session.flush()


def create_team(platform: Platform, actor: Actor, edition: str, new: NewTeam) -> int:
    """Create a team with the person as its owner; who is alone in a team leaves it.

    Raises NotFoundError, RefusedError.
    """
    assert actor.user_id is not None
    with platform.transaction() as session:
        found = editions.edition_of(session, edition)
        if found is None:
            raise NotFoundError(f"there is no edition {edition!r}")
        queries.lock_person(session, actor.user_id)
        present = queries.place_in(session, actor.user_id, found.id)
        if present is not None:
            message = f"you are in the team {present.standing.name}, and a person is in one team of an edition; leave or rename it"
            raise RefusedError([InTeam(message)])
        team_id = queries.add_team(session, found.id, new.name, new.affiliation)
        if team_id is None:
            raise RefusedError([NameTaken(NAME_TAKEN)])
        _add_member(session, team_id, actor.user_id, found.id, is_owner=True)
        after = {"name": new.name, "affiliation": new.affiliation}
        record(session, actor.user_id, "team.create", team_id, edition_id=found.id, after=after)
    return team_id


def record(session: Session, by: int | None, action: str, team_id: int, **facts: object) -> None:
    """Write down what was done to a team."""
    audit.record(session, by, action, f"team {team_id}", **facts)  # type: ignore[arg-type]  # `audit.Facts`


def join(session: Session, team: Team, user_id: int) -> None:
    """Make a person a member of a locked team; who is alone in another leaves that, and their unconfirmed uploads come along."""
    present = queries.team_in(session, user_id, team.edition_id)
    if present is not None:
        queries.remove_member(session, present, user_id)
    _add_member(session, team.id, user_id, team.edition_id, is_owner=False)
    queries.move_uploads(session, user_id, team.edition_id, team.id)
    if present is not None:
        _close_if_empty(session, present)


def _close_if_empty(session: Session, team_id: int) -> None:
    """Delete a team that nobody is in; one with results stays, and nobody can join it any more."""
    if not queries.delete_if_unused(session, team_id):
        without_members = ~queries.has_members(Invitation.team_id)
        queries.revoke_invitations(session, Invitation.team_id == team_id, without_members)


def leave(platform: Platform, actor: Actor, team_id: int) -> None:
    """Leave a team. What was confirmed stays with it; unconfirmed uploads go with the person, into a team of one.

    Raises NotFoundError, RefusedError.
    """
    assert actor.user_id is not None
    with platform.transaction() as session:
        queries.lock_person(session, actor.user_id)
        team = _own(session, actor, team_id)
        place = queries.place_in(session, actor.user_id, team.edition_id)
        assert place is not None
        refuse(leaving_refusals(place))
        _take_out(session, team, actor.user_id)
        record(session, actor.user_id, "team.leave", team_id, edition_id=team.edition_id)


def _own(session: Session, actor: Actor, team_id: int) -> Team:
    """A team of the reader, locked."""
    team = queries.lock_team(session, team_id)
    if team is None or queries.member(session, team_id, actor.user_id) is None:
        raise NotFoundError(f"you are in no team {team_id}")
    return team


def _take_out(session: Session, team: Team, user_id: int) -> None:
    queries.remove_member(session, team.id, user_id)
    if queries.has_unconfirmed(session, user_id, team.edition_id):
        own = own_team(session, user_id, team.edition_id)
        queries.move_uploads(session, user_id, team.edition_id, own)
    _close_if_empty(session, team.id)


def managed(session: Session, actor: Actor, team_id: int, reason: str = "") -> Team:
    """A team that the reader may change, locked: its owners, and with a reason the organisers of its edition.

    Raises NotFoundError, ForbiddenError, MalformedError without a reason.
    """
    team = queries.lock_team(session, team_id)
    mine = queries.member(session, team_id, actor.user_id)
    if team is not None and mine is not None and mine.is_owner:
        return team
    if team is not None and actor.runs(team.edition_id):
        if not reason:
            raise MalformedError("Give a reason; organisers need one to change a team")
        return team
    if mine is None or team is None:
        raise NotFoundError(f"you are in no team {team_id}")
    raise ForbiddenError("Only an owner of the team may do this")


def remove(platform: Platform, actor: Actor, team_id: int, user_id: int, reason: str = "") -> None:
    """Take another member out of a team, and revoke its invitations, one of which they may know.

    Raises NotFoundError, ForbiddenError, RefusedError.
    """
    with platform.transaction() as session:
        if user_id == actor.user_id:
            raise ConflictError("This is you; leave the team instead")
        theirs = queries.member(session, team_id, user_id)
        if theirs is not None:
            queries.lock_person(session, user_id)  # before the team, as everywhere
        team = managed(session, actor, team_id, reason)
        if theirs is None or queries.member(session, team_id, user_id) is None:
            raise NotFoundError(f"the team has no member {user_id}")
        place = queries.place_in(session, user_id, team.edition_id)
        assert place is not None
        refuse(leaving_refusals(place))
        _take_out(session, team, user_id)
        queries.revoke_invitations(session, Invitation.team_id == team_id)
        facts = {"edition_id": team.edition_id, "reason": reason, "details": {"person": user_id}}
        record(session, actor.user_id, "team.remove_member", team_id, **facts)


def set_owner(
    platform: Platform, actor: Actor, team_id: int, user_id: int, *, is_owner: bool, reason: str = ""
) -> None:
    """Make a member an owner, or an owner an ordinary member again.

    Raises NotFoundError, ForbiddenError, RefusedError for the last owner.
    """
    with platform.transaction() as session:
        team = managed(session, actor, team_id, reason)
        _change_owner(session, team, user_id, is_owner=is_owner)
        record(
            session,
            actor.user_id,
            "team.set_owner",
            team_id,
            edition_id=team.edition_id,
            reason=reason,
            after={"person": user_id, "is_owner": is_owner},
        )


def _change_owner(session: Session, team: Team, user_id: int, *, is_owner: bool) -> None:
    theirs = queries.member(session, team.id, user_id)
    place = queries.place_in(session, user_id, team.edition_id)
    if theirs is None or place is None:
        raise NotFoundError(f"the team has no member {user_id}")
    if not is_owner:
        refuse(giving_up_refusals(place))
    theirs.is_owner = is_owner or not place.others
    session.flush()


def hand_over(platform: Platform, actor: Actor, team_id: int, user_id: int) -> None:
    """Make another member the owner in place of the reader.

    Raises NotFoundError, ForbiddenError.
    """
    assert actor.user_id is not None
    with platform.transaction() as session:
        _own(session, actor, team_id)
        team = managed(session, actor, team_id)
        if user_id == actor.user_id:
            raise ConflictError("You own this team already")
        _change_owner(session, team, user_id, is_owner=True)
        _change_owner(session, team, actor.user_id, is_owner=False)
        facts = {"before": {"owner": actor.user_id}, "after": {"owner": user_id}}
        record(session, actor.user_id, "team.hand_over", team_id, edition_id=team.edition_id, **facts)


def change(platform: Platform, actor: Actor, team_id: int, change: TeamChange) -> None:
    """Give a team another name or affiliation.

    Raises NotFoundError, ForbiddenError, RefusedError for a name that is taken, or that public results are cited under.
    """
    with platform.transaction() as session:
        team = managed(session, actor, team_id, change.reason)
        before = {"name": team.name, "affiliation": team.affiliation}
        if change.name != team.name:
            _rename(session, team, change.name, is_organiser=actor.runs(team.edition_id))
        team.affiliation = change.affiliation
        session.flush()
        queries.mark_changed(session, team_id)
        after = {"name": team.name, "affiliation": team.affiliation}
        facts = {"reason": change.reason, "before": before, "after": after}
        record(session, actor.user_id, "team.change", team_id, edition_id=team.edition_id, **facts)
    platform.cache.forget_versions()


def _rename(session: Session, team: Team, name: str, *, is_organiser: bool) -> None:
    standing = queries.standing(session, team.id)
    assert standing is not None
    has_public_result = queries.has_public_result(session, team.id)
    refuse(renaming_refusals(standing, has_public_result=has_public_result, is_organiser=is_organiser))
    team.name, team.name_key = name, lookalike_key(name)
    try:
        session.flush()
    except IntegrityError as error:
        raise RefusedError([NameTaken(NAME_TAKEN)]) from error


def set_named(platform: Platform, actor: Actor, team_id: int, *, is_named: bool) -> None:
    """Agree to be named on the team's public page, or not any more.

    Raises NotFoundError.
    """
    with platform.transaction() as session:
        mine = queries.member(session, team_id, actor.user_id)
        if mine is None:
            raise NotFoundError(f"you are in no team {team_id}")
        mine.is_named = is_named


def leave_every_team(session: Session, user_id: int) -> None:
    """Take a person out of all their teams, because their account ends; the longest-standing member succeeds a last owner."""
    queries.lock_person(session, user_id)
    for mine in queries.teams_of(session, user_id):
        team = queries.lock_team(session, mine.id)
        assert team is not None
        place = queries.place_in(session, user_id, team.edition_id)
        heir = queries.longest_member(session, team.id, but=user_id)
        if heir is not None and place is not None and any(True for _ in giving_up_refusals(place)):
            heir.is_owner = True
        queries.remove_member(session, team.id, user_id)
        _close_if_empty(session, team.id)
        after = {"owner": heir.user_id} if heir else {}
        record(session, None, "team.account_ended", team.id, edition_id=team.edition_id, after=after)
