"""Roles: who is an admin, and who organises which challenge."""

import enum
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Unpack

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from app.challenges import challenges
from app.core import audit
from app.core.access import Actor
from app.core.errors import ConflictError, ForbiddenError, MalformedError, NotFoundError
from app.core.names import folded
from app.core.secret_hashes import hash_of_token
from app.models import Challenge, ChallengeOrganiser, OneTimeLink, Role, User
from app.people import sessions
from app.people.accounts import has_admin
from app.people.sessions import is_person
from app.platform import Platform


class Grant(enum.StrEnum):
    """The roles that a person can be given; a participant is neither admin nor organiser."""

    PARTICIPANT = "participant"
    ORGANISER = "organiser"
    ADMIN = "admin"


class NewOrganiser(BaseModel):
    """A person to make an organiser."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    email: Annotated[str, Field(min_length=3, max_length=254, description="address of an account")]


@dataclass(frozen=True, slots=True)
class Organiser:
    """An organiser of a challenge."""

    id: int
    name: str
    email: str
    added_at: datetime


@dataclass(frozen=True, slots=True)
class OrganisedChallenge:
    """A challenge and its organisers; admins can organise it without being listed."""

    code: str
    title: str
    organisers: tuple[Organiser, ...] = ()


@dataclass(frozen=True, slots=True)
class LinkView:
    """A one-time link."""

    challenge: str | None  # title of the challenge to organise; None if the link makes an admin


def lock_usable_link(session: Session, token_hash: bytes, *, is_setup: bool = False) -> OneTimeLink | None:
    """Lock an unused and unexpired one-time link until the end of the transaction; None if there is none."""
    statement = (
        select(OneTimeLink)
        .where(
            OneTimeLink.token_hash == token_hash,
            OneTimeLink.is_setup.is_(is_setup),
            OneTimeLink.used_by.is_(None),
            OneTimeLink.expires_at > func.now(),
        )
        .with_for_update()
    )
    return session.scalar(statement)


def has_organiser(session: Session, challenge_id: int) -> bool:
    """Return whether the challenge has an organiser who can log in."""
    statement = (
        select(User.id)
        .join(ChallengeOrganiser)
        .where(ChallengeOrganiser.challenge_id == challenge_id, is_person())
    )
    return session.scalar(statement.limit(1)) is not None


def lock_challenge(session: Session, challenge_id: int) -> None:
    """Serialise changes of a challenge's organisers."""
    session.execute(select(Challenge.id).where(Challenge.id == challenge_id).with_for_update())


def organisers_of(session: Session, challenge_id: int) -> tuple[Organiser, ...]:
    """Return the organisers of a challenge in the order in which they were added."""
    statement = (
        select(User.id, User.name, User.email, ChallengeOrganiser.added_at)
        .join(ChallengeOrganiser, ChallengeOrganiser.user_id == User.id)
        .where(ChallengeOrganiser.challenge_id == challenge_id)
        .order_by(ChallengeOrganiser.added_at, User.id)
    )
    return tuple(Organiser(*row) for row in session.execute(statement))


def lock_person(session: Session, user_id: int) -> User | None:
    """Lock a person, to serialise changes of their roles."""
    return session.scalar(select(User).where(User.id == user_id).with_for_update())


def organised_by(session: Session, user_id: int) -> list[int]:
    """Return the ids of the challenges that a person organises."""
    statement = select(ChallengeOrganiser.challenge_id).where(ChallengeOrganiser.user_id == user_id)
    return list(session.scalars(statement.order_by(ChallengeOrganiser.challenge_id)))


def delete_organiser(session: Session, user_id: int, challenge_id: int | None) -> None:
    """Remove a person as organiser of a challenge, or of all challenges if it is None."""
    theirs = delete(ChallengeOrganiser).where(ChallengeOrganiser.user_id == user_id)
    session.execute(
        theirs if challenge_id is None else theirs.where(ChallengeOrganiser.challenge_id == challenge_id)
    )


LIFETIME = timedelta(days=7)  # of a link


def create_admin_link(platform: Platform, lifetime: timedelta = LIFETIME) -> str:
    """Create a link that makes the first person who uses it an admin; return its token."""
    with platform.transaction() as session:
        return _create_link(session, None, lifetime)


def create_setup_code(platform: Platform, lifetime: timedelta = LIFETIME) -> str | None:
    """Create a code with which the first admin sets up this server; None if there is an admin already."""
    with platform.transaction() as session:
        if has_admin(session, platform.settings):
            return None
        return _create_link(session, None, lifetime, is_setup=True)


def create_organiser_link(platform: Platform, code: str | None = None, lifetime: timedelta = LIFETIME) -> str:
    """Create a link that makes the first person who uses it an organiser; return its token.

    code: of the challenge; may be None if there is only one. Raises NotFoundError, and ConflictError if a challenge must be
    named.
    """
    with platform.transaction() as session:
        return _create_link(session, _challenge(session, code), lifetime)


def _challenge(session: Session, code: str | None) -> Challenge:
    if code is not None:
        challenge = challenges.challenge_of(session, code)
        if challenge is None:
            raise NotFoundError(f"there is no challenge {code!r}")
        return challenge
    known = challenges.all_challenges(session)
    if not known:
        raise NotFoundError("there is no challenge yet; import one, or make an admin")
    if len(known) > 1:
        codes = ", ".join(each.code for each in known)
        raise ConflictError(f"there are several challenges; name one of them: {codes}")
    return known[0]


