"""Login with OpenID Connect providers and GitHub."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import delete, exists, func, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from app.core import audit
from app.core.access import Actor
from app.core.errors import ConflictError, NotFoundError
from app.core.names import Visible, is_visible
from app.core.secret_hashes import hash_of_token
from app.core.settings import LoginProvider, Registration
from app.jobs import mail
from app.jobs.mail import MailTemplate
from app.models import Identity, ProviderLogin, User
from app.people.accounts import create_person
from app.people.locking import lock_person
from app.people.provider_claims import Claims, Purpose, StaleError
from app.people.sessions import Browser, renew, start_session
from app.platform import Platform


class LoginOutcome(StrEnum):
    """What happens when a browser returns from the provider."""

    LOGGED_IN = "logged-in"
    NEW = "new"  # an account can be created
    LINKED = "linked"
    CONFIRMED = "confirmed"
    NO_ADDRESS = "no-address"
    HAS_ACCOUNT = "has-account"
    OF_ANOTHER = "of-another"
    HAS_ANOTHER = "has-another"
    NOT_YOURS = "not-yours"
    SESSION_OVER = "session-over"
    NOT_FRESH = "not-fresh"
    SUSPENDED = "suspended"
    CLOSED = "closed"  # registration is closed


@dataclass(frozen=True, slots=True)
class Started:
    """A login at a provider that has started."""

    provider: str  # its id
    purpose: Purpose
    started_at: datetime
    user_id: int | None  # the person already logged in here
    next_page: str


@dataclass(frozen=True, slots=True)
class LoginRedirect:
    """Where to send a browser, and the cookie that identifies it when it returns."""

    address: str
    cookie: str


@dataclass(frozen=True, slots=True)
class CallbackContext:
    """A login that has returned from the provider, with its claims."""

    provider: LoginProvider
    started: Started
    claims: Claims
    browser: Browser
    cookie: str
    started_by: int | None  # the person logged in when it started, if still logged in


@dataclass(frozen=True, slots=True)
class ExistingAccount:
    """What this server knows about the person of a login that has returned."""

    owner: int | None = None  # the account that this login is linked to
    is_suspended: bool = False  # whether that account is suspended
    started_by: int | None = None  # the person logged in when it started, if still logged in
    has_account: bool = False  # an account has confirmed this e-mail address
    has_link: bool = False  # the account that started this login is linked to another one


@dataclass(frozen=True, slots=True)
class LinkedLogin:
    """A provider's login that is linked to an account, as shown to its owner."""

    email: str
    linked_at: datetime
    last_used_at: datetime


@dataclass(frozen=True, slots=True)
class Returned:
    """The outcome of a login at the provider."""

    outcome: LoginOutcome
    next_page: str = "/"
    session_token: str | None = None


@dataclass(frozen=True, slots=True)
class Newcomer:
    """A person whom a provider has authenticated and who has no account here."""

    provider: LoginProvider
    subject: str
    email: str
    name: str
    next_page: str


class NewAccount(BaseModel):
    """The form for an account without a password."""

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True, frozen=True)

    name: Annotated[str, Field(min_length=2, max_length=80, description="as shown to others"), Visible]


LIFETIME = timedelta(minutes=10)  # of a started login
LEEWAY = timedelta(minutes=1)  # for differences between clocks
SHORTEST_NAME, LONGEST_NAME = 2, 80


def outcome(purpose: Purpose, claims: Claims, known: ExistingAccount, started_at: datetime) -> LoginOutcome:
    """Decide what happens when a browser returns from the provider.

    Only a linked login opens an account, never a matching e-mail address: a provider that is wrong about an address,
    or an address that now belongs to another person, opens nothing.
    """
    if purpose is Purpose.LOG_IN:
        return _logging_in(claims, known)
    if purpose is Purpose.LINK:
        return _linking(known)
    return _confirming(claims, known, started_at)


def _logging_in(claims: Claims, known: ExistingAccount) -> LoginOutcome:
    if known.owner is not None:
        return LoginOutcome.SUSPENDED if known.is_suspended else LoginOutcome.LOGGED_IN
    if not (claims.email and claims.is_verified):
        return LoginOutcome.NO_ADDRESS
    return LoginOutcome.HAS_ACCOUNT if known.has_account else LoginOutcome.NEW


