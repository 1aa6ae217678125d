"""How many members a team may have."""

import sqlalchemy as sa
from alembic import op

revision = "c27f4be81a90"
down_revision = "9a4e6c13d7b2"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("challenge", sa.Column("most_members", sa.Integer(), nullable=True))
