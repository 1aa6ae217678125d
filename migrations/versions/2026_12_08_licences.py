"""Licences of a challenge, which were answers of its steps."""

import sqlalchemy as sa
from alembic import op

revision = "c92e6d04b7a1"
down_revision = "b81f5a3c7e09"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("image_licence", "annotation_licence"):
        op.add_column("challenge", sa.Column(name, sa.String(), server_default=sa.text("''"), nullable=False))
    op.execute(
        "UPDATE challenge SET image_licence = coalesce(settings->'rules'->>'image_licence', ''),"
        " annotation_licence = coalesce(settings->'rules'->>'annotation_licence', '')"
        " FROM challenge_draft WHERE challenge_draft.challenge_id = challenge.id AND settings ? 'rules'"
    )
