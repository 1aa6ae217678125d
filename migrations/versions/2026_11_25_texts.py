"""texts of challenges, announcements, the name and the legal texts of the site."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "7c1e5a90d3f4"
down_revision = "4a7be90c15d2"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "challenge_page",
        sa.Column("challenge_id", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("tagline", sa.String(), nullable=False),
        sa.Column("overview", sa.String(), nullable=False),
        sa.Column("rules", sa.String(), nullable=False),
        sa.Column("organisers", sa.String(), nullable=False),
        sa.Column("contact", sa.String(), nullable=False),
        sa.Column("citation", sa.String(), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("changed_by", sa.BigInteger(), nullable=True),
        sa.CheckConstraint("version > 0", name=op.f("ck_challenge_page_version_positive")),
        sa.ForeignKeyConstraint(
            ["challenge_id"], ["challenge.id"], name=op.f("fk_challenge_page_challenge_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["changed_by"], ["user_account.id"], name=op.f("fk_challenge_page_changed_by")
        ),
        sa.PrimaryKeyConstraint("challenge_id", name=op.f("pk_challenge_page")),
    )
    op.create_table(
        "announcement",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("public_id", sa.Uuid(), nullable=False),
        sa.Column("challenge_id", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("created_by", sa.BigInteger(), nullable=True),
        sa.Column("edited_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("version > 0", name=op.f("ck_announcement_version_positive")),
        sa.ForeignKeyConstraint(
            ["challenge_id"], ["challenge.id"], name=op.f("fk_announcement_challenge_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["created_by"], ["user_account.id"], name=op.f("fk_announcement_created_by")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_announcement")),
        sa.UniqueConstraint("public_id", name=op.f("uq_announcement_public_id")),
    )
    op.create_index("ix_announcement_challenge", "announcement", ["challenge_id", "id"])
    op.create_table(
        "site",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("accent", sa.String(), nullable=False),
        sa.Column("contact", sa.String(), nullable=False),
        sa.Column("links", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("imprint", sa.String(), nullable=False),
        sa.Column("privacy", sa.String(), nullable=False),
        sa.Column("logo", sa.LargeBinary(), nullable=True),
        sa.Column("logo_digest", sa.String(), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("changed_by", sa.BigInteger(), nullable=True),
        sa.CheckConstraint("id = 1", name=op.f("ck_site_one_row")),
        sa.CheckConstraint("version > 0", name=op.f("ck_site_version_positive")),
        sa.ForeignKeyConstraint(["changed_by"], ["user_account.id"], name=op.f("fk_site_changed_by")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_site")),
    )


def downgrade() -> None:
    op.drop_table("site")
    op.drop_table("announcement")
    op.drop_table("challenge_page")
