"""Roles: who is an admin, and who owns, organises or views which challenge."""

import enum
import math
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Annotated, Final, Unpack

from pydantic import BaseModel, ConfigDict, Field, field_validator
from sqlalchemy import ColumnElement, and_, delete, func, select
from sqlalchemy.orm import Session

from app.challenges import challenges
from app.core import audit
from app.core.access import Action, Actor, require_challenge
from app.core.errors import ConflictError, ForbiddenError, MalformedError, NotFoundError, RateLimitedError
from app.core.names import folded, is_mail_address
from app.core.secret_hashes import hash_of_token
from app.jobs import mail
from app.jobs.mail import MailTemplate
from app.models import Challenge, ChallengeOrganiser, ChallengeRole, OneTimeLink, Role, User
from app.people import sessions
from app.people.accounts import has_admin
from app.people.locking import lock_person
from app.people.sessions import is_person
from app.platform import Platform


class Grant(enum.StrEnum):
    """The roles that a person can be given; a participant is neither admin nor organiser."""

    PARTICIPANT = "participant"
    ORGANISER = "organiser"
    ADMIN = "admin"


class NewRole(BaseModel):
    """A role in the organisation of a challenge."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    role: Annotated[ChallengeRole, Field(description="only owners name owners")] = ChallengeRole.ORGANISER


class NewOrganiser(NewRole):
    """A person and their role."""

    email: Annotated[str, Field(min_length=3, max_length=254, description="address of an account")]


class NewRoleInvitation(NewRole):
    """A role for whoever reads the mail to this address."""

    email: Annotated[
        str, Field(max_length=254, description="where the link is mailed to", examples=["name@example.org"])
    ]

    @field_validator("email")
    @classmethod
    def _address(cls, email: str) -> str:
        if not is_mail_address(email := folded(email)):
            raise ValueError("this is not an e-mail address")
        return email


@dataclass(frozen=True, slots=True)
class Organiser:
    """A person with a role in a challenge."""

    id: int
    name: str
    email: str  # empty for readers who may not see addresses
    role: ChallengeRole
    added_at: datetime


@dataclass(frozen=True, slots=True)
class RoleInvitation:
    """A mailed link that has not been used yet. The key identifies it but does not open it."""

    key: str
    email: str
    role: ChallengeRole
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class OrganisedChallenge:
    """A challenge and the people who organise it; admins can organise it without being listed."""

    code: str
    title: str
    id: int = 0
    organisers: tuple[Organiser, ...] = ()
    invitations: tuple[RoleInvitation, ...] = ()  # none for readers who may not see addresses


@dataclass(frozen=True, slots=True)
class RoleLink:
    """A one-time link."""

    challenge: str | None  # title of the challenge; None if the link makes an admin
    role: ChallengeRole = ChallengeRole.OWNER  # in the challenge
    email: str = ""  # where it was mailed to


def role_refusal(
    by: ChallengeRole | None, before: ChallengeRole | None, after: ChallengeRole | None, *, is_own: bool
) -> str | None:
    """Return why somebody with the role `by` may not change a role from `before` to `after`; None if they may.

    None as a role: none; is_own: it is their own role. Admins count as owners.

    >>> role_refusal(ChallengeRole.VIEWER, ChallengeRole.VIEWER, None, is_own=True)
    >>> role_refusal(ChallengeRole.ORGANISER, ChallengeRole.VIEWER, None, is_own=False)
    'only owners remove people'
    """
    if by is ChallengeRole.OWNER or (is_own and after is None):
        return None
    if after is None:
        return "only owners remove people"
    if after is ChallengeRole.OWNER:
        return "only owners name owners"
    if before is not None:
        return "only owners change the role of somebody"
    return None if by is ChallengeRole.ORGANISER else "only organisers invite people"


def is_usable() -> ColumnElement[bool]:
    """Whether a one-time link can be used."""
    return and_(
        OneTimeLink.used_by.is_(None), OneTimeLink.revoked_at.is_(None), OneTimeLink.expires_at > func.now()
    )


def lock_usable_link(session: Session, token_hash: bytes, *, is_setup: bool = False) -> OneTimeLink | None:
    """Lock a one-time link that can be used until the end of the transaction; None if there is none."""
    found = (OneTimeLink.token_hash == token_hash, OneTimeLink.is_setup.is_(is_setup), is_usable())
    return session.scalar(select(OneTimeLink).where(*found).with_for_update())


def invitations_of(session: Session, challenge_id: int) -> tuple[RoleInvitation, ...]:
    """Return the mailed links of a challenge that can be used, the newest first."""
    mailed = (OneTimeLink.challenge_id == challenge_id, OneTimeLink.email.is_not(None), is_usable())
    statement = select(OneTimeLink).where(*mailed).order_by(OneTimeLink.created_at.desc())
    return tuple(
        RoleInvitation(row.token_hash.hex(), row.email or "", row.role, row.created_at, row.expires_at)
        for row in session.scalars(statement)
    )


def has_owner(session: Session, challenge_id: int) -> bool:
    """Return whether the challenge has an owner who can log in."""
    statement = (
        select(User.id)
        .join(ChallengeOrganiser)
        .where(
            ChallengeOrganiser.challenge_id == challenge_id,
            ChallengeOrganiser.role == ChallengeRole.OWNER,
            is_person(),
        )
    )
    return session.scalar(statement.limit(1)) is not None


def organisers_of(session: Session, challenge_id: int) -> tuple[Organiser, ...]:
    """Return the people of a challenge in the order in which they were added."""
    statement = (
        select(User.id, User.name, User.email, ChallengeOrganiser.role, ChallengeOrganiser.added_at)
        .join(ChallengeOrganiser, ChallengeOrganiser.user_id == User.id)
        .where(ChallengeOrganiser.challenge_id == challenge_id)
        .order_by(ChallengeOrganiser.added_at, User.id)
    )
    return tuple(Organiser(*row) for row in session.execute(statement))


def organised_by(session: Session, user_id: int) -> list[int]:
    """Return the ids of the challenges that a person organises."""
    statement = select(ChallengeOrganiser.challenge_id).where(ChallengeOrganiser.user_id == user_id)
    return list(session.scalars(statement.order_by(ChallengeOrganiser.challenge_id)))


def role_of(session: Session, user_id: int, challenge_id: int) -> ChallengeRole | None:
    """Return a person's role in a challenge; None if they have none."""
    statement = select(ChallengeOrganiser.role).where(
        ChallengeOrganiser.user_id == user_id, ChallengeOrganiser.challenge_id == challenge_id
    )
    return session.scalar(statement)


