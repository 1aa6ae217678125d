"""How large the archives of a phase may be."""

import sqlalchemy as sa
from alembic import op

revision = "e7a41c0d58f3"
down_revision = "e41d7f60a9b3"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("phase", sa.Column("max_upload", sa.BigInteger(), nullable=True))
