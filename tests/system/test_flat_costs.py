"""Pages whose cost must not grow with what was ever scored: how the database would run their statements on a long history."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import event, text
from starlette.routing import Match

from app.disclosure import queries as disclosure
from app.evaluation import queries as evaluation
from app.evaluation.schemas import PhaseQueue
from app.main import create_app
from app.models import RunState
from app.platform import Platform
from tests.system.rows import made, small_board

pytestmark = pytest.mark.system

__all__ = ["small_board"]

MOST_LOOKS = 6  # at routers


@contextmanager
def plans(platform: Platform) -> Iterator[list[str]]:
    """How each statement of a block would be run where reading a whole table is dear."""
    found: list[str] = []
    asked: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        asked.append((statement, parameters))

    event.listen(platform.engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        event.remove(platform.engine, "before_cursor_execute", note)
    with platform.transaction() as session:
        session.execute(text("SET LOCAL enable_seqscan = off"))
        for statement, parameters in asked:
            rows = session.connection().exec_driver_sql(f"EXPLAIN {statement}", parameters)
            found.append("\n".join(row[0] for row in rows))


def test_the_counts_of_the_organisers_overview_come_from_indexes_of_what_is_unscored(
    small_board: Platform,
) -> None:
    rows = made(small_board)
    for mean in (0.1, 0.2, 0.3):
        rows.entry(mean=mean)
    rows.entry()
    rows.claim(rows.entry())
    rows.end(rows.run_of(rows.entry()), RunState.FAILED)

    with plans(small_board) as found, small_board.transaction() as session:
        counts = evaluation.queues(session)

    assert counts[rows.phase_id] == PhaseQueue(entries=3, queued=1, running=1, failed=1)
    assert "Seq Scan" not in "\n".join(found)
    assert re.search(r"using ix_entry_\w+ on entry", found[0])
    assert re.search(r"ix_run_(team|running|queued|ended)", found[1])


def test_the_values_of_a_page_of_teams_are_counted_for_their_runs_alone(small_board: Platform) -> None:
    rows = made(small_board)
    rows.entry(mean=0.5)
    other = rows.other_team()
    rows.entry(mean=0.25, team_id=other)

    with plans(small_board) as found, small_board.transaction() as session:
        first = disclosure.uses(session, rows.phase_id, 0, 1)
        rest = disclosure.uses(session, rows.phase_id, first[0][0], 10)

    assert [team for team, *_ in (*first, *rest)] == sorted((rows.team_id, other))
    conditions = re.findall(r"uq_class_score_run_id.*\n\s+Index Cond: \((.*)\)", "\n".join(found))
    assert conditions
    assert all("run_id = run" in each for each in conditions), found


@pytest.mark.parametrize(
    "path", ["/leaderboards/oak/test/3", "/submissions/7/status", "/", "/editions/oak", "/submissions/7"]
)
def test_what_is_asked_for_most_is_found_after_a_few_looks(small_board: Platform, path: str) -> None:
    routers = create_app(small_board).router.routes
    scope = {"type": "http", "method": "GET", "path": path, "root_path": "", "headers": []}

    looks = next(count for count, each in enumerate(routers, 1) if each.matches(dict(scope))[0] is Match.FULL)

    assert looks <= MOST_LOOKS
