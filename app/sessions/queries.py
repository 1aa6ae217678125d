"""Sessions in the database, and the people they belong to."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Interval,
    and_,
    bindparam,
    delete,
    exists,
    func,
    or_,
    select,
    text,
    update,
)
from sqlalchemy.orm import Session

from app.access import Actor, Scope
from app.login_settings import LoginSettings
from app.models import ApiToken, EditionOrganiser, Identity, LoginSession, Member, SecondFactor, User
from app.sessions.rules import KEEP_ENDED
from app.sessions.schemas import OpenSession, SessionView
from app.tokens import queries as tokens

MINUTE = timedelta(minutes=1)


def user_of_email(session: Session, email: str) -> User | None:
    """The person who has confirmed this e-mail address, which is case folded."""
    return session.scalar(select(User).where(User.email == email, User.verified_at.is_not(None)))


def is_person() -> ColumnElement[bool]:
    """Whether somebody has a password or a login by a provider, for statements about User; others are programs."""
    return or_(User.password_hash.is_not(None), _has_link())


def can_log_in(settings: LoginSettings) -> ColumnElement[bool]:
    """Whether a person has a password or a login that these settings take, for statements about User."""
    has_link = _has_link(Identity.issuer.in_([each.issuer for each in settings.login_providers]))
    return or_(User.password_hash.is_not(None), has_link) if settings.passwords else has_link


def _has_link(*conditions: ColumnElement[bool]) -> ColumnElement[bool]:
    return exists().where(Identity.user_id == User.id, *conditions).correlate(User)


def open_session(session: Session, token_hash: bytes, lifetimes: LoginSettings) -> OpenSession | None:
    """The session of this cookie, if it is not over, with its person; notes once a minute that somebody uses it."""
    times = {"recent": lifetimes.recent_login, "idle": lifetimes.session_idle}
    found = session.execute(OF_COOKIE, {"token_hash": token_hash, **times}).one_or_none()
    if found is None:
        return None
    is_recent, is_unseen, awaits_code, *person = found
    if is_unseen:
        is_this = LoginSession.token_hash == token_hash
        session.execute(update(LoginSession).where(is_this).values(last_seen_at=func.now()))
    return OpenSession(_actor(person, is_recent=is_recent), awaits_code)


def owner_of_token(session: Session, token_hash: bytes) -> Actor | None:
    """For whom a token acts that is neither revoked nor expired; notes, once a minute, that it was used."""
    found = session.execute(OF_TOKEN, {"token_hash": token_hash}).one_or_none()
    if found is None:
        return None
    scopes, is_due, *person = found
    if is_due:
        tokens.note_use(session, token_hash)
    return _actor(person, scopes=frozenset(map(Scope, scopes)))


def _actor(
    person: Sequence[Any], *, scopes: frozenset[Scope] | None = None, is_recent: bool = False
) -> Actor | None:
    """A person with what decides about permissions, from the columns of `_PERSON`; none who is suspended."""
    user_id, teams, name, email, role, is_verified, organised, has_password, has_second_factor = person
    if user_id is None:
        return None
    return Actor(
        user_id=user_id,
        teams=frozenset(teams),
        name=name,
        email=email,
        role=role,
        is_verified=is_verified,
        organises=frozenset(organised),
        scopes=scopes,
        has_password=has_password,
        has_second_factor=has_second_factor,
        is_recent=is_recent,
    )


def _is_live(idle: timedelta | BindParameter[timedelta]) -> tuple[ColumnElement[bool], ...]:
    return (LoginSession.expires_at > func.now(), LoginSession.last_seen_at > func.now() - idle)


def sessions_of(
    session: Session, user_id: int, this: bytes, lifetimes: LoginSettings
) -> tuple[SessionView, ...]:
    """A person's sessions that are not over, the last used first; `this` is the hash of the present one."""
    columns = (
        LoginSession.token_hash,
        LoginSession.browser,
        LoginSession.created_at,
        LoginSession.last_seen_at,
        LoginSession.token_hash == this,
    )
    is_theirs = (LoginSession.user_id == user_id, ~LoginSession.awaits_code)
    statement = select(*columns).where(*is_theirs, *_is_live(lifetimes.session_idle))
    rows = session.execute(statement.order_by(LoginSession.last_seen_at.desc(), LoginSession.token_hash))
    return tuple(SessionView(row[0].hex(), *row[1:]) for row in rows)


