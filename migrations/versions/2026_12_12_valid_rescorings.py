"""The constraints of confirmed re-scorings hold for all rows."""

from alembic import op

revision = "a90d2f6b14c7"
down_revision = "b7d15e92c4f0"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE rescore VALIDATE CONSTRAINT fk_rescore_confirmed_by")
    op.execute("ALTER TABLE rescore VALIDATE CONSTRAINT ck_rescore_activated_is_confirmed")
