"""Who can see a challenge: opening a draft, changes by organisers, and invitations; `core/access.py` has the condition."""

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final, Literal, Unpack

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from sqlalchemy import ColumnElement, and_, exists, func, or_, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.core import audit
from app.core.access import Actor, require_challenge
from app.core.audit import RecordFields
from app.core.errors import (
    ConflictError,
    InvitationEnded,
    NotFoundError,
    Refusal,
    RefusedError,
    raise_if_refused,
)
from app.core.names import LABEL, Visible, folded, is_mail_address
from app.core.secret_hashes import hash_of_token
from app.models import (
    Challenge,
    ChallengeInvitation,
    ChallengeVisibility,
    InvitedPerson,
    Member,
    Phase,
    Team,
    Upload,
    User,
)
from app.platform import Platform
from app.web.forms import OrBlank

MOST_INVITATIONS: Final = 2000  # of a challenge that are not revoked
MOST_SHOWN: Final = 500  # people who redeemed a code, the last ones
DOMAIN: Final = re.compile(rf"(?=.{{3,254}}\Z){LABEL}(?:\.{LABEL})+")


def _invited(text: str) -> str:
    """Normalise an address, or a domain such as "@example.org"."""
    found = folded(text)
    if not (DOMAIN.fullmatch(found[1:]) if found.startswith("@") else is_mail_address(found)):
        raise ValueError(
            f"{text!r} is neither an address, such as name@example.org, nor a domain, such as @example.org"
        )
    return found


class NewVisibility(BaseModel):
    """Who can see a challenge that was opened."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    visibility: Literal[ChallengeVisibility.LISTED, ChallengeVisibility.LINK, ChallengeVisibility.INVITED]


class NewInvitations(BaseModel):
    """People to invite."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    people: Annotated[
        tuple[Annotated[str, AfterValidator(_invited)], ...],
        Field(
            min_length=1,
            max_length=MOST_INVITATIONS,
            description="e-mail addresses, and domains such as @example.org, of confirmed addresses",
            examples=[["name@example.org", "@lab.example.org"]],
        ),
    ]


