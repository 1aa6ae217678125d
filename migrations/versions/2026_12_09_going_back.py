"""Notes on versions of annotation, and earlier versions that organisers go back to."""

import sqlalchemy as sa
from alembic import op

revision = "c40d8b7f21ae"
down_revision = "e17f3b9a50d8"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "ground_truth", sa.Column("note", sa.String(), server_default=sa.text("''"), nullable=False)
    )
    op.add_column("ground_truth", sa.Column("copied_from", sa.Integer(), nullable=True))
    op.create_table(
        "truth_copy",
        sa.Column("phase_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("newest", sa.Integer(), nullable=False),
        sa.Column("note", sa.String(), nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.Column("message", sa.String(), nullable=False),
        sa.Column(
            "requested_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.ForeignKeyConstraint(
            ["phase_id"], ["phase.id"], name=op.f("fk_truth_copy_phase_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name=op.f("fk_truth_copy_user_id")),
        sa.PrimaryKeyConstraint("phase_id", name=op.f("pk_truth_copy")),
    )
