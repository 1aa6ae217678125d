"""Webhooks and their deliveries; outages, extensions of deadlines, notices; pauses of scoring."""

import sqlalchemy as sa
from alembic import op

revision = "7c2be90d4f15"
down_revision = "5b92d0c7e4a8"
branch_labels = None
depends_on = None

MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.add_column("phase", sa.Column("paused_at", MOMENT, nullable=True))
    op.add_column(
        "phase", sa.Column("pause_reason", sa.String(), server_default=sa.text("''"), nullable=False)
    )
    _add_webhooks()
    _add_outages()


def _add_webhooks() -> None:
    op.create_table(
        "webhook",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("team_id", sa.BigInteger(), nullable=True),
        sa.Column("challenge_id", sa.BigInteger(), nullable=True),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("url", sa.String(), nullable=False),
        sa.Column("secret", sa.String(), nullable=False),
        sa.Column("created_by", sa.BigInteger(), nullable=True),
        sa.Column("created_at", MOMENT, server_default=sa.text("now()"), nullable=False),
        sa.Column("is_queued", sa.Boolean(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("failing_since", MOMENT, nullable=True),
        sa.Column("off_at", MOMENT, nullable=True),
        sa.Column("off_reason", sa.String(), nullable=False),
        sa.CheckConstraint("num_nonnulls(team_id, challenge_id) = 1", name=op.f("ck_webhook_one_owner")),
        sa.CheckConstraint("failures >= 0", name=op.f("ck_webhook_failures_not_negative")),
        sa.ForeignKeyConstraint(
            ["team_id"], ["team.id"], name=op.f("fk_webhook_team_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["challenge_id"], ["challenge.id"], name=op.f("fk_webhook_challenge_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["created_by"], ["user_account.id"], name=op.f("fk_webhook_created_by"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook")),
    )
    op.create_index(op.f("ix_webhook_team_id"), "webhook", ["team_id"])
    op.create_index(op.f("ix_webhook_challenge_id"), "webhook", ["challenge_id"])
    op.create_table(
        "webhook_delivery",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("public_id", sa.Uuid(), nullable=False),
        sa.Column("webhook_id", sa.BigInteger(), nullable=False),
        sa.Column("event_id", sa.BigInteger(), nullable=True),
        sa.Column("event_key", sa.Uuid(), nullable=False),
        sa.Column("created_at", MOMENT, server_default=sa.text("now()"), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("tried_at", MOMENT, nullable=True),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("seconds", sa.Float(), nullable=True),
        sa.Column("problem", sa.String(), nullable=False),
        sa.Column("ended_at", MOMENT, nullable=True),
        sa.ForeignKeyConstraint(
            ["webhook_id"], ["webhook.id"], name=op.f("fk_webhook_delivery_webhook_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["event_id"], ["event.id"], name=op.f("fk_webhook_delivery_event_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook_delivery")),
        sa.UniqueConstraint("public_id", name=op.f("uq_webhook_delivery_public_id")),
        sa.UniqueConstraint("webhook_id", "event_id", name=op.f("uq_webhook_delivery_webhook_id_event_id")),
    )
    op.create_index(op.f("ix_webhook_delivery_event_id"), "webhook_delivery", ["event_id"])
    op.create_index("ix_webhook_delivery_list", "webhook_delivery", ["webhook_id", "id"])
    op.create_index(
        "ix_webhook_delivery_waiting",
        "webhook_delivery",
        ["webhook_id", "id"],
        postgresql_where=sa.text("ended_at IS NULL"),
    )


def _add_outages() -> None:
    op.create_table(
        "outage",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("part", sa.String(length=20), nullable=False),
        sa.Column("started_at", MOMENT, nullable=False),
        sa.Column("ended_at", MOMENT, nullable=False),
        sa.CheckConstraint("ended_at > started_at", name=op.f("ck_outage_ends_after_start")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outage")),
    )
    op.create_index("ix_outage_ended_at", "outage", ["part", "ended_at"])
    op.create_table(
        "extension",
        sa.Column("outage_id", sa.BigInteger(), nullable=False),
        sa.Column("phase_id", sa.BigInteger(), nullable=False),
        sa.Column("minutes", sa.Integer(), nullable=False),
        sa.Column("extended_at", MOMENT, server_default=sa.text("now()"), nullable=False),
        sa.Column("extended_by", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["outage_id"], ["outage.id"], name=op.f("fk_extension_outage_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["phase_id"], ["phase.id"], name=op.f("fk_extension_phase_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["extended_by"], ["user_account.id"], name=op.f("fk_extension_extended_by"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("outage_id", "phase_id", name=op.f("pk_extension")),
    )
    op.create_index(op.f("ix_extension_phase_id"), "extension", ["phase_id"])
    op.create_table(
        "notice",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("starts_at", MOMENT, nullable=False),
        sa.Column("ends_at", MOMENT, nullable=True),
        sa.Column("created_at", MOMENT, server_default=sa.text("now()"), nullable=False),
        sa.Column("created_by", sa.BigInteger(), nullable=True),
        sa.CheckConstraint(
            "ends_at IS NULL OR ends_at >= starts_at", name=op.f("ck_notice_ends_after_start")
        ),
        sa.ForeignKeyConstraint(
            ["created_by"], ["user_account.id"], name=op.f("fk_notice_created_by"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notice")),
    )
