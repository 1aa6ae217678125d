"""Re-scorings that organisers look at before the boards switch, and pauses of them."""

import sqlalchemy as sa
from alembic import op

revision = "e58a1c07d3f4"
down_revision = "5b7e03c1d8f4"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("rescore", sa.Column("confirmed_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("rescore", sa.Column("confirmed_by", sa.BigInteger(), nullable=True))
    op.add_column("rescore", sa.Column("paused_at", sa.DateTime(timezone=True), nullable=True))
    op.create_foreign_key(
        op.f("fk_rescore_confirmed_by"),
        "rescore",
        "user_account",
        ["confirmed_by"],
        ["id"],
        postgresql_not_valid=True,
    )
    # whoever started one of those that are open was told that the boards switch by themselves
    op.execute("UPDATE rescore SET confirmed_at = created_at")
    op.create_check_constraint(
        op.f("ck_rescore_activated_is_confirmed"),
        "rescore",
        "activated_at IS NULL OR confirmed_at IS NOT NULL",
        postgresql_not_valid=True,
    )
