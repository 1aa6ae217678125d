"""Teams: creating, joining, leaving, and who is in which team of a challenge."""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import (
    ColumnElement,
    Select,
    SQLColumnExpression,
    and_,
    delete,
    func,
    not_,
    or_,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, aliased

from app.core import audit
from app.core.access import Action, Actor, require_active, require_challenge
from app.core.errors import (
    ConflictError,
    ForbiddenError,
    InTeam,
    LastOwner,
    MalformedError,
    NameFixed,
    NameTaken,
    NotFoundError,
    Refusal,
    RefusedError,
    TeamFull,
    TeamNotApproved,
    TeamSuspended,
    raise_if_refused,
)
from app.core.names import Visible, lookalike_key
from app.jobs import events, queue
from app.models import (
    Approval,
    Challenge,
    EventKind,
    Invitation,
    Member,
    Method,
    Phase,
    Result,
    ResultState,
    Submission,
    Team,
    Thread,
    Upload,
    User,
)
from app.people.locking import lock_person
from app.platform import Platform

TeamName = Annotated[
    str,
    Field(min_length=2, max_length=40, description="unique in the challenge, as boards show it"),
    Visible,
]
Affiliation = Annotated[str, Field(max_length=200, description="where its members work")]
Reason = Annotated[str, Field(max_length=1000, description="required from organisers; the team reads it")]


class NewTeam(BaseModel):
    """The form for a new team."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    name: TeamName
    affiliation: Affiliation = ""


class TeamChange(BaseModel):
    """A change of a team's name or affiliation."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    name: TeamName
    affiliation: Affiliation = ""
    reason: Reason = ""


@dataclass(frozen=True, slots=True)
class TeamRef:
    """Which team something belongs to."""

    id: int
    name: str

    @classmethod
    def of(cls, team: Team) -> "TeamRef":
        """Refer to a team."""
        return TeamRef(team.id, team.name)


@dataclass(frozen=True, slots=True)
class OwnTeam:
    """A team that the reader is in."""

    id: int
    name: str
    challenge: str
    challenge_title: str
    members: int
    is_owner: bool
    is_named: bool  # the person agreed to be named on the team's public page
    approval: Approval | None  # None if the challenge does not approve teams
    is_suspended: bool


@dataclass(frozen=True, slots=True)
class MemberView:
    """A member of a team."""

    id: int  # the person's
    name: str
    is_owner: bool
    is_named: bool
    joined_at: datetime
    affiliation: str = ""
    homepage: str = ""
    orcid: str = ""


@dataclass(frozen=True, slots=True)
class MemberPage:
    """A page of a team's members, and where the next page begins."""

    members: tuple[MemberView, ...]
    next: int | None


@dataclass(frozen=True, slots=True)
class TeamStatus:
    """What organisers have decided about a team."""

    name: str
    needs_approval: bool  # whether the challenge approves teams
    approval: Approval
    approval_reason: str
    is_suspended: bool
    suspension_reason: str


@dataclass(frozen=True, slots=True)
class Membership:
    """A person's membership of a team, with what matters for leaving it or joining another."""

    team_id: int
    standing: TeamStatus
    is_owner: bool
    other_owners: int
    others: int  # other members, owners included


def upload_refusals(team: TeamStatus | None) -> Iterator[Refusal]:
    """Yield every reason why a member of this team may not upload; none if the person has no team yet."""
    if team is not None and team.is_suspended:
        yield _suspended(team)


def scoring_refusals(team: TeamStatus | None, *, is_held_out: bool) -> Iterator[Refusal]:
    """Yield every reason why this team cannot be scored on a phase; none if the person has no team yet."""
    if team is None:
        return
    yield from upload_refusals(team)
    if not is_held_out or not team.needs_approval or team.approval is Approval.APPROVED:
        return
    message = f"an organiser has to approve the team {team.name} before it is scored on held-out annotation"
    if team.approval is Approval.REFUSED:
        message = f"an organiser did not approve the team {team.name}: {team.approval_reason}"
    yield TeamNotApproved(message)


def joining_refusals(
    team_id: int, team: TeamStatus, present: Membership | None, full_at: int | None = None
) -> Iterator[Refusal]:
    """Yield every reason why a person may not join this team; `present` is their team in the challenge.

    A person who is alone in a team leaves it by joining another. full_at: how many members a team may have, if this
    team has reached that.
    """
    if team.is_suspended:
        yield _suspended(team)
    if full_at is not None and (present is None or present.team_id != team_id):
        yield TeamFull(f"the team {team.name} is full: the organisers allow at most {full_at} in a team")
    if present is None:
        return
    if present.team_id == team_id:
        yield InTeam(f"you are already in the team {team.name}")
        return
    if present.standing.is_suspended:
        yield _suspended(present.standing)
    if present.others:
        name = present.standing.name
        message = (
            f"you are in the team {name}, and you can be in only one team of a challenge; leave it first"
        )
        yield InTeam(message)


def founding_refusals(present: Membership, *, has_submitted: bool) -> Iterator[Refusal]:
    """Yield every reason why a person who is in a team may not found another; has_submitted: whether that team has.

    A person who is alone in a team that has submitted nothing leaves it by founding another.
    """
    if present.standing.is_suspended:
        yield _suspended(present.standing)
    if present.others or has_submitted:
        name = present.standing.name
        yield InTeam(
            f"you are in the team {name}, and you can be in only one team of a challenge; leave or rename it"
        )


def leaving_refusals(place: Membership) -> Iterator[Refusal]:
    """Yield every reason why a person may not leave a team. Leaving does not escape a suspension."""
    if place.standing.is_suspended:
        yield _suspended(place.standing)
    yield from stepping_down_refusals(place)


def stepping_down_refusals(place: Membership) -> Iterator[Refusal]:
    """Yield every reason why a person may not stop being an owner."""
    if place.is_owner and place.others and not place.other_owners:
        message = f"the team {place.standing.name} has no other owner; make another member an owner first"
        yield LastOwner(message)


def renaming_refusals(team: TeamStatus, *, has_public_result: bool, is_organiser: bool) -> Iterator[Refusal]:
    """Yield every reason why a team may not be renamed: public results are cited under its name."""
    if has_public_result and not is_organiser:
        message = f"the team {team.name} has public results under this name; ask an organiser to change it"
        yield NameFixed(message)


def _suspended(team: TeamStatus) -> Refusal:
    message = f"the team {team.name} is suspended: {team.suspension_reason}"
    return TeamSuspended(message)


PAGE = 200  # members


def team_of(session: Session, actor: Actor, challenge_id: int) -> int | None:
    """Return the reader's team in a challenge, if any."""
    return team_in(session, actor.user_id, challenge_id)


def team_in(session: Session, user_id: int | None, challenge_id: int) -> int | None:
    """Return a person's team in a challenge."""
    statement = select(Member.team_id).where(Member.user_id == user_id, Member.challenge_id == challenge_id)
    return session.scalar(statement)


def teams_now(actor: Actor) -> Select[int]:
    """Return the reader's teams at the time of the query, including those created since the request began."""
    return select(Member.team_id).where(Member.user_id == actor.user_id)


def lock_team(session: Session, team_id: int) -> Team | None:
    """Lock a team so that one change or confirmation runs at a time. Rows that refer to it are not blocked."""
    return session.scalar(select(Team).where(Team.id == team_id).with_for_update(key_share=True))


def lock_teams(session: Session, team_ids: set[int]) -> None:
    """Lock several teams in the common order, which avoids deadlocks."""
    session.execute(
        select(Team.id).where(Team.id.in_(team_ids)).order_by(Team.id).with_for_update(key_share=True)
    )


def member(session: Session, team_id: int, user_id: int | None) -> Member | None:
    """Return a person's membership of a team."""
    return session.scalar(select(Member).where(Member.team_id == team_id, Member.user_id == user_id))


def has_members(team: SQLColumnExpression[int]) -> ColumnElement[bool]:
    """Whether a team has members."""
    return select(Member.user_id).where(Member.team_id == team).exists()


def is_erased(session: Session, team_id: int) -> bool:
    """Whether a team lost its name when the account of its last member was deleted (`erased_name`)."""
    name = f"Team {team_id}"
    has_none = or_(Team.name == name, Team.name.startswith(f"{name}-"))
    erased = select(Team.id).where(Team.id == team_id, has_none, not_(has_members(Team.id)))
    return session.scalar(erased) is not None


def add_team(session: Session, challenge_id: int, name: str, affiliation: str = "") -> int | None:
    """Create a team and return its id, or None if the challenge has one whose name looks the same."""
    waits = session.scalar(select(Challenge.approves_teams).where(Challenge.id == challenge_id))
    statement = insert(Team).values(
        challenge_id=challenge_id,
        name=name,
        name_key=lookalike_key(name),
        affiliation=affiliation,
        approval=Approval.WAITING if waits else Approval.APPROVED,
    )
    team_id = session.scalar(statement.on_conflict_do_nothing().returning(Team.id))
    if team_id is not None and waits:
        events.record(session, EventKind.TEAM_WAITS, challenge_id=challenge_id, team_id=team_id)
    return team_id


def team_status(session: Session, team_id: int | None) -> TeamStatus | None:
    """Return what organisers have decided about a team."""
    statement = select(Team, Challenge.approves_teams).join(Challenge).where(Team.id == team_id)
    row = session.execute(statement).one_or_none()
    return _status_of(*row) if row else None


def _status_of(team: Team, needs_approval: bool) -> TeamStatus:  # noqa: FBT001 - a column
    return TeamStatus(
        name=team.name,
        needs_approval=needs_approval,
        approval=team.approval,
        approval_reason=team.approval_reason,
        is_suspended=team.suspended_at is not None,
        suspension_reason=team.suspension_reason,
    )


def membership_in(session: Session, user_id: int | None, challenge_id: int) -> Membership | None:
    """Return a person's membership in a challenge."""
    mine, other = Member, aliased(Member)
    others = select(func.count()).where(other.team_id == mine.team_id, other.user_id != mine.user_id)
    statement = (
        select(
            mine.team_id,
            mine.is_owner,
            others.where(other.is_owner).correlate(mine).scalar_subquery(),
            others.correlate(mine).scalar_subquery(),
        ).where(mine.user_id == user_id, mine.challenge_id == challenge_id)
    )  # fmt: skip
    row = session.execute(statement).one_or_none()
    if row is None:
        return None
    team_id, is_owner, other_owners, others_count = row
    found = team_status(session, team_id)
    assert found is not None
    return Membership(team_id, found, is_owner, other_owners, others_count)


def longest_serving_member(session: Session, team_id: int, but: int) -> Member | None:
    """Return the longest-standing member of a team, apart from one person."""
    statement = select(Member).where(Member.team_id == team_id, Member.user_id != but)
    return session.scalar(statement.order_by(Member.joined_at, Member.user_id).limit(1))


def teams_of(session: Session, user_id: int | None) -> tuple[OwnTeam, ...]:
    """Return a person's teams, the newest challenge first."""
    every = aliased(Member)
    members = select(func.count()).where(every.team_id == Team.id).correlate(Team).scalar_subquery()
    statement = (
        select(Team, Challenge, members, Member)
        .join(Member, Member.team_id == Team.id)
        .join(Team.challenge)
        .where(Member.user_id == user_id)
        .order_by(Challenge.id.desc())
    )
    return tuple(
        OwnTeam(
            id=team.id,
            name=team.name,
            challenge=challenge.code,
            challenge_title=challenge.title,
            members=count,
            is_owner=member.is_owner,
            is_named=member.is_named,
            approval=team.approval if challenge.approves_teams else None,
            is_suspended=team.suspended_at is not None,
        )
        for team, challenge, count, member in session.execute(statement)
    )


def _member_view(user: User, member: Member) -> MemberView:
    return MemberView(
        id=user.id,
        name=user.name,
        is_owner=member.is_owner,
        is_named=member.is_named,
        joined_at=member.joined_at,
        affiliation=user.affiliation,
        homepage=user.homepage,
        orcid=user.orcid,
    )


def members_of(session: Session, team_id: int, *, only_named: bool, after: int | None = None) -> MemberPage:
    """Return a page of a team's members, owners first, then in the order of joining.

    only_named: only those who agreed to be named; after: the last person of the previous page.
    """
    listed = [Member.team_id == team_id, *([Member.is_named] if only_named else [])]
    order = (~Member.is_owner, Member.joined_at, Member.user_id)
    last = session.execute(select(*order).where(*listed, Member.user_id == after)).one_or_none()
    statement = (
        select(User, Member)
        .join(Member, Member.user_id == User.id)
        .where(*listed, *([tuple_(*order) > tuple_(*last)] if last else []))
        .order_by(*order)
        .limit(PAGE + 1)
    )
    found = tuple(_member_view(*row) for row in session.execute(statement))
    return MemberPage(found[:PAGE], found[PAGE - 1].id if len(found) > PAGE else None)


def count_members(session: Session, team_id: int) -> int:
    """Count a team's members."""
    return session.scalar(select(func.count()).where(Member.team_id == team_id)) or 0


def remove_member(session: Session, team_id: int, user_id: int) -> None:
    """End a membership, and revoke the invitations that this member created."""
    session.execute(delete(Member).where(Member.team_id == team_id, Member.user_id == user_id))
    revoke_invitations(session, Invitation.team_id == team_id, Invitation.created_by == user_id)


def revoke_invitations(session: Session, *which: ColumnElement[bool]) -> None:
    """Revoke the open invitations that match the conditions."""
    open_ones = update(Invitation).where(Invitation.revoked_at.is_(None), *which)
    session.execute(open_ones.values(revoked_at=func.now()))


def _unconfirmed(user_id: int, challenge_id: int) -> tuple[ColumnElement[bool], ...]:
    phases = select(Phase.id).where(Phase.challenge_id == challenge_id)
    is_confirmed = select(Submission.id).where(Submission.upload_id == Upload.id).exists()
    return Upload.user_id == user_id, Upload.phase_id.in_(phases), ~is_confirmed


def has_unconfirmed(session: Session, user_id: int, challenge_id: int) -> bool:
    """Whether a person has unconfirmed uploads in a challenge."""
    return session.scalar(select(Upload.id).where(*_unconfirmed(user_id, challenge_id)).limit(1)) is not None


def move_uploads(session: Session, user_id: int, challenge_id: int, team_id: int) -> None:
    """Move a person's unconfirmed uploads in a challenge to this team. Confirmed uploads stay."""
    session.execute(update(Upload).where(*_unconfirmed(user_id, challenge_id)).values(team_id=team_id))


def has_methods(session: Session, team_id: int) -> bool:
    """Whether a team has methods, and so has submitted something."""
    return session.scalar(select(Method.id).where(Method.team_id == team_id).limit(1)) is not None


def has_uploads(session: Session, team_id: int) -> bool:
    """Whether a team has uploads or methods, so that its name stands beside something that it made."""
    used = (select(each.id).where(each.team_id == team_id).exists() for each in (Upload, Method))
    return bool(session.scalar(select(or_(*used))))


def delete_if_unused(session: Session, team_id: int) -> bool:
    """Delete a team without members, methods, uploads, and questions to organisers. Return whether it was deleted."""
    tables = (Member, Method, Upload, Thread)
    used = [select(each.team_id).where(each.team_id == team_id).exists() for each in tables]
    unused = delete(Team).where(Team.id == team_id, and_(*(~each for each in used)))
    return session.scalar(unused.returning(Team.id)) is not None


def is_shown(team: SQLColumnExpression[int]) -> ColumnElement[bool]:
    """Whether a team's public results are shown; organisers may hide those of a suspended team."""
    return team.not_in(select(Team.id).where(Team.hides_results))


def is_public() -> ColumnElement[bool]:
    """Whether a method is public, for statements that have Method."""
    return and_(Method.public_at.is_not(None), is_shown(Method.team_id))


def shows_result(session: Session, team_id: int) -> bool:
    """Whether a team has a public result, even if organisers hide it."""
    statement = (
        select(Result.id)
        .join(Result.method)
        .where(Method.team_id == team_id, Method.public_at.is_not(None), Result.state == ResultState.SCORED)
    )
    return session.scalar(statement.limit(1)) is not None


def mark_changed(session: Session, team_id: int) -> None:
    """Queue updates of the boards that show methods of this team."""
    theirs = update(Method).where(Method.team_id == team_id)
    session.execute(theirs.values(revision=Method.revision + 1))
    queue.add_boards(session, Result.method_id.in_(select(Method.id).where(Method.team_id == team_id)))


NAME_TAKEN = "the challenge has a team whose name is the same or looks the same; choose another name"


def own_or_new_team(session: Session, user_id: int, challenge_id: int) -> int:
    """Return a person's team in a challenge. Create a team of one, named after the person, if there is none."""
    person = lock_person(session, user_id)
    assert person is not None
    team_id = team_in(session, user_id, challenge_id)
    if team_id is not None:
        return team_id
    made = (add_team(session, challenge_id, name) for name in _names(person.name))
    team_id = next((each for each in made if each is not None), None)
    if team_id is None:
        raise ConflictError("No name is available for your own team; create a team with another name")
    _add_member(session, team_id, user_id, challenge_id, is_owner=True)
    name = session.get_one(Team, team_id).name
    record(session, user_id, "team.create", team_id, challenge_id=challenge_id, after={"name": name})
    return team_id


def standing_in_the_way(user_id: int | None) -> Select[int]:
    """The challenges in which a person may not found a team, because of the one that they are in; as `founding_refusals`."""
    every = aliased(Member)
    has_others = every.team_id == Member.team_id, every.user_id != Member.user_id
    return (
        select(Member.challenge_id)
        .join(Team, Team.id == Member.team_id)
        .where(
            Member.user_id == user_id,
            or_(
                Team.suspended_at.is_not(None),
                select(every.user_id).where(*has_others).exists(),
                select(Method.id).where(Method.team_id == Member.team_id).exists(),
            ),
        )
    )


@dataclass(frozen=True, slots=True)
class FirstTeam:
    """A team in which a person is alone and that has submitted nothing, such as that of their first upload."""

    id: int
    name: str


def first_team_of(session: Session, user_id: int | None, challenge_id: int) -> FirstTeam | None:
    """Return a person's team in a challenge if they may still found another; None otherwise."""
    present = membership_in(session, user_id, challenge_id)
    if present is None:
        return None
    has_submitted = has_methods(session, present.team_id)
    is_first = not any(founding_refusals(present, has_submitted=has_submitted))
    return FirstTeam(present.team_id, present.standing.name) if is_first else None


def _names(name: str) -> Iterator[str]:
    """Yield names for the team of one person: their own, then with a number."""
    yield name
    yield from (f"{name} {number}" for number in range(2, 6))
    yield f"{name} {secrets.token_hex(4)}"


def _add_member(session: Session, team_id: int, user_id: int, challenge_id: int, *, is_owner: bool) -> None:
    session.add(Member(team_id=team_id, user_id=user_id, challenge_id=challenge_id, is_owner=is_owner))
    session.flush()


def create_team(session: Session, actor: Actor, challenge: str, new: NewTeam) -> int:
    """Create a team owned by the reader, with their unconfirmed uploads.

    They leave a team that they are alone in and that has submitted nothing, such as that of their first upload.
    Raises NotFoundError, RefusedError.
    """
    assert actor.user_id is not None
    found = require_challenge(session, actor, challenge, Action.JOIN_TEAM)
    lock_person(session, actor.user_id)
    before = team_in(session, actor.user_id, found.id)
    if before is not None:
        lock_team(session, before)
        present = membership_in(session, actor.user_id, found.id)
        assert present is not None
        raise_if_refused(founding_refusals(present, has_submitted=has_methods(session, before)))
    team_id = add_team(session, found.id, new.name, new.affiliation)
    if team_id is None:
        raise RefusedError([NameTaken(NAME_TAKEN)])
    if before is not None:
        remove_member(session, before, actor.user_id)
    _add_member(session, team_id, actor.user_id, found.id, is_owner=True)
    if before is not None:
        move_uploads(session, actor.user_id, found.id, team_id)
        _close_if_empty(session, before)
    after = {"name": new.name, "affiliation": new.affiliation}
    record(session, actor.user_id, "team.create", team_id, challenge_id=found.id, after=after)
    return team_id


def record(session: Session, by: int | None, action: str, team_id: int, **facts: object) -> None:
    """Record a change of a team in the audit log."""
    audit.record(session, by, action, f"team {team_id}", **facts)  # type: ignore[arg-type]  # `audit.Facts`


def join(session: Session, team: Team, user_id: int) -> None:
    """Make a person a member of a locked team, with their unconfirmed uploads. They leave the team they were alone in."""
    present = team_in(session, user_id, team.challenge_id)
    if present is not None:
        remove_member(session, present, user_id)
    _add_member(session, team.id, user_id, team.challenge_id, is_owner=False)
    move_uploads(session, user_id, team.challenge_id, team.id)
    if present is not None:
        _close_if_empty(session, present)


def _close_if_empty(session: Session, team_id: int) -> None:
    """Delete a team without members. A team with results stays, but its invitations are revoked."""
    if not delete_if_unused(session, team_id):
        without_members = ~has_members(Invitation.team_id)
        revoke_invitations(session, Invitation.team_id == team_id, without_members)


def leave(platform: Platform, actor: Actor, team_id: int) -> None:
    """Leave a team. Confirmed uploads stay with it; unconfirmed ones move with the person, into a team of one.

    Raises NotFoundError, RefusedError.
    """
    assert actor.user_id is not None
    with platform.transaction() as session:
        lock_person(session, actor.user_id)
        team = _lock_own_team(session, actor, team_id)
        place = membership_in(session, actor.user_id, team.challenge_id)
        assert place is not None
        raise_if_refused(leaving_refusals(place))
        _remove_person(session, team, actor.user_id)
        record(session, actor.user_id, "team.leave", team_id, challenge_id=team.challenge_id)


def _lock_own_team(session: Session, actor: Actor, team_id: int) -> Team:
    """Return a team of the reader, locked."""
    team = lock_team(session, team_id)
    if team is None or member(session, team_id, actor.user_id) is None:
        raise NotFoundError(f"you are not in team {team_id}")
    return team


def _remove_person(session: Session, team: Team, user_id: int) -> None:
    remove_member(session, team.id, user_id)
    if has_unconfirmed(session, user_id, team.challenge_id):
        own = own_or_new_team(session, user_id, team.challenge_id)
        move_uploads(session, user_id, team.challenge_id, own)
    _close_if_empty(session, team.id)


def managed(session: Session, actor: Actor, team_id: int, reason: str = "") -> Team:
    """Return a team that the reader may change, locked: owners may, and organisers if they give a reason.

    Raises NotFoundError, ForbiddenError, MalformedError without a reason, ConflictError if the challenge is archived.
    """
    team = lock_team(session, team_id)
    mine = member(session, team_id, actor.user_id)
    is_owner = mine is not None and mine.is_owner
    if team is not None and (is_owner or actor.organises_challenge(team.challenge_id)):
        require_active(session, team.challenge_id)
        if not is_owner and not reason:
            raise MalformedError("Give a reason; organisers need one to change a team")
        return team
    if mine is None or team is None:
        raise NotFoundError(f"you are not in team {team_id}")
    raise ForbiddenError("Only an owner of the team may do this")


def remove(platform: Platform, actor: Actor, team_id: int, user_id: int, reason: str = "") -> None:
    """Remove another member from a team, and revoke all its invitations, since they may know one.

    Raises NotFoundError, ForbiddenError, RefusedError.
    """
    with platform.transaction() as session:
        if user_id == actor.user_id:
            raise ConflictError("This is you; leave the team instead")
        theirs = member(session, team_id, user_id)
        if theirs is not None:
            lock_person(session, user_id)
        team = managed(session, actor, team_id, reason)
        if theirs is None or member(session, team_id, user_id) is None:
            raise NotFoundError(f"the team has no member {user_id}")
        place = membership_in(session, user_id, team.challenge_id)
        assert place is not None
        raise_if_refused(leaving_refusals(place))
        _remove_person(session, team, user_id)
        revoke_invitations(session, Invitation.team_id == team_id)
        facts = {"challenge_id": team.challenge_id, "reason": reason, "details": {"person": user_id}}
        record(session, actor.user_id, "team.remove_member", team_id, **facts)


def set_owner(
    platform: Platform, actor: Actor, team_id: int, user_id: int, *, is_owner: bool, reason: str = ""
) -> None:
    """Make a member an owner, or an owner an ordinary member.

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
            challenge_id=team.challenge_id,
            reason=reason,
            after={"person": user_id, "is_owner": is_owner},
        )


def _change_owner(session: Session, team: Team, user_id: int, *, is_owner: bool) -> None:
    theirs = member(session, team.id, user_id)
    place = membership_in(session, user_id, team.challenge_id)
    if theirs is None or place is None:
        raise NotFoundError(f"the team has no member {user_id}")
    if not is_owner:
        raise_if_refused(stepping_down_refusals(place))
    theirs.is_owner = is_owner or not place.others
    session.flush()


def transfer_ownership(platform: Platform, actor: Actor, team_id: int, user_id: int) -> None:
    """Transfer ownership from the reader to another member.

    Raises NotFoundError, ForbiddenError.
    """
    assert actor.user_id is not None
    with platform.transaction() as session:
        _lock_own_team(session, actor, team_id)
        team = managed(session, actor, team_id)
        if user_id == actor.user_id:
            raise ConflictError("You own this team already")
        _change_owner(session, team, user_id, is_owner=True)
        _change_owner(session, team, actor.user_id, is_owner=False)
        facts = {"before": {"owner": actor.user_id}, "after": {"owner": user_id}}
        record(session, actor.user_id, "team.hand_over", team_id, challenge_id=team.challenge_id, **facts)


def change(platform: Platform, actor: Actor, team_id: int, change: TeamChange) -> None:
    """Change a team's name or affiliation.

    Raises NotFoundError, ForbiddenError, RefusedError if the name is taken or public results are cited under the old one.
    """
    with platform.transaction() as session:
        team = managed(session, actor, team_id, change.reason)
        before = {"name": team.name, "affiliation": team.affiliation}
        if change.name != team.name:
            _rename(session, team, change.name, is_organiser=actor.organises_challenge(team.challenge_id))
        team.affiliation = change.affiliation
        session.flush()
        mark_changed(session, team_id)
        after = {"name": team.name, "affiliation": team.affiliation}
        facts = {"reason": change.reason, "before": before, "after": after}
        record(session, actor.user_id, "team.change", team_id, challenge_id=team.challenge_id, **facts)
    platform.cache.expire_versions()


def _rename(session: Session, team: Team, name: str, *, is_organiser: bool) -> None:
    standing = team_status(session, team.id)
    assert standing is not None
    has_public_result = shows_result(session, team.id)
    raise_if_refused(
        renaming_refusals(standing, has_public_result=has_public_result, is_organiser=is_organiser)
    )
    team.name, team.name_key = name, lookalike_key(name)
    try:
        session.flush()
    except IntegrityError as error:
        raise RefusedError([NameTaken(NAME_TAKEN)]) from error


def set_listed_publicly(platform: Platform, actor: Actor, team_id: int, *, is_named: bool) -> None:
    """Agree to be named on the team's public page, or withdraw the agreement.

    Raises NotFoundError.
    """
    with platform.transaction() as session:
        mine = member(session, team_id, actor.user_id)
        if mine is None:
            raise NotFoundError(f"you are not in team {team_id}")
        mine.is_named = is_named


def leave_every_team(session: Session, user_id: int) -> None:
    """Remove a person from all teams when their account ends. The longest-standing member succeeds a last owner."""
    lock_person(session, user_id)
    for mine in teams_of(session, user_id):
        team = lock_team(session, mine.id)
        assert team is not None
        place = membership_in(session, user_id, team.challenge_id)
        heir = longest_serving_member(session, team.id, but=user_id)
        if heir is not None and place is not None and any(True for _ in stepping_down_refusals(place)):
            heir.is_owner = True
        remove_member(session, team.id, user_id)
        _close_if_empty(session, team.id)
        after = {"owner": heir.user_id} if heir else {}
        record(session, None, "team.account_ended", team.id, challenge_id=team.challenge_id, after=after)
