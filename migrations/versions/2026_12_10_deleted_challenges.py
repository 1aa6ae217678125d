"""Challenges that are deleted after they were open: the mark of what their organisers published, and retired addresses."""

import sqlalchemy as sa
from alembic import op

revision = "b83f60d29e14"
down_revision = "a17c5e08d3b6"
branch_labels = None
depends_on = None

# Both run with the rights of the tables' owner, because the role of the application cannot delete from these tables. What they
# delete from publications was marked when it was inserted, which that role cannot change either. Changes of the details of a
# method go with them, unless somebody else published a result of it.
CHANGES = """
    DELETE FROM method_change USING method
    WHERE method.id = method_change.method_id AND method.challenge_id = of_challenge AND NOT EXISTS (
        SELECT FROM publication JOIN result ON result.id = publication.result_id
        WHERE result.method_id = method.id AND NOT (publication.is_test OR publication.by_organisers));
"""
DELETE_TEST_PUBLICATIONS = """
CREATE OR REPLACE FUNCTION delete_test_publications(of_challenge bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    deleted bigint;
BEGIN
    PERFORM FROM challenge
    WHERE id = of_challenge AND visibility = 'draft' AND opened_at IS NULL FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'challenge % is not a draft', of_challenge;
    END IF;
    -- changes
    DELETE FROM publication USING phase
    WHERE phase.id = publication.phase_id AND phase.challenge_id = of_challenge AND publication.is_test;
    GET DIAGNOSTICS deleted = ROW_COUNT;
    RETURN deleted;
END
$$
"""
DELETE_CHALLENGE_PUBLICATIONS = """
CREATE FUNCTION delete_challenge_publications(of_challenge bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    deleted bigint;
BEGIN
    PERFORM FROM challenge WHERE id = of_challenge FOR UPDATE;
    PERFORM FROM publication JOIN phase ON phase.id = publication.phase_id
    WHERE phase.challenge_id = of_challenge AND NOT (publication.is_test OR publication.by_organisers);
    IF FOUND THEN
        RAISE EXCEPTION 'challenge % has publications of others', of_challenge;
    END IF;
    -- changes
    DELETE FROM publication USING phase
    WHERE phase.id = publication.phase_id AND phase.challenge_id = of_challenge;
    GET DIAGNOSTICS deleted = ROW_COUNT;
    RETURN deleted;
END
$$
"""


def upgrade() -> None:
    op.add_column(
        "publication",
        sa.Column("by_organisers", sa.Boolean(), server_default=sa.text("false"), nullable=False),
    )
    op.create_table(
        "retired_address",
        sa.Column("code", sa.String(), nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("code", name=op.f("pk_retired_address")),
    )
    for function in (DELETE_TEST_PUBLICATIONS, DELETE_CHALLENGE_PUBLICATIONS):
        op.execute(function.replace("-- changes", CHANGES.strip()))
    op.execute("REVOKE ALL ON FUNCTION delete_challenge_publications(bigint) FROM PUBLIC")
