"""Images that organisers send for the texts of their challenge."""

import sqlalchemy as sa
from alembic import op

revision = "b7d15e92c4f0"
down_revision = "e58a1c07d3f4"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "text_image",
        sa.Column("challenge_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("alt", sa.String(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("added_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["challenge_id"], ["challenge.id"], name=op.f("fk_text_image_challenge_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("challenge_id", "name", name=op.f("pk_text_image")),
    )
