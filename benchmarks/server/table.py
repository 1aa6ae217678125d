"""The README's tables of what the server costs."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from benchmarks.server.goals import GROWTH, Goal
from benchmarks.server.pages import PageCosts

BEGIN: Final = "<!-- written by `python -m benchmarks.server --readme`: begin -->"
END: Final = "<!-- written by `python -m benchmarks.server --readme`: end -->"


def write_readme(path: Path, text: str) -> None:
    """Replace what stands between the two markers of a README. Raises ValueError if it does not have both."""
    whole = path.read_text()
    before, begin, rest = whole.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{path} does not have the lines '{BEGIN}' and '{END}'")
    path.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


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
