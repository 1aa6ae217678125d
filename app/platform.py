"""What every room stands on: database, storage, notifier, settings."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

import structlog
from anyio import CapacityLimiter
from sqlalchemy import ColumnElement, Engine, and_, create_engine, exists, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import ProgrammingError, SQLAlchemyError
from sqlalchemy.orm import Session

from app.core.caching import Cache
from app.core.database import limit_response_time
from app.core.errors import StorageUnavailableError
from app.core.notifier import Notifier, celery_of
from app.core.rate_limits import RateLimiter, limiter_of
from app.core.settings import Settings, SettingsError
from app.models import Artefact, DamagedContent, GroundTruth, Phase, Run, Upload
from app.models import TruthKey as TruthKeyRow
from app.storage import Catalogue, Storage, key_store, private_store, public_store
from app.storage.truth_key import TruthKey

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """How long the database may take, in seconds, before a statement fails."""

    statement: int
    lock: int
    response: (
        int | None
    )  # for a server that sends nothing at all; the setting `stall_seconds` where it is None


BACKGROUND = TimeLimits(statement=60, lock=20, response=None)  # what was scored or sent must be noted
# somebody is looking at an empty page; still, a process that stands still with a lock loses it first (after 10 s)
INTERACTIVE = TimeLimits(statement=15, lock=12, response=18)

CONNECTION = {
    "connect_timeout": 3,
    # a peer that is gone is noticed after about half a minute
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}


def _session_options(limits: TimeLimits) -> str:
    milliseconds = {
        "statement_timeout": limits.statement * 1000,
        "lock_timeout": limits.lock * 1000,
        # a process that stands still inside a transaction loses its locks before anybody has waited too long for them
        "idle_in_transaction_session_timeout": 10_000,
    }
    return " ".join(["-c timezone=UTC", *(f"-c {name}={value}" for name, value in milliseconds.items())])


@dataclass(frozen=True, slots=True)
class Platform:
    """Handed to every service. The web process has no `private` and no `truth_key`: it has no path to ground truth."""

    settings: Settings
    engine: Engine
    archives: Storage  # what participants send
    descriptions: Storage  # what participants may know of a phase
    artefacts: Storage  # what workers make for pages to show
    private: Storage | None
    truth_key: TruthKey | None
    notifier: Notifier
    limiter: RateLimiter
    checks: CapacityLimiter  # how many archives are checked at the same time
    cache: Cache = field(default_factory=Cache)  # of rendered boards
    autocommit: Engine = field(init=False)  # the same connections, without transactions

    def __post_init__(self) -> None:
        """Look at the engine in the other way, too."""
        object.__setattr__(self, "autocommit", self.engine.execution_options(isolation_level="AUTOCOMMIT"))

    @contextmanager
    def transaction(self) -> Iterator[Session]:
        """A session that commits at the end of the block, or leaves no trace when it raises."""
        with Session(self.engine, expire_on_commit=False) as session, session.begin():
            yield session

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A session whose statements stand by themselves, also one that writes: a round trip each, none to begin and to commit."""
        with Session(self.autocommit, autoflush=False) as session:
            yield session

    @contextmanager
    def snapshot(self) -> Iterator[Session]:
        """A session for pages of several queries: all of them see the database as it was at the first."""
        with self.transaction() as session:
            session.connection(execution_options={"isolation_level": "REPEATABLE READ"})
            yield session

    @property
    def stores_by_name(self) -> dict[str, Storage]:
        """Every store that this process knows."""
        public = {"archives": self.archives, "descriptions": self.descriptions, "artefacts": self.artefacts}
        keys = {"keys": self.truth_key.store} if self.truth_key else {}
        return public | keys | ({"truth": self.private} if self.private else {})

    @property
    def stores(self) -> tuple[Storage, ...]:
        """The same without their names."""
        return tuple(self.stores_by_name.values())

    @property
    def truths(self) -> Storage:
        """Ground truth and per-image statistics, for workers and commands.

        Raises SettingsError in the web process.
        """
        if self.private is None:
            raise SettingsError(NO_PRIVATE_STORAGE)
        return self.private

    @property
    def secret(self) -> TruthKey:
        """The key under which hidden annotation is hashed, for workers and commands.

        Raises SettingsError in the web process.
        """
        if self.truth_key is None:
            raise SettingsError(NO_PRIVATE_STORAGE)
        return self.truth_key


