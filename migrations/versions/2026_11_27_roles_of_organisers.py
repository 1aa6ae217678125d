"""Roles of the people who organise a challenge, invitations by mail, hidden methods, extra slots that expire, views."""

import sqlalchemy as sa
from alembic import op

revision = "d3b8e6f1a275"
down_revision = "3d8e5b21c7f6"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # whoever organised a challenge could do everything, so they own it
    owner = {"server_default": "owner", "nullable": False}
    op.add_column("challenge_organiser", sa.Column("role", sa.String(length=20), **owner))
    op.add_column("one_time_link", sa.Column("role", sa.String(length=20), **owner))
    op.add_column("one_time_link", sa.Column("email", sa.String(), nullable=True))
    op.add_column("one_time_link", sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("extra_slot", sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("method", sa.Column("hidden_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("method", sa.Column("hide_reason", sa.String(), nullable=True))
    op.create_table(
        "viewing",
        sa.Column("token_hash", sa.LargeBinary(), nullable=False),
        sa.Column("challenge_id", sa.BigInteger(), nullable=False),
        sa.Column("team_id", sa.BigInteger(), nullable=True),
        sa.Column("is_visitor", sa.Boolean(), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["token_hash"],
            ["login_session.token_hash"],
            name=op.f("fk_viewing_token_hash"),
            ondelete="CASCADE",
            onupdate="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["challenge_id"], ["challenge.id"], name=op.f("fk_viewing_challenge_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["team_id"], ["team.id"], name=op.f("fk_viewing_team_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("token_hash", name=op.f("pk_viewing")),
    )
    op.create_index(op.f("ix_viewing_challenge_id"), "viewing", ["challenge_id"], unique=False)
    op.create_index(op.f("ix_viewing_team_id"), "viewing", ["team_id"], unique=False)


def downgrade() -> None:
    op.drop_table("viewing")
    op.drop_column("method", "hide_reason")
    op.drop_column("method", "hidden_at")
    op.drop_column("extra_slot", "expires_at")
    op.drop_column("one_time_link", "revoked_at")
    op.drop_column("one_time_link", "email")
    op.drop_column("one_time_link", "role")
    op.drop_column("challenge_organiser", "role")
