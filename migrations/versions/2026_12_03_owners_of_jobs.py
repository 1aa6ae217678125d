"""Whose work a job is; queues of jobs and services that send heartbeats are no longer listed by the database."""

import sqlalchemy as sa
from alembic import op

revision = "d6f1b3a90c52"
down_revision = "c2e81b64f0a7"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("job", sa.Column("owner", sa.String(), nullable=True))
    op.drop_constraint(op.f("ck_job_queue"), "job", type_="check")
    op.drop_constraint(op.f("ck_heartbeat_service"), "heartbeat", type_="check")
