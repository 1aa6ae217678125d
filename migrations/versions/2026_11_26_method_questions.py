"""Questions about methods, the length of descriptions, and the tests of all pairs of a board."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "b0a2d5c81e40"
down_revision = "5db6ffa5839f"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "challenge",
        sa.Column("shortest_description", sa.Integer(), server_default=sa.text("500"), nullable=False),
    )
    op.add_column(
        "board_groups",
        sa.Column(
            "family",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
    )
    op.create_table(
        "question",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("challenge_id", sa.BigInteger(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column(
            "kind",
            sa.Enum(
                "yes or no", "choice", "number", "text", "link",
                name="questionkind", native_enum=False, create_constraint=True, length=20,
            ),
            nullable=False,
        ),
        sa.Column("unit", sa.String(), nullable=False),
        sa.Column("choices", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("is_required", sa.Boolean(), nullable=False),
        sa.Column("is_column", sa.Boolean(), nullable=False),
        sa.Column("is_filter", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["challenge_id"], ["challenge.id"], name=op.f("fk_question_challenge_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_question")),
    )  # fmt: skip
    op.create_index(op.f("ix_question_challenge_id"), "question", ["challenge_id"], unique=False)
    op.create_table(
        "answer",
        sa.Column("method_id", sa.BigInteger(), nullable=False),
        sa.Column("question_id", sa.BigInteger(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["method_id"], ["method.id"], name=op.f("fk_answer_method_id")),
        sa.ForeignKeyConstraint(
            ["question_id"], ["question.id"], name=op.f("fk_answer_question_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("method_id", "question_id", name=op.f("pk_answer")),
    )
    op.create_index(op.f("ix_answer_question_id"), "answer", ["question_id"], unique=False)


def downgrade() -> None:
    op.drop_table("answer")
    op.drop_table("question")
    op.drop_column("board_groups", "family")
    op.drop_column("challenge", "shortest_description")
