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
from app.core.settings import LoginSettings
from app.models import Challenge, ChallengeOrganiser, OneTimeLink, Role, User
from app.people import sessions
from app.people.sessions import can_log_in, is_person
from app.platform import Platform


class Grant(enum.StrEnum):
    """What a person can be made; without a challenge a participant is neither admin nor organiser of anything."""

    PARTICIPANT = "participant"
    ORGANISER = "organiser"
    ADMIN = "admin"


class NewOrganiser(BaseModel):
    """Who is to organise a challenge."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    email: Annotated[str, Field(min_length=3, max_length=254, description="address of an account")]


@dataclass(frozen=True, slots=True)
class Organiser:
    """Somebody who organises a challenge."""

    id: int
    name: str
    email: str
    added_at: datetime


@dataclass(frozen=True, slots=True)
class OrganisedChallenge:
    """A challenge with who organises it; admins do so without being listed."""

    code: str
    title: str
    organisers: tuple[Organiser, ...] = ()


@dataclass(frozen=True, slots=True)
class LinkView:
    """A link that works once."""

    challenge: str | None  # the title of the challenge whose organiser it makes; none: it makes an admin


def lock_usable_link(session: Session, token_hash: bytes) -> OneTimeLink | None:
    """A one-time link that nobody has used, locked until the end of the transaction."""
    statement = (
        select(OneTimeLink)
        .where(
            OneTimeLink.token_hash == token_hash,
            OneTimeLink.used_by.is_(None),
            OneTimeLink.expires_at > func.now(),
        )
        .with_for_update()
    )
    return session.scalar(statement)


def has_admin(session: Session, settings: LoginSettings) -> bool:
    """Whether there is an admin who can log in."""
    statement = select(User.id).where(User.role == Role.ADMIN, can_log_in(settings))
    return session.scalar(statement.limit(1)) is not None


def has_organiser(session: Session, challenge_id: int) -> bool:
    """Whether somebody who can log in organises this challenge."""
    statement = (
        select(User.id)
        .join(ChallengeOrganiser)
        .where(ChallengeOrganiser.challenge_id == challenge_id, is_person())
    )
    return session.scalar(statement.limit(1)) is not None


def lock_challenge(session: Session, challenge_id: int) -> None:
    """Let changes of a challenge's organisers follow each other."""
    session.execute(select(Challenge.id).where(Challenge.id == challenge_id).with_for_update())


def organisers_of(session: Session, challenge_id: int) -> tuple[Organiser, ...]:
    """Who organises a challenge, in the order in which they came."""
    statement = (
        select(User.id, User.name, User.email, ChallengeOrganiser.added_at)
        .join(ChallengeOrganiser, ChallengeOrganiser.user_id == User.id)
        .where(ChallengeOrganiser.challenge_id == challenge_id)
        .order_by(ChallengeOrganiser.added_at, User.id)
    )
    return tuple(Organiser(*row) for row in session.execute(statement))


def locked_person(session: Session, user_id: int) -> User | None:
    """A person, locked, so that changes of their roles follow each other."""
    return session.scalar(select(User).where(User.id == user_id).with_for_update())


def organised_by(session: Session, user_id: int) -> list[int]:
    """The challenges that a person organises."""
    statement = select(ChallengeOrganiser.challenge_id).where(ChallengeOrganiser.user_id == user_id)
    return list(session.scalars(statement.order_by(ChallengeOrganiser.challenge_id)))


def delete_organiser(session: Session, user_id: int, challenge_id: int | None) -> None:
    """Take a challenge from one of its organisers, or all of theirs."""
    theirs = delete(ChallengeOrganiser).where(ChallengeOrganiser.user_id == user_id)
    session.execute(
        theirs if challenge_id is None else theirs.where(ChallengeOrganiser.challenge_id == challenge_id)
    )


LIFETIME = timedelta(days=7)  # of a link


def create_admin_link(platform: Platform, lifetime: timedelta = LIFETIME) -> str:
    """The token of a link that makes the first person who uses it an admin."""
    with platform.transaction() as session:
        return _create_link(session, None, lifetime)