def delete_organiser(session: Session, user_id: int, challenge_id: int | None) -> None:
    """Remove a person as organiser of a challenge, or of all challenges if it is None."""
    theirs = delete(ChallengeOrganiser).where(ChallengeOrganiser.user_id == user_id)
    session.execute(
        theirs if challenge_id is None else theirs.where(ChallengeOrganiser.challenge_id == challenge_id)
    )


LIFETIME = timedelta(days=7)  # of a link
WITH_ARTICLE: Final = {
    ChallengeRole.OWNER: "an owner",
    ChallengeRole.ORGANISER: "an organiser",
    ChallengeRole.VIEWER: "a viewer",
}
MOST_INVITATIONS = 50  # of a challenge that can be used at a time


def create_admin_link(platform: Platform, lifetime: timedelta = LIFETIME) -> str:
    """Create a link that makes the first person who uses it an admin; return its token."""
    with platform.transaction() as session:
        return _create_link(session, None, None, lifetime)


def create_setup_code(platform: Platform, lifetime: timedelta = LIFETIME) -> str | None:
    """Create a code with which the first admin sets up this server; None if there is an admin already."""
    with platform.transaction() as session:
        if has_admin(session, platform.settings):
            return None
        return _create_link(session, None, None, lifetime, is_setup=True)


def create_organiser_link(platform: Platform, code: str | None = None, lifetime: timedelta = LIFETIME) -> str:
    """Create a link that makes the first person who uses it an owner of a challenge; return its token.

    code: of the challenge; may be None if there is only one. Raises NotFoundError, and ConflictError if a challenge must be
    named.
    """
    with platform.transaction() as session:
        return _create_link(session, None, _challenge(session, code), lifetime)