def _linking(known: ExistingAccount) -> LoginOutcome:
    if known.started_by is None:
        return LoginOutcome.SESSION_OVER
    if known.owner not in (None, known.started_by):
        return LoginOutcome.OF_ANOTHER
    return LoginOutcome.HAS_ANOTHER if known.owner is None and known.has_link else LoginOutcome.LINKED


def _confirming(claims: Claims, known: ExistingAccount, started_at: datetime) -> LoginOutcome:
    if known.started_by is None:
        return LoginOutcome.SESSION_OVER
    if known.owner != known.started_by:
        return LoginOutcome.NOT_YOURS
    return LoginOutcome.CONFIRMED if is_fresh(claims.authenticated_at, started_at) else LoginOutcome.NOT_FRESH


def is_fresh(authenticated_at: int | None, started_at: datetime) -> bool:
    """Whether a person authenticated (seconds since 1970) between being sent to the provider and the last time to return."""
    earliest, latest = (started_at - LEEWAY).timestamp(), (started_at + LIFETIME + LEEWAY).timestamp()
    return authenticated_at is not None and earliest <= authenticated_at <= latest


def suggested_name(name: str, email: str) -> str:
    """Suggest a name for a new account. Its owner can change it before it is shown to others.

    >>> suggested_name("Ash Grove", "ash@example.org"), suggested_name("", "ash@example.org")
    ('Ash Grove', 'ash')
    """
    candidates = (" ".join(name.split())[:LONGEST_NAME], email.partition("@")[0][:LONGEST_NAME])
    fit = (text for text in candidates if len(text) >= SHORTEST_NAME and is_visible(text))
    return next(fit, "")


def store_login(session: Session, cookie_hash: bytes, content: dict[str, Any], lifetime: timedelta) -> None:
    """Store the state of a started login, and delete expired ones."""
    session.execute(delete(ProviderLogin).where(ProviderLogin.expires_at < func.now()))
    session.add(ProviderLogin(cookie_hash=cookie_hash, content=content, expires_at=func.now() + lifetime))


def pop_login(session: Session, cookie_hash: bytes) -> dict[str, Any]:
    """Remove and return the state of this cookie's login; empty if it has expired, was used, or is another browser's."""
    statement = delete(ProviderLogin).where(
        ProviderLogin.cookie_hash == cookie_hash, ProviderLogin.expires_at > func.now()
    )
    return session.scalar(statement.returning(ProviderLogin.content)) or {}


def find_login(session: Session, cookie_hash: bytes) -> dict[str, Any]:
    """Return the state of this cookie's login without removing it; empty if there is none."""
    statement = select(ProviderLogin.content).where(
        ProviderLogin.cookie_hash == cookie_hash, ProviderLogin.expires_at > func.now()
    )
    return session.scalar(statement) or {}


def find_known(session: Session, issuer: str, claims: Claims, started_by: int | None) -> ExistingAccount:
    """Look up what this server knows about the person of a login that has returned."""
    of_login = (Identity.issuer == issuer, Identity.subject == claims.subject)
    found = session.execute(
        select(Identity.user_id, User.suspended_at.is_not(None))
        .join(User, User.id == Identity.user_id)
        .where(*of_login)
    ).one_or_none()
    has_account = exists().where(User.email == claims.email, User.verified_at.is_not(None))
    has_link = exists().where(Identity.user_id == started_by, Identity.issuer == issuer)
    account, link = session.execute(select(has_account, has_link)).one()
    owner, is_suspended = found or (None, False)
    return ExistingAccount(owner, is_suspended, started_by, has_account=account, has_link=link)


def add_link(session: Session, user_id: int, issuer: str, subject: str, email: str) -> None:
    """Link a provider's login to an account."""
    session.add(Identity(user_id=user_id, issuer=issuer, subject=subject, email=email))
    session.flush()


def record_use(session: Session, issuer: str, subject: str) -> None:
    """Record that a provider's login was used just now."""
    used = update(Identity).where(Identity.issuer == issuer, Identity.subject == subject)
    session.execute(used.values(last_used_at=func.now()))


