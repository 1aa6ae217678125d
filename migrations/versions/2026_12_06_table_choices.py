"""What organisers say of tables whose columns or encoding are not recognised."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "7a1c5e08d3f4"
down_revision = "7a1f0c5be3d2"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("intake", sa.Column("tables", postgresql.JSONB(astext_type=sa.Text()), nullable=True))
