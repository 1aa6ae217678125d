"""Runs migrations on the database of the settings, or on the connection it is handed."""

from alembic import context
from sqlalchemy import Connection, create_engine

from app.models import Base
from app.settings import Settings


def run(connection: Connection) -> None:
    context.configure(connection=connection, target_metadata=Base.metadata, compare_type=True)
    with context.begin_transaction():
        context.run_migrations()


handed = context.config.attributes.get("connection")
if handed is not None:
    run(handed)
else:
    url = Settings.read().database_url
    if url is None:
        raise SystemExit("HELDOUT_DATABASE_URL is not set")
    with create_engine(url).connect() as own:
        run(own)
        own.commit()
