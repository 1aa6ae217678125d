"""Mark what organisers have published so far, in a transaction of its own: it reads all publications."""

from alembic import op

revision = "c95a17e3f6d0"
down_revision = "b83f60d29e14"
branch_labels = None
depends_on = None

MARK = """
UPDATE publication SET by_organisers = true
FROM result
JOIN submission ON submission.id = result.submission_id
JOIN phase ON phase.id = result.phase_id
WHERE result.id = publication.result_id AND (
    EXISTS (SELECT FROM challenge_organiser
            WHERE challenge_organiser.challenge_id = phase.challenge_id
            AND challenge_organiser.user_id = submission.user_id AND challenge_organiser.role <> 'viewer')
    OR EXISTS (SELECT FROM user_account WHERE user_account.id = submission.user_id AND user_account.role = 'admin'))
"""


def upgrade() -> None:
    op.execute(MARK)
