"""What a database has to say for a backup of it, and before one takes its place."""

from collections.abc import Iterable, Iterator

from sqlalchemy import Connection, Select, func, inspect, select, text

from app.backups.schemas import StoredKey, Work
from app.models import (
    Artefact,
    Base,
    GroundTruth,
    ImageMode,
    Phase,
    PictureBatch,
    PictureSource,
    Run,
    RunState,
    TruthKey,
    Upload,
    UploadState,
)
from app.storage import content_key

KEYS: tuple[tuple[str, Select[str | None]], ...] = (
    ("descriptions", select(Phase.description_key)),
    ("artefacts", select(Artefact.key)),
    ("keys", select(TruthKey.name)),
    ("truth", select(GroundTruth.key)),
    ("truth", select(Run.statistics_key)),
    ("truth", select(PictureBatch.copy_key)),
)
ALWAYS_THERE = {"alembic_version", "heartbeat"}  # rows of a new installation


def server_version(connection: Connection) -> int:
    """The major version of the server."""
    return int(connection.scalar(text("SHOW server_version_num")) or 0) // 10_000


def export_snapshot(connection: Connection) -> str:
    """Let other connections see what this transaction sees, as long as it lasts; what they have to name."""
    for limit in ("statement_timeout", "idle_in_transaction_session_timeout"):
        connection.execute(text(f"SET LOCAL {limit} = 0"))  # a dump takes its time
    return str(connection.scalar(select(func.pg_export_snapshot())))


def stored_keys(connection: Connection) -> set[StoredKey]:
    """Every content that a row names."""
    return {*_archives(connection), *_others(connection)}


def _archives(connection: Connection) -> Iterator[StoredKey]:
    with_content = (UploadState.RECEIVED, UploadState.CHECKED)
    statement = select(Upload.id, Upload.sha256).where(Upload.state.in_(with_content))
    for upload_id, sha256 in connection.execute(statement):
        if sha256:
            yield StoredKey("archives", content_key(sha256, upload_id))


def _others(connection: Connection) -> Iterator[StoredKey]:
    for store, statement in KEYS:
        for key in connection.scalars(statement.distinct()):
            if key:
                yield StoredKey(store, key)


def linked_folders(connection: Connection) -> tuple[str, ...]:
    """The folders of pictures that are linked and not stored."""
    statement = select(PictureSource.folder).where(PictureSource.mode == ImageMode.LINK)
    return tuple(sorted(set(connection.scalars(statement))))


def lock_empty(connection: Connection) -> str | None:
    """Lock all tables of a database; the name of one that has rows, if there is one."""
    tables = inspect(connection).get_table_names()
    if not tables:
        return None
    connection.execute(text(f"LOCK TABLE {_quoted(connection, tables)} IN ACCESS EXCLUSIVE MODE"))
    for table in sorted(set(tables) - ALWAYS_THERE):
        if connection.scalar(text(f"SELECT EXISTS (SELECT FROM {_quoted(connection, [table])})")):  # noqa: S608 - quoted
            return table
    return None


def drop_tables(connection: Connection) -> None:
    """Drop our tables, where there are any."""
    ours = {*Base.metadata.tables, *ALWAYS_THERE}.intersection(inspect(connection).get_table_names())
    if ours:
        connection.execute(text(f"DROP TABLE {_quoted(connection, sorted(ours))} CASCADE"))


def _quoted(connection: Connection, tables: Iterable[str]) -> str:
    quote = connection.dialect.identifier_preparer.quote_identifier
    return ", ".join(quote(table) for table in tables)


def work(connection: Connection) -> Work:
    """What was not complete when the rows were written."""
    states = select(Run.state, func.count()).where(Run.state.in_((RunState.QUEUED, RunState.RUNNING)))
    runs = dict(connection.execute(states.group_by(Run.state)).tuples().all())
    receiving = select(func.count()).select_from(Upload).where(Upload.state == UploadState.RECEIVING)
    return Work(
        queued=runs.get(RunState.QUEUED, 0),
        running=runs.get(RunState.RUNNING, 0),
        receiving=connection.scalar(receiving) or 0,
    )