def create_organiser_link(platform: Platform, code: str | None = None, lifetime: timedelta = LIFETIME) -> str:
    """The token of a link that makes the first person who uses it an organiser of this challenge, or of the only one.

    Raises NotFoundError, and ConflictError where a challenge has to be named.
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


def _create_link(session: Session, challenge: Challenge | None, lifetime: timedelta) -> str:
    token = secrets.token_urlsafe(24)
    link = OneTimeLink(
        token_hash=hash_of_token(token),
        challenge_id=challenge.id if challenge else None,
        expires_at=func.now() + lifetime,
    )
    session.add(link)
    session.flush()
    made = {
        "role": Grant.ORGANISER if challenge else Grant.ADMIN,
        "challenge": challenge.code if challenge else None,
    }
    audit.record(
        session,
        None,
        "link.create",
        _name_of_link(link),
        challenge_id=link.challenge_id,
        details={**made, "expires_at": link.expires_at.isoformat()},
    )
    return token


def _name_of_link(link: OneTimeLink) -> str:
    """How the audit names a link: by the beginning of its hash, which opens nothing."""
    return f"link {link.token_hash.hex()[:12]}"


def usable_link(platform: Platform, token: str) -> LinkView | None:
    """What this link gives; none if it has been used or has expired."""
    with platform.transaction() as session:
        link = lock_usable_link(session, hash_of_token(token))
        if link is None:
            return None
        challenge = session.get(Challenge, link.challenge_id) if link.challenge_id is not None else None
        return LinkView(challenge.title if challenge else None)


def use_link(platform: Platform, token: str, user_id: int) -> bool:
    """Give this person what the link gives; whether the link was usable."""
    with platform.transaction() as session:
        link = lock_usable_link(session, hash_of_token(token))
        user = locked_person(session, user_id)
        if link is None or user is None:
            return False
        link.used_by = user_id
        details = {"link": _name_of_link(link)}
        with _recorded(session, user_id, "link.use", user, challenge_id=link.challenge_id, details=details):
            _give(session, user, link.challenge_id)
        return True


def grant(platform: Platform, email: str, granted: Grant, code: str | None = None) -> bool:
    """Make the person with this address what the command line says; whether there is such a person.

    An organiser is one of the challenge `code`, or of the only one. A participant has no role of the server and organises
    nothing, or not the challenge `code`. Raises NotFoundError and ConflictError as `create_organiser_link` does.
    """
    with platform.transaction() as session:
        user = sessions.user_of_email(session, folded(email))
        if user is None:
            return False
        challenge = _challenge(session, code) if code or granted is Grant.ORGANISER else None
        challenge_id = challenge.id if challenge else None
        with _recorded(session, None, "role.grant", user, challenge_id=challenge_id):
            if granted is Grant.PARTICIPANT:
                _take(session, user, challenge_id)
            else:
                _give(session, user, challenge_id if granted is Grant.ORGANISER else None)
        return True


def challenges_with_organisers(platform: Platform) -> tuple[OrganisedChallenge, ...]:
    """Every challenge, the newest first."""
    with platform.transaction() as session:
        return tuple(OrganisedChallenge(each.code, each.title) for each in challenges.all_challenges(session))


def organised_challenge(platform: Platform, actor: Actor, code: str) -> OrganisedChallenge:
    """A challenge that this person organises, with its organisers. Raises NotFoundError, ForbiddenError."""
    with platform.transaction() as session:
        challenge = _organised(session, actor, code)
        return OrganisedChallenge(challenge.code, challenge.title, organisers_of(session, challenge.id))


def add_organiser(platform: Platform, actor: Actor, code: str, email: str) -> None:
    """Make the person with this address an organiser of a challenge.

    Raises NotFoundError, ForbiddenError, and MalformedError for an address of nobody.
    """
    with platform.transaction() as session:
        challenge = _organised(session, actor, code)
        user = sessions.user_of_email(session, folded(email))
        if user is None:
            raise MalformedError(f"no account has the address {email}")
        with _recorded(session, actor.user_id, "role.grant", user, challenge_id=challenge.id):
            _give(session, user, challenge.id)


def remove_organiser(platform: Platform, actor: Actor, code: str, user_id: int) -> None:
    """Take a challenge from one of its organisers.

    Raises NotFoundError, ForbiddenError, and ConflictError where nobody who can log in would be left and no admin decides.
    """
    with platform.transaction() as session:
        challenge = _organised(session, actor, code)
        lock_challenge(session, challenge.id)  # two organisers who remove each other follow each other
        user = locked_person(session, user_id)
        if user is None or challenge.id not in organised_by(session, user_id):
            raise NotFoundError(f"person {user_id} does not organise {code!r}")
        with _recorded(session, actor.user_id, "role.revoke", user, challenge_id=challenge.id):
            _take(session, user, challenge.id)
        if not actor.is_admin and not has_organiser(session, challenge.id):
            raise ConflictError("a challenge keeps an organiser: add somebody else first, or ask an admin")


def _organised(session: Session, actor: Actor, code: str) -> Challenge:
    challenge = _challenge(session, code)
    if not actor.runs(challenge.id):
        raise ForbiddenError(f"only organisers of {challenge.code} name its organisers")
    return challenge


def _give(session: Session, user: User, challenge_id: int | None) -> None:
    """Make somebody an organiser of a challenge, or an admin."""
    if challenge_id is None:
        user.role = Role.ADMIN
    elif challenge_id not in organised_by(session, user.id):
        session.add(ChallengeOrganiser(challenge_id=challenge_id, user_id=user.id))


def _take(session: Session, user: User, challenge_id: int | None) -> None:
    """Take a challenge from its organiser, or everything from an admin or organiser."""
    if challenge_id is None:
        user.role = Role.PARTICIPANT
    delete_organiser(session, user.id, challenge_id)


@contextmanager
def _recorded(
    session: Session, by: int | None, action: str, user: User, **facts: Unpack[audit.Facts]
) -> Iterator[None]:
    """Record the roles of a person before and after the block."""
    facts["before"] = _roles(session, user)
    yield
    session.flush()
    facts["after"] = _roles(session, user)
    audit.record(session, by, action, f"person {user.id}", **facts)


def _roles(session: Session, user: User) -> dict[str, object]:
    return {"role": user.role.value, "organises": organised_by(session, user.id)}


def is_there_an_admin(platform: Platform) -> bool:
    """Whether there is an admin who can log in."""
    with platform.transaction() as session:
        return has_admin(session, platform.settings)


def is_there_an_organiser(platform: Platform, code: str) -> bool:
    """Whether somebody who can log in organises this challenge. Raises NotFoundError."""
    with platform.transaction() as session:
        return has_organiser(session, _challenge(session, code).id)
