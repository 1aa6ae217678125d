"""Runs migrations on the connection it is handed, or writes them as SQL; each is a transaction of its own."""

from alembic import context

from app.models import Base

if context.is_offline_mode():
    context.configure(dialect_name="postgresql", transaction_per_migration=True)
    context.execute("SET lock_timeout = '2s'")  # as app/operations/migrating.py has it for the connection
else:
    context.configure(
        connection=context.config.attributes["connection"],
        target_metadata=Base.metadata,
        compare_type=True,
        transaction_per_migration=True,
    )
with context.begin_transaction():
    context.run_migrations()
