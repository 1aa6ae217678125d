"""Runs migrations on the connection it is handed, or writes them as SQL; each is a transaction of its own."""

from alembic import context
from sqlalchemy import Connection, create_engine, text

from app.models import Base
from app.settings import Settings

LOCK_TIMEOUT = (
    "SET lock_timeout = '2s'"  # whoever waits for a table longer than that holds all others up behind it
)


def run(connection: Connection) -> None:
    connection.execute(text(LOCK_TIMEOUT))
    connection.commit()
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        compare_type=True,
        transaction_per_migration=True,
    )
    with context.begin_transaction():
        context.run_migrations()


def write() -> None:
    context.configure(dialect_name="postgresql", transaction_per_migration=True)
    context.execute(LOCK_TIMEOUT)
    with context.begin_transaction():
        context.run_migrations()


handed = context.config.attributes.get("connection")
if context.is_offline_mode():
    write()
elif handed is not None:
    run(handed)
else:
    url = Settings.read().database_url
    if url is None:
        raise SystemExit("HELDOUT_DATABASE_URL is not set")
    with create_engine(url).connect() as own:
        run(own)
