"""Questions to organisers and messages to teams."""

import sqlalchemy as sa
from alembic import op

revision = "3073589f7560"
down_revision = "7c2be90d4f15"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "asking_rule",
        sa.Column("challenge_id", sa.BigInteger(), nullable=False),
        sa.Column(
            "place",
            sa.Enum(
                "here",
                "forum",
                "nowhere",
                name="askingplace",
                native_enum=False,
                create_constraint=True,
                length=20,
            ),
            nullable=False,
        ),
        sa.Column("forum", sa.String(), nullable=False),
        sa.CheckConstraint(
            "(place = 'forum') = (forum <> '')", name=op.f("ck_asking_rule_forum_has_address")
        ),
        sa.ForeignKeyConstraint(
            ["challenge_id"], ["challenge.id"], name=op.f("fk_asking_rule_challenge_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("challenge_id", name=op.f("pk_asking_rule")),
    )
    op.create_table(
        "team_message",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("challenge_id", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column(
            "audience",
            sa.Enum(
                "all teams",
                "uploaded only",
                "have a result",
                "one team",
                name="messageaudience",
                native_enum=False,
                create_constraint=True,
                length=20,
            ),
            nullable=False,
        ),
        sa.Column("phase_id", sa.BigInteger(), nullable=True),
        sa.Column("competition", sa.Integer(), nullable=True),
        sa.Column("team_id", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("created_by", sa.BigInteger(), nullable=False),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("teams", sa.Integer(), nullable=False),
        sa.Column("people", sa.Integer(), nullable=False),
        sa.CheckConstraint("version > 0", name=op.f("ck_team_message_version_positive")),
        sa.ForeignKeyConstraint(
            ["challenge_id"], ["challenge.id"], name=op.f("fk_team_message_challenge_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["created_by"], ["user_account.id"], name=op.f("fk_team_message_created_by")),
        sa.ForeignKeyConstraint(["phase_id"], ["phase.id"], name=op.f("fk_team_message_phase_id")),
        sa.ForeignKeyConstraint(
            ["team_id"], ["team.id"], name=op.f("fk_team_message_team_id"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_team_message")),
    )
    op.create_index("ix_team_message_challenge", "team_message", ["challenge_id", "id"])
    op.create_index(
        "ix_team_message_sent",
        "team_message",
        ["challenge_id", "sent_at"],
        postgresql_where=sa.text("sent_at IS NOT NULL"),
    )
    op.create_index(op.f("ix_team_message_team_id"), "team_message", ["team_id"])
    op.create_table(
        "received_message",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("message_id", sa.BigInteger(), nullable=False),
        sa.Column("team_id", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["message_id"],
            ["team_message.id"],
            name=op.f("fk_received_message_message_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["team_id"], ["team.id"], name=op.f("fk_received_message_team_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_received_message")),
        sa.UniqueConstraint("message_id", "team_id", name=op.f("uq_received_message_message_id_team_id")),
    )
    op.create_index("ix_received_message_team", "received_message", ["team_id", "id"])
    op.create_table(
        "thread",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("challenge_id", sa.BigInteger(), nullable=False),
        sa.Column("team_id", sa.BigInteger(), nullable=True),
        sa.Column("asked_by", sa.BigInteger(), nullable=False),
        sa.Column("phase_id", sa.BigInteger(), nullable=True),
        sa.Column("upload_id", sa.Uuid(), nullable=True),
        sa.Column("submission_id", sa.BigInteger(), nullable=True),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column(
            "state",
            sa.Enum(
                "open",
                "answered",
                "closed",
                name="threadstate",
                native_enum=False,
                create_constraint=True,
                length=20,
            ),
            nullable=False,
        ),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("last_message_id", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "num_nonnulls(upload_id, submission_id) <= 1", name=op.f("ck_thread_about_one_object")
        ),
        sa.ForeignKeyConstraint(["asked_by"], ["user_account.id"], name=op.f("fk_thread_asked_by")),
        sa.ForeignKeyConstraint(
            ["challenge_id"], ["challenge.id"], name=op.f("fk_thread_challenge_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["phase_id"], ["phase.id"], name=op.f("fk_thread_phase_id")),
        sa.ForeignKeyConstraint(["submission_id"], ["submission.id"], name=op.f("fk_thread_submission_id")),
        sa.ForeignKeyConstraint(["team_id"], ["team.id"], name=op.f("fk_thread_team_id")),
        sa.ForeignKeyConstraint(
            ["upload_id"], ["upload.id"], name=op.f("fk_thread_upload_id"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_thread")),
    )
    op.create_index("ix_thread_challenge", "thread", ["challenge_id", "last_message_id"])
    op.create_index("ix_thread_person", "thread", ["asked_by", "last_message_id"])
    op.create_index("ix_thread_state", "thread", ["challenge_id", "state", "last_message_id"])
    op.create_index("ix_thread_team", "thread", ["team_id", "last_message_id"])
    op.create_index(
        "ix_thread_upload",
        "thread",
        ["upload_id"],
        postgresql_where=sa.text("upload_id IS NOT NULL"),
    )
    op.create_table(
        "published_answer",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("public_id", sa.Uuid(), nullable=False),
        sa.Column("challenge_id", sa.BigInteger(), nullable=False),
        sa.Column("thread_id", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("question", sa.String(), nullable=False),
        sa.Column("answer", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("created_by", sa.BigInteger(), nullable=False),
        sa.Column("edited_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("version > 0", name=op.f("ck_published_answer_version_positive")),
        sa.ForeignKeyConstraint(
            ["challenge_id"],
            ["challenge.id"],
            name=op.f("fk_published_answer_challenge_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["created_by"], ["user_account.id"], name=op.f("fk_published_answer_created_by")
        ),
        sa.ForeignKeyConstraint(
            ["thread_id"], ["thread.id"], name=op.f("fk_published_answer_thread_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_published_answer")),
        sa.UniqueConstraint("public_id", name=op.f("uq_published_answer_public_id")),
        sa.UniqueConstraint("thread_id", name=op.f("uq_published_answer_thread_id")),
    )
    op.create_index("ix_published_answer_challenge", "published_answer", ["challenge_id", "id"])
    op.create_table(
        "thread_message",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("thread_id", sa.BigInteger(), nullable=False),
        sa.Column("author_id", sa.BigInteger(), nullable=False),
        sa.Column("team_id", sa.BigInteger(), nullable=True),
        sa.Column("is_answer", sa.Boolean(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["author_id"], ["user_account.id"], name=op.f("fk_thread_message_author_id")),
        sa.ForeignKeyConstraint(["team_id"], ["team.id"], name=op.f("fk_thread_message_team_id")),
        sa.ForeignKeyConstraint(
            ["thread_id"], ["thread.id"], name=op.f("fk_thread_message_thread_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_thread_message")),
    )
    op.create_index("ix_thread_message_author", "thread_message", ["author_id", "created_at"])
    op.create_index(
        "ix_thread_message_team",
        "thread_message",
        ["team_id", "created_at"],
        postgresql_where=sa.text("team_id IS NOT NULL"),
    )
    op.create_index("ix_thread_message_thread", "thread_message", ["thread_id", "id"])


def downgrade() -> None:
    op.drop_table("thread_message")
    op.drop_table("published_answer")
    op.drop_table("thread")
    op.drop_table("received_message")
    op.drop_table("team_message")
    op.drop_table("asking_rule")
