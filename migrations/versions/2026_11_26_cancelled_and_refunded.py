"""When a waiting result was cancelled, and when and why the quota of a result was given back."""

import sqlalchemy as sa
from alembic import op

revision = "c1f0a7d93b62"
down_revision = "b0a2d5c81e40"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("result", sa.Column("cancelled_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("result", sa.Column("refunded_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("result", sa.Column("refund_reason", sa.String(), nullable=True))