def _challenge(session: Session, code: str | None) -> Challenge:
    if code is not None:
        return challenges.find_challenge(session, code)
    known = challenges.all_challenges(session)
    if not known:
        raise NotFoundError("there is no challenge yet; import one, or make an admin")
    if len(known) > 1:
        codes = ", ".join(each.code for each in known)
        raise ConflictError(f"there are several challenges; name one of them: {codes}")
    return known[0]


def _create_link(
    session: Session,
    by: int | None,
    challenge: Challenge | None,
    lifetime: timedelta,
    invitation: NewRoleInvitation | None = None,
    *,
    is_setup: bool = False,
) -> str:
    """Create a link to own a challenge, to have the role of an invitation in it, or to be an admin."""
    token = secrets.token_urlsafe(24)
    role = invitation.role if invitation else ChallengeRole.OWNER
    link = OneTimeLink(
        token_hash=hash_of_token(token),
        challenge_id=challenge.id if challenge else None,
        role=role,
        email=invitation.email if invitation else None,
        expires_at=func.now() + lifetime,
        is_setup=is_setup,
    )
    session.add(link)
    session.flush()
    granted = {
        "role": role if challenge else Grant.ADMIN,
        "challenge": challenge.code if challenge else None,
    }
    audit.record(
        session,
        by,
        "link.create",
        _name_of_link(link),
        challenge_id=link.challenge_id,
        details={**granted, "expires_at": link.expires_at.isoformat()},
    )
    return token


def _name_of_link(link: OneTimeLink) -> str:
    """Name a link in the audit log by the beginning of its hash, which does not open it."""
    return f"link {link.token_hash.hex()[:12]}"


def usable_link(platform: Platform, token: str) -> RoleLink | None:
    """Return the role that a link gives; None if it was used or has expired."""
    with platform.transaction() as session:
        link = lock_usable_link(session, hash_of_token(token))
        if link is None:
            return None
        challenge = session.get(Challenge, link.challenge_id) if link.challenge_id is not None else None
        return RoleLink(challenge.title if challenge else None, link.role, link.email or "")


def use_link(platform: Platform, token: str, user_id: int) -> bool:
    """Give this person the role of the link; return False if it was used or has expired."""
    with platform.transaction() as session:
        link = lock_usable_link(session, hash_of_token(token))
        user = lock_person(session, user_id)
        if link is None or user is None:
            return False
        grant_by_link(session, link, user)
        return True


def grant_by_link(session: Session, link: OneTimeLink, user: User) -> None:
    """Give a person the role of a link, which is used up. Both are locked."""
    link.used_by = user.id
    role = link.role if link.challenge_id is not None else Grant.ADMIN
    details = {"link": _name_of_link(link), "role": role}
    with _recorded(session, user.id, "link.use", user, challenge_id=link.challenge_id, details=details):
        held = role_of(session, user.id, link.challenge_id) if link.challenge_id is not None else None
        _grant_role(session, user, link.challenge_id, highest(held, link.role))


def highest(held: ChallengeRole | None, role: ChallengeRole) -> ChallengeRole:
    """Return the role with more rights, because a link never takes rights away.

    >>> highest(ChallengeRole.OWNER, ChallengeRole.VIEWER).value
    'owner'
    """
    ranked = list(ChallengeRole)
    return min(role, held or role, key=ranked.index)


def grant(platform: Platform, email: str, granted: Grant, code: str | None = None) -> bool:
    """Give the person with this e-mail address a role; return False if there is no such account.

    An organiser owns the challenge `code`, or the only one. A participant stops being an admin and organises nothing,
    or with `code` no longer that challenge. Raises NotFoundError and ConflictError as `create_organiser_link` does.
    """
    with platform.transaction() as session:
        user = sessions.user_of_email(session, folded(email))
        if user is None:
            return False
        challenge = _challenge(session, code) if code or granted is Grant.ORGANISER else None
        challenge_id = challenge.id if challenge else None
        with _recorded(session, None, "role.grant", user, challenge_id=challenge_id):
            if granted is Grant.PARTICIPANT:
                _revoke_role(session, user, challenge_id)
            else:
                _grant_role(session, user, challenge_id if granted is Grant.ORGANISER else None)
        return True


