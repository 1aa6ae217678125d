"""An index of the teams of runs: without it, each team that is deleted has all runs read."""

from alembic import op

revision = "5d0e7a93c1b6"
down_revision = "c41e8b07d2f9"
branch_labels = None
depends_on = None

INDEX = "ix_run_team_id"


def upgrade() -> None:
    with op.get_context().autocommit_block():
        op.drop_index(INDEX, table_name="run", if_exists=True, postgresql_concurrently=True)
        op.create_index(INDEX, "run", ["team_id"], postgresql_concurrently=True)


def downgrade() -> None:
    op.drop_index(INDEX, table_name="run")
