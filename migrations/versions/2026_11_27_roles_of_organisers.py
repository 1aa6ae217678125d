"""Roles of the people who organise a challenge, invitations by mail, hidden methods, extra slots that expire."""

import sqlalchemy as sa
from alembic import op

revision = "d3b8e6f1a275"
down_revision = "e41d7f60a9b3"
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


def downgrade() -> None:
    op.drop_column("method", "hide_reason")
    op.drop_column("method", "hidden_at")
    op.drop_column("extra_slot", "expires_at")
    op.drop_column("one_time_link", "revoked_at")
    op.drop_column("one_time_link", "email")
    op.drop_column("one_time_link", "role")
    op.drop_column("challenge_organiser", "role")
