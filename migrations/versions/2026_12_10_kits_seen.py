"""What kits follow from, so that one statement finds those that are to be looked at."""

import sqlalchemy as sa
from alembic import op

revision = "d04e8b5a72f9"
down_revision = "c95a17e3f6d0"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("made_file", sa.Column("seen", sa.String(), nullable=True))