def browsers_of(session: Session, user_id: int) -> frozenset[str]:
    """The names of the browsers of a person's logins, as long as they are known; not of one that waits for a code."""
    of_person = (LoginSession.user_id == user_id, ~LoginSession.awaits_code)
    return frozenset(session.scalars(select(LoginSession.browser).where(*of_person).distinct()))


def _teams() -> ColumnElement[list[int]]:
    """The teams of a person in all editions, for statements about User."""
    statement = select(func.coalesce(func.array_agg(Member.team_id), text("'{}'::bigint[]")))
    return statement.where(Member.user_id == User.id).correlate(User).scalar_subquery()


def _organised() -> ColumnElement[list[int]]:
    """The editions that a person runs, for statements about User."""
    statement = select(func.coalesce(func.array_agg(EditionOrganiser.edition_id), text("'{}'::bigint[]")))
    return statement.where(EditionOrganiser.user_id == User.id).correlate(User).scalar_subquery()


def _has_second_factor() -> ColumnElement[bool]:
    """Whether logins of a person ask for a code, for statements about User."""
    in_use = (SecondFactor.user_id == User.id, SecondFactor.confirmed_at.is_not(None))
    return exists().where(*in_use).correlate(User)


_PERSON: Final = (
    User.id,
    _teams(),
    User.name,
    User.email,
    User.role,
    User.verified_at.is_not(None),
    _organised(),
    User.password_hash.is_not(None),
    _has_second_factor(),
)
# every request of somebody asks one of these two, so they are made once: making a statement costs more than asking it
OF_COOKIE: Final = (
    select(
        LoginSession.authenticated_at > func.now() - bindparam("recent", type_=Interval),
        LoginSession.last_seen_at < func.now() - MINUTE,
        LoginSession.awaits_code,
        *_PERSON,
    )
    .outerjoin(User, and_(User.id == LoginSession.user_id, User.suspended_at.is_(None)))
    .where(LoginSession.token_hash == bindparam("token_hash"), *_is_live(bindparam("idle", type_=Interval)))
)
OF_TOKEN: Final = (
    select(ApiToken.scopes, tokens.is_due(), *_PERSON)
    .join(User, and_(User.id == ApiToken.user_id, User.suspended_at.is_(None)))
    .where(ApiToken.token_hash == bindparam("token_hash"), *tokens.is_live())
)


def has_second_factor(session: Session, user_id: int) -> bool:
    """Whether logins of this person ask for a code."""
    return bool(session.scalar(select(_has_second_factor()).select_from(User).where(User.id == user_id)))


def waiting_for_code(session: Session, token_hash: bytes) -> int | None:
    """Whose login has the password and not the code yet."""
    is_waiting = (
        LoginSession.token_hash == token_hash,
        LoginSession.awaits_code,
        LoginSession.expires_at > func.now(),
    )
    return session.scalar(select(LoginSession.user_id).where(*is_waiting))


def finish_login(session: Session, token_hash: bytes, new_hash: bytes, lifetime: timedelta) -> None:
    """Let a session that waited for a code open what it opens, under another token."""
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


def delete_expired_sessions(session: Session) -> int:
    """Delete logins that have been over for long; how many."""
    expired = delete(LoginSession).where(LoginSession.expires_at < func.now() - KEEP_ENDED)
    return len(session.scalars(expired.returning(LoginSession.user_id)).all())


def end_session(session: Session, token_hash: bytes, user_id: int | None = None) -> None:
    """End a login, if it is one of this person; the row says for a while whose browser this is."""
    ended = update(LoginSession).where(
        LoginSession.token_hash == token_hash, LoginSession.expires_at > func.now()
    )
    if user_id is not None:
        ended = ended.where(LoginSession.user_id == user_id)
    session.execute(ended.values(expires_at=func.now()))


def renew_session(session: Session, token_hash: bytes, new_hash: bytes) -> bool:
    """Give a session that is not over another token and the present time of login; whether there is such a session."""
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
    """End all logins of a person but the one with this hash; how many."""
    live = [LoginSession.user_id == user_id, LoginSession.expires_at > func.now()]
    if keep is not None:
        live.append(LoginSession.token_hash != keep)
    ended = update(LoginSession).where(*live).values(expires_at=func.now())
    return len(session.scalars(ended.returning(LoginSession.user_id)).all())


def owner_of_session(session: Session, token_hash: bytes) -> int | None:
    """Whose login this is or was; none for one that is long over."""
    return session.scalar(select(LoginSession.user_id).where(LoginSession.token_hash == token_hash))
