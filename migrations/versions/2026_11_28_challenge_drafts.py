"""Drafts of challenges; audit records outlive a draft that is deleted."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "9a4e6c13d7b2"
down_revision = "5b1d9e60c7a2"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "challenge_draft",
        sa.Column("challenge_id", sa.BigInteger(), nullable=False),
        sa.Column("settings", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("made_of", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("opens_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("refusal", sa.String(), server_default=sa.text("''"), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["challenge_id"],
            ["challenge.id"],
            name=op.f("fk_challenge_draft_challenge_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("challenge_id", name=op.f("pk_challenge_draft")),
    )
    op.drop_constraint(op.f("fk_audit_challenge_id"), "audit", type_="foreignkey")
