"""Sending people to the provider, and taking back whom it knows."""

import secrets
from datetime import UTC, datetime

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.access import Actor
from app.accounts.service import create_person
from app.audit import queries as audit
from app.errors import ConflictError, NotFoundError
from app.mail import service as mail
from app.mail.schemas import Letter
from app.models import Queue
from app.openid import queries
from app.openid.rules import LIFETIME, outcome
from app.openid.schemas import (
    Arrival,
    Arrived,
    Departure,
    LinkView,
    NewAccount,
    Newcomer,
    Outcome,
    Provider,
    ProviderError,
    Purpose,
    Returned,
    StaleError,
    Started,
)
from app.passwords.service import Pool
from app.platform import Platform
from app.secret_hashes import hash_of_token
from app.sessions.schemas import Browser
from app.sessions.service import renew, start_session
from app.settings import Settings

# a provider that does not answer keeps so many requests waiting, and no more
pool = Pool(threads=4, max_waiting=4)


def provider_of(settings: Settings) -> Provider:
    """The provider that the settings name. Raises NotFoundError where they name none."""
    if settings.provider_name is None or settings.oidc_issuer is None or settings.oidc_client_id is None:
        raise NotFoundError("There is nothing at this address")
    return Provider(
        settings.provider_name,
        settings.oidc_issuer,
        settings.oidc_client_id,
        settings.oidc_client_secret,
        f"{settings.address}/login/provider/callback",
    )


def depart(platform: Platform, actor: Actor, purpose: Purpose, next_page: str) -> Departure:
    """Begin a login at the provider. Raises ProviderError, BusyError, NotFoundError."""
    # what it imports costs time and memory that an installation without a provider need not pay
    from app.openid_client import authorization_url  # noqa: PLC0415

    provider = provider_of(platform.settings)
    started = Started(
        state=secrets.token_urlsafe(32),
        nonce=secrets.token_urlsafe(32),
        verifier=secrets.token_urlsafe(48),
        purpose=purpose,
        started_at=datetime.now(UTC),
        user_id=None if purpose is Purpose.LOG_IN else actor.user_id,
        next_page=next_page,
    )
    address = pool.run(lambda: authorization_url(provider, started))
    cookie = secrets.token_urlsafe(32)
    with platform.transaction() as session:
        queries.start(session, hash_of_token(cookie), started, LIFETIME)
    return Departure(address, cookie)


def cancel(platform: Platform, cookie: str, state: str) -> None:
    """Forget a login that the provider, or the person there, has refused."""
    with platform.transaction() as session:
        if queries.take(session, hash_of_token(cookie), state):
            queries.finish(session, hash_of_token(cookie))


def arrive(platform: Platform, actor: Actor, arrival: Arrival, browser: Browser) -> Returned:
    """Take back somebody whom the provider knows.

    Raises StaleError, ProviderError, BusyError, NotFoundError.
    """
    from app.openid_client import claims_of  # noqa: PLC0415 - see above

    provider = provider_of(platform.settings)
    cookie_hash = hash_of_token(arrival.cookie)
    with platform.transaction() as session:
        started = queries.take(session, cookie_hash, arrival.state)
    if started is None:
        raise StaleError("this login is over or was begun elsewhere")
    if arrival.issuer not in (None, provider.issuer):
        raise ProviderError(f"the answer comes from {arrival.issuer!r}, expected {provider.issuer!r}")
    claims = pool.run(lambda: claims_of(provider, arrival.code, started))
    by = started.user_id if started.user_id == actor.user_id else None
    arrived = Arrived(provider, started, claims, browser, cookie_hash, by)
    try:
        with platform.transaction() as session:
            returned = _settle(session, platform, arrived)
    except IntegrityError:  # the same person came back twice at once
        return Returned(Outcome.OF_ANOTHER)
    platform.notifier.wake_workers(Queue.MAIL)
    if returned.outcome is Outcome.CONFIRMED:
        token = renew(platform, browser.cookie or "")
        return Returned(Outcome.CONFIRMED, started.next_page, token)
    return returned


def _settle(session: Session, platform: Platform, arrived: Arrived) -> Returned:
    """Do what follows for somebody who has come back, in one transaction."""
    provider, started, claims = arrived.provider, arrived.started, arrived.claims
    known = queries.known(session, provider.issuer, claims, arrived.started_by)
    found = outcome(started.purpose, claims, known, started.started_at)
    if found is Outcome.NEW:
        queries.keep_claims(session, arrived.cookie_hash, claims, LIFETIME)
        return Returned(found, started.next_page)
    queries.finish(session, arrived.cookie_hash)
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


def _link(session: Session, provider: Provider, user_id: int, subject: str, email: str) -> None:
    queries.add_link(session, user_id, provider.issuer, subject, email)
    _note(session, provider, user_id, "provider.link", Letter.PROVIDER_LINKED)


def _note(session: Session, provider: Provider, user_id: int, action: str, letter: Letter) -> None:
    """Write down that a login was linked or unlinked, and tell the owner of the account by mail."""
    audit.record(session, user_id, action, f"person {user_id}", details={"issuer": provider.issuer})
    mail.tell_owner(session, letter, queries.person(session, user_id), provider=provider.name)


def newcomer(platform: Platform, cookie: str) -> Newcomer:
    """Who can make an account with this cookie. Raises StaleError."""
    with platform.transaction() as session:
        row = queries.newcomer(session, hash_of_token(cookie))
        if row is None:
            raise StaleError("this login is over or was begun elsewhere")
        return Newcomer(row.email or "", row.name or "")


def register(platform: Platform, cookie: str, new: NewAccount, browser: Browser) -> Returned:
    """Make an account without a password for somebody whom the provider knows, and log them in.

    Raises StaleError.
    """
    provider = provider_of(platform.settings)
    try:
        with platform.transaction() as session:
            row = queries.newcomer(session, hash_of_token(cookie))
            if row is None or row.subject is None or row.email is None:
                raise StaleError("this login is over or was begun elsewhere")
            user = create_person(session, row.email, new.name, None, is_verified=True)
            _link(session, provider, user.id, row.subject, row.email)
            token = _start_session(session, platform, browser, user.id)
            queries.finish(session, row.cookie_hash)
    except IntegrityError:  # somebody has confirmed the address, or used the login, in the meantime
        return Returned(Outcome.HAS_ACCOUNT)
    platform.notifier.wake_workers(Queue.MAIL)
    return Returned(Outcome.LOGGED_IN, row.next_page, token)


def link_of(platform: Platform, actor: Actor) -> LinkView | None:
    """The login by the provider that is linked to an account; none, too, where no provider is configured."""
    assert actor.user_id is not None
    if platform.settings.oidc_issuer is None:
        return None
    with platform.transaction() as session:
        return queries.link_of(session, actor.user_id, platform.settings.oidc_issuer)


def unlink(platform: Platform, actor: Actor) -> None:
    """Let the login by the provider open this account no more. Raises ConflictError where there is no password."""
    assert actor.user_id is not None
    provider = provider_of(platform.settings)
    with platform.transaction() as session:
        if queries.person(session, actor.user_id).password_hash is None:
            raise ConflictError("Choose a password first; without one you could no longer log in")
        if queries.delete_link(session, actor.user_id, provider.issuer):
            _note(session, provider, actor.user_id, "provider.unlink", Letter.PROVIDER_UNLINKED)
    platform.notifier.wake_workers(Queue.MAIL)
