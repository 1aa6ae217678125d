"""Sessions: logging in and out, and identifying who makes a request."""

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Interval,
    Row,
    Text,
    and_,
    bindparam,
    cast,
    delete,
    exists,
    func,
    literal,
    or_,
    select,
    text,
    update,
)
from sqlalchemy.orm import Session

from app.core import audit
from app.core.access import Actor, Caller, Scope, View
from app.core.errors import DomainError, RecentLoginRequiredError
from app.core.names import folded
from app.core.rate_limits import Limited
from app.core.secret_hashes import hash_of_token
from app.core.settings import LoginSettings
from app.jobs import mail
from app.jobs.mail import MailTemplate
from app.models import (
    ApiToken,
    Challenge,
    ChallengeOrganiser,
    ChallengeRole,
    Identity,
    LoginSession,
    Member,
    Notification,
    SecondFactor,
    User,
    Viewing,
)
from app.people import tokens
from app.people.locking import IS_OPEN, lock_person
from app.people.passwords import MAX_LENGTH, is_password
from app.people.tokens import is_token
from app.platform import Platform


class Login(BaseModel):
    """The login form."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    email: Annotated[str, Field(max_length=254)]
    password: Annotated[str, Field(max_length=MAX_LENGTH)]


@dataclass(frozen=True, slots=True)
class Browser:
    """Where a login comes from."""

    client: str  # the key of rate limits: an address or a network
    name: str = "unknown browser"
    cookie: str | None = None  # of its session, which may have ended


@dataclass(frozen=True, slots=True)
class OpenSession:
    """A session that has not ended."""

    actor: Actor | None  # its owner; None if suspended
    awaits_code: bool
    view: View | None = None  # of a challenge, as somebody else


@dataclass(frozen=True, slots=True)
class SessionView:
    """A session as shown to its owner. The key identifies it but gives no access."""

    key: str
    browser: str
    created_at: datetime
    last_seen_at: datetime
    is_this: bool


KEEP_ENDED = timedelta(days=30)  # how long the owner of an ended session is remembered

CODE_TIME = timedelta(minutes=10)  # between password and code

# header content and the name for it; the first match wins, as Edge also claims to be Chrome, and Chrome Safari
BROWSERS = (
    ("Edg", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"), ("FxiOS/", "Firefox"), ("CriOS/", "Chrome"),
    ("Chrom", "Chrome"), ("Safari/", "Safari"), ("curl/", "curl"), ("python", "Python"),
)  # fmt: skip
SYSTEMS = (
    ("Android", "Android"), ("iPhone", "iOS"), ("iPad", "iPadOS"), ("Windows", "Windows"), ("Macintosh", "macOS"),
    ("CrOS", "ChromeOS"), ("Linux", "Linux"),
)  # fmt: skip


def browser_name(user_agent: str) -> str:
    """Return a name of the browser that people recognise.

    >>> browser_name("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
    'Firefox on Linux'
    >>> browser_name("wget")
    'unknown browser'
    """
    browser = next((name for sign, name in BROWSERS if sign in user_agent), "unknown browser")
    system = next((name for sign, name in SYSTEMS if sign in user_agent), None)
    return f"{browser} on {system}" if system else browser


MINUTE = timedelta(minutes=1)


def user_of_email(session: Session, email: str) -> User | None:
    """Return the person who has confirmed this e-mail address (case folded)."""
    return session.scalar(select(User).where(User.email == email, User.verified_at.is_not(None)))


def is_person() -> ColumnElement[bool]:
    """Whether a user has a password or a linked login, for statements about User; other users are programs."""
    return or_(User.password_hash.is_not(None), _has_link())


def can_log_in(settings: LoginSettings) -> ColumnElement[bool]:
    """Whether a person has a password or linked login that these settings allow, for statements about User."""
    has_link = _has_link(Identity.issuer.in_([each.issuer for each in settings.login_providers]))
    return or_(User.password_hash.is_not(None), has_link) if settings.passwords else has_link


def _has_link(*conditions: ColumnElement[bool]) -> ColumnElement[bool]:
    return exists().where(Identity.user_id == User.id, *conditions).correlate(User)


def open_session(session: Session, token_hash: bytes, lifetimes: LoginSettings) -> OpenSession | None:
    """Return the live session of this cookie with its person, and record at most once a minute that it is used."""
    times = {"recent": lifetimes.recent_login, "idle": lifetimes.session_idle}
    found = session.execute(OF_COOKIE, {"token_hash": token_hash, **times}).one_or_none()
    if found is None:
        return None
    if found.is_unseen:
        is_this = LoginSession.token_hash == token_hash
        session.execute(update(LoginSession).where(is_this).values(last_seen_at=func.now()))
    view = None
    if found.challenge_id:
        view = View(found.challenge_id, found.code, found.title, is_visitor=found.is_visitor)
    actor = _actor(found, is_recent=found.is_recent, unread=found.unread)
    return OpenSession(actor, found.awaits_code, view)


def owner_of_token(session: Session, token_hash: bytes) -> Actor | None:
    """Return the owner of a live token, and record at most once a minute that it is used."""
    found = session.execute(OF_TOKEN, {"token_hash": token_hash}).one_or_none()
    if found is None:
        return None
    if found.is_due:
        tokens.record_use(session, token_hash)
    return _actor(found, scopes=frozenset(map(Scope, found.scopes)))


def _actor(
    person: Row[*tuple[Any, ...]],
    *,
    scopes: frozenset[Scope] | None = None,
    is_recent: bool = False,
    unread: int = 0,
) -> Actor | None:
    """Return the actor for the columns of `_PERSON`; None if the person is suspended."""
    if person.user_id is None:
        return None
    return Actor(
        user_id=person.user_id,
        teams=frozenset(person.teams),
        name=person.name,
        email=person.email,
        role=person.role,
        is_verified=person.is_verified,
        organises=_with_role(person.roles, ChallengeRole.ORGANISER, ChallengeRole.OWNER),
        owns=_with_role(person.roles, ChallengeRole.OWNER),
        views=_with_role(person.roles, ChallengeRole.VIEWER),
        scopes=scopes,
        has_password=person.has_password,
        has_second_factor=person.has_second_factor,
        is_recent=is_recent,
        unread=unread,
    )


def _with_role(roles: Mapping[str, str], *wanted: ChallengeRole) -> frozenset[int]:
    return frozenset(int(challenge) for challenge, role in roles.items() if role in wanted)


def actor_of(session: Session, user_id: int | None) -> Actor | None:
    """Return a person with what they may do now, for what goes on without a request of theirs, such as mail to them.

    None if the account was deleted or is suspended.
    """
    is_active = (User.suspended_at.is_(None), User.deleted_at.is_(None))
    person = session.execute(select(*_PERSON).where(User.id == user_id, *is_active)).one_or_none()
    return _actor(person) if person else None


def _is_live(idle: timedelta | BindParameter[timedelta]) -> tuple[ColumnElement[bool], ...]:
    return (LoginSession.expires_at > func.now(), LoginSession.last_seen_at > func.now() - idle)


def select_sessions(
    session: Session, user_id: int, this: bytes, lifetimes: LoginSettings
) -> tuple[SessionView, ...]:
    """Return a person's live sessions, the last used first; `this` is the hash of the current one."""
    is_theirs = (LoginSession.user_id == user_id, ~LoginSession.awaits_code)
    statement = select(LoginSession).where(*is_theirs, *_is_live(lifetimes.session_idle))
    rows = session.scalars(statement.order_by(LoginSession.last_seen_at.desc(), LoginSession.token_hash))
    return tuple(
        SessionView(
            row.token_hash.hex(),
            row.browser,
            row.created_at,
            row.last_seen_at,
            is_this=row.token_hash == this,
        )
        for row in rows
    )


def count_sessions(session: Session, user_id: int, lifetimes: LoginSettings) -> int:
    """Count a person's live sessions."""
    is_theirs = (LoginSession.user_id == user_id, ~LoginSession.awaits_code)
    statement = select(func.count()).select_from(LoginSession)
    return session.scalar(statement.where(*is_theirs, *_is_live(lifetimes.session_idle))) or 0


def browsers_of(session: Session, user_id: int) -> frozenset[str]:
    """Return the browser names of a person's remembered logins, except logins that are waiting for a code."""
    of_person = (LoginSession.user_id == user_id, ~LoginSession.awaits_code)
    return frozenset(session.scalars(select(LoginSession.browser).where(*of_person).distinct()))


def _teams() -> ColumnElement[list[int]]:
    """Return the teams of a person in all challenges, for statements about User."""
    statement = select(func.coalesce(func.array_agg(Member.team_id), text("'{}'::bigint[]")))
    return statement.where(Member.user_id == User.id).correlate(User).scalar_subquery()


def _roles() -> ColumnElement[dict[str, str]]:
    """Return a person's roles in challenges by their ids, for statements about User."""
    by_challenge = func.jsonb_object_agg(cast(ChallengeOrganiser.challenge_id, Text), ChallengeOrganiser.role)
    statement = select(func.coalesce(by_challenge, text("'{}'::jsonb")))
    return statement.where(ChallengeOrganiser.user_id == User.id).correlate(User).scalar_subquery()


def _has_second_factor() -> ColumnElement[bool]:
    """Whether a person's logins need a code, for statements about User."""
    in_use = (SecondFactor.user_id == User.id, SecondFactor.confirmed_at.is_not(None))
    return exists().where(*in_use).correlate(User)


MOST_UNREAD: Final = 100


def unread() -> ColumnElement[int]:
    """The number of unread notifications, for statements about User; at most `MOST_UNREAD`, so that more cost nothing."""
    unread = select(Notification.id).where(Notification.user_id == User.id, Notification.read_at.is_(None))
    first = unread.correlate(User).limit(literal(MOST_UNREAD, literal_execute=True)).subquery()
    return select(func.count()).select_from(first).scalar_subquery()


_PERSON: Final = (
    User.id.label("user_id"),
    _teams().label("teams"),
    User.name,
    User.email,
    User.role,
    User.verified_at.is_not(None).label("is_verified"),
    _roles().label("roles"),
    User.password_hash.is_not(None).label("has_password"),
    _has_second_factor().label("has_second_factor"),
)
# every authenticated request runs one of these two; built once, because building one costs more than running it
OF_COOKIE: Final = (
    select(
        (LoginSession.authenticated_at > func.now() - bindparam("recent", type_=Interval)).label("is_recent"),
        (LoginSession.last_seen_at < func.now() - MINUTE).label("is_unseen"),
        LoginSession.awaits_code,
        Challenge.id.label("challenge_id"),
        Challenge.code,
        Challenge.title,
        Viewing.is_visitor,
        unread().label("unread"),
        *_PERSON,
    )
    .outerjoin(User, and_(User.id == LoginSession.user_id, User.suspended_at.is_(None)))
    .outerjoin(
        Viewing, and_(Viewing.token_hash == LoginSession.token_hash, Viewing.until > func.clock_timestamp())
    )
    .outerjoin(Challenge, Challenge.id == Viewing.challenge_id)
    .where(LoginSession.token_hash == bindparam("token_hash"), *_is_live(bindparam("idle", type_=Interval)))
)
OF_TOKEN: Final = (
    select(ApiToken.scopes, tokens.is_due().label("is_due"), *_PERSON)
    .join(User, and_(User.id == ApiToken.user_id, User.suspended_at.is_(None)))
    .where(ApiToken.token_hash == bindparam("token_hash"), *tokens.is_live())
)


def has_second_factor(session: Session, user_id: int) -> bool:
    """Whether a person's logins need a code."""
    return bool(session.scalar(select(_has_second_factor()).select_from(User).where(User.id == user_id)))


def waiting_for_code(session: Session, token_hash: bytes) -> int | None:
    """Return the owner of a login that has the password and still needs the code."""
    is_waiting = (
        LoginSession.token_hash == token_hash,
        LoginSession.awaits_code,
        LoginSession.expires_at > func.now(),
    )
    return session.scalar(select(LoginSession.user_id).where(*is_waiting))


def exchange_token(session: Session, token_hash: bytes, new_hash: bytes, lifetime: timedelta) -> None:
    """Turn a session that was waiting for a code into a full one, with a new token."""
    waiting = update(LoginSession).where(LoginSession.token_hash == token_hash, LoginSession.awaits_code)
    session.execute(
        waiting.values(
            token_hash=new_hash,
            awaits_code=False,
            authenticated_at=func.now(),
            last_seen_at=func.now(),
            expires_at=func.now() + lifetime,
        )
    )


def delete_expired(session: Session) -> int:
    """Delete sessions that ended long ago. Return how many."""
    expired = delete(LoginSession).where(LoginSession.expires_at < func.now() - KEEP_ENDED)
    return len(session.scalars(expired.returning(LoginSession.user_id)).all())


def end_session(session: Session, token_hash: bytes, user_id: int | None = None) -> None:
    """End a session, if it is this person's. The row stays for a while to recognise whose browser this is."""
    ended = update(LoginSession).where(
        LoginSession.token_hash == token_hash, LoginSession.expires_at > func.now()
    )
    if user_id is not None:
        ended = ended.where(LoginSession.user_id == user_id)
    session.execute(ended.values(expires_at=func.now()))


def renew_session(session: Session, token_hash: bytes, new_hash: bytes) -> bool:
    """Give a live session a new token and reset its time of login. Return whether there is such a session."""
    statement = (
        update(LoginSession)
        .where(
            LoginSession.token_hash == token_hash,
            LoginSession.expires_at > func.now(),
            ~LoginSession.awaits_code,
        )
        .values(token_hash=new_hash, authenticated_at=func.now())
        .returning(LoginSession.user_id)
    )
    return session.scalar(statement) is not None


def end_sessions_of(session: Session, user_id: int, *, keep: bytes | None = None) -> int:
    """End all sessions of a person except the one with the hash `keep`. Return how many."""
    live = [LoginSession.user_id == user_id, LoginSession.expires_at > func.now()]
    if keep is not None:
        live.append(LoginSession.token_hash != keep)
    ended = update(LoginSession).where(*live).values(expires_at=func.now())
    return len(session.scalars(ended.returning(LoginSession.user_id)).all())


def owner_of_session(session: Session, token_hash: bytes) -> int | None:
    """Return the owner of a session, which may have ended; None if it ended long ago."""
    return session.scalar(select(LoginSession.user_id).where(LoginSession.token_hash == token_hash))


class SuspendedError(DomainError):
    """The account is suspended. Shown only after the right password."""


class WrongPasswordError(DomainError):
    """No account has this address and password."""


def log_in(platform: Platform, login: Login, browser: Browser) -> str:
    """Log in with a password and return the token of a new session.

    Raises WrongPasswordError, after the same time whether or not the account exists; SuspendedError, BusyError,
    RateLimitedError.
    """
    with platform.transaction() as session:
        user = user_of_email(session, folded(login.email))
    user = _checked(platform, login, user, browser)
    with platform.transaction() as session:
        lock_owner(session, user.id, user.password_hash)
        audit.record(session, user.id, "session.start", f"person {user.id}")
        return start_session(session, platform, user.id, browser)


def _checked(platform: Platform, login: Login, user: User | None, browser: Browser) -> User:
    """Return the person if the password is right; raises what `log_in` raises."""
    account = _account_key(login.email)
    with platform.transaction() as session:
        former = owner_of_session(session, hash_of_token(browser.cookie)) if browser.cookie else None
    is_own_browser = user is not None and user.id == former
    # the owner's browser has its own count, so that a stranger cannot use up its attempts
    client = hash_of_token(browser.cookie or "").hex() if is_own_browser else browser.client
    platform.limiter.hit(Limited.GUESS, account, client)
    if not is_own_browser:
        platform.limiter.hit(Limited.LOGIN, account)
    is_right = is_password(login.password, user.password_hash if user else None)
    if user is None or not is_right:
        raise WrongPasswordError("the e-mail address or the password is wrong")
    if user.suspended_at is not None:
        raise SuspendedError("this account is suspended; ask the admins of this server")
    platform.limiter.clear(Limited.GUESS, account, client)
    return user


def _account_key(email: str) -> str:
    """Return the rate-limit key of an account, existing or not: a hash, as the broker need not know addresses."""
    return hashlib.sha256(folded(email).encode()).hexdigest()[:32]


def start_session(session: Session, platform: Platform, user_id: int, browser: Browser) -> str:
    """Start a session of this person and return its token for the cookie; end this browser's previous session.

    If the person has a second factor, the session gives no access until the code is entered.
    """
    awaits_code = has_second_factor(session, user_id)
    row = LoginSession(
        user_id=user_id,
        browser=browser.name,
        awaits_code=awaits_code,
        expires_at=func.now() + (CODE_TIME if awaits_code else platform.settings.session_lifetime),
    )
    if not awaits_code:
        _tell_of_new_browser(session, user_id, browser)
    if browser.cookie:
        end_session(session, hash_of_token(browser.cookie))
    token = secrets.token_urlsafe(32)
    row.token_hash = hash_of_token(token)
    session.add(row)
    return token


def _tell_of_new_browser(session: Session, user_id: int, browser: Browser) -> None:
    """Notify a person of a login from a browser that they have not used in the last month."""
    known = browsers_of(session, user_id)
    is_own = browser.cookie and owner_of_session(session, hash_of_token(browser.cookie)) == user_id
    if known and browser.name not in known and not is_own:
        owner = session.get_one(User, user_id)
        mail.notify_owner(session, MailTemplate.NEW_BROWSER, owner, browser=browser.name)


def awaits_code(platform: Platform, token: str) -> bool:
    """Whether the login of this session still needs a code."""
    with platform.transaction() as session:
        return waiting_for_code(session, hash_of_token(token)) is not None


def finish_login(session: Session, platform: Platform, user_id: int, browser: Browser) -> str:
    """Complete this browser's login after the right code. Return the session's new token."""
    _tell_of_new_browser(session, user_id, replace(browser, cookie=None))
    cookie = browser.cookie or ""
    token = secrets.token_urlsafe(32)
    lifetime = platform.settings.session_lifetime
    exchange_token(session, hash_of_token(cookie), hash_of_token(token), lifetime)
    return token


def confirm(platform: Platform, actor: Actor, password: str, browser: Browser) -> str:
    """Record that the person of this browser's session has entered the password again. Return the new token.

    Raises WrongPasswordError, BusyError, RateLimitedError.
    """
    with platform.transaction() as session:
        user = session.get_one(User, actor.user_id)
    _checked(platform, Login(email=actor.email, password=password), user, browser)
    return renew(platform, browser.cookie or "")


def check_owner(actor: Actor, password: str, known: str | None) -> None:
    """Check that the person of a session owns the account, whose password has the hash `known`.

    Raises WrongPasswordError, BusyError; RecentLoginRequiredError for an account without a password.
    """
    if (known is None or not actor.has_password) and actor.user_id is not None:
        if not actor.is_recent:
            raise RecentLoginRequiredError("Confirm that it is you first")
    elif not is_password(password, known):
        raise WrongPasswordError("the password is wrong")


def password_hash_of(platform: Platform, user_id: int) -> str | None:
    """Return the hash of a person's password, for `check_owner` and `lock_owner`; no lock is held while it is compared."""
    with platform.transaction() as session:
        return session.scalar(select(User.password_hash).where(User.id == user_id))


def lock_owner(
    session: Session, user_id: int | None, known: str | None, *, ends_access: bool = False
) -> User:
    """Return a person, locked as by `lock_person`, whose password was checked and has not been replaced since.

    known: the hash that it was checked against. Raises WrongPasswordError, also if the account was suspended or deleted since.
    """
    user = lock_person(session, user_id, *IS_OPEN, ends_access=ends_access)
    if user is None or user.password_hash != known:
        raise WrongPasswordError("the password was replaced a moment ago, or the account has ended")
    return user


def renew(platform: Platform, cookie: str) -> str:
    """Give this session a new token after a repeated login or a gain of rights. The old token becomes invalid.

    Raises WrongPasswordError if the session has ended.
    """
    token = secrets.token_urlsafe(32)
    with platform.transaction() as session:
        if not renew_session(session, hash_of_token(cookie), hash_of_token(token)):
            raise WrongPasswordError("the session has ended; log in again")
    return token


def log_out(platform: Platform, token: str) -> None:
    """End this session."""
    with platform.transaction() as session:
        end_session(session, hash_of_token(token))


def sessions_of(platform: Platform, actor: Actor, cookie: str) -> tuple[SessionView, ...]:
    """Return a person's sessions, this cookie's among them."""
    assert actor.user_id is not None
    with platform.transaction() as session:
        return select_sessions(session, actor.user_id, hash_of_token(cookie), platform.settings)


def end_one(platform: Platform, actor: Actor, key: str) -> None:
    """End a session of this person by its key; do nothing if there is none."""
    assert actor.user_id is not None
    with platform.transaction() as session:
        end_session(session, bytes.fromhex(key), actor.user_id)


def end_all(platform: Platform, actor: Actor) -> int:
    """End all sessions of this person, the current one too. Return how many. Tokens stay valid."""
    assert actor.user_id is not None
    with platform.transaction() as session:
        count = end_sessions_of(session, actor.user_id)
        audit.record(
            session, actor.user_id, "session.end-all", f"person {actor.user_id}", details={"ended": count}
        )
    return count


def identify(platform: Platform, cookie: str | None, bearer: str | None) -> Actor:
    """Return who makes a request: the owner of the token, else of the session, else an anonymous visitor."""
    return find_caller(platform, cookie, bearer).actor


def find_caller(platform: Platform, cookie: str | None, bearer: str | None) -> Caller:
    """Return who makes a request, and whether their login is waiting for a code."""
    if not (bearer or cookie) or (bearer and not is_token(bearer)):
        return Caller(Actor())
    with platform.reading() as session:
        if bearer:
            return Caller(owner_of_token(session, hash_of_token(bearer)) or Actor())
        found = open_session(session, hash_of_token(cookie or ""), platform.settings)
    if found and found.awaits_code:
        return Caller(Actor(), awaits_code=True)
    if found is None or found.actor is None:
        return Caller(Actor())
    actor = found.actor if platform.settings.passwords else replace(found.actor, has_password=False)
    if found.view is not None and actor.organises_challenge(found.view.challenge_id):
        return Caller(found.view.actor, view=found.view, organiser=actor)
    return Caller(actor)


def delete_expired_sessions(platform: Platform) -> int:
    """Delete sessions that ended long ago. Return how many."""
    with platform.transaction() as session:
        return delete_expired(session)
