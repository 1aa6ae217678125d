"""What every room stands on: database, storage, doorbell, settings."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from anyio import CapacityLimiter
from sqlalchemy import Engine, create_engine
from sqlalchemy.orm import Session

from app.queue import Doorbell, celery_of
from app.settings import Settings
from app.storage import Storage


@dataclass(frozen=True, slots=True)
class Platform:
    """Handed to every service. `private` is missing in the web process: it has no path to ground truth."""

    settings: Settings
    engine: Engine
    archives: Storage
    private: Storage | None
    doorbell: Doorbell
    checks: CapacityLimiter  # how many archives are checked at the same time

    @contextmanager
    def transaction(self) -> Iterator[Session]:
        """A session that commits at the end of the block, or leaves no trace when it raises."""
        with Session(self.engine, expire_on_commit=False) as session, session.begin():
            yield session

    @contextmanager
    def snapshot(self) -> Iterator[Session]:
        """A session for pages of several queries: all of them see the database as it was at the first."""
        with self.transaction() as session:
            session.connection(execution_options={"isolation_level": "REPEATABLE READ"})
            yield session

    @property
    def truths(self) -> Storage:
        """The private storage, for workers and commands.

        Raises RuntimeError in the web process.
        """
        if self.private is None:
            message = "this process has no path to ground truth: HELDOUT_PRIVATE_STORAGE is not set"
            raise RuntimeError(message)
        return self.private


def platform_of(settings: Settings) -> Platform:
    """The platform that the settings describe.

    Raises ValueError without a database or a broker.
    """
    if settings.database_url is None or settings.broker_url is None:
        message = (
            "HELDOUT_DATABASE_URL and HELDOUT_BROKER_URL are not set; `make run` starts servers of its own"
        )
        raise ValueError(message)
    engine = create_engine(
        settings.database_url,
        pool_pre_ping=True,
        hide_parameters=True,  # values do not belong into logs
        pool_size=10,
        max_overflow=20,
        connect_args={"connect_timeout": 5, "options": "-c timezone=UTC -c statement_timeout=60000"},
    )
    return Platform(
        settings=settings,
        engine=engine,
        archives=Storage(settings.archives),
        private=Storage(settings.private_storage) if settings.private_storage else None,
        doorbell=Doorbell(celery_of(settings)),
        checks=CapacityLimiter(settings.checks),
    )
