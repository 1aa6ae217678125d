"""What changed between two versions of annotation, for the organisers who asked."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "d92e61b0a5c7"
down_revision = "c40d8b7f21ae"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "version_diff",
        sa.Column("before_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("after_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("user_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("report", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("message", sa.String(), nullable=False),
        sa.Column(
            "requested_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.ForeignKeyConstraint(
            ["before_id"], ["ground_truth.id"], name=op.f("fk_version_diff_before_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["after_id"], ["ground_truth.id"], name=op.f("fk_version_diff_after_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name=op.f("fk_version_diff_user_id")),
        sa.PrimaryKeyConstraint("before_id", "after_id", "user_id", name=op.f("pk_version_diff")),
    )
