"""Bringing a database to the schema of this version, and the application's role to its rights."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection, create_engine, make_url, text
from sqlalchemy.exc import OperationalError, ProgrammingError

from app.models import AuditRecord, MethodChange, Publication
from app.settings import ROOT, Settings, variable

LOCK = 0x4845_4C44  # any number of our own: two processes that start at once migrate one after the other
APPEND_ONLY = (AuditRecord.__tablename__, MethodChange.__tablename__, Publication.__tablename__)


class MigrationError(Exception):
    """The database cannot be brought to this schema; says why and what can be done."""


def migrate(settings: Settings) -> None:
    """Apply all migrations that are missing, as the owner of the tables, and grant the application its rights.

    Raises MigrationError.
    """
    with _migration_errors(), _owners_connection(settings) as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
        command.upgrade(_config(connection), "head")
        if settings.database_url is not None:
            _grant_rights(connection, str(make_url(settings.database_url).username))


def write_migration(settings: Settings, what: str) -> None:
    """Write what the models have and the database has not as a new migration, to be read and edited."""
    with _migration_errors(), _owners_connection(settings) as connection:
        command.revision(_config(connection), what, autogenerate=True)


@contextmanager
def _owners_connection(settings: Settings) -> Iterator[Connection]:
    """A transaction of the role that owns the tables."""
    url = settings.migration_database_url or settings.database_url
    if url is None:
        raise MigrationError(
            f"{variable('migration_database_url')} and {variable('database_url')} are not set"
        )
    engine = create_engine(url, connect_args={"connect_timeout": 5}, hide_parameters=True)
    try:
        with engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()


def _config(connection: Connection) -> Config:
    config = Config(ROOT / "alembic.ini")
    config.attributes["connection"] = connection
    return config


def is_current(connection: Connection) -> bool:
    """Whether a database has the schema of this version."""
    return MigrationContext.configure(connection).get_current_heads() == _heads()


@cache
def _heads() -> tuple[str, ...]:
    return tuple(ScriptDirectory(str(ROOT / "migrations")).get_heads())


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
            f"the database was made by another version of heldout ({error}), and this version cannot migrate it: "
            "start the version that made it, or begin with an empty one"
        ) from error
