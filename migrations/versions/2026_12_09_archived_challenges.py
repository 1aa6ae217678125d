"""Challenges that are archived: read only, and in no list."""

import sqlalchemy as sa
from alembic import op

revision = "e17f3b9a50d8"
down_revision = "c92e6d04b7a1"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("challenge", sa.Column("archived_at", sa.DateTime(timezone=True), nullable=True))
