"""Where participants get the pictures of a challenge."""

import sqlalchemy as sa
from alembic import op

revision = "4c7e92d0b6f1"
down_revision = "b3d70a94e6c8"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("challenge", sa.Column("pictures_from", sa.String(length=20), nullable=True))
    op.add_column(
        "challenge",
        sa.Column("pictures_address", sa.String(), server_default=sa.text("''"), nullable=False),
    )
    op.create_check_constraint(
        op.f("ck_challenge_pictures_have_one_place"),
        "challenge",
        "(pictures_from IS NOT DISTINCT FROM 'elsewhere') = (pictures_address <> '')",
        postgresql_not_valid=True,
    )
