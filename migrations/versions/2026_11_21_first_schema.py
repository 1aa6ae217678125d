"""People, editions, submissions and runs: the first schema."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "10c98226be56"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "edition",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("code", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("dataset", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_edition")),
        sa.UniqueConstraint("code", name=op.f("uq_edition_code")),
    )
    op.create_table(
        "team",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_team")),
    )
    op.create_table(
        "user_account",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("email", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("password_hash", sa.String(), nullable=True),
        sa.Column(
            "role",
            sa.Enum("participant", "organiser", "admin", name="role", native_enum=False, length=20),
            nullable=False,
        ),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_user_account")),
        sa.UniqueConstraint("email", name=op.f("uq_user_account_email")),
    )
    op.create_table(
        "api_token",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("token_hash", sa.LargeBinary(), nullable=False),
        sa.Column("hint", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name=op.f("fk_api_token_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_token")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_api_token_token_hash")),
    )
    op.create_index(op.f("ix_api_token_user_id"), "api_token", ["user_id"], unique=False)
    op.create_table(
        "login_session",
        sa.Column("token_hash", sa.LargeBinary(), nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name=op.f("fk_login_session_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("token_hash", name=op.f("pk_login_session")),
    )
    op.create_index(op.f("ix_login_session_user_id"), "login_session", ["user_id"], unique=False)
    op.create_table(
        "member",
        sa.Column("team_id", sa.BigInteger(), nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["team_id"], ["team.id"], name=op.f("fk_member_team_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name=op.f("fk_member_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("team_id", "user_id", name=op.f("pk_member")),
    )
    op.create_index(op.f("ix_member_user_id"), "member", ["user_id"], unique=False)
    op.create_table(
        "method",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("team_id", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("contributors", sa.String(), nullable=False),
        sa.Column("affiliation", sa.String(), nullable=False),
        sa.Column("description", sa.String(), nullable=False),
        sa.Column("is_baseline", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["team_id"], ["team.id"], name=op.f("fk_method_team_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_method")),
    )
    op.create_index(
        "uq_method_team_id_name", "method", ["team_id", sa.literal_column("lower(name)")], unique=True
    )
    op.create_table(
        "one_time_link",
        sa.Column("token_hash", sa.LargeBinary(), nullable=False),
        sa.Column(
            "role",
            sa.Enum("participant", "organiser", "admin", name="role", native_enum=False, length=20),
            nullable=False,
        ),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("used_by", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["used_by"], ["user_account.id"], name=op.f("fk_one_time_link_used_by")),
        sa.PrimaryKeyConstraint("token_hash", name=op.f("pk_one_time_link")),
    )
    op.create_table(
        "phase",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("edition_id", sa.BigInteger(), nullable=False),
        sa.Column("image_set", sa.String(), nullable=False),
        sa.Column(
            "disclosure",
            sa.Enum("full", "rounded", name="disclosure", native_enum=False, length=20),
            nullable=False,
        ),
        sa.Column("protocol", sa.String(), nullable=False),
        sa.Column("description_key", sa.String(), nullable=False),
        sa.Column("opens_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("closes_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("grace", sa.Interval(), nullable=False),
        sa.Column("quota", sa.Integer(), nullable=True),
        sa.Column("quota_window", sa.Interval(), nullable=False),
        sa.ForeignKeyConstraint(["edition_id"], ["edition.id"], name=op.f("fk_phase_edition_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_phase")),
        sa.UniqueConstraint("edition_id", "image_set", name=op.f("uq_phase_edition_id_image_set")),
    )
    op.create_table(
        "ground_truth",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("phase_id", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("fingerprint", sa.String(), nullable=False),
        sa.Column("statistics", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("imported_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["phase_id"], ["phase.id"], name=op.f("fk_ground_truth_phase_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ground_truth")),
        sa.UniqueConstraint("phase_id", "fingerprint", name=op.f("uq_ground_truth_phase_id_fingerprint")),
        sa.UniqueConstraint("phase_id", "version", name=op.f("uq_ground_truth_phase_id_version")),
    )
    op.create_table(
        "upload",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("phase_id", sa.BigInteger(), nullable=False),
        sa.Column("team_id", sa.BigInteger(), nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.Column("filename", sa.String(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=True),
        sa.Column("received", sa.BigInteger(), nullable=False),
        sa.Column("announced_sha256", sa.String(), nullable=True),
        sa.Column("competitions", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("sha256", sa.String(), nullable=True),
        sa.Column(
            "state",
            sa.Enum("receiving", "received", "checked", name="uploadstate", native_enum=False, length=20),
            nullable=False,
        ),
        sa.Column("valid", sa.Boolean(), nullable=True),
        sa.Column("report", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("started_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("received_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("checked_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["phase_id"], ["phase.id"], name=op.f("fk_upload_phase_id")),
        sa.ForeignKeyConstraint(["team_id"], ["team.id"], name=op.f("fk_upload_team_id")),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name=op.f("fk_upload_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_upload")),
    )
    op.create_index(op.f("ix_upload_team_id"), "upload", ["team_id"], unique=False)
    op.create_table(
        "board",
        sa.Column("phase_id", sa.BigInteger(), nullable=False),
        sa.Column("competition", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("protocol", sa.String(), nullable=False),
        sa.Column("ground_truth_id", sa.BigInteger(), nullable=False),
        sa.Column("scorer", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["ground_truth_id"], ["ground_truth.id"], name=op.f("fk_board_ground_truth_id")
        ),
        sa.ForeignKeyConstraint(["phase_id"], ["phase.id"], name=op.f("fk_board_phase_id")),
        sa.PrimaryKeyConstraint("phase_id", "competition", name=op.f("pk_board")),
    )
    op.create_table(
        "submission",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("upload_id", sa.Uuid(), nullable=False),
        sa.Column("phase_id", sa.BigInteger(), nullable=False),
        sa.Column("method_id", sa.BigInteger(), nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.Column("idempotency_key", sa.String(), nullable=True),
        sa.Column("request_digest", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["method_id"], ["method.id"], name=op.f("fk_submission_method_id")),
        sa.ForeignKeyConstraint(["phase_id"], ["phase.id"], name=op.f("fk_submission_phase_id")),
        sa.ForeignKeyConstraint(["upload_id"], ["upload.id"], name=op.f("fk_submission_upload_id")),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name=op.f("fk_submission_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_submission")),
        sa.UniqueConstraint("user_id", "idempotency_key", name=op.f("uq_submission_user_id_idempotency_key")),
    )
    op.create_index(op.f("ix_submission_method_id"), "submission", ["method_id"], unique=False)
    op.create_index(op.f("ix_submission_phase_id"), "submission", ["phase_id"], unique=False)
    op.create_index(op.f("ix_submission_upload_id"), "submission", ["upload_id"], unique=False)
    op.create_table(
        "entry",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("submission_id", sa.BigInteger(), nullable=False),
        sa.Column("method_id", sa.BigInteger(), nullable=False),
        sa.Column("phase_id", sa.BigInteger(), nullable=False),
        sa.Column("competition", sa.Integer(), nullable=False),
        sa.Column(
            "state",
            sa.Enum(
                "pending",
                "scored",
                "refused",
                "failed",
                "withdrawn",
                name="entrystate",
                native_enum=False,
                length=20,
            ),
            nullable=False,
        ),
        sa.Column("shown_run_id", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["method_id"], ["method.id"], name=op.f("fk_entry_method_id")),
        sa.ForeignKeyConstraint(["phase_id"], ["phase.id"], name=op.f("fk_entry_phase_id")),
        sa.ForeignKeyConstraint(["submission_id"], ["submission.id"], name=op.f("fk_entry_submission_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_entry")),
    )
    op.create_index("ix_entry_board", "entry", ["phase_id", "competition"], unique=False)
    op.create_index(op.f("ix_entry_submission_id"), "entry", ["submission_id"], unique=False)
    op.create_index(
        "uq_entry_one_result",
        "entry",
        ["method_id", "phase_id", "competition"],
        unique=True,
        postgresql_where=sa.text("state IN ('pending', 'scored')"),
    )
    op.create_table(
        "rescore",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("phase_id", sa.BigInteger(), nullable=False),
        sa.Column("entry_id", sa.BigInteger(), nullable=True),
        sa.Column("ground_truth_id", sa.BigInteger(), nullable=False),
        sa.Column("scorer", sa.String(), nullable=False),
        sa.Column("asked_by", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("published_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("abandoned_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["asked_by"], ["user_account.id"], name=op.f("fk_rescore_asked_by")),
        sa.ForeignKeyConstraint(["entry_id"], ["entry.id"], name=op.f("fk_rescore_entry_id")),
        sa.ForeignKeyConstraint(
            ["ground_truth_id"], ["ground_truth.id"], name=op.f("fk_rescore_ground_truth_id")
        ),
        sa.ForeignKeyConstraint(["phase_id"], ["phase.id"], name=op.f("fk_rescore_phase_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rescore")),
    )
    op.create_index(op.f("ix_rescore_phase_id"), "rescore", ["phase_id"], unique=False)
    op.create_table(
        "run",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("entry_id", sa.BigInteger(), nullable=False),
        sa.Column("rescore_id", sa.BigInteger(), nullable=True),
        sa.Column("ground_truth_id", sa.BigInteger(), nullable=False),
        sa.Column("protocol", sa.String(), nullable=False),
        sa.Column("scorer", sa.String(), nullable=False),
        sa.Column(
            "state",
            sa.Enum(
                "queued",
                "running",
                "scored",
                "refused",
                "failed",
                name="runstate",
                native_enum=False,
                length=20,
            ),
            nullable=False,
        ),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("queued_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("claimed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("sentence", sa.String(), nullable=True),
        sa.Column("measure", sa.String(), nullable=True),
        sa.Column("receipt", sa.String(), nullable=True),
        sa.Column("statistics_key", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(["entry_id"], ["entry.id"], name=op.f("fk_run_entry_id")),
        sa.ForeignKeyConstraint(
            ["ground_truth_id"], ["ground_truth.id"], name=op.f("fk_run_ground_truth_id")
        ),
        sa.ForeignKeyConstraint(["rescore_id"], ["rescore.id"], name=op.f("fk_run_rescore_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run")),
    )
    op.create_index(op.f("ix_run_entry_id"), "run", ["entry_id"], unique=False)
    op.create_index(
        "ix_run_waiting",
        "run",
        ["priority", "queued_at"],
        unique=False,
        postgresql_where=sa.text("state IN ('queued', 'running')"),
    )
    op.create_index("uq_run_rescore", "run", ["rescore_id", "entry_id"], unique=True)
    op.create_table(
        "class_score",
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("run_id", sa.BigInteger(), nullable=False),
        sa.Column("class_name", sa.String(), nullable=True),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("value", sa.Double(), nullable=True),
        sa.Column("reason", sa.String(), nullable=True),
        sa.Column("positives", sa.Integer(), nullable=True),
        sa.Column("answers", sa.Integer(), nullable=True),
        sa.Column("low", sa.Double(), nullable=True),
        sa.Column("high", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(
            ["run_id"], ["run.id"], name=op.f("fk_class_score_run_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_class_score")),
        sa.UniqueConstraint(
            "run_id",
            "class_name",
            name=op.f("uq_class_score_run_id_class_name"),
            postgresql_nulls_not_distinct=True,
        ),
    )
    op.create_table(
        "exhibit",
        sa.Column("run_id", sa.BigInteger(), nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("content", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_exhibit_run_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "position", name=op.f("pk_exhibit")),
    )
    # entries name the run that a board shows, runs name their entry
    op.create_foreign_key(op.f("fk_entry_shown_run_id"), "entry", "run", ["shown_run_id"], ["id"])


def downgrade() -> None:
    op.drop_constraint(op.f("fk_entry_shown_run_id"), "entry", type_="foreignkey")
    op.drop_table("exhibit")
    op.drop_table("class_score")
    op.drop_index("uq_run_rescore", table_name="run")
    op.drop_index(
        "ix_run_waiting", table_name="run", postgresql_where=sa.text("state IN ('queued', 'running')")
    )
    op.drop_index(op.f("ix_run_entry_id"), table_name="run")
    op.drop_table("run")
    op.drop_index(op.f("ix_rescore_phase_id"), table_name="rescore")
    op.drop_table("rescore")
    op.drop_index(
        "uq_entry_one_result", table_name="entry", postgresql_where=sa.text("state IN ('pending', 'scored')")
    )
    op.drop_index(op.f("ix_entry_submission_id"), table_name="entry")
    op.drop_index("ix_entry_board", table_name="entry")
    op.drop_table("entry")
    op.drop_index(op.f("ix_submission_upload_id"), table_name="submission")
    op.drop_index(op.f("ix_submission_phase_id"), table_name="submission")
    op.drop_index(op.f("ix_submission_method_id"), table_name="submission")
    op.drop_table("submission")
    op.drop_table("board")
    op.drop_index(op.f("ix_upload_team_id"), table_name="upload")
    op.drop_table("upload")
    op.drop_table("ground_truth")
    op.drop_table("phase")
    op.drop_table("one_time_link")
    op.drop_index("uq_method_team_id_name", table_name="method")
    op.drop_table("method")
    op.drop_index(op.f("ix_member_user_id"), table_name="member")
    op.drop_table("member")
    op.drop_index(op.f("ix_login_session_user_id"), table_name="login_session")
    op.drop_table("login_session")
    op.drop_index(op.f("ix_api_token_user_id"), table_name="api_token")
    op.drop_table("api_token")
    op.drop_table("user_account")
    op.drop_table("team")
    op.drop_table("edition")
