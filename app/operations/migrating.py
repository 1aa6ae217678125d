"""Bringing a database to the schema of this version, and the application's role to its rights."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from psycopg.errors import LockNotAvailable
from sqlalchemy import Connection, NullPool, create_engine, make_url, text
from sqlalchemy.exc import OperationalError, ProgrammingError

from app.core.settings import ROOT, Settings, variable
from app.models import AuditRecord, Base, MethodChange, Publication

LOCK = 0x4845_4C44  # any number of our own: two processes that start at once migrate one after the other
LOCK_PAUSE = 0.2  # seconds between two questions for it
APPEND_ONLY = (AuditRecord.__tablename__, MethodChange.__tablename__, Publication.__tablename__)
LOCK_TIMEOUT = (
    "-c lock_timeout=2s"  # whoever waits for a table longer than that holds all others up behind it
)
ATTEMPTS, PAUSE = 12, 3.0  # to get the locks of a migration, and seconds between two of them: a minute in all

START_AFRESH = (
    "this version cannot run on it: use the version that wrote it, or start afresh with an empty database"
    " (with `make run`: move the data folder heldout-data away, or name another one by HELDOUT_DATA)"
)
COLUMNS_THERE = text(
    "SELECT c.relname, a.attname FROM pg_attribute a JOIN pg_class c ON a.attrelid = c.oid"
    " WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped"
)


class MigrationError(Exception):
    """The database cannot be brought to this schema; says why and what can be done."""


def migrate(settings: Settings) -> None:
    """Apply all migrations that are missing, as the owner of the tables, and grant the application its rights.

    Each is a transaction of its own. One that does not get its locks in time lets the others through and is tried
    again. Raises MigrationError.
    """
    with _migration_errors(), _owners_connection(settings) as connection:
        _wait_for_turn(connection)
        for _ in range(ATTEMPTS):
            try:
                return _bring_up(connection, settings)
            except OperationalError as error:
                if not isinstance(error.orig, LockNotAvailable):
                    raise
            connection.rollback()
            time.sleep(PAUSE)
    raise MigrationError(
        f"another transaction kept a table for itself in {ATTEMPTS} attempts; nothing is half done: end it "
        "(pg_stat_activity shows which), or run `heldout-server migrate` again later"
    )


def _bring_up(connection: Connection, settings: Settings) -> None:
    if _current(connection) == _scripts().get_current_head() and (problem := _missing_column(connection)):
        raise MigrationError(problem)
    connection.commit()
    command.upgrade(_config(connection), "head")
    if settings.database_url is not None:
        _grant_rights(connection, str(make_url(settings.database_url).username))
    connection.commit()


def write_migration(settings: Settings, what: str) -> None:
    """Write what the models have and the database has not as a new migration, to be read and edited."""
    with _migration_errors(), _owners_connection(settings) as connection:
        command.revision(_config(connection), what, autogenerate=True)


def require_schema(settings: Settings) -> None:
    """Refuse a database that answers and has a schema on which this version cannot run; raises MigrationError.

    One that does not answer is waited for by whoever needs it.
    """
    engine = create_engine(
        str(settings.database_url),
        poolclass=NullPool,
        connect_args={"connect_timeout": 5},
        hide_parameters=True,
    )
    try:
        with engine.connect() as connection:
            problem = schema_problem(connection)
    except OperationalError:
        return
    if problem:
        raise MigrationError(problem)


def schema_problem(connection: Connection) -> str | None:
    """Why this version cannot run on the schema of a database; None if it can.

    It can on its own, and on that of a later version as long as that has every column that this one knows.
    """
    found = _current(connection)
    if found is None:
        return "the database has no schema; run `heldout-server migrate`"
    earlier = [script.revision for script in _scripts().walk_revisions()][1:]
    if found in earlier:
        return "the database has the schema of an older version; run `heldout-server migrate`"
    return _missing_column(connection)


def _current(connection: Connection) -> str | None:
    """The migration that made the schema of a database; none where there is no schema."""
    return MigrationContext.configure(connection).get_current_revision()


def _missing_column(connection: Connection) -> str | None:
    """Which column of this version a database lacks; None if it has all."""
    there = {(table, column) for table, column in connection.execute(COLUMNS_THERE)}
    expected = {
        (table.name, column.name) for table in Base.metadata.tables.values() for column in table.columns
    }
    for table, column in sorted(expected - there):
        return f"the data was written by another version of heldout (there is no {table}.{column}); {START_AFRESH}"
    return None


@contextmanager
def _owners_connection(settings: Settings) -> Iterator[Connection]:
    """A connection of the role that owns the tables; it gives back what it has locked when it ends."""
    url = settings.migration_database_url or settings.database_url
    if url is None:
        raise MigrationError(
            f"{variable('migration_database_url')} and {variable('database_url')} are not set"
        )
    connect_args = {"connect_timeout": 5, "options": LOCK_TIMEOUT}
    engine = create_engine(url, poolclass=NullPool, connect_args=connect_args, hide_parameters=True)
    with engine.connect() as connection:
        yield connection


def _wait_for_turn(connection: Connection) -> None:
    """Lock out others who migrate, asking again and again.

    Whoever waited inside a statement would have a snapshot, and an index that is built concurrently waits for all of those.
    """
    while not connection.scalar(text("SELECT pg_try_advisory_lock(:lock)"), {"lock": LOCK}):
        connection.rollback()
        time.sleep(LOCK_PAUSE)
    connection.commit()


def _config(connection: Connection) -> Config:
    config = Config(ROOT / "alembic.ini")
    config.attributes["connection"] = connection
    return config


@cache
def _scripts() -> ScriptDirectory:
    return ScriptDirectory(str(ROOT / "migrations"))


def _grant_rights(connection: Connection, role: str) -> None:
    """Let a role that is not the owner read and write rows, and only add them where history is kept."""
    owner, database, schema = connection.execute(
        text("SELECT current_user, current_database(), current_schema()")
    ).one()
    if role == owner:
        return
    quote = connection.dialect.identifier_preparer.quote_identifier
    role, database, schema = quote(role), quote(database), quote(schema)
    append_only = ", ".join(f"{schema}.{quote(table)}" for table in APPEND_ONLY)
    for statement in (
        f"REVOKE ALL ON DATABASE {database} FROM PUBLIC",  # temporary tables, too
        f"REVOKE ALL ON SCHEMA {schema} FROM PUBLIC",
        f"REVOKE ALL ON ALL TABLES IN SCHEMA {schema} FROM {role}",
        f"GRANT CONNECT ON DATABASE {database} TO {role}",
        f"GRANT USAGE ON SCHEMA {schema} TO {role}",
        f"GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA {schema} TO {role}",
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {role}",
        f"REVOKE UPDATE, DELETE ON {append_only} FROM {role}",
        f"REVOKE INSERT, UPDATE, DELETE ON {schema}.alembic_version FROM {role}",
    ):
        connection.execute(text(statement))


@contextmanager
def _migration_errors() -> Iterator[None]:
    try:
        yield
    except OperationalError as error:
        raise MigrationError(f"the database cannot be reached: {str(error.orig).strip()}") from error
    except ProgrammingError as error:
        raise MigrationError(
            f"the database cannot be migrated: {str(error.orig).partition(chr(10))[0]}; expected an empty database, or one of "
            "heldout, and a role that owns its tables (HELDOUT_MIGRATION_DATABASE_URL)"
        ) from error
    except CommandError as error:
        raise MigrationError(
            f"the data was written by another version of heldout ({error}); {START_AFRESH}"
        ) from error
