"""Bringing a database to the schema of this version."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Engine, text

ROOT = Path(__file__).parents[1]
LOCK = 0x4845_4C44  # any number of our own: two processes that start at once migrate one after the other


def migrate(engine: Engine) -> None:
    """Apply all migrations that are missing."""
    config = Config(ROOT / "alembic.ini")
    with engine.begin() as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def write_migration(engine: Engine, what: str) -> None:
    """Write what the models have and the database has not as a new migration, to be read and edited."""
    config = Config(ROOT / "alembic.ini")
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.revision(config, what, autogenerate=True)
