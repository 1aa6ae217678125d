"""Mail about events: what waits or was sent, choices of people, keys of links, events recorded only once."""

import sqlalchemy as sa
from alembic import op

revision = "5b92d0c7e4a8"
down_revision = "f7a94c2be810"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "event_key",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_event_key")),
    )
    op.create_index("ix_event_key_at", "event_key", ["at"])
    op.create_table(
        "signing_key",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("secret", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_signing_key")),
    )
    op.create_table(
        "mail_choice",
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("by_mail", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name=op.f("fk_mail_choice_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_id", "kind", name=op.f("pk_mail_choice")),
    )
    op.create_table(
        "notification_mail",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("failed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("address", sa.String(), nullable=True),
        sa.Column("error", sa.String(), nullable=True),
        sa.CheckConstraint("attempts >= 0", name=op.f("ck_notification_mail_counts_not_negative")),
        sa.CheckConstraint(
            "sent_at IS NULL OR failed_at IS NULL", name=op.f("ck_notification_mail_sent_or_failed")
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name=op.f("fk_notification_mail_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notification_mail")),
    )
    op.create_index(
        "uq_notification_mail_open",
        "notification_mail",
        ["user_id", "kind"],
        unique=True,
        postgresql_where=sa.text("attempts = 0"),
    )
    op.create_index("ix_notification_mail_person", "notification_mail", ["user_id", "kind", "sent_at"])
    op.create_index(
        "ix_notification_mail_due",
        "notification_mail",
        ["due_at", "id"],
        postgresql_where=sa.text("sent_at IS NULL AND failed_at IS NULL"),
    )
    op.create_index(
        "ix_notification_mail_sent",
        "notification_mail",
        ["sent_at"],
        postgresql_where=sa.text("sent_at IS NOT NULL"),
    )
    op.create_index(
        "ix_notification_mail_failed",
        "notification_mail",
        ["id"],
        postgresql_where=sa.text("failed_at IS NOT NULL"),
    )
    op.create_table(
        "mailed_notification",
        sa.Column("mail_id", sa.BigInteger(), nullable=False),
        sa.Column("notification_id", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["mail_id"],
            ["notification_mail.id"],
            name=op.f("fk_mailed_notification_mail_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["notification_id"],
            ["notification.id"],
            name=op.f("fk_mailed_notification_notification_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("mail_id", "notification_id", name=op.f("pk_mailed_notification")),
    )
    op.create_index(
        op.f("ix_mailed_notification_notification_id"), "mailed_notification", ["notification_id"]
    )
