"""The database has the models' schema, and its roles can do only what they need."""

from collections.abc import Iterator

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine

from app.core.settings import Settings
from app.models import Base
from app.operations.migrating import APPEND_ONLY, migrate
from tests.system.installations import Installation, installation
from tests.system.servers import OwnServers, plain

pytestmark = pytest.mark.system

CATALOGUE = {
    "columns": "SELECT table_name, column_name, data_type, is_nullable, column_default, is_identity"
    " FROM information_schema.columns WHERE table_schema = 'public'",
    "constraints": "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint"
    " WHERE connamespace = 'public'::regnamespace",
    "indexes": "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'",
}


@pytest.fixture(scope="module")
def migrated(own_servers: OwnServers) -> Iterator[Installation]:
    with installation(own_servers) as running:
        yield running


@pytest.fixture
def application(migrated: Installation) -> Iterator[psycopg.Connection]:
    """A connection with the role of web servers and workers."""
    with psycopg.connect(plain(str(migrated.settings.database_url)), autocommit=True) as connection:
        yield connection


def test_the_migrations_create_the_schema_of_the_models(migrated: Installation) -> None:
    engine = create_engine(str(migrated.settings.migration_database_url))
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        differences = compare_metadata(context, Base.metadata)
    engine.dispose()

    assert differences == []


@pytest.mark.parametrize("what", CATALOGUE)
def test_migrations_and_models_create_the_same_catalogue(
    migrated: Installation, own_servers: OwnServers, what: str
) -> None:
    url = own_servers.fresh_database()
    engine = create_engine(own_servers.owners_url(url))
    Base.metadata.create_all(engine)
    with engine.connect() as connection:
        from_models = {tuple(row) for row in connection.exec_driver_sql(CATALOGUE[what])}
    engine.dispose()
    own_servers.drop_database(url)

    from_migrations = set(migrated.ask(CATALOGUE[what]))

    assert from_models
    assert {row for row in from_migrations if row[0] != "alembic_version"} == from_models


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE oak (id int)",
        "CREATE TEMPORARY TABLE oak (id int)",
        "CREATE SCHEMA oak",
        "ALTER TABLE result ADD COLUMN oak int",
        "ALTER TABLE publication DISABLE TRIGGER ALL",
        "DROP TABLE class_score",
        "TRUNCATE run CASCADE",
        "UPDATE alembic_version SET version_num = 'oak'",
        "SET ROLE heldout_owner",
        *(
            f"{change} {table}{' SET id = 1' if change == 'UPDATE' else ''}"
            for change in ("UPDATE", "DELETE FROM", "TRUNCATE")
            for table in APPEND_ONLY
        ),
    ],
)
def test_the_application_role_is_refused_what_it_does_not_need(
    application: psycopg.Connection, statement: str
) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        application.execute(statement.encode())


def test_the_application_role_can_add_and_read_audit_records(application: psycopg.Connection) -> None:
    application.execute("INSERT INTO audit (action, subject, reason, details) VALUES ('a', 'b', 'c', '{}')")

    assert application.execute("SELECT action FROM audit").fetchall() == [("a",)]


def test_granting_rights_again_changes_nothing(migrated: Installation) -> None:
    rights = "SELECT relname, relacl::text FROM pg_class WHERE relnamespace = 'public'::regnamespace"
    before = set(migrated.ask(rights))

    migrate(migrated.settings)

    assert set(migrated.ask(rights)) == before


@pytest.mark.sampled
def test_one_role_owns_and_uses_the_tables_if_no_other_is_given(own_servers: OwnServers) -> None:
    url = own_servers.owners_url(own_servers.fresh_database())

    migrate(Settings(database_url=url))

    with psycopg.connect(plain(url)) as owner:
        assert owner.execute("SELECT count(*) FROM result").fetchall() == [(0,)]
    own_servers.drop_database(url)


def test_web_and_worker_do_not_know_the_owners_password(migrated: Installation) -> None:
    password = str(migrated.settings.migration_database_url).partition("@")[0].rpartition(":")[2]

    assert len(password) > 20
    assert not [
        child.name for child in migrated.children() if password in " ".join(child.environment.values())
    ]
