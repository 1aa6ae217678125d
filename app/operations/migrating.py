"""Database migrations, and the privileges of the application's role."""

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

LOCK = 0x4845_4C44  # an arbitrary advisory lock: processes that start at once migrate one after the other
LOCK_PAUSE = 0.2  # seconds between two attempts to get it
APPEND_ONLY = (AuditRecord.__tablename__, MethodChange.__tablename__, Publication.__tablename__)
# the exceptions, made by migrations
DELETING = ("delete_test_publications(bigint)", "delete_challenge_publications(bigint)")
LOCK_TIMEOUT = "-c lock_timeout=2s"  # a longer wait for a table would block everyone queued behind it
ATTEMPTS, PAUSE = 12, 3.0  # tries for the locks of a migration, seconds between two: about a minute in all

START_AFRESH = (
    "this version cannot use it: use the version that wrote it, or start with an empty database"
    " (with `make run`: move the data folder heldout-data away, or name another one with HELDOUT_DATA)"
)
EXISTING_COLUMNS = text(
    "SELECT c.relname, a.attname FROM pg_attribute a JOIN pg_class c ON a.attrelid = c.oid"
    " WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped"
)


class MigrationError(Exception):
    """The database cannot be migrated to this schema; the message says why and what to do."""


def migrate(settings: Settings) -> None:
    """Apply all missing migrations, as the owner of the tables, and grant the application its privileges.

    Each migration is its own transaction. One that does not get its locks in time is retried, so that other transactions
    can go on. Raises MigrationError.
    """
    with _migration_errors(), _owner_connection(settings) as connection:
        _wait_for_lock(connection)
        for _ in range(ATTEMPTS):
            try:
                return _upgrade(connection, settings)
            except OperationalError as error:
                if not isinstance(error.orig, LockNotAvailable):
                    raise
            connection.rollback()
            time.sleep(PAUSE)
    raise MigrationError(
        f"another transaction held the lock of a table in {ATTEMPTS} attempts; nothing is half done: end it "
        "(pg_stat_activity shows which it is), or run `heldout-server migrate` again later"
    )


def _upgrade(connection: Connection, settings: Settings) -> None:
    if _revision(connection) == _scripts().get_current_head() and (problem := _missing_column(connection)):
        raise MigrationError(problem)
    connection.commit()
    command.upgrade(_config(connection), "head")
    if settings.database_url is not None:
        _grant_rights(connection, str(make_url(settings.database_url).username))
    connection.commit()


def write_migration(settings: Settings, what: str) -> None:
    """Generate a migration from what the models have and the database lacks, to be reviewed and edited."""
    with _migration_errors(), _owner_connection(settings) as connection:
        command.revision(_config(connection), what, autogenerate=True)


def require_schema(settings: Settings) -> None:
    """Raise MigrationError if the database has a schema that this version cannot use.

    A database that does not respond passes; its users wait for it.
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
    """Return why this version cannot use the schema of a database, or None.

    It can use its own schema, and that of a later version that still has every column this version knows.
    """
    found = _revision(connection)
    if found is None:
        return "the database has no schema; run `heldout-server migrate`"
    earlier = [script.revision for script in _scripts().walk_revisions()][1:]
    if found in earlier:
        return "the database has the schema of an older version; run `heldout-server migrate`"
    return _missing_column(connection)


def _revision(connection: Connection) -> str | None:
    """Return the current revision of a database; None if it has no schema."""
    return MigrationContext.configure(connection).get_current_revision()


def _missing_column(connection: Connection) -> str | None:
    """Return a message about a missing column, or None."""
    found = {(table, column) for table, column in connection.execute(EXISTING_COLUMNS)}
    expected = {
        (table.name, column.name) for table in Base.metadata.tables.values() for column in table.columns
    }
    for table, column in sorted(expected - found):
        return f"the data was written by another version of heldout ({table}.{column} is missing); {START_AFRESH}"
    return None


@contextmanager
def _owner_connection(settings: Settings) -> Iterator[Connection]:
    """Connect as the role that owns the tables; closing the connection releases its locks."""
    url = settings.migration_database_url or settings.database_url
    if url is None:
        raise MigrationError(
            f"{variable('migration_database_url')} and {variable('database_url')} are not set"
        )
    connect_args = {"connect_timeout": 5, "options": LOCK_TIMEOUT}
    engine = create_engine(url, poolclass=NullPool, connect_args=connect_args, hide_parameters=True)
    with engine.connect() as connection:
        yield connection


def _wait_for_lock(connection: Connection) -> None:
    """Poll for the lock that only one migrating process holds.

    Waiting inside a statement would hold a snapshot, and building an index concurrently waits for all snapshots.
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
    """Let a role other than the owner read and write rows, but only insert into the append-only tables.

    Only test runs of a draft, and what organisers published in a challenge of their own, can be deleted from these, by functions.
    """
    owner, database, schema = connection.execute(
        text("SELECT current_user, current_database(), current_schema()")
    ).one()
    if role == owner:
        return
    quote = connection.dialect.identifier_preparer.quote_identifier
    role, database, schema = quote(role), quote(database), quote(schema)
    append_only = ", ".join(f"{schema}.{quote(table)}" for table in APPEND_ONLY)
    for statement in (
        f"REVOKE ALL ON DATABASE {database} FROM PUBLIC",  # also temporary tables
        f"REVOKE ALL ON SCHEMA {schema} FROM PUBLIC",
        f"REVOKE ALL ON ALL TABLES IN SCHEMA {schema} FROM {role}",
        f"GRANT CONNECT ON DATABASE {database} TO {role}",
        f"GRANT USAGE ON SCHEMA {schema} TO {role}",
        f"GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA {schema} TO {role}",
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {role}",
        f"REVOKE UPDATE, DELETE ON {append_only} FROM {role}",
        f"REVOKE INSERT, UPDATE, DELETE ON {schema}.alembic_version FROM {role}",
        *(f"REVOKE ALL ON FUNCTION {schema}.{function} FROM PUBLIC" for function in DELETING),
        *(f"GRANT EXECUTE ON FUNCTION {schema}.{function} TO {role}" for function in DELETING),
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
            f"the database cannot be migrated: {str(error.orig).partition(chr(10))[0]}; expected an empty database or one of "
            "heldout, and a role that owns its tables (HELDOUT_MIGRATION_DATABASE_URL)"
        ) from error
    except CommandError as error:
        raise MigrationError(
            f"the data was written by another version of heldout ({error}); {START_AFRESH}"
        ) from error
