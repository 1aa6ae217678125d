"""What organisers make of the classes of a data set, and neutral names of its hidden images."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "e41b7c9d20f6"
down_revision = "e81d5a9f2c47"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("intake", sa.Column("classes", postgresql.JSONB(astext_type=sa.Text()), nullable=True))
    op.add_column(
        "intake", sa.Column("is_neutral", sa.Boolean(), server_default=sa.text("false"), nullable=False)
    )
    op.create_table(
        "name_secret",
        sa.Column("challenge_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.Column("key_id", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["challenge_id"],
            ["challenge.id"],
            name=op.f("fk_name_secret_challenge_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["key_id"], ["intake_key.id"], name=op.f("fk_name_secret_key_id")),
        sa.PrimaryKeyConstraint("challenge_id", name=op.f("pk_name_secret")),
    )
    op.create_index(op.f("ix_name_secret_key_id"), "name_secret", ["key_id"])
