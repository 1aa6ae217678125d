"""What people report about labels of images whose annotation is public."""

import sqlalchemy as sa
from alembic import op

revision = "a17c5e08d3b6"
down_revision = "d92e61b0a5c7"
branch_labels = None
depends_on = None


def upgrade() -> None:
    kinds = sa.Enum(
        "wrong class",
        "wrong box",
        "object missing",
        "other",
        name="labelproblem",
        native_enum=False,
        length=20,
        create_constraint=True,
    )
    op.create_table(
        "label_report",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("phase_id", sa.BigInteger(), nullable=False),
        sa.Column("image", sa.String(), nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.Column("kind", kinds, nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("closed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("closed_by", sa.BigInteger(), nullable=True),
        sa.Column("answer", sa.String(), server_default=sa.text("''"), nullable=False),
        sa.Column("corrected_in", sa.Integer(), nullable=True),
        sa.CheckConstraint(
            "(closed_at IS NULL) = (answer = '' AND corrected_in IS NULL)",
            name=op.f("ck_label_report_closed_has_answer"),
        ),
        sa.ForeignKeyConstraint(
            ["phase_id"], ["phase.id"], name=op.f("fk_label_report_phase_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name=op.f("fk_label_report_user_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["closed_by"], ["user_account.id"], name=op.f("fk_label_report_closed_by")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_label_report")),
    )
    op.create_index("ix_label_report_image", "label_report", ["phase_id", "image", "id"])
    op.create_index(
        "ix_label_report_open",
        "label_report",
        ["phase_id", "id"],
        postgresql_where=sa.text("closed_at IS NULL"),
    )
    op.create_index("ix_label_report_person", "label_report", ["user_id", "created_at"])
