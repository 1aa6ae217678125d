"""What was set before a phase was closed early; quotas in total of challenges that were made in steps."""

import sqlalchemy as sa
from alembic import op

revision = "a4c90e57d1b3"
down_revision = "b7d03f6e91c8"
branch_labels = None
depends_on = None


def days(opens_at: str, closes_at: str) -> str:
    """As how many days the steps wrote a quota in total: the length of the phase, or a year if it does not close."""
    length = f"ceil(extract(epoch FROM ({closes_at}) - ({opens_at})) / 86400)"
    return f"CASE WHEN {closes_at} IS NULL THEN 365 ELSE least(3660, greatest(1, {length})) END"


SAVED = days(
    "coalesce(rules ->> 'opens_at', rules ->> 'saved_at')::timestamptz",
    "(rules ->> 'closes_at')::timestamptz",
)
# A quota is one in total for certain if it has the number and the days of it, and is not that of a day or a week. It is stored
# with 9999 days, which processes of the release before count in the same way.
IS_TOTAL = """
    results = rules ->> 'total'
    AND results IS DISTINCT FROM (CASE days WHEN '1' THEN rules ->> 'per_day' WHEN '7' THEN rules ->> 'per_week' END)
"""
PHASES = f"""
UPDATE phase SET quotas = changed.quotas
FROM (
    SELECT id, jsonb_agg(
        CASE WHEN {IS_TOTAL} AND days::numeric IN (written, length) THEN quota || '{{"days": 9999}}' ELSE quota END ORDER BY place
    ) AS quotas
    FROM (
        SELECT phase.id, quota, place, quota ->> 'results' AS results, quota ->> 'days' AS days, rules, {SAVED} AS written,
            {days("phase.opens_at", "phase.closes_at")} AS length
        FROM phase
        JOIN challenge_draft AS draft ON draft.challenge_id = phase.challenge_id
        CROSS JOIN LATERAL (SELECT draft.settings -> 'rules' AS rules) AS saved
        CROSS JOIN LATERAL jsonb_array_elements(phase.quotas) WITH ORDINALITY AS one (quota, place)
    ) AS each
    GROUP BY id
) AS changed
WHERE changed.id = phase.id AND changed.quotas <> phase.quotas
"""  # noqa: S608 - of constants
# of what the phases of a draft were made, which is compared with what the steps say now
MADE_OF = f"""
UPDATE challenge_draft SET made_of = jsonb_set(made_of, '{{phases}}', changed.phases)
FROM (
    SELECT challenge_id, jsonb_agg(phase || jsonb_build_object('quotas', quotas) ORDER BY place) AS phases
    FROM (
        SELECT challenge_id, phase, place, coalesce((
            SELECT string_agg(results || '/' || counted, ', ' ORDER BY counted)
            FROM (
                SELECT results, CASE WHEN {IS_TOTAL} AND days::numeric = written THEN 9999 ELSE days::integer END AS counted
                FROM (
                    SELECT split_part(part, '/', 1) AS results, split_part(part, '/', 2) AS days
                    FROM regexp_split_to_table(nullif(phase ->> 'quotas', ''), ', ') AS part
                ) AS parts
            ) AS quotas
        ), '') AS quotas
        FROM (
            SELECT challenge_id, made_of, settings -> 'rules' AS rules FROM challenge_draft WHERE made_of IS NOT NULL
        ) AS draft
        CROSS JOIN LATERAL (SELECT {SAVED} AS written) AS window_of
        CROSS JOIN LATERAL jsonb_array_elements(made_of -> 'phases') WITH ORDINALITY AS one (phase, place)
    ) AS each
    GROUP BY challenge_id
) AS changed
WHERE changed.challenge_id = challenge_draft.challenge_id AND changed.phases <> challenge_draft.made_of -> 'phases'
"""  # noqa: S608 - of constants


def upgrade() -> None:
    op.add_column("phase", sa.Column("planned_grace", sa.Interval(), nullable=True))
    op.add_column("phase", sa.Column("planned_closes_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("phase", sa.Column("planned_frozen_from", sa.DateTime(timezone=True), nullable=True))
    # of both there are few rows
    op.execute(PHASES)
    op.execute(MADE_OF)
