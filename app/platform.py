"""What every package uses: settings, database, storage, notifier, limits."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial

import structlog
from anyio import CapacityLimiter
from sqlalchemy import ColumnElement, Engine, and_, create_engine, exists, or_, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import ProgrammingError, SQLAlchemyError
from sqlalchemy.orm import Session

from app.core.caching import Cache
from app.core.database import limit_response_time
from app.core.errors import StorageUnavailableError
from app.core.notifier import Notifier, celery_of
from app.core.rate_limits import RateLimiter, limiter_of
from app.core.settings import Registration, Settings, SettingsError
from app.core.site import SiteView, load_site
from app.models import (
    Artefact,
    DamagedContent,
    DataFile,
    GroundTruth,
    Intake,
    IntakeSegment,
    MadeFile,
    Phase,
    PictureSource,
    Run,
    Upload,
)
from app.models import TruthKey as TruthKeyRow
from app.storage import Catalogue, Storage, key_store, private_store, public_store
from app.storage.truth_key import TruthKey

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """Time limits of database statements, in seconds."""

    statement: int
    lock: int
    response: int | None  # for a server that does not respond at all; None for the setting `stall_seconds`


BACKGROUND = TimeLimits(statement=60, lock=20, response=None)  # what was scored or sent must be recorded
# short, because a user is waiting, but longer than the 10 s after which a frozen process loses its locks
INTERACTIVE = TimeLimits(statement=15, lock=12, response=18)

SITE_FRESH = (
    30.0  # seconds for which the settings of the site are cached in a process that did not change them
)

PREPARING = "preparing"  # the file in the data folder that says how far the sample is

CONNECTION = {
    "connect_timeout": 3,
    # a dead peer is detected after about half a minute
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}


def _session_options(limits: TimeLimits) -> str:
    milliseconds = {
        "statement_timeout": limits.statement * 1000,
        "lock_timeout": limits.lock * 1000,
        # a process that freezes inside a transaction loses its locks before others time out
        "idle_in_transaction_session_timeout": 10_000,
    }
    return " ".join(["-c timezone=UTC", *(f"-c {name}={value}" for name, value in milliseconds.items())])


# whether what is answered here, such as a HEAD, must not change anything
rolls_back: ContextVar[bool] = ContextVar("rolls_back", default=False)


@dataclass(frozen=True, slots=True)
class Platform:
    """The resources of a process. The web process has no `private` and no `truth_key`, so it cannot reach ground truth."""

    settings: Settings
    engine: Engine
    archives: Storage  # what participants send
    descriptions: Storage  # what participants may know of a phase
    artefacts: Storage  # what workers make for pages to show
    files: Storage  # what organisers offer for download
    intake: Storage  # encrypted segments of data sets, which only workers can open
    private: Storage | None
    truth_key: TruthKey | None
    notifier: Notifier
    limiter: RateLimiter
    checks: CapacityLimiter  # limits concurrent checks of archives
    cache: Cache = field(default_factory=Cache)  # of rendered boards
    last_site: list[SiteView] = field(default_factory=lambda: [SiteView()])  # one: as it was read last
    autocommit: Engine = field(init=False)  # the same connections, without transactions

    def __post_init__(self) -> None:
        """Derive `autocommit` from the engine."""
        object.__setattr__(self, "autocommit", self.engine.execution_options(isolation_level="AUTOCOMMIT"))

    @property
    def preparing(self) -> str:
        """How far the sample is on a server that has started for the first time; empty otherwise."""
        try:
            return (self.settings.data / PREPARING).read_text(encoding="utf-8")
        except OSError:
            return ""

    def current_settings(self) -> Settings:
        """Return the settings with what admins chose in the browser, where the environment fixes nothing."""
        chosen = self.site().registration
        if not chosen or "registration" in self.settings.model_fields_set:
            return self.settings
        return self.settings.model_copy(update={"registration": Registration(chosen)})

    @contextmanager
    def transaction(self) -> Iterator[Session]:
        """Open a session that commits at the end of the block, or rolls back if it raises or if a HEAD is answered."""
        with Session(self.engine, expire_on_commit=False) as session, session.begin():
            yield session
            if rolls_back.get():
                session.flush()
                session.expunge_all()  # what was loaded is still read after the end of the block
                session.rollback()

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """Open a session in autocommit mode, which saves the round trips of BEGIN and COMMIT; also for single writes."""
        with Session(self.autocommit, autoflush=False) as session:
            yield session

    @contextmanager
    def snapshot(self) -> Iterator[Session]:
        """Open a session for pages with several queries: all see the database as of the first query."""
        with self.transaction() as session:
            session.connection(execution_options={"isolation_level": "REPEATABLE READ"})
            yield session

    def site(self) -> SiteView:
        """Return the settings of the site, read at most twice a minute; while the database is unavailable, as read last."""

        def read() -> SiteView:
            try:
                with self.reading() as session:
                    self.last_site[0] = load_site(session)
            except SQLAlchemyError:
                log.warning("settings of the site not read")
            return self.last_site[0]

        return self.cache.version(("site",), read, SITE_FRESH)

    @property
    def stores_by_name(self) -> dict[str, Storage]:
        """All stores of this process, by name."""
        public = {
            "archives": self.archives,
            "descriptions": self.descriptions,
            "artefacts": self.artefacts,
            "files": self.files,
            "intake": self.intake,
        }
        keys = {"keys": self.truth_key.store} if self.truth_key else {}
        return public | keys | ({"truth": self.private} if self.private else {})

    @property
    def stores(self) -> tuple[Storage, ...]:
        """All stores of this process."""
        return tuple(self.stores_by_name.values())

    @property
    def truths(self) -> Storage:
        """The store of ground truth and per-image statistics, for workers and commands.

        Raises SettingsError in the web process.
        """
        if self.private is None:
            raise SettingsError(NO_PRIVATE_STORAGE)
        return self.private

    @property
    def secret(self) -> TruthKey:
        """The key with which hidden annotation is hashed, for workers and commands.

        Raises SettingsError in the web process.
        """
        if self.truth_key is None:
            raise SettingsError(NO_PRIVATE_STORAGE)
        return self.truth_key


NO_PRIVATE_STORAGE = (
    "HELDOUT_PRIVATE_STORAGE or HELDOUT_S3_PRIVATE_BUCKET: expected the place of ground truth"
)
STORED_ARCHIVE = and_(Upload.sha256.is_not(None), Upload.removed_at.is_(None))
STORED_FILE = or_(
    exists().where(DataFile.key.is_not(None)),
    exists().where(PictureSource.archive_key.is_not(None)),
    exists().where(MadeFile.key.is_not(None)),
)


def _row_exists(engine: Engine, row: ColumnElement[bool]) -> bool:
    """Whether a row matches; called only if the folder of a store is empty or missing.

    Raises StorageUnavailableError while the database is unavailable.
    """
    try:
        with Session(engine) as session:
            return bool(session.scalar(select(exists().where(row))))
    except ProgrammingError:  # no schema yet, so nothing was stored
        return False
    except SQLAlchemyError as error:
        raise StorageUnavailableError("cannot ask the database whether contents were stored") from error


def _record_damage(engine: Engine, store: str, key: str) -> None:
    """Record damaged content, for admins to see and for sweeps to check again."""
    log.error("stored content damaged", store=store, key=key)
    try:
        with Session(engine) as session, session.begin():
            values = {"store": store, "key": key, "what": _description_of(session, store, key)}
            session.execute(insert(DamagedContent).values(values).on_conflict_do_nothing())
    except SQLAlchemyError:
        log.warning("damaged content not recorded", store=store, key=key)  # the next reader records it


def _description_of(session: Session, store: str, key: str) -> str:
    if store == "intake" and session.scalar(select(exists().where(Intake.kept_key == key))):
        return "what was read of a data set"
    if store != "truth":
        names = {
            "archives": "stored archive",
            "descriptions": "public description",
            "files": "file of a data set",
            "intake": "segment of a data set",
            "keys": "key of ground truth",
        }
        return names.get(store, "artefact")
    if session.scalar(select(exists().where(GroundTruth.key == key))):
        return "ground truth"
    if session.scalar(select(exists().where(GroundTruth.image_labels_key == key))):
        return "fingerprints of images"
    is_matches = session.scalar(select(exists().where(Run.statistics_key == key)))
    return "matches" if is_matches else "copied images"


def _catalogue(engine: Engine, store: str, row: ColumnElement[bool]) -> Catalogue:
    """The catalogue of a store; row: a condition that matches a row as soon as anything is stored."""
    return Catalogue(
        has_contents=partial(_row_exists, engine, row), note_damage=partial(_record_damage, engine, store)
    )


def platform_of(settings: Settings, limits: TimeLimits = BACKGROUND) -> Platform:
    """Create the platform that the settings describe.

    Raises ValueError if no database or no broker is set.
    """
    if settings.database_url is None or settings.broker_url is None:
        message = "HELDOUT_DATABASE_URL and HELDOUT_BROKER_URL are not set; `make run` starts its own servers"
        raise ValueError(message)
    engine = create_engine(
        settings.database_url,
        pool_pre_ping=True,
        hide_parameters=True,  # values do not belong in logs
        pool_size=10,
        max_overflow=20,
        pool_timeout=5,  # seconds until a page says that the database is unavailable
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
        archives=public_store(settings, "archives", _catalogue(engine, "archives", STORED_ARCHIVE)),
        descriptions=public_store(
            settings, "descriptions", _catalogue(engine, "descriptions", Phase.id.is_not(None))
        ),
        artefacts=public_store(
            settings, "artefacts", _catalogue(engine, "artefacts", Artefact.id.is_not(None))
        ),
        files=public_store(settings, "files", _catalogue(engine, "files", STORED_FILE)),
        intake=public_store(settings, "intake", _catalogue(engine, "intake", IntakeSegment.key.is_not(None))),
        private=private_store(settings, truths) if truths else None,
        truth_key=truth_key,
        notifier=Notifier(celery_of(settings)),
        limiter=limiter_of(settings, settings.broker_url),
        checks=CapacityLimiter(settings.checks),
    )
