"""Labels of single images that organisers correct, and what they change."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "5b7e03c1d8f4"
down_revision = "d04e8b5a72f9"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "truth_copy", sa.Column("is_corrected", sa.Boolean(), server_default=sa.text("false"), nullable=False)
    )
    op.create_table(
        "label_edit",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("phase_id", sa.BigInteger(), nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.Column("image", sa.String(), nullable=False),
        sa.Column("ground_truth_id", sa.BigInteger(), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.Column("key_id", sa.BigInteger(), nullable=False),
        sa.Column("saved_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["phase_id"], ["phase.id"], name=op.f("fk_label_edit_phase_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name=op.f("fk_label_edit_user_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["ground_truth_id"],
            ["ground_truth.id"],
            name=op.f("fk_label_edit_ground_truth_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["key_id"], ["intake_key.id"], name=op.f("fk_label_edit_key_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_label_edit")),
        sa.UniqueConstraint(
            "phase_id", "user_id", "image", name=op.f("uq_label_edit_phase_id_user_id_image")
        ),
    )
    op.create_index("ix_label_edit_user_id", "label_edit", ["user_id"])
    op.create_index("ix_label_edit_key_id", "label_edit", ["key_id"])
    op.create_index("ix_label_edit_ground_truth_id", "label_edit", ["ground_truth_id"])
    op.create_table(
        "label_preview",
        sa.Column("phase_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("user_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("edits", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("report", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("message", sa.String(), nullable=False),
        sa.Column(
            "requested_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.ForeignKeyConstraint(
            ["phase_id"], ["phase.id"], name=op.f("fk_label_preview_phase_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name=op.f("fk_label_preview_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("phase_id", "user_id", name=op.f("pk_label_preview")),
    )
