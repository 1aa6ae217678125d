"""Sending people to a provider, and taking back whom it knows."""

import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from app.access import Actor
from app.accounts.service import create_person
from app.audit import queries as audit
from app.errors import ConflictError, NotFoundError
from app.login_settings import LoginProvider, Registration
from app.mail import service as mail
from app.mail.schemas import Letter
from app.models import Queue
from app.openid import queries
from app.openid.rules import LIFETIME, outcome
from app.openid.schemas import (
    Arrived,
    Departure,
    LinkView,
    NewAccount,
    Newcomer,
    Outcome,
    Purpose,
    Returned,
    StaleError,
    Started,
)
from app.platform import Platform
from app.secret_hashes import hash_of_token
from app.sessions.schemas import Browser
from app.sessions.service import renew, start_session

STALE = "this login is over or was begun elsewhere"


def provider_of(platform: Platform, id_: str) -> LoginProvider:
    """A provider of the settings. Raises NotFoundError."""
    found = next((each for each in platform.settings.login_providers if each.id == id_), None)
    if found is None:
        raise NotFoundError("There is nothing at this address")
    return found


def _callback(platform: Platform, provider: LoginProvider) -> str:
    """Where a provider sends people back to; each has its own address, so that none can speak for another."""
    return f"{platform.settings.address}/login/providers/{provider.id}/callback"


async def depart(request: Request, platform: Platform, actor: Actor, started: Started) -> Departure:
    """Begin a login at a provider. Raises ProviderError, NotFoundError."""
    # what it imports costs time and memory that an installation without a provider need not pay
    from app.openid_client import leave  # noqa: PLC0415

    provider = provider_of(platform, started.provider)
    request.scope["session"] = known = dict[str, Any]()
    address = await leave(request, provider, _callback(platform, provider), started.purpose)
    cookie = secrets.token_urlsafe(32)
    content = {
        "client": known,
        "provider": provider.id,
        "purpose": started.purpose.value,
        "started_at": started.started_at.isoformat(),
        "user_id": actor.user_id,
        "next_page": started.next_page,
    }
    await run_in_threadpool(_keep, platform, cookie, content)
    return Departure(address, cookie)


def _keep(platform: Platform, cookie: str, content: dict[str, Any]) -> None:
    with platform.transaction() as session:
        queries.keep(session, hash_of_token(cookie), content, LIFETIME)


def take(platform: Platform, cookie: str) -> Mapping[str, Any]:
    """What belongs to a login of this cookie that has begun, which is used up."""
    with platform.transaction() as session:
        return queries.take(session, hash_of_token(cookie))


async def arrive(
    request: Request, platform: Platform, actor: Actor, id_: str, cookie: str, browser: Browser
) -> Returned:
    """Take back somebody whom a provider knows. Raises StaleError, ProviderError, NotFoundError."""
    from app.openid_client import come_back  # noqa: PLC0415 - see above

    provider = provider_of(platform, id_)
    kept = await run_in_threadpool(take, platform, cookie)
    if kept.get("provider") != id_ or "client" not in kept:
        raise StaleError(STALE)
    request.scope["session"] = kept["client"]
    claims = await come_back(request, provider)
    started = Started(
        id_,
        Purpose(kept["purpose"]),
        datetime.fromisoformat(kept["started_at"]),
        kept["user_id"],
        kept["next_page"],
    )
    by = started.user_id if started.user_id == actor.user_id else None
    arrived = Arrived(provider, started, claims, browser, cookie, by)
    return await run_in_threadpool(_follow, platform, arrived)


def started_now(id_: str, purpose: Purpose, next_page: str) -> Started:
    """A login that begins."""
    return Started(id_, purpose, datetime.now(UTC), None, next_page)


def _follow(platform: Platform, arrived: Arrived) -> Returned:
    try:
        with platform.transaction() as session:
            returned = _settle(session, platform, arrived)
    except IntegrityError:  # the same person came back twice at once
        return Returned(Outcome.OF_ANOTHER)
    platform.notifier.wake_workers(Queue.MAIL)
    if returned.outcome is Outcome.CONFIRMED:
        token = renew(platform, arrived.browser.cookie or "")
        return Returned(Outcome.CONFIRMED, arrived.started.next_page, token)
    return returned


