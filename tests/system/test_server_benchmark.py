"""The benchmark of the server runs and writes its tables between the markers in docs/administer/costs.md."""

from pathlib import Path

import pytest

from benchmarks.server.boards import FROM_CACHE, HUNG_UP, MEMORY, RANKING, RENEWED, measure_boards
from benchmarks.server.goals import Wanted
from benchmarks.server.pages import PAGES, Cost, PageCosts, measure_pages
from benchmarks.server.queue import BOOKKEEPING, CLAIMS, measure_queue
from benchmarks.server.sites import site
from benchmarks.server.table import COSTS, MARK, tables, write_between_marks
from tests.system.servers import OwnServers

pytestmark = [pytest.mark.slow, pytest.mark.system]


def test_boards_and_every_page_are_measured(own_servers: OwnServers) -> None:
    with site(own_servers, runs=30, board=5) as small:
        goals = [*measure_boards(small, seconds=1)]
        pages = [*measure_pages([small], rounds=1, requests=1)]

    assert [each.page for each in pages] == [*PAGES]
    assert all(cost.web > 0 for each in pages for cost in each.costs)
    assert {goal.what for goal in goals} >= {
        each.what for each in (FROM_CACHE, RENEWED, HUNG_UP, RANKING, MEMORY)
    }


def test_claims_and_a_re_scoring_are_measured(own_servers: OwnServers) -> None:
    goals = [*measure_queue(own_servers, runs=300, results=30)]

    assert [goal.what for goal in goals] == [CLAIMS.what, BOOKKEEPING.what]


def test_the_tables_say_which_goals_were_missed() -> None:
    wanted = Wanted("a page", "≤ 2 ms", 2, "9 ms")
    costs = PageCosts(PAGES[0], (Cost(3.0, 1.0, 10_000), Cost(3.0, 3.0, 10_000)))

    text = tables(
        [wanted.measured(1.5), wanted.measured(2.5, " on one core")], [costs], [1000, 100_000], "two cores."
    )

    assert "| a page | 9 ms | ≤ 2 ms | 1.5 ms | met |" in text
    assert "| a page | 9 ms | ≤ 2 ms | 2.5 ms on one core | **missed** |" in text
    assert f"| {PAGES[0].what} | 4.0 (1.0) | 6.0 (3.0) | **1.50×** | 10.0 |" in text


def test_a_goal_for_a_rate_is_a_minimum() -> None:
    rate = Wanted("claims", "≥ 600/s", 600, unit="{:.0f}/s", more_is_better=True)

    assert [rate.measured(each).is_met for each in (599, 600)] == [False, True]


@pytest.mark.parametrize("program", ["benchmarks.server", "benchmarks.load"])
def test_only_text_between_the_markers_is_replaced(tmp_path: Path, program: str) -> None:
    begin, end = MARK.format(program, "begin"), MARK.format(program, "end")
    page = tmp_path / "costs.md"
    page.write_text(f"before\n{begin}\nearlier\n{end}\nafter\n")

    write_between_marks(page, "figures", program)

    assert page.read_text() == f"before\n{begin}\nfigures\n{end}\nafter\n"
    assert [COSTS.read_text().count(each) for each in (begin, end)] == [1, 1]
    page.write_text("nothing")
    with pytest.raises(ValueError, match="does not have the lines"):
        write_between_marks(page, "figures", program)
