"""Test runs of drafts, which alone can be deleted from publications; since when the rows of others are frozen."""

import sqlalchemy as sa
from alembic import op

revision = "e81d5a9f2c47"
down_revision = "c27f4be81a90"
branch_labels = None
depends_on = None

# It runs with the rights of the tables' owner, because the role of the application cannot delete from this table. What it
# deletes was marked when it was inserted, which that role cannot change either.
DELETE_TEST_PUBLICATIONS = """
CREATE FUNCTION delete_test_publications(of_challenge bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    deleted bigint;
BEGIN
    PERFORM FROM challenge
    WHERE id = of_challenge AND visibility = 'draft' AND opened_at IS NULL FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'challenge % is not a draft', of_challenge;
    END IF;
    DELETE FROM publication USING phase
    WHERE phase.id = publication.phase_id AND phase.challenge_id = of_challenge AND publication.is_test;
    GET DIAGNOSTICS deleted = ROW_COUNT;
    RETURN deleted;
END
$$
"""


def upgrade() -> None:
    op.add_column("phase", sa.Column("frozen_from", sa.DateTime(timezone=True), nullable=True))
    op.add_column(
        "publication", sa.Column("is_test", sa.Boolean(), server_default=sa.text("false"), nullable=False)
    )
    # those that organisers have submitted to drafts so far, which are few
    op.execute(
        "UPDATE publication SET is_test = true FROM phase JOIN challenge ON challenge.id = phase.challenge_id"
        " WHERE phase.id = publication.phase_id AND challenge.visibility = 'draft' AND challenge.opened_at IS NULL"
    )
    op.execute(DELETE_TEST_PUBLICATIONS)
    op.execute("REVOKE ALL ON FUNCTION delete_test_publications(bigint) FROM PUBLIC")
