"""Setting up an empty server in the browser: the first admin, with the code that the server has printed."""

from dataclasses import asdict
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.challenges import challenges
from app.core.access import Actor
from app.core.database import violated_constraint
from app.core.errors import ConflictError, DomainError
from app.core.names import Visible
from app.core.secret_hashes import hash_of_token
from app.home import trying
from app.models import OneTimeLink
from app.operations import site
from app.operations.site import ContactAddress, NewSite
from app.organising import roles
from app.people.accounts import RegistrationForm, create_person, has_admin
from app.people.locking import lock_person
from app.people.passwords import hash_password
from app.people.sessions import Browser, start_session
from app.platform import Platform

SAMPLE_CHALLENGE = trying.SAMPLE
SETUP_LOCK = 0x53455455  # advisory lock: one first admin


class WrongCodeError(DomainError):
    """The code is mistyped or has expired."""


class TakenError(DomainError):
    """Another account has confirmed the address."""


class Basics(BaseModel):
    """What the setup asks about the site."""

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True, frozen=True)

    name: Annotated[str, Field(min_length=2, max_length=40), Visible]
    tagline: Annotated[str, Field(max_length=300)] = ""
    contact: ContactAddress = ""


def is_code(platform: Platform, code: str) -> bool:
    """Whether the setup can go on with this code."""
    with platform.transaction() as session:
        link = roles.lock_usable_link(session, hash_of_token(code), is_setup=True)
        return link is not None and not has_admin(session, platform.settings)


def _lock(platform: Platform, session: Session, code: str) -> OneTimeLink:
    """Return the code, locked like the question whether there is an admin: of two browsers that race, the second waits.

    Raises ConflictError, WrongCodeError.
    """
    session.execute(select(func.pg_advisory_xact_lock(SETUP_LOCK)))
    if has_admin(session, platform.settings):
        raise ConflictError("This server has been set up meanwhile, in another browser")
    link = roles.lock_usable_link(session, hash_of_token(code), is_setup=True)
    if link is None:
        raise WrongCodeError("the code is mistyped or has expired")
    return link


def register_admin(platform: Platform, code: str, person: RegistrationForm, browser: Browser) -> str:
    """Create the account of the first admin and return the token of its session.

    Its address counts as confirmed, because mail may not work yet and the code proves more. Raises ConflictError if there is an
    admin by now, WrongCodeError, TakenError, BusyError.
    """
    password_hash = hash_password(person.password)
    try:
        with platform.transaction() as session:
            link = _lock(platform, session, code)
            user = create_person(session, person.email, person.name, password_hash, is_verified=True)
            roles.grant_by_link(session, link, user)
            return start_session(session, platform, user.id, browser)
    except IntegrityError as error:
        if violated_constraint(error) != "uq_user_account_email":
            raise
        raise TakenError("another account has this address") from error


def promote(platform: Platform, code: str, actor: Actor) -> None:
    """Make a person who has an account the first admin. Raises ConflictError if there is an admin by now, WrongCodeError."""
    assert actor.user_id is not None
    with platform.transaction() as session:
        link = _lock(platform, session, code)
        user = lock_person(session, actor.user_id)
        assert user is not None
        roles.grant_by_link(session, link, user)


def basics(platform: Platform) -> Basics:
    """Return what is set of the site so far."""
    found = site.sheet(platform)
    return Basics(name=found.name, tagline=found.tagline, contact=found.contact)


def set_basics(platform: Platform, actor: Actor, new: Basics) -> None:
    """Set the name, the sentence and the contact of the site; everything else stays as it is."""
    stored = site.sheet(platform)
    settings = site.as_plain(stored) | {"links": [asdict(link) for link in stored.links]} | new.model_dump()
    site.change(
        platform, actor, NewSite.model_validate({name: settings[name] for name in NewSite.model_fields})
    )


def has_sample(platform: Platform) -> bool:
    """Whether this server has the sample challenge."""
    with platform.transaction() as session:
        return challenges.challenge_of(session, SAMPLE_CHALLENGE) is not None
