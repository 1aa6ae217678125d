"""An index of the fingerprints of labels."""

from alembic import op

revision = "9e63c8a07f25"
down_revision = "5d1f7be2a840"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.get_context().autocommit_block():
        op.drop_index(
            op.f("ix_ground_truth_labels"),
            table_name="ground_truth",
            if_exists=True,
            postgresql_concurrently=True,
        )
        op.create_index(
            op.f("ix_ground_truth_labels"), "ground_truth", ["labels"], postgresql_concurrently=True
        )


def downgrade() -> None:
    op.drop_index(op.f("ix_ground_truth_labels"), table_name="ground_truth")
