"""Logins by the provider in the database."""

from datetime import timedelta

from sqlalchemy import delete, exists, func, select, update
from sqlalchemy.orm import Session

from app.models import Identity, ProviderLogin, User
from app.openid.schemas import Claims, Known, LinkView, Purpose, Started


def start(session: Session, cookie_hash: bytes, started: Started, lifetime: timedelta) -> None:
    """Note a login that begins, and forget those that nobody has finished."""
    session.execute(delete(ProviderLogin).where(ProviderLogin.expires_at < func.now()))
    row = ProviderLogin(
        cookie_hash=cookie_hash,
        purpose=started.purpose.value,
        state=started.state,
        nonce=started.nonce,
        verifier=started.verifier,
        user_id=started.user_id,
        next_page=started.next_page,
        expires_at=func.now() + lifetime,
    )
    session.add(row)


def take(session: Session, cookie_hash: bytes, state: str) -> Started | None:
    """The login of this cookie and state, which is used up; none for one that is over, used, or of another browser."""
    statement = (
        update(ProviderLogin)
        .where(
            ProviderLogin.cookie_hash == cookie_hash,
            ProviderLogin.state == state,
            ProviderLogin.expires_at > func.now(),
        )
        .values(state=None)
        .returning(ProviderLogin)
    )
    row = session.scalar(statement)
    if row is None:
        return None
    return Started(
        state,
        row.nonce,
        row.verifier,
        Purpose(row.purpose),
        row.created_at,
        row.user_id,
        row.next_page,
    )


def finish(session: Session, cookie_hash: bytes) -> None:
    """Forget a login that has come to its end."""
    session.execute(delete(ProviderLogin).where(ProviderLogin.cookie_hash == cookie_hash))


def keep_claims(session: Session, cookie_hash: bytes, claims: Claims, lifetime: timedelta) -> None:
    """Remember who has come back, until they have made an account."""
    kept = update(ProviderLogin).where(ProviderLogin.cookie_hash == cookie_hash)
    values = {"subject": claims.subject, "email": claims.email, "name": claims.name}
    session.execute(kept.values(**values, expires_at=func.now() + lifetime))


def newcomer(session: Session, cookie_hash: bytes) -> ProviderLogin | None:
    """Who has come back with this cookie and can make an account, locked until the end of the transaction."""
    statement = select(ProviderLogin).where(
        ProviderLogin.cookie_hash == cookie_hash,
        ProviderLogin.subject.is_not(None),
        ProviderLogin.expires_at > func.now(),
    )
    return session.scalar(statement.with_for_update())


def known(session: Session, issuer: str, claims: Claims, started_by: int | None) -> Known:
    """What is known here of somebody who comes back from the provider."""
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
    return Known(owner, is_suspended, started_by, has_account=account, has_link=link)


def add_link(session: Session, user_id: int, issuer: str, subject: str, email: str) -> None:
    """Link a login by the provider to an account."""
    session.add(Identity(user_id=user_id, issuer=issuer, subject=subject, email=email))
    session.flush()


def note_use(session: Session, issuer: str, subject: str) -> None:
    """Note that a login by the provider was used now."""
    used = update(Identity).where(Identity.issuer == issuer, Identity.subject == subject)
    session.execute(used.values(last_used_at=func.now()))


def link_of(session: Session, user_id: int, issuer: str) -> LinkView | None:
    """The login by this provider that is linked to an account."""
    columns = (Identity.email, Identity.linked_at, Identity.last_used_at)
    row = session.execute(
        select(*columns).where(Identity.user_id == user_id, Identity.issuer == issuer)
    ).one_or_none()
    return LinkView(*row) if row else None


def delete_link(session: Session, user_id: int, issuer: str) -> bool:
    """Whether a login by this provider was linked to the account; it is no more."""
    gone = delete(Identity).where(Identity.user_id == user_id, Identity.issuer == issuer)
    return session.scalar(gone.returning(Identity.user_id)) is not None


def person(session: Session, user_id: int) -> User:
    """A person, locked until the end of the transaction."""
    return session.get_one(User, user_id, with_for_update=True)
