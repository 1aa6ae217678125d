"""The tables of docs/administer/costs.md."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from benchmarks.contestants import ROOT
from benchmarks.server.goals import GROWTH, Goal
from benchmarks.server.pages import PageCosts

COSTS: Final = ROOT / "docs" / "administer" / "costs.md"
MARK: Final = "<!-- written by `python -m {} --write`: {} -->"


def write_between_marks(path: Path, text: str, program: str = "benchmarks.server") -> None:
    """Replace what stands between the two markers of a program in a page. Raises ValueError if it does not have both."""
    first, last = (MARK.format(program, end) for end in ("begin", "end"))
    before, begin, rest = path.read_text().partition(first)
    _, end, after = rest.partition(last)
    if not begin or not end:
        raise ValueError(f"{path} does not have the lines '{first}' and '{last}'")
    path.write_text(f"{before}{begin}\n{text}\n{end}{after}")


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table in Markdown, all but its first column to the right."""
    yield from _head(*head)
    for row in rows:
        yield _row(*row)


def tables(goals: Sequence[Goal], pages: Sequence[PageCosts], runs: Sequence[int], machine: str) -> str:
    """Both tables in Markdown, and what they were measured on."""
    return "\n".join((*_goals(goals), "", *_pages(pages, runs), "", machine))


def _goals(goals: Sequence[Goal]) -> Iterator[str]:
    yield from _head("what", "before", "goal", "measured", "")
    for goal in goals:
        mark = {None: "", True: "met", False: "**missed**"}[goal.is_met]
        yield _row(goal.what, goal.before, goal.goal, goal.measured, mark)


def _pages(pages: Sequence[PageCosts], runs: Sequence[int]) -> Iterator[str]:
    yield from _head("ms of processor for a request", *(f"{each:,} runs" for each in runs), "growth", "kB")
    for each in pages:
        costs = [f"{cost.total:.1f} ({cost.database:.1f})" for cost in each.costs]
        growth = f"{each.growth:.2f}×" if each.growth <= GROWTH else f"**{each.growth:.2f}×**"
        yield _row(each.page.what, *costs, growth, f"{each.costs[-1].size / 1000:.1f}")


def _head(first: str, *others: str) -> Iterator[str]:
    yield _row(first, *others)
    yield f"|---|{'---:|' * len(others)}"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
