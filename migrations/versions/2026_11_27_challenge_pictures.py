"""The picture of a challenge, and the archive of a phase's images."""

import sqlalchemy as sa
from alembic import op

revision = "e4b7c2d09a15"
down_revision = "e7a41c0d58f3"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "challenge_picture",
        sa.Column("challenge_id", sa.BigInteger(), nullable=False),
        sa.Column("alt", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("large", sa.LargeBinary(), nullable=False),
        sa.Column("small", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["challenge_id"],
            ["challenge.id"],
            name=op.f("fk_challenge_picture_challenge_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("challenge_id", name=op.f("pk_challenge_picture")),
    )
    op.add_column(
        "picture_source",
        sa.Column("offers_archive", sa.Boolean(), server_default=sa.text("true"), nullable=False),
    )
    op.add_column("picture_source", sa.Column("archive_key", sa.String(), nullable=True))
    op.add_column("picture_source", sa.Column("archive_size", sa.BigInteger(), nullable=True))
    op.add_column("picture_source", sa.Column("archive_problem", sa.String(), nullable=True))


def downgrade() -> None:
    for column in ("archive_problem", "archive_size", "archive_key", "offers_archive"):
        op.drop_column("picture_source", column)
    op.drop_table("challenge_picture")
