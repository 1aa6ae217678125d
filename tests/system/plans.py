"""How the database executes the statements of a block."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import event, text

from app.platform import Platform


@contextmanager
def plans(platform: Platform) -> Iterator[list[str]]:
    """The plan of each statement in a block when sequential scans are expensive."""
    found: list[str] = []
    with _explained(platform, "EXPLAIN") as plan_of_each:
        yield found
    found.extend("\n".join(row[0] for row in rows) for rows in plan_of_each)


@contextmanager
def rows_read(platform: Platform) -> Iterator[Counter[str]]:
    """The number of rows that the statements of a block read from each table when sequential scans are expensive."""
    found: Counter[str] = Counter()
    with _explained(platform, "EXPLAIN (ANALYZE, FORMAT JSON)") as plan_of_each:
        yield found
    for [[plan]] in plan_of_each:
        _count(plan[0]["Plan"], found)


def _count(node: dict[str, Any], found: Counter[str]) -> None:
    if "Relation Name" in node:
        passed = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
        found[node["Relation Name"]] += round(passed * node["Actual Loops"])
    for each in node.get("Plans", ()):
        _count(each, found)


@contextmanager
def _explained(platform: Platform, command: str) -> Iterator[list[list[Any]]]:
    """The output of an EXPLAIN command for each statement of the block."""
    found: list[list[Any]] = []
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
            rows = session.connection().exec_driver_sql(f"{command} {statement}", parameters)
            found.append(list(rows))
