"""Fingerprints of the labels alone of each version of the annotation; workers fill them in for versions of earlier releases."""

import sqlalchemy as sa
from alembic import op

revision = "5d1f7be2a840"
down_revision = "e9a27c40d815"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("ground_truth", sa.Column("labels", sa.String(), nullable=True))
    op.add_column("ground_truth", sa.Column("image_labels_key", sa.String(), nullable=True))