def select_links(session: Session, user_id: int) -> dict[str, LinkedLogin]:
    """Return the logins linked to an account, by issuer."""
    rows = session.scalars(select(Identity).where(Identity.user_id == user_id))
    return {row.issuer: LinkedLogin(row.email, row.linked_at, row.last_used_at) for row in rows}


def delete_link(session: Session, user_id: int, issuer: str) -> bool:
    """Unlink a provider's login from an account. Return whether it was linked."""
    statement = delete(Identity).where(Identity.user_id == user_id, Identity.issuer == issuer)
    return session.scalar(statement.returning(Identity.user_id)) is not None


STALE = "this login has ended or was started in another browser"


def provider_of(platform: Platform, id_: str) -> LoginProvider:
    """Return the configured provider with this id. Raises NotFoundError."""
    found = next((each for each in platform.settings.login_providers if each.id == id_), None)
    if found is None:
        raise NotFoundError("There is nothing at this address")
    return found


def _callback(platform: Platform, provider: LoginProvider) -> str:
    """Return the callback URL. Each provider has its own, so that none can impersonate another."""
    return f"{platform.settings.address}/login/providers/{provider.id}/callback"


async def start_login(request: Request, platform: Platform, actor: Actor, started: Started) -> LoginRedirect:
    """Start a login at a provider. Raises ProviderError, NotFoundError."""
    # imported late: an installation without a provider need not spend the time and memory
    from app.people.openid_client import authorization_url  # noqa: PLC0415

    provider = provider_of(platform, started.provider)
    request.scope["session"] = known = dict[str, Any]()
    address = await authorization_url(request, provider, _callback(platform, provider), started.purpose)
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
    return LoginRedirect(address, cookie)


def _keep(platform: Platform, cookie: str, content: dict[str, Any]) -> None:
    with platform.transaction() as session:
        store_login(session, hash_of_token(cookie), content, LIFETIME)


def pop_login_state(platform: Platform, cookie: str) -> Mapping[str, Any]:
    """Remove and return the state of this cookie's login."""
    with platform.transaction() as session:
        return pop_login(session, hash_of_token(cookie))


async def handle_callback(
    request: Request, platform: Platform, actor: Actor, id_: str, cookie: str, browser: Browser
) -> Returned:
    """Handle a browser that returns from the provider. Raises StaleError, ProviderError, NotFoundError."""
    from app.people.openid_client import fetch_claims  # noqa: PLC0415 - see above

    provider = provider_of(platform, id_)
    state = await run_in_threadpool(pop_login_state, platform, cookie)
    if state.get("provider") != id_ or "client" not in state:
        raise StaleError(STALE)
    request.scope["session"] = state["client"]
    claims = await fetch_claims(request, provider)
    started = Started(
        id_,
        Purpose(state["purpose"]),
        datetime.fromisoformat(state["started_at"]),
        state["user_id"],
        state["next_page"],
    )
    by = started.user_id if started.user_id == actor.user_id else None
    context = CallbackContext(provider, started, claims, browser, cookie, by)
    return await run_in_threadpool(_complete_login, platform, context)


def started_now(id_: str, purpose: Purpose, next_page: str) -> Started:
    """Describe a login that starts now."""
    return Started(id_, purpose, datetime.now(UTC), None, next_page)


def _complete_login(platform: Platform, context: CallbackContext) -> Returned:
    try:
        with platform.transaction() as session:
            returned = _apply_outcome(session, platform, context)
    except IntegrityError:  # the same person returned twice at once
        return Returned(LoginOutcome.OF_ANOTHER)
    if returned.outcome is LoginOutcome.CONFIRMED:
        token = renew(platform, context.browser.cookie or "")
        return Returned(LoginOutcome.CONFIRMED, context.started.next_page, token)
    return returned


