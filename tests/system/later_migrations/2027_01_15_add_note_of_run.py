"""An example of an expanding migration: a nullable column and an index built concurrently."""

import sqlalchemy as sa
from alembic import op

revision = "e0a1b2c3d4e5"
down_revision = "a0c5e1f20261"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("run", sa.Column("note", sa.Text(), nullable=True))
    with op.get_context().autocommit_block():
        op.drop_index("ix_run_note", if_exists=True, postgresql_concurrently=True)
        op.create_index("ix_run_note", "run", ["note"], postgresql_concurrently=True)


def downgrade() -> None:
    op.drop_index("ix_run_note", "run")
    op.drop_column("run", "note")
