"""Images that came with a version of the annotation wait until the boards show that version."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "c2e81b64f0a7"
down_revision = "a4c90e57d1b3"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "next_pictures",
        sa.Column("ground_truth_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column(
            "mode",
            sa.Enum("link", "copy", name="imagemode", native_enum=False, create_constraint=True, length=20),
            nullable=False,
        ),
        sa.Column("folder", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["ground_truth_id"],
            ["ground_truth.id"],
            name=op.f("fk_next_pictures_ground_truth_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("ground_truth_id", name=op.f("pk_next_pictures")),
    )
    op.create_table(
        "next_picture_batch",
        sa.Column("ground_truth_id", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("fingerprint", sa.String(), nullable=False),
        sa.Column("copy_key", sa.String(), nullable=True),
        sa.Column("pictures", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.ForeignKeyConstraint(
            ["ground_truth_id"],
            ["next_pictures.ground_truth_id"],
            name=op.f("fk_next_picture_batch_ground_truth_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("ground_truth_id", "number", name=op.f("pk_next_picture_batch")),
    )