class NewCode(BaseModel):
    """A code with which people invite themselves."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    note: Annotated[str, Field(min_length=1, max_length=100, description="whom it is for"), Visible]
    uses: Annotated[
        OrBlank[Annotated[int, Field(ge=1, le=100_000)]],
        Field(description="how many people may redeem it; null for any number"),
    ] = None


@dataclass(frozen=True, slots=True)
class InvitationView:
    """An invitation that was not revoked. who: an address, a domain such as @example.org, or the note of a code."""

    id: int
    kind: Literal["address", "domain", "code"]
    who: str
    uses_left: int | None  # of a code; None without a limit
    redeemed: int  # people who have redeemed the code
    created_at: datetime


@dataclass(frozen=True, slots=True)
class InvitedPersonView:
    """A person who has redeemed a code."""

    id: int
    name: str
    email: str
    code: str  # its note
    redeemed_at: datetime
    team: "TeamOfPerson | None"


@dataclass(frozen=True, slots=True)
class TeamOfPerson:
    """The team in which a person goes on seeing a challenge after they are no longer invited; it stays and may go on."""

    id: int
    name: str
    person: str


@dataclass(frozen=True, slots=True)
class VisibilityView:
    """Who can see a challenge, for its organisers."""

    code: str
    title: str
    visibility: ChallengeVisibility
    opened_at: datetime | None
    approves_teams: bool  # organisers decide about teams
    invitations: tuple[InvitationView, ...]
    people: tuple[InvitedPersonView, ...]
    removed: TeamOfPerson | None = None  # of somebody who was just removed


@dataclass(frozen=True, slots=True)
class CreatedCode:
    """A code that was just created; it is shown only once."""

    id: int
    code: str
    url: str


@dataclass(frozen=True, slots=True)
class OfferedChallenge:
    """The challenge that a code opens. invited_by: who made the code, None if that account is deleted."""

    code: str
    title: str
    invited_by: str | None


def open_challenge(
    session: Session,
    actor: Actor,
    challenge: Challenge,
    at: datetime,
    visibility: ChallengeVisibility = ChallengeVisibility.LISTED,
    reasons: Sequence[Refusal] = (),
) -> None:
    """Open a draft, locked by the caller, for the people whom `visibility` names; nothing else opens one.

    reasons: what the caller's checks found against it. Raises RefusedError with all of them, and ConflictError if it is open.
    """
    raise_if_refused(reasons)
    if challenge.visibility is not ChallengeVisibility.DRAFT:
        raise ConflictError(f"the challenge {challenge.code} is open already")
    tests = select(Upload.id).join(Phase).where(Phase.challenge_id == challenge.id)
    if session.scalar(tests.limit(1)) is not None:
        raise ConflictError(
            f"the challenge {challenge.code} still has test runs, which have to be deleted first"
        )
    if visibility is ChallengeVisibility.INVITED and not _count_invitations(session, challenge.id):
        raise ConflictError(f"nobody is invited to {challenge.code}, so nobody could see it")
    challenge.visibility, challenge.opened_at = visibility, at
    _record(session, actor, challenge, "challenge.open", after={"visibility": visibility})


def visibility_page(
    platform: Platform, actor: Actor, code: str, removed: int | None = None
) -> VisibilityView:
    """Return who can see a challenge that this person organises; removed: a person who was just removed.

    Raises NotFoundError, ForbiddenError.
    """
    with platform.snapshot() as session:
        challenge = require_challenge(session, actor, code)
        return VisibilityView(
            challenge.code,
            challenge.title,
            challenge.visibility,
            challenge.opened_at,
            challenge.approves_teams,
            _invitations(session, challenge.id),
            _people(session, challenge.id),
            _team_of_removed(session, challenge.id, removed) if removed is not None else None,
        )


def _is_live(challenge_id: int) -> ColumnElement[bool]:
    return and_(ChallengeInvitation.challenge_id == challenge_id, ChallengeInvitation.revoked_at.is_(None))


def _invitations(session: Session, challenge_id: int) -> tuple[InvitationView, ...]:
    redeemed = (
        select(func.count())
        .where(InvitedPerson.invitation_id == ChallengeInvitation.id)
        .correlate(ChallengeInvitation)
        .scalar_subquery()
    )
    statement = select(ChallengeInvitation, redeemed).where(_is_live(challenge_id))
    return tuple(
        _invitation_view(*row) for row in session.execute(statement.order_by(ChallengeInvitation.id.desc()))
    )


def _invitation_view(row: ChallengeInvitation, redeemed: int) -> InvitationView:
    kind: Literal["address", "domain", "code"] = (
        "address" if row.address is not None else "domain" if row.domain is not None else "code"
    )
    who = row.address or (f"@{row.domain}" if row.domain else row.note)
    return InvitationView(row.id, kind, who, row.uses_left, redeemed, row.created_at)


def _people(session: Session, challenge_id: int) -> tuple[InvitedPersonView, ...]:
    statement = (
        select(User, ChallengeInvitation.note, InvitedPerson.redeemed_at, Team)
        .join(InvitedPerson, InvitedPerson.user_id == User.id)
        .join(ChallengeInvitation, InvitedPerson.invitation_id == ChallengeInvitation.id)
        .outerjoin(Member, (Member.user_id == User.id) & (Member.challenge_id == challenge_id))
        .outerjoin(Team, Team.id == Member.team_id)
        .where(InvitedPerson.challenge_id == challenge_id)
        .order_by(InvitedPerson.redeemed_at.desc(), User.id)
        .limit(MOST_SHOWN)
    )
    return tuple(_person(*row) for row in session.execute(statement))


def _person(user: User, code: str, redeemed_at: datetime, team: Team | None) -> InvitedPersonView:
    return InvitedPersonView(
        id=user.id,
        name=user.name,
        email=user.email,
        code=code,
        redeemed_at=redeemed_at,
        team=TeamOfPerson(team.id, team.name, user.name) if team else None,
    )


def _team_of_removed(session: Session, challenge_id: int, user_id: int) -> TeamOfPerson | None:
    """Return the team of somebody who was removed from the invited people; None if they are in none, or are invited."""
    is_invited = exists().where(InvitedPerson.challenge_id == challenge_id, InvitedPerson.user_id == user_id)
    statement = (
        select(Team.id, Team.name, User.name)
        .join(Member, Member.team_id == Team.id)
        .join(User, User.id == Member.user_id)
        .where(Member.challenge_id == challenge_id, Member.user_id == user_id, ~is_invited)
    )
    row = session.execute(statement).one_or_none()
    return TeamOfPerson(*row) if row else None


def change(platform: Platform, actor: Actor, code: str, new: NewVisibility) -> None:
    """Change who can see a challenge; the same visibility changes nothing.

    Raises NotFoundError, ForbiddenError, and ConflictError for a draft, which `open_challenge` opens.
    """
    with platform.transaction() as session:
        challenge = require_challenge(session, actor, code, lock=True)
        before = challenge.visibility
        if before is ChallengeVisibility.DRAFT:
            raise ConflictError("This challenge is a draft; it has to be opened first")
        if before is new.visibility:
            return
        challenge.visibility = new.visibility
        _record(
            session, actor, challenge, "challenge.visibility",
            before={"visibility": before}, after={"visibility": new.visibility},
        )  # fmt: skip
    platform.cache.expire_versions()


def invite(platform: Platform, actor: Actor, code: str, new: NewInvitations) -> None:
    """Invite addresses and domains; those that are invited already stay so.

    Raises NotFoundError, ForbiddenError, and ConflictError if these are too many.
    """
    with platform.transaction() as session:
        challenge = require_challenge(session, actor, code, lock=True)
        change_invitations(session, actor, challenge, new.people)


def change_invitations(
    session: Session, actor: Actor, challenge: Challenge, people: Sequence[str], before: Sequence[str] = ()
) -> None:
    """Invite these addresses and domains to a locked challenge, and revoke those of `before` that are not among them.

    Raises ConflictError before anything is changed if these would be too many invitations.
    """
    known = _named(session, challenge.id)
    revoked = [known[each] for each in before if each in known and each not in people]
    added = [each for each in dict.fromkeys(people) if each not in known]
    _check_number(session, challenge.id, len(added) - len(revoked))
    for row in revoked:
        _revoke(session, actor, challenge, row)
    for each in added:
        is_domain = each.startswith("@")
        session.add(
            ChallengeInvitation(
                challenge_id=challenge.id,
                address=None if is_domain else each,
                domain=each[1:] if is_domain else None,
                created_by=actor.user_id,
            )
        )
    domains = [each for each in added if each.startswith("@")]
    if added:  # addresses of people are not kept in the audit log, which is never changed
        details = {"addresses": len(added) - len(domains), "domains": domains}
        _record(session, actor, challenge, "invitation.add", details=details)


def _named(session: Session, challenge_id: int) -> dict[str, ChallengeInvitation]:
    """The invitations of addresses and domains, by these."""
    named = select(ChallengeInvitation).where(_is_live(challenge_id), ChallengeInvitation.code_hash.is_(None))
    return {row.address or f"@{row.domain}": row for row in session.scalars(named)}


def not_invited(session: Session, challenge_id: int, people: Sequence[str]) -> tuple[str, ...]:
    """Return which of these addresses and domains have no invitation."""
    known = _named(session, challenge_id)
    return tuple(each for each in people if each not in known)


def _check_number(session: Session, challenge_id: int, added: int) -> None:
    if _count_invitations(session, challenge_id) + added > MOST_INVITATIONS:
        raise ConflictError(
            f"A challenge can have at most {MOST_INVITATIONS:,} invitations; invite a domain, or use a code"
        )


def _count_invitations(session: Session, challenge_id: int) -> int:
    count = select(func.count()).select_from(ChallengeInvitation).where(_is_live(challenge_id))
    return session.scalars(count).one()


def create_code(platform: Platform, actor: Actor, code: str, new: NewCode) -> CreatedCode:
    """Create a code with which people invite themselves. Only its hash is stored.

    Raises NotFoundError, ForbiddenError, ConflictError.
    """
    secret = secrets.token_urlsafe(16)
    with platform.transaction() as session:
        challenge = require_challenge(session, actor, code, lock=True)
        _check_number(session, challenge.id, 1)
        row = ChallengeInvitation(
            challenge_id=challenge.id,
            code_hash=hash_of_token(secret),
            uses_left=new.uses,
            note=new.note,
            created_by=actor.user_id,
        )
        session.add(row)
        session.flush()
        _record(
            session, actor, challenge, "invitation.code", details={"invitation": row.id, "uses": new.uses}
        )
        return CreatedCode(row.id, secret, f"{platform.settings.address}/invited/{secret}")


def revoke(platform: Platform, actor: Actor, code: str, invitation_id: int) -> None:
    """Revoke an invitation. People who have redeemed a code stay invited. Raises NotFoundError, ForbiddenError."""
    with platform.transaction() as session:
        challenge = require_challenge(session, actor, code, lock=True)
        row = session.scalar(
            select(ChallengeInvitation).where(ChallengeInvitation.id == invitation_id, _is_live(challenge.id))
        )
        if row is None:
            raise NotFoundError(f"there is no invitation {invitation_id} to {code}")
        _revoke(session, actor, challenge, row)


def _revoke(session: Session, actor: Actor, challenge: Challenge, row: ChallengeInvitation) -> None:
    row.revoked_at = func.clock_timestamp()
    _record(session, actor, challenge, "invitation.revoke", details={"invitation": row.id})


def remove_person(platform: Platform, actor: Actor, code: str, user_id: int) -> None:
    """Remove a person who has redeemed a code; in a team of the challenge they still see it.

    Raises NotFoundError, ForbiddenError.
    """
    with platform.transaction() as session:
        challenge = require_challenge(session, actor, code, lock=True)
        row = session.get(InvitedPerson, (challenge.id, user_id))
        if row is None:
            raise NotFoundError(f"person {user_id} has redeemed no code of {code}")
        session.delete(row)
        _record(session, actor, challenge, "invitation.remove", details={"person": user_id})


def _is_code(secret: str) -> ColumnElement[bool]:
    return and_(
        ChallengeInvitation.code_hash == hash_of_token(secret),
        Challenge.visibility != ChallengeVisibility.DRAFT,
    )


def _usable(secret: str) -> ColumnElement[bool]:
    return and_(
        _is_code(secret),
        ChallengeInvitation.revoked_at.is_(None),
        or_(ChallengeInvitation.uses_left.is_(None), ChallengeInvitation.uses_left > 0),
    )


def offer(platform: Platform, secret: str) -> OfferedChallenge | None:
    """Return the challenge that a code opens; None if it cannot be redeemed."""
    statement = (
        select(Challenge.code, Challenge.title, User.name)
        .join(ChallengeInvitation, ChallengeInvitation.challenge_id == Challenge.id)
        .outerjoin(User, User.id == ChallengeInvitation.created_by)
    )
    with platform.reading() as session:
        row = session.execute(statement.where(_usable(secret))).one_or_none()
    return OfferedChallenge(*row) if row else None


def redeem(platform: Platform, actor: Actor, secret: str) -> str:
    """Invite this person by a code, and return the challenge's code. Who is invited by it already uses nothing up.

    Raises RefusedError if the code cannot be redeemed.
    """
    redeemed = select(InvitedPerson.invitation_id).where(InvitedPerson.user_id == actor.user_id)
    statement = (
        select(ChallengeInvitation, Challenge)
        .join(Challenge, ChallengeInvitation.challenge_id == Challenge.id)
        .where(or_(_usable(secret), and_(_is_code(secret), ChallengeInvitation.id.in_(redeemed))))
        .with_for_update(of=ChallengeInvitation)  # of two who redeem the last use, the second finds none left
    )
    with platform.transaction() as session:
        row = session.execute(statement).one_or_none()
        if row is None:
            raise RefusedError([InvitationEnded("this code was used up or revoked, or is mistyped")])
        invitation, challenge = row
        person = insert(InvitedPerson).values(
            challenge_id=challenge.id, user_id=actor.user_id, invitation_id=invitation.id
        )
        added = session.execute(person.on_conflict_do_nothing().returning(InvitedPerson.user_id)).all()
        if added:
            if invitation.uses_left is not None:
                invitation.uses_left -= 1
            _record(session, actor, challenge, "invitation.redeem", details={"invitation": invitation.id})
        return challenge.code


def _record(
    session: Session, actor: Actor, challenge: Challenge, action: str, **facts: Unpack[RecordFields]
) -> None:
    facts["challenge_id"] = challenge.id
    audit.record(session, actor.user_id, action, f"challenge {challenge.id}", **facts)