def _apply_outcome(session: Session, platform: Platform, context: CallbackContext) -> Returned:
    """Carry out the outcome of a returned login in one transaction."""
    provider, started, claims = context.provider, context.started, context.claims
    known = find_known(session, provider.issuer, claims, context.started_by)
    found = outcome(started.purpose, claims, known, started.started_at)
    if found is LoginOutcome.NEW and platform.current_settings().registration is Registration.CLOSED:
        return Returned(LoginOutcome.CLOSED)
    if found is LoginOutcome.NEW:
        content = {
            "newcomer": provider.id,
            "subject": claims.subject,
            "email": claims.email,
            "name": claims.name,
            "next_page": started.next_page,
        }
        store_login(session, hash_of_token(context.cookie), content, LIFETIME)
        return Returned(found, started.next_page)
    if found is LoginOutcome.LINKED and known.started_by is not None and known.owner is None:
        _link(session, provider, known.started_by, claims.subject, claims.email)
    if known.owner is not None and found in (LoginOutcome.LOGGED_IN, LoginOutcome.CONFIRMED):
        record_use(session, provider.issuer, claims.subject)
    if known.owner is not None and found is LoginOutcome.LOGGED_IN:
        token = _start_session(session, platform, context.browser, known.owner)
        return Returned(found, started.next_page, token)
    return Returned(found, started.next_page)


def _start_session(session: Session, platform: Platform, browser: Browser, user_id: int) -> str:
    audit.record(session, user_id, "session.start", f"person {user_id}", details={"by": "provider"})
    return start_session(session, platform, user_id, browser)


def _link(session: Session, provider: LoginProvider, user_id: int, subject: str, email: str) -> None:
    add_link(session, user_id, provider.issuer, subject, email)
    _note(session, provider, user_id, "provider.link", MailTemplate.PROVIDER_LINKED)


def _note(session: Session, provider: LoginProvider, user_id: int, action: str, letter: MailTemplate) -> None:
    """Record that a login was linked or unlinked, and notify the account's owner by mail."""
    audit.record(session, user_id, action, f"person {user_id}", details={"issuer": provider.issuer})
    mail.notify_owner(session, letter, session.get_one(User, user_id), provider=provider.name)


def newcomer(platform: Platform, cookie: str) -> Newcomer:
    """Return the person who can create an account with this cookie. Raises StaleError."""
    with platform.transaction() as session:
        return _newcomer(platform, find_login(session, hash_of_token(cookie)))


def _newcomer(platform: Platform, state: Mapping[str, Any]) -> Newcomer:
    if "newcomer" not in state:
        raise StaleError(STALE)
    provider = provider_of(platform, state["newcomer"])
    return Newcomer(provider, state["subject"], state["email"], state["name"], state["next_page"])


def register(platform: Platform, cookie: str, new: NewAccount, browser: Browser) -> Returned:
    """Create an account without a password for a newcomer, and log them in.

    Raises StaleError.
    """
    try:
        with platform.transaction() as session:
            found = _newcomer(platform, pop_login(session, hash_of_token(cookie)))
            user = create_person(session, found.email, new.name, None, is_verified=True)
            _link(session, found.provider, user.id, found.subject, found.email)
            token = _start_session(session, platform, browser, user.id)
    except IntegrityError:  # another account has meanwhile confirmed the address or linked the login
        return Returned(LoginOutcome.HAS_ACCOUNT)
    return Returned(LoginOutcome.LOGGED_IN, found.next_page, token)


def links_of(platform: Platform, actor: Actor) -> list[tuple[LoginProvider, LinkedLogin | None]]:
    """Return every provider with the login linked to this account, if any. Raises NotFoundError without providers."""
    assert actor.user_id is not None
    if not platform.settings.login_providers:
        raise NotFoundError("There is nothing at this address")
    with platform.transaction() as session:
        found = select_links(session, actor.user_id)
    return [(provider, found.get(provider.issuer)) for provider in platform.settings.login_providers]


def unlink(platform: Platform, actor: Actor, id_: str) -> None:
    """Unlink a provider's login from this account. Raises ConflictError if no other way to log in remains."""
    assert actor.user_id is not None
    provider, settings = provider_of(platform, id_), platform.settings
    with platform.transaction() as session:
        person = lock_person(session, actor.user_id)
        assert person is not None
        others = select_links(session, actor.user_id).keys() - {provider.issuer}
        opens = others & {each.issuer for each in settings.login_providers}
        if not opens and (person.password_hash is None or not settings.passwords):
            advice = "Choose a password first" if settings.passwords else "Link another login first"
            raise ConflictError(f"{advice}; otherwise you could no longer log in")
        if delete_link(session, actor.user_id, provider.issuer):
            _note(session, provider, actor.user_id, "provider.unlink", MailTemplate.PROVIDER_UNLINKED)
