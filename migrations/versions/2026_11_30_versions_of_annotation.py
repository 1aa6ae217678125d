"""Each version of the annotation has its own public description, and may equal an earlier one; uploads name the one they were checked by."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "b7d03f6e91c8"
down_revision = "e41b7c9d20f6"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("ground_truth", sa.Column("description_key", sa.String(), nullable=True))
    op.add_column(
        "ground_truth", sa.Column("not_offered", postgresql.JSONB(astext_type=sa.Text()), nullable=True)
    )
    op.add_column("upload", sa.Column("description_digest", sa.String(), nullable=True))
    # versions before this one look for an equal version first, and go on doing so
    op.drop_constraint(op.f("uq_ground_truth_phase_id_fingerprint"), "ground_truth", type_="unique")