NO_PRIVATE_STORAGE = (
    "HELDOUT_PRIVATE_STORAGE or HELDOUT_S3_PRIVATE_BUCKET: expected the place of ground truth"
)
ARCHIVE = and_(Upload.sha256.is_not(None), Upload.removed_at.is_(None))  # one that is stored


def _is_there(engine: Engine, row: ColumnElement[bool]) -> bool:
    """Whether there is such a row; asked only where the folder of a store is empty or missing.

    Raises StorageUnavailableError while the database is away.
    """
    try:
        with Session(engine) as session:
            return bool(session.scalar(select(exists().where(row))))
    except ProgrammingError:  # no schema yet, so nothing was stored
        return False
    except SQLAlchemyError as error:
        raise StorageUnavailableError("the database does not say whether contents were stored") from error


def _note_damage(engine: Engine, store: str, key: str) -> None:
    """Keep a damaged content in mind, for admins to see and for a sweep to look at again."""
    log.error("stored content damaged", store=store, key=key)
    try:
        with Session(engine) as session, session.begin():
            values = {"store": store, "key": key, "what": _what_is(session, store, key)}
            session.execute(insert(DamagedContent).values(values).on_conflict_do_nothing())
    except SQLAlchemyError:
        log.warning("damaged content not noted", store=store, key=key)  # whoever reads it next notes it


def _what_is(session: Session, store: str, key: str) -> str:
    """What a content is, in words."""
    if store != "truth":
        names = {
            "archives": "stored archive",
            "descriptions": "public description",
            "keys": "key of ground truth",
        }
        return names.get(store, "artefact")
    if session.scalar(select(exists().where(GroundTruth.key == key))):
        return "ground truth"
    is_matches = session.scalar(select(exists().where(Run.statistics_key == key)))
    return "matches" if is_matches else "copied pictures"


def _catalogue(engine: Engine, store: str, row: ColumnElement[bool]) -> Catalogue:
    """What the database knows of a store; row: one that it has as soon as something was stored."""
    return Catalogue(
        has_contents=partial(_is_there, engine, row), note_damage=partial(_note_damage, engine, store)
    )


def platform_of(settings: Settings, limits: TimeLimits = BACKGROUND) -> Platform:
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
        pool_timeout=5,  # seconds until a page says that the database is busy
        connect_args={**CONNECTION, "options": _session_options(limits)},
    )
    keys = key_store(settings, _catalogue(engine, "keys", TruthKeyRow.name.is_not(None)))
    truth_key = TruthKey(engine, keys) if keys else None
    truths = truth_key and replace(
        _catalogue(engine, "truth", GroundTruth.id.is_not(None)), new_digest=truth_key.fingerprint
    )
    limit_response_time(engine, limits.response or settings.stall_seconds)
    return Platform(
        settings=settings,
        engine=engine,
        archives=public_store(settings, "archives", _catalogue(engine, "archives", ARCHIVE)),
        descriptions=public_store(
            settings, "descriptions", _catalogue(engine, "descriptions", Phase.id.is_not(None))
        ),
        artefacts=public_store(
            settings, "artefacts", _catalogue(engine, "artefacts", Artefact.id.is_not(None))
        ),
        private=private_store(settings, truths) if truths else None,
        truth_key=truth_key,
        notifier=Notifier(celery_of(settings)),
        limiter=limiter_of(settings, settings.broker_url),
        checks=CapacityLimiter(settings.checks),
    )
