"""Data sets that organisers send, their segments, and the keys that open them."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "7d2b94c1f0e6"
down_revision = "e4b7c2d09a15"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "intake_key",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("public_key", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_intake_key")),
        sa.UniqueConstraint("name", name=op.f("uq_intake_key_name")),
        sa.UniqueConstraint("public_key", name=op.f("uq_intake_key_public_key")),
    )
    op.create_table(
        "intake",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("challenge_id", sa.BigInteger(), nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("progress", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("report", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("message", sa.String(), nullable=False),
        sa.Column("request", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("phase_id", sa.BigInteger(), nullable=True),
        sa.Column("version", sa.Integer(), nullable=True),
        sa.Column("warned_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["challenge_id"], ["challenge.id"], name=op.f("fk_intake_challenge_id")),
        sa.ForeignKeyConstraint(
            ["phase_id"], ["phase.id"], name=op.f("fk_intake_phase_id"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name=op.f("fk_intake_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_intake")),
    )
    op.create_index("ix_intake_challenge", "intake", ["challenge_id", "created_at"])
    op.create_index("ix_intake_changed_at", "intake", ["changed_at"])
    op.create_index(op.f("ix_intake_phase_id"), "intake", ["phase_id"])
    op.create_table(
        "intake_file",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("intake_id", sa.Uuid(), nullable=False),
        sa.Column("role", sa.String(length=20), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("received", sa.BigInteger(), nullable=False),
        sa.Column("writer", sa.Uuid(), nullable=True),
        sa.Column("path", sa.String(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint(
            "size >= 0 AND received BETWEEN 0 AND size", name=op.f("ck_intake_file_received_within_size")
        ),
        sa.ForeignKeyConstraint(
            ["intake_id"], ["intake.id"], name=op.f("fk_intake_file_intake_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_intake_file")),
        sa.UniqueConstraint("intake_id", "role", "name", name=op.f("uq_intake_file_intake_id_role_name")),
    )
    op.create_table(
        "intake_segment",
        sa.Column("file_id", sa.Uuid(), nullable=False),
        sa.Column("start", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("length", sa.BigInteger(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("key_id", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["file_id"], ["intake_file.id"], name=op.f("fk_intake_segment_file_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["key_id"], ["intake_key.id"], name=op.f("fk_intake_segment_key_id")),
        sa.PrimaryKeyConstraint("file_id", "start", name=op.f("pk_intake_segment")),
    )
    op.create_index("ix_intake_segment_key", "intake_segment", ["key"])
    op.create_index("ix_intake_segment_key_id", "intake_segment", ["key_id"])
