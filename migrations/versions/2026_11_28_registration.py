"""Who may create an account, as admins choose it."""

import sqlalchemy as sa
from alembic import op

revision = "5b1d9e60c7a2"
down_revision = "a5c81e07d3b9"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "site", sa.Column("registration", sa.String(), server_default=sa.text("''"), nullable=False)
    )