def _create_link(
    session: Session, challenge: Challenge | None, lifetime: timedelta, *, is_setup: bool = False
) -> str:
    token = secrets.token_urlsafe(24)
    link = OneTimeLink(
        token_hash=hash_of_token(token),
        challenge_id=challenge.id if challenge else None,
        expires_at=func.now() + lifetime,
        is_setup=is_setup,
    )
    session.add(link)
    session.flush()
    granted = {
        "role": Grant.ORGANISER if challenge else Grant.ADMIN,
        "challenge": challenge.code if challenge else None,
    }
    audit.record(
        session,
        None,
        "link.create",
        _name_of_link(link),
        challenge_id=link.challenge_id,
        details={**granted, "expires_at": link.expires_at.isoformat()},
    )
    return token


def _name_of_link(link: OneTimeLink) -> str:
    """Name a link in the audit log by the beginning of its hash, which does not open it."""
    return f"link {link.token_hash.hex()[:12]}"


def usable_link(platform: Platform, token: str) -> LinkView | None:
    """Return the role that a link gives; None if it was used or has expired."""
    with platform.transaction() as session:
        link = lock_usable_link(session, hash_of_token(token))
        if link is None:
            return None
        challenge = session.get(Challenge, link.challenge_id) if link.challenge_id is not None else None
        return LinkView(challenge.title if challenge else None)


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
    details = {"link": _name_of_link(link)}
    with _recorded(session, user.id, "link.use", user, challenge_id=link.challenge_id, details=details):
        _grant_role(session, user, link.challenge_id)


def grant(platform: Platform, email: str, granted: Grant, code: str | None = None) -> bool:
    """Give the person with this e-mail address a role; return False if there is no such account.

    An organiser organises the challenge `code`, or the only one. A participant stops being an admin and organises nothing,
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


def challenges_with_organisers(platform: Platform) -> tuple[OrganisedChallenge, ...]:
    """Return every challenge, newest first."""
    with platform.transaction() as session:
        return tuple(OrganisedChallenge(each.code, each.title) for each in challenges.all_challenges(session))


def organised_challenge(platform: Platform, actor: Actor, code: str) -> OrganisedChallenge:
    """Return a challenge that the actor organises. Raises NotFoundError, ForbiddenError."""
    with platform.transaction() as session:
        challenge = _organised(session, actor, code)
        return OrganisedChallenge(challenge.code, challenge.title, organisers_of(session, challenge.id))


def add_organiser(platform: Platform, actor: Actor, code: str, email: str) -> None:
    """Make the person with this e-mail address an organiser of a challenge.

    Raises NotFoundError, ForbiddenError, and MalformedError if no account has the address.
    """
    with platform.transaction() as session:
        challenge = _organised(session, actor, code)
        user = sessions.user_of_email(session, folded(email))
        if user is None:
            raise MalformedError(f"no account has the address {email}")
        with _recorded(session, actor.user_id, "role.grant", user, challenge_id=challenge.id):
            _grant_role(session, user, challenge.id)


def remove_organiser(platform: Platform, actor: Actor, code: str, user_id: int) -> None:
    """Remove an organiser of a challenge.

    Raises NotFoundError, ForbiddenError, and ConflictError if no organiser who can log in would be left, unless the actor is
    an admin.
    """
    with platform.transaction() as session:
        challenge = _organised(session, actor, code)
        lock_challenge(session, challenge.id)  # so that two organisers cannot remove each other at once
        user = lock_person(session, user_id)
        if user is None or challenge.id not in organised_by(session, user_id):
            raise NotFoundError(f"person {user_id} does not organise {code!r}")
        with _recorded(session, actor.user_id, "role.revoke", user, challenge_id=challenge.id):
            _revoke_role(session, user, challenge.id)
        if not actor.is_admin and not has_organiser(session, challenge.id):
            raise ConflictError("a challenge needs an organiser: add another one first, or ask an admin")


def _organised(session: Session, actor: Actor, code: str) -> Challenge:
    challenge = _challenge(session, code)
    if not actor.organises_challenge(challenge.id):
        raise ForbiddenError(f"only organisers of {challenge.code} can manage its organisers")
    return challenge


def _grant_role(session: Session, user: User, challenge_id: int | None) -> None:
    """Make a person an organiser of a challenge, or an admin if there is no challenge."""
    if challenge_id is None:
        user.role = Role.ADMIN
    elif challenge_id not in organised_by(session, user.id):
        session.add(ChallengeOrganiser(challenge_id=challenge_id, user_id=user.id))


def _revoke_role(session: Session, user: User, challenge_id: int | None) -> None:
    """Remove a person as organiser of a challenge, or from all roles if there is no challenge."""
    if challenge_id is None:
        user.role = Role.PARTICIPANT
    delete_organiser(session, user.id, challenge_id)


@contextmanager
def _recorded(
    session: Session, by: int | None, action: str, user: User, **facts: Unpack[audit.Facts]
) -> Iterator[None]:
    """Record in the audit log how the block changes a person's roles."""
    facts["before"] = _roles(session, user)
    yield
    session.flush()
    facts["after"] = _roles(session, user)
    audit.record(session, by, action, f"person {user.id}", **facts)


def _roles(session: Session, user: User) -> dict[str, object]:
    return {"role": user.role.value, "organises": organised_by(session, user.id)}


def admin_exists(platform: Platform) -> bool:
    """Return whether there is an admin who can log in."""
    with platform.transaction() as session:
        return has_admin(session, platform.settings)


def organiser_exists(platform: Platform, code: str) -> bool:
    """Return whether the challenge has an organiser who can log in. Raises NotFoundError."""
    with platform.transaction() as session:
        return has_organiser(session, _challenge(session, code).id)
