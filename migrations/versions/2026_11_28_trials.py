"""Trial results: scores of made-up results of a ground truth."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "a5c81e07d3b9"
down_revision = "3073589f7560"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "trial",
        sa.Column("ground_truth_id", sa.BigInteger(), nullable=False),
        sa.Column("scores", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("message", sa.String(), nullable=False),
        sa.Column(
            "requested_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["ground_truth_id"],
            ["ground_truth.id"],
            name=op.f("fk_trial_ground_truth_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("ground_truth_id", name=op.f("pk_trial")),
    )
