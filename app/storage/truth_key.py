"""The secret key with which hidden annotation is hashed.

With a plain hash of hidden annotation, guesses at its last unknown labels could be checked offline. So everything derived
from annotation is keyed: with 256 random bits in private storage, which only workers and commands can read. The first
process that needs the key creates it. The database has its name, so that a different key is never used unnoticed.
"""

import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock

from sqlalchemy import Engine, exists, func, select
from sqlalchemy.orm import Session

from app import models
from app.core.errors import StorageUnavailableError
from app.storage import Storage

IMAGE = 16  # bytes of the fingerprint of an image
LOCK = 0x4B_4559  # advisory lock of the process that creates the key
MISSING = "the key with which ground truth is hashed is missing from private storage: restore it from the workers' backup"


@dataclass(slots=True)
class TruthKey:
    """The key of an installation, read on first use. Raises StorageUnavailableError if it is missing."""

    engine: Engine
    store: Storage
    _secret: bytes | None = None
    _lock: Lock = field(default_factory=Lock)

    def fingerprint(self) -> hmac.HMAC:
        """Return a hash object for contents of private storage, to replace `hashlib.sha256()`."""
        return hmac.new(self._derived("fingerprint"), digestmod="sha256")

    def labels(self, digests: Sequence[str]) -> str:
        """Return the fingerprint of the annotation of a set, from the digests of its images."""
        return hmac.new(self._derived("labels"), "\n".join(digests).encode(), digestmod="sha256").hexdigest()

    def image_labels(self, digests: Sequence[str]) -> list[bytes]:
        """Return the fingerprint of the annotation of each image from its digest."""
        key = self._derived("labels of an image")
        return [hmac.digest(key, each.encode(), "sha256")[:IMAGE] for each in digests]

    def receipt(self, plain: str) -> str:
        """Return the receipt that people see instead of the plain one while the annotation is hidden."""
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
        """The name of the key, which is created if there is none."""
        with Session(self.engine) as session, session.begin():
            session.execute(select(func.pg_advisory_xact_lock(LOCK)))
            name = session.scalar(select(models.TruthKey.name))
            if name is None:
                if session.scalar(select(exists().where(models.GroundTruth.id.is_not(None)))):
                    raise StorageUnavailableError(MISSING)
                name = self.store.put(secrets.token_bytes(32))
                session.add(models.TruthKey(name=name))
            return name