def organised_challenge(platform: Platform, actor: Actor, code: str) -> OrganisedChallenge:
    """Return the people of a challenge that the actor organises or views. Raises NotFoundError, ForbiddenError."""
    with platform.transaction() as session:
        challenge = require_challenge(session, actor, code, Action.READ_PEOPLE)
        people = organisers_of(session, challenge.id)
        if actor.views_challenge(challenge.id):
            people = tuple(replace(each, email="") for each in people)
            return OrganisedChallenge(challenge.code, challenge.title, challenge.id, people)
        invitations = invitations_of(session, challenge.id)
        return OrganisedChallenge(challenge.code, challenge.title, challenge.id, people, invitations)


def add_organiser(platform: Platform, actor: Actor, code: str, new: NewOrganiser) -> None:
    """Give the person with this e-mail address a role in a challenge, in place of the one they have.

    Raises NotFoundError, ForbiddenError, and MalformedError if no account has the address.
    """
    with platform.transaction() as session:
        challenge = require_challenge(session, actor, code, Action.NAME_ORGANISERS, lock=True)
        user = sessions.user_of_email(session, folded(new.email))
        if user is None:
            raise MalformedError(f"no account has the address {new.email}")
        _change_role(session, actor, challenge, user.id, new.role)


def invite(platform: Platform, actor: Actor, code: str, new: NewRoleInvitation) -> str:
    """Mail a link that gives its first user a role in a challenge; return its address, which is shown once.

    Raises NotFoundError, ForbiddenError, ConflictError if too many can be used, RateLimitedError.
    """
    with platform.transaction() as session:
        challenge = require_challenge(session, actor, code, Action.NAME_ORGANISERS, lock=True)
        _refuse(actor, challenge.id, None, new.role, is_own=False)
        if len(invitations_of(session, challenge.id)) >= MOST_INVITATIONS:
            raise ConflictError(f"at most {MOST_INVITATIONS} invitations can be open; revoke one first")
        asked = mail.requested(session, MailTemplate.ROLE_INVITATION, new.email, actor.user_id)
        if wait := mail.next_allowed(MailTemplate.ROLE_INVITATION, asked):
            raise RateLimitedError("invitations by mail", math.ceil((wait - asked.now).total_seconds()))
        mail.count_request(session, MailTemplate.ROLE_INVITATION, new.email, actor.user_id)
        token = _create_link(session, actor.user_id, challenge, LIFETIME, new)
        link = f"{platform.settings.address.rstrip('/')}/role-links/{token}"
        mail.notify(
            session,
            MailTemplate.ROLE_INVITATION,
            address=new.email,
            link=link,
            challenge=challenge.title,
            name=actor.name,
            role=WITH_ARTICLE[new.role],
        )
    return link


def revoke_invitation(platform: Platform, actor: Actor, code: str, key: str) -> None:
    """Revoke a mailed link that has not been used. Raises NotFoundError, ForbiddenError."""
    with platform.transaction() as session:
        challenge = require_challenge(session, actor, code, Action.NAME_ORGANISERS, lock=True)
        link = next((each for each in invitations_of(session, challenge.id) if each.key == key), None)
        row = lock_usable_link(session, bytes.fromhex(key)) if link else None
        if row is None:
            raise NotFoundError("this invitation was used or revoked, or has expired")
        row.revoked_at = func.now()
        audit.record(
            session,
            actor.user_id,
            "link.revoke",
            _name_of_link(row),
            challenge_id=challenge.id,
            details={"role": row.role, "challenge": challenge.code},
        )


def set_role(platform: Platform, actor: Actor, code: str, user_id: int, role: ChallengeRole | None) -> None:
    """Change the role of somebody who has one in a challenge; None removes it.

    Raises NotFoundError, ForbiddenError, and ConflictError if no owner would be left.
    """
    with platform.transaction() as session:
        challenge = require_challenge(session, actor, code, Action.NAME_ORGANISERS, lock=True)
        if role_of(session, user_id, challenge.id) is None:
            raise NotFoundError(f"person {user_id} does not organise {code!r}")
        _change_role(session, actor, challenge, user_id, role)


