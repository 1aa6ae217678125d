"""Who may see the annotation of image sets, as organisers answered."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "7a1f0c5be3d2"
down_revision = "4c7e92d0b6f1"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("intake", sa.Column("audiences", postgresql.JSONB(), nullable=True))
