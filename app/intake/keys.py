"""The key pairs with which data sets are encrypted on arrival: public keys in the database, secret ones with the workers.

The first worker creates a pair. Another one can be added; the newest is used, and an old one is deleted once nothing is
encrypted for it. Without its secret key, a data set has to be sent again.
"""

from contextlib import suppress
from datetime import timedelta
from typing import Final

import structlog
from pyrage import IdentityError, x25519
from sqlalchemy import delete, exists, func, or_, select
from sqlalchemy.orm import Session

from app.core import database
from app.core.errors import NoWorkerError
from app.jobs import events, heartbeats
from app.models import EventKind, IntakeKey, IntakeSegment, LabelEdit, NameSecret
from app.platform import Platform
from app.storage import Storage

log = structlog.get_logger()

LOCK: Final = 0x494E_5441_4B45  # advisory lock of the process that adds a key
GRACE: Final = timedelta(days=1)  # after a rotation, for requests that still encrypt for the key before
ALARM: Final = timedelta(days=1)  # between two messages to admins


class KeyLostError(Exception):
    """Workers do not have the secret key of a data set."""


def newest(session: Session) -> IntakeKey:
    """Return the key that data sets are encrypted for. Raises NoWorkerError before the first worker has started."""
    key = _newest(session)
    if key is None:
        raise NoWorkerError(
            "No worker has started yet, so nobody could open the data set; try again in a minute"
        )
    return key


def _newest(session: Session) -> IntakeKey | None:
    return session.scalar(select(IntakeKey).order_by(IntakeKey.id.desc()).limit(1))


def identity(store: Storage, key: IntakeKey) -> x25519.Identity:
    """Return the secret key of a pair. Raises KeyLostError if it is missing, or is that of another public key."""
    if store.exists(key.name):
        with store.open(key.name) as stream:
            text = stream.read().decode("ascii", "replace")
        try:
            found = x25519.Identity.from_str(text)
        except IdentityError:
            raise KeyLostError from None
        if str(found.to_public()) == key.public_key:
            return found
    raise KeyLostError


def identities(platform: Platform) -> list[x25519.Identity]:
    """Return all secret keys that workers have."""
    with platform.transaction() as session:
        known = session.scalars(select(IntakeKey)).all()
    found = []
    for key in known:
        with suppress(KeyLostError):
            found.append(identity(platform.secret.store, key))
    return found


def check(platform: Platform) -> bool:
    """Create the first key if there is none; return whether workers have the newest. Raises an alarm if not.

    Whoever can write to the database could exchange the public key for their own.
    """
    with platform.transaction() as session:
        session.execute(select(func.pg_advisory_xact_lock(LOCK)))
        key = _newest(session) or _add(session, platform)
    if _is_ours(platform.secret.store, key):
        return True
    log.error("data sets are encrypted for a key that workers do not have", key=key.id)
    with platform.transaction() as session:
        if heartbeats.start_if_due(session, "alarm of the key of data sets", ALARM):
            events.record(session, EventKind.INTAKE_KEY)
    return False


def _is_ours(store: Storage, key: IntakeKey) -> bool:
    try:
        identity(store, key)
    except KeyLostError:
        return False
    return True


def rotate(platform: Platform) -> str:
    """Add a key, which is used from now on, and return its public key."""
    with platform.transaction() as session:
        session.execute(select(func.pg_advisory_xact_lock(LOCK)))
        return _add(session, platform).public_key


def _add(session: Session, platform: Platform) -> IntakeKey:
    made = x25519.Identity.generate()
    name = platform.secret.store.put(str(made).encode())
    key = IntakeKey(name=name, public_key=str(made.to_public()))
    session.add(key)
    session.flush()
    log.info("key of data sets added", key=key.id)
    return key


def delete_unused(platform: Platform) -> None:
    """Delete keys that were replaced and that nothing is encrypted for; does nothing without private storage.

    What was read of a data set does not count: without its key, the data set is read again.
    """
    if platform.truth_key is None:
        return
    used = or_(
        *(
            exists().where(each == IntakeKey.id).correlate(IntakeKey)
            for each in (IntakeSegment.key_id, NameSecret.key_id, LabelEdit.key_id)
        )
    )
    latest = select(func.max(IntakeKey.id)).where(IntakeKey.created_at < func.now() - GRACE).scalar_subquery()
    with platform.transaction() as session:
        if not database.removals_allowed(session):
            return
        statement = delete(IntakeKey).where(IntakeKey.id < latest, ~used).returning(IntakeKey.name)
        names = session.scalars(statement).all()
    for name in names:
        platform.secret.store.delete(name)


def exists_any(session: Session) -> bool:
    """Whether a worker has created a key."""
    return _newest(session) is not None
