"""What was read of a data set is kept encrypted beside its segments."""

import sqlalchemy as sa
from alembic import op

revision = "b3d70a94e6c8"
down_revision = "9e63c8a07f25"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("intake", sa.Column("kept_key", sa.String(), nullable=True))
