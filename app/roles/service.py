"""Giving and taking roles: by admins, by organisers in their edition, from the command line, by a link that works once."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Unpack

from sqlalchemy import func
from sqlalchemy.orm import Session

from app.access import Actor
from app.audit import queries as audit
from app.editions import queries as editions
from app.errors import ConflictError, ForbiddenError, MalformedError, NotFoundError
from app.models import Edition, EditionOrganiser, OneTimeLink, Role, User
from app.names import folded
from app.platform import Platform
from app.roles import queries
from app.roles.schemas import Grant, LinkView, OrganisedEdition
from app.secret_hashes import hash_of_token
from app.sessions import queries as sessions

LIFETIME = timedelta(days=7)  # of a link


def create_admin_link(platform: Platform, lifetime: timedelta = LIFETIME) -> str:
    """The token of a link that makes the first person who uses it an admin."""
    with platform.transaction() as session:
        return _create_link(session, None, lifetime)


def create_organiser_link(platform: Platform, code: str | None = None, lifetime: timedelta = LIFETIME) -> str:
    """The token of a link that makes the first person who uses it an organiser of this edition, or of the only one.

    Raises NotFoundError, and ConflictError where an edition has to be named.
    """
    with platform.transaction() as session:
        return _create_link(session, _edition(session, code), lifetime)


def _edition(session: Session, code: str | None) -> Edition:
    if code is not None:
        edition = editions.edition_of(session, code)
        if edition is None:
            raise NotFoundError(f"there is no edition {code!r}")
        return edition
    known = editions.all_editions(session)
    if not known:
        raise NotFoundError("there is no edition yet; import one, or make an admin")
    if len(known) > 1:
        codes = ", ".join(each.code for each in known)
        raise ConflictError(f"there are several editions; name one of them: {codes}")
    return known[0]


def _create_link(session: Session, edition: Edition | None, lifetime: timedelta) -> str:
    token = secrets.token_urlsafe(24)
    link = OneTimeLink(
        token_hash=hash_of_token(token),
        edition_id=edition.id if edition else None,
        expires_at=func.now() + lifetime,
    )
    session.add(link)
    session.flush()
    made = {"role": Grant.ORGANISER if edition else Grant.ADMIN, "edition": edition.code if edition else None}
    audit.record(
        session,
        None,
        "link.create",
        _name_of_link(link),
        edition_id=link.edition_id,
        details={**made, "expires_at": link.expires_at.isoformat()},
    )
    return token


def _name_of_link(link: OneTimeLink) -> str:
    """How the audit names a link: by the beginning of its hash, which opens nothing."""
    return f"link {link.token_hash.hex()[:12]}"


def usable_link(platform: Platform, token: str) -> LinkView | None:
    """What this link gives; none if it has been used or has expired."""
    with platform.transaction() as session:
        link = queries.usable_link(session, hash_of_token(token))
        if link is None:
            return None
        edition = session.get(Edition, link.edition_id) if link.edition_id is not None else None
        return LinkView(edition.title if edition else None)


def use_link(platform: Platform, token: str, user_id: int) -> bool:
    """Give this person what the link gives; whether the link was usable."""
    with platform.transaction() as session:
        link = queries.usable_link(session, hash_of_token(token))
        user = queries.locked_person(session, user_id)
        if link is None or user is None:
            return False
        link.used_by = user_id
        details = {"link": _name_of_link(link)}
        with _recorded(session, user_id, "link.use", user, edition_id=link.edition_id, details=details):
            _give(session, user, link.edition_id)
        return True


def grant(platform: Platform, email: str, granted: Grant, code: str | None = None) -> bool:
    """Make the person with this address what the command line says; whether there is such a person.

    An organiser is one of the edition `code`, or of the only one. A participant has no role of the server and organises
    nothing, or not the edition `code`. Raises NotFoundError and ConflictError as `create_organiser_link` does.
    """
    with platform.transaction() as session:
        user = sessions.user_of_email(session, folded(email))
        if user is None:
            return False
        edition = _edition(session, code) if code or granted is Grant.ORGANISER else None
        edition_id = edition.id if edition else None
        with _recorded(session, None, "role.grant", user, edition_id=edition_id):
            if granted is Grant.PARTICIPANT:
                _take(session, user, edition_id)
            else:
                _give(session, user, edition_id if granted is Grant.ORGANISER else None)
        return True


def editions_with_organisers(platform: Platform) -> tuple[OrganisedEdition, ...]:
    """Every edition, the newest first."""
    with platform.transaction() as session:
        return tuple(OrganisedEdition(each.code, each.title) for each in editions.all_editions(session))


def organised_edition(platform: Platform, actor: Actor, code: str) -> OrganisedEdition:
    """An edition that this person organises, with its organisers. Raises NotFoundError, ForbiddenError."""
    with platform.transaction() as session:
        edition = _organised(session, actor, code)
        return OrganisedEdition(edition.code, edition.title, queries.organisers_of(session, edition.id))


def add_organiser(platform: Platform, actor: Actor, code: str, email: str) -> None:
    """Make the person with this address an organiser of an edition.

    Raises NotFoundError, ForbiddenError, and MalformedError for an address of nobody.
    """
    with platform.transaction() as session:
        edition = _organised(session, actor, code)
        user = sessions.user_of_email(session, folded(email))
        if user is None:
            raise MalformedError(f"no account has the address {email}")
        with _recorded(session, actor.user_id, "role.grant", user, edition_id=edition.id):
            _give(session, user, edition.id)


def remove_organiser(platform: Platform, actor: Actor, code: str, user_id: int) -> None:
    """Take an edition from one of its organisers.

    Raises NotFoundError, ForbiddenError, and ConflictError where nobody who can log in would be left and no admin decides.
    """
    with platform.transaction() as session:
        edition = _organised(session, actor, code)
        queries.lock_edition(session, edition.id)  # two organisers who remove each other follow each other
        user = queries.locked_person(session, user_id)
        if user is None or edition.id not in queries.organised_by(session, user_id):
            raise NotFoundError(f"person {user_id} does not organise {code!r}")
        with _recorded(session, actor.user_id, "role.revoke", user, edition_id=edition.id):
            _take(session, user, edition.id)
        if not actor.is_admin and not queries.has_organiser(session, edition.id):
            raise ConflictError("an edition keeps an organiser: add somebody else first, or ask an admin")


def _organised(session: Session, actor: Actor, code: str) -> Edition:
    edition = _edition(session, code)
    if not actor.runs(edition.id):
        raise ForbiddenError(f"only organisers of {edition.code} name its organisers")
    return edition


def _give(session: Session, user: User, edition_id: int | None) -> None:
    """Make somebody an organiser of an edition, or an admin."""
    if edition_id is None:
        user.role = Role.ADMIN
    elif edition_id not in queries.organised_by(session, user.id):
        session.add(EditionOrganiser(edition_id=edition_id, user_id=user.id))


def _take(session: Session, user: User, edition_id: int | None) -> None:
    """Take an edition from its organiser, or everything from an admin or organiser."""
    if edition_id is None:
        user.role = Role.PARTICIPANT
    queries.remove_organiser(session, user.id, edition_id)


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
    return {"role": user.role.value, "organises": queries.organised_by(session, user.id)}


def is_there_an_admin(platform: Platform) -> bool:
    """Whether there is an admin who can log in."""
    with platform.transaction() as session:
        return queries.has_admin(session, platform.settings)


def is_there_an_organiser(platform: Platform, code: str) -> bool:
    """Whether somebody who can log in organises this edition. Raises NotFoundError."""
    with platform.transaction() as session:
        return queries.has_organiser(session, _edition(session, code).id)
