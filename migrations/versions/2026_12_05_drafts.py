"""What a draft knows beside its challenge and phases, in place of its answers; the image sets that become phases."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "7b1e5c92d0f4"
down_revision = "9e63c8a07f25"
branch_labels = None
depends_on = None

LIST = postgresql.JSONB(none_as_null=True, astext_type=sa.Text())


def upgrade() -> None:
    for name, kind, default in (
        ("steps", LIST, "'[]'"),
        ("template", sa.String(), "'voc'"),
        ("tasks", LIST, "'[]'"),
        ("tracks", sa.String(), "'one'"),
        ("without_picture", sa.Integer(), "0"),
        ("opens_to", sa.String(length=20), "'listed'"),
        ("image_licence", sa.String(), "''"),
        ("annotation_licence", sa.String(), "''"),
    ):
        op.add_column(
            "challenge_draft", sa.Column(name, kind, nullable=False, server_default=sa.text(default))
        )
    op.add_column("challenge_draft", sa.Column("copy_of", sa.BigInteger(), nullable=True))
    op.add_column("intake", sa.Column("sets", LIST, nullable=True))


def downgrade() -> None:
    op.drop_column("intake", "sets")
    for name in (
        "copy_of", "annotation_licence", "image_licence", "opens_to", "without_picture", "tracks", "tasks", "template", "steps",
    ):  # fmt: skip
        op.drop_column("challenge_draft", name)
