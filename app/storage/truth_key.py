"""The key under which hidden annotation is hashed.

A plain hash of hidden annotation settles guesses at its last unknown labels offline, so everything computed from annotation
is computed under this key: 256 random bits in private storage, which only workers and commands can read. The first of them
makes it; the database remembers its name, so that another one is never used without anybody noticing.
"""

import hmac
import secrets
from dataclasses import dataclass, field
from threading import Lock

from sqlalchemy import Engine, exists, func, select
from sqlalchemy.orm import Session

from app import models
from app.core.errors import StorageUnavailableError
from app.storage import Storage

LOCK = 0x4B_4559  # advisory lock of the process that makes the key
MISSING = "the key under which ground truth is hashed is missing in private storage: restore it from the workers' backup"


@dataclass(slots=True)
class TruthKey:
    """The key of an installation, read when it is first needed. Raises StorageUnavailableError where it is missing."""

    engine: Engine
    store: Storage
    _secret: bytes | None = None
    _lock: Lock = field(default_factory=Lock)

    def fingerprint(self) -> hmac.HMAC:
        """A hash object for contents of private storage, in place of `hashlib.sha256()`."""
        return hmac.new(self._derived("fingerprint"), digestmod="sha256")

    def receipt(self, plain: str) -> str:
        """What people see in place of a plain receipt while the annotation is hidden."""
        return hmac.new(self._derived("receipt"), plain.encode(), digestmod="sha256").hexdigest()

    def _derived(self, purpose: str) -> bytes:
        """A key for one purpose, from which the others cannot be computed."""
        with self._lock:
            self._secret = self._secret or self._read()
        return hmac.digest(self._secret, purpose.encode(), "sha256")

    def _read(self) -> bytes:
        name = self._name()
        if not self.store.exists(name):
            raise StorageUnavailableError(MISSING)
        with self.store.open(name) as stream:
            return stream.read()

    def _name(self) -> str:
        """The name of the key, which is made if there is none."""
        with Session(self.engine) as session, session.begin():
            session.execute(select(func.pg_advisory_xact_lock(LOCK)))
            name = session.scalar(select(models.TruthKey.name))
            if name is None:
                if session.scalar(select(exists().where(models.GroundTruth.id.is_not(None)))):
                    raise StorageUnavailableError(MISSING)
                name = self.store.put(secrets.token_bytes(32))
                session.add(models.TruthKey(name=name))
            return name