def remove_organiser(platform: Platform, actor: Actor, code: str, user_id: int) -> None:
    """Remove somebody from the people of a challenge.

    Raises NotFoundError, ForbiddenError, and ConflictError if no owner who can log in would be left, unless the actor is an
    admin.
    """
    set_role(platform, actor, code, user_id, None)


def leave(platform: Platform, actor: Actor, code: str) -> None:
    """Remove oneself from the people of a challenge. Raises NotFoundError, ForbiddenError, and ConflictError as above."""
    assert actor.user_id is not None
    with platform.transaction() as session:
        challenge = require_challenge(session, actor, code, Action.READ_PEOPLE, lock=True)
        if role_of(session, actor.user_id, challenge.id) is None:
            raise ForbiddenError(f"you are not one of the people of {challenge.code}")
        _change_role(session, actor, challenge, actor.user_id, None)


def _refuse(
    actor: Actor,
    challenge_id: int,
    before: ChallengeRole | None,
    after: ChallengeRole | None,
    *,
    is_own: bool,
) -> None:
    """Raise ForbiddenError unless the actor may change a role like this."""
    by = None
    if actor.owns_challenge(challenge_id):
        by = ChallengeRole.OWNER
    elif actor.organises_challenge(challenge_id):
        by = ChallengeRole.ORGANISER
    if refusal := role_refusal(by, before, after, is_own=is_own):
        raise ForbiddenError(refusal[0].upper() + refusal[1:])


def _change_role(
    session: Session, actor: Actor, challenge: Challenge, user_id: int, role: ChallengeRole | None
) -> None:
    """Give a person another role in a challenge, or none.

    The caller has locked the challenge, so that two owners cannot remove each other at once.
    """
    user = lock_person(session, user_id)
    assert user is not None
    before = role_of(session, user_id, challenge.id)
    _refuse(actor, challenge.id, before, role, is_own=user_id == actor.user_id)
    if before is role:
        return
    action = "role.revoke" if role is None else "role.grant"
    details = {"challenge_role": {"before": before, "after": role}}
    with _recorded(session, actor.user_id, action, user, challenge_id=challenge.id, details=details):
        if role is None:
            _revoke_role(session, user, challenge.id)
        else:
            _grant_role(session, user, challenge.id, role)
    if before is ChallengeRole.OWNER and not actor.is_admin and not has_owner(session, challenge.id):
        raise ConflictError("a challenge needs an owner: name another one first, or ask an admin")


def _grant_role(
    session: Session, user: User, challenge_id: int | None, role: ChallengeRole = ChallengeRole.OWNER
) -> None:
    """Give a person a role in a challenge, or make them an admin if there is no challenge."""
    if challenge_id is None:
        user.role = Role.ADMIN
        return
    held = session.get(ChallengeOrganiser, (challenge_id, user.id))
    if held is None:
        session.add(ChallengeOrganiser(challenge_id=challenge_id, user_id=user.id, role=role))
    else:
        held.role = role


def _revoke_role(session: Session, user: User, challenge_id: int | None) -> None:
    """Remove a person from the people of a challenge, or from all roles if there is no challenge."""
    if challenge_id is None:
        user.role = Role.PARTICIPANT
    delete_organiser(session, user.id, challenge_id)


@contextmanager
def _recorded(
    session: Session, by: int | None, action: str, user: User, **facts: Unpack[audit.RecordFields]
) -> Iterator[None]:
    """Record in the audit log how the block changes a person's roles."""
    facts["before"] = _roles(session, user)
    yield
    session.flush()
    facts["after"] = _roles(session, user)
    audit.record(session, by, action, f"person {user.id}", **facts)


def _roles(session: Session, user: User) -> dict[str, object]:
    return {"role": user.role.value, "organises": organised_by(session, user.id)}


def organiser_exists(platform: Platform, code: str) -> bool:
    """Return whether the challenge has an owner who can log in. Raises NotFoundError."""
    with platform.transaction() as session:
        return has_owner(session, _challenge(session, code).id)
