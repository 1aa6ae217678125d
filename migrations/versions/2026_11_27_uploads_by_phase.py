"""An index of the uploads of a phase by time, for the organisers' table."""

from alembic import op

revision = "f7a94c2be810"
down_revision = "d3b8e6f1a275"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.get_context().autocommit_block():
        op.drop_index("ix_upload_phase", table_name="upload", if_exists=True, postgresql_concurrently=True)
        op.create_index(
            "ix_upload_phase", "upload", ["phase_id", "started_at", "id"], postgresql_concurrently=True
        )


def downgrade() -> None:
    op.drop_index("ix_upload_phase", table_name="upload")