def _settle(session: Session, platform: Platform, arrived: Arrived) -> Returned:
    """Do what follows for somebody who has come back, in one transaction."""
    provider, started, claims = arrived.provider, arrived.started, arrived.claims
    known = queries.known(session, provider.issuer, claims, arrived.started_by)
    found = outcome(started.purpose, claims, known, started.started_at)
    if found is Outcome.NEW and platform.settings.registration is Registration.CLOSED:
        return Returned(Outcome.CLOSED)
    if found is Outcome.NEW:
        content = {
            "newcomer": provider.id,
            "subject": claims.subject,
            "email": claims.email,
            "name": claims.name,
            "next_page": started.next_page,
        }
        queries.keep(session, hash_of_token(arrived.cookie), content, LIFETIME)
        return Returned(found, started.next_page)
    if found is Outcome.LINKED and known.started_by is not None and known.owner is None:
        _link(session, provider, known.started_by, claims.subject, claims.email)
    if known.owner is not None and found in (Outcome.LOGGED_IN, Outcome.CONFIRMED):
        queries.note_use(session, provider.issuer, claims.subject)
    if known.owner is not None and found is Outcome.LOGGED_IN:
        token = _start_session(session, platform, arrived.browser, known.owner)
        return Returned(found, started.next_page, token)
    return Returned(found, started.next_page)


def _start_session(session: Session, platform: Platform, browser: Browser, user_id: int) -> str:
    audit.record(session, user_id, "session.start", f"person {user_id}", details={"by": "provider"})
    return start_session(session, platform, user_id, browser)


def _link(session: Session, provider: LoginProvider, user_id: int, subject: str, email: str) -> None:
    queries.add_link(session, user_id, provider.issuer, subject, email)
    _note(session, provider, user_id, "provider.link", Letter.PROVIDER_LINKED)


def _note(session: Session, provider: LoginProvider, user_id: int, action: str, letter: Letter) -> None:
    """Write down that a login was linked or unlinked, and tell the owner of the account by mail."""
    audit.record(session, user_id, action, f"person {user_id}", details={"issuer": provider.issuer})
    mail.tell_owner(session, letter, queries.person(session, user_id), provider=provider.name)


def newcomer(platform: Platform, cookie: str) -> Newcomer:
    """Who can make an account with this cookie. Raises StaleError."""
    with platform.transaction() as session:
        return _newcomer(platform, queries.peek(session, hash_of_token(cookie)))


def _newcomer(platform: Platform, kept: Mapping[str, Any]) -> Newcomer:
    if "newcomer" not in kept:
        raise StaleError(STALE)
    provider = provider_of(platform, kept["newcomer"])
    return Newcomer(provider, kept["subject"], kept["email"], kept["name"], kept["next_page"])


def register(platform: Platform, cookie: str, new: NewAccount, browser: Browser) -> Returned:
    """Make an account without a password for somebody whom a provider knows, and log them in.

    Raises StaleError.
    """
    try:
        with platform.transaction() as session:
            found = _newcomer(platform, queries.take(session, hash_of_token(cookie)))
            user = create_person(session, found.email, new.name, None, is_verified=True)
            _link(session, found.provider, user.id, found.subject, found.email)
            token = _start_session(session, platform, browser, user.id)
    except IntegrityError:  # somebody has confirmed the address, or used the login, in the meantime
        return Returned(Outcome.HAS_ACCOUNT)
    platform.notifier.wake_workers(Queue.MAIL)
    return Returned(Outcome.LOGGED_IN, found.next_page, token)


def links_of(platform: Platform, actor: Actor) -> list[tuple[LoginProvider, LinkView | None]]:
    """Every provider, with the login there that is linked to an account. Raises NotFoundError where there is none."""
    assert actor.user_id is not None
    if not platform.settings.login_providers:
        raise NotFoundError("There is nothing at this address")
    with platform.transaction() as session:
        found = queries.links_of(session, actor.user_id)
    return [(provider, found.get(provider.issuer)) for provider in platform.settings.login_providers]


def unlink(platform: Platform, actor: Actor, id_: str) -> None:
    """Let the login by a provider open this account no more. Raises ConflictError where nothing else opens it."""
    assert actor.user_id is not None
    provider, settings = provider_of(platform, id_), platform.settings
    with platform.transaction() as session:
        person = queries.person(session, actor.user_id)
        others = queries.links_of(session, actor.user_id).keys() - {provider.issuer}
        opens = others & {each.issuer for each in settings.login_providers}
        if not opens and (person.password_hash is None or not settings.passwords):
            advice = "Choose a password first" if settings.passwords else "Link another login first"
            raise ConflictError(f"{advice}; without one you could no longer log in")
        if queries.delete_link(session, actor.user_id, provider.issuer):
            _note(session, provider, actor.user_id, "provider.unlink", Letter.PROVIDER_UNLINKED)
    platform.notifier.wake_workers(Queue.MAIL)
