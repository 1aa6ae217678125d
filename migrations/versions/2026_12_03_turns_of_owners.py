"""An index of the last turn of an owner in a queue."""

import sqlalchemy as sa
from alembic import op

revision = "e9a27c40d815"
down_revision = "d6f1b3a90c52"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.get_context().autocommit_block():
        op.drop_index("ix_job_owner", table_name="job", if_exists=True, postgresql_concurrently=True)
        op.create_index(
            "ix_job_owner",
            "job",
            ["owner", "queue", "scorer", "priority", "turn"],
            postgresql_where=sa.text("owner IS NOT NULL"),
            postgresql_concurrently=True,
        )


def downgrade() -> None:
    op.drop_index("ix_job_owner", table_name="job")
