"""Visibility of challenges and invitations to them; the code of the setup; who may create challenges."""

import sqlalchemy as sa
from alembic import op

revision = "3d8e5b21c7f6"
down_revision = "7d2b94c1f0e6"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "challenge",
        sa.Column("visibility", sa.String(length=20), server_default=sa.text("'listed'"), nullable=False),
    )
    op.add_column("challenge", sa.Column("opened_at", sa.DateTime(timezone=True), nullable=True))
    op.create_table(
        "challenge_invitation",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("challenge_id", sa.BigInteger(), nullable=False),
        sa.Column("address", sa.String(), nullable=True),
        sa.Column("domain", sa.String(), nullable=True),
        sa.Column("code_hash", sa.LargeBinary(), nullable=True),
        sa.Column("uses_left", sa.Integer(), nullable=True),
        sa.Column("note", sa.String(), nullable=False),
        sa.Column("created_by", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "num_nonnulls(address, domain, code_hash) = 1",
            name=op.f("ck_challenge_invitation_of_one_kind"),
        ),
        sa.CheckConstraint("uses_left >= 0", name=op.f("ck_challenge_invitation_uses_left_not_negative")),
        sa.ForeignKeyConstraint(
            ["challenge_id"],
            ["challenge.id"],
            name=op.f("fk_challenge_invitation_challenge_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["created_by"],
            ["user_account.id"],
            name=op.f("fk_challenge_invitation_created_by"),
            ondelete="SET NULL",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_challenge_invitation")),
        sa.UniqueConstraint("code_hash", name=op.f("uq_challenge_invitation_code_hash")),
    )
    op.create_index(op.f("ix_challenge_invitation_challenge_id"), "challenge_invitation", ["challenge_id"])
    op.create_index(
        "ix_challenge_invitation_address",
        "challenge_invitation",
        ["address"],
        postgresql_where=sa.text("address IS NOT NULL"),
    )
    op.create_index(
        "ix_challenge_invitation_domain",
        "challenge_invitation",
        ["domain"],
        postgresql_where=sa.text("domain IS NOT NULL"),
    )
    op.create_table(
        "invited_person",
        sa.Column("challenge_id", sa.BigInteger(), nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.Column("invitation_id", sa.BigInteger(), nullable=False),
        sa.Column("redeemed_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["challenge_id"],
            ["challenge.id"],
            name=op.f("fk_invited_person_challenge_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["invitation_id"],
            ["challenge_invitation.id"],
            name=op.f("fk_invited_person_invitation_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name=op.f("fk_invited_person_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("challenge_id", "user_id", name=op.f("pk_invited_person")),
    )
    op.create_index(op.f("ix_invited_person_invitation_id"), "invited_person", ["invitation_id"])
    op.create_index(op.f("ix_invited_person_user_id"), "invited_person", ["user_id"])
    op.add_column(
        "one_time_link",
        sa.Column("is_setup", sa.Boolean(), server_default=sa.text("false"), nullable=False),
    )
    op.add_column("site", sa.Column("tagline", sa.String(), server_default=sa.text("''"), nullable=False))
    op.add_column(
        "site",
        sa.Column("creation", sa.String(length=20), server_default=sa.text("'admins'"), nullable=False),
    )
    op.create_table(
        "challenge_creator",
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.Column("added_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name=op.f("fk_challenge_creator_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_id", name=op.f("pk_challenge_creator")),
    )
    op.create_table(
        "creation_request",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.Column("sentence", sa.String(), nullable=False),
        sa.Column("asked_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("decided_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("is_approved", sa.Boolean(), nullable=True),
        sa.Column("reason", sa.String(), nullable=False),
        sa.CheckConstraint(
            "(decided_at IS NULL) = (is_approved IS NULL)",
            name=op.f("ck_creation_request_decided_with_outcome"),
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name=op.f("fk_creation_request_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_creation_request")),
    )
    op.create_index(op.f("ix_creation_request_user_id"), "creation_request", ["user_id"])
    op.create_index(
        "uq_creation_request_open",
        "creation_request",
        ["user_id"],
        unique=True,
        postgresql_where=sa.text("decided_at IS NULL"),
    )
