"""Indexes of what refers to runs: without them, each run that is deleted has whole tables read."""

import sqlalchemy as sa
from alembic import op

revision = "c41e8b07d2f9"
down_revision = "a90d2f6b14c7"
branch_labels = None
depends_on = None

INDEXES = (
    ("ix_publication_run_id", "publication", "run_id"),
    ("ix_result_published_run_id", "result", "published_run_id"),
    ("ix_run_ladder_run_id", "run", "ladder_run_id"),
)


def upgrade() -> None:
    with op.get_context().autocommit_block():
        for name, table, column in INDEXES:
            where = None if table == "publication" else sa.text(f"{column} IS NOT NULL")
            op.drop_index(name, table_name=table, if_exists=True, postgresql_concurrently=True)
            op.create_index(name, table, [column], postgresql_where=where, postgresql_concurrently=True)


def downgrade() -> None:
    for name, table, _ in INDEXES:
        op.drop_index(name, table_name=table)
