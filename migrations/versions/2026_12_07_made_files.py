"""The files that workers make of what is public in a challenge."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "b81f5a3c7e09"
down_revision = "7a1c5e08d3f4"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "made_file",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("challenge_id", sa.BigInteger(), nullable=False),
        sa.Column("phase_id", sa.BigInteger(), nullable=True),
        sa.Column("made_of", sa.String(), nullable=False),
        sa.Column("phases", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("key", sa.String(), nullable=True),
        sa.Column("size", sa.BigInteger(), nullable=True),
        sa.Column("problem", sa.String(), server_default=sa.text("''"), nullable=False),
        sa.CheckConstraint("(key IS NULL) = (size IS NULL)", name=op.f("ck_made_file_stored_has_size")),
        sa.ForeignKeyConstraint(
            ["challenge_id"], ["challenge.id"], name=op.f("fk_made_file_challenge_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["phase_id"], ["phase.id"], name=op.f("fk_made_file_phase_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_made_file")),
    )
    op.create_index("ix_made_file_challenge", "made_file", ["challenge_id"])
    op.create_index(
        "uq_made_file_kit",
        "made_file",
        ["challenge_id"],
        unique=True,
        postgresql_where=sa.text("phase_id IS NULL"),
    )
    op.create_index("uq_made_file_phase", "made_file", ["phase_id"], unique=True)
    # of the migration before
    op.execute("ALTER TABLE challenge VALIDATE CONSTRAINT ck_challenge_pictures_have_one_place")
