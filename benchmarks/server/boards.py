"""What boards cost: from the cache, at the moment when it is renewed, and while somebody misuses them."""

import asyncio
import gc
import math
import statistics
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

import httpx2

from app.boards.rows import BoardRow, BoardTeam, ScoreCell, arrange
from app.boards.selections import BoardQuery
from benchmarks.server import wrk
from benchmarks.server.goals import Goal, Wanted
from benchmarks.server.pages import HTML
from benchmarks.server.processor import resident, spent
from benchmarks.server.sites import TWENTY, Site
from benchmarks.server.waits import waits_beside

BOARD: Final = "/leaderboards/board/test/3"  # 100 methods, 20 classes
LARGE_BOARD: Final = "/leaderboards/board/test/4"  # 500 methods
OWN: Final = "/submissions"
TOGETHER: Final = 64
DAY: Final = datetime(2027, 1, 1, tzinfo=UTC)
FRESH: Final = 1.2  # seconds after which a version is read again, and a little more

FROM_CACHE = Wanted(
    "board of 100 × 20 from the cache, processor time of a request", "≤ 0.6 ms", 0.6, "49–120 ms"
)
RATE = Wanted(
    "the same by wrk at 64 connections, one web process",
    "≥ 1,500/s, p99 < 100 ms", 1500, "7–20/s, p99 5.8 s", "{:,.0f}/s", more_is_better=True,
)  # fmt: skip
UNCHANGED = Wanted(
    "the same to readers who have it: 304", "≥ 3,000/s", 3000, "no ETag", "{:,.0f}/s", more_is_better=True
)
RENEWED = Wanted(
    "a changed board asked for by 64 at once, against one who asks",
    "single flight: ≤ 3×",
    3,
    "64×",
    "{:.1f}×",
)
HUNG_UP = Wanted(
    "others' p99 beside 64 clients that ask for a 500-row board and hang up",
    "≤ 2×",
    2,
    "`/health` waits 16 s",
    "{:.1f}×",
)
RANKING = Wanted(
    "ranking of 500 rows, growth to 4,000", "n log n", 1.2, "n², 37 ms", "n to the power of {:.2f}"
)
OWN_PAGE = Wanted(
    "a page of somebody's own, drawn for each request, by wrk at 16 connections",
    "≥ 150/s, p95 < 150 ms", 150, unit="{:,.0f}/s", more_is_better=True,
)  # fmt: skip
MEMORY = Wanted("memory of a web process after all this", "≤ 250 MB", 250, "327 MB", "{:.0f} MB")


def measure_boards(site: Site, seconds: int) -> Iterator[Goal]:
    """Every row of the table on boards; seconds: of each run of wrk."""
    yield _from_cache(site)
    if wrk.is_installed():
        yield from _rates(site, seconds)
    yield _renewed(site, rounds=min(5, seconds))
    yield _beside_hang_ups(site, seconds)
    yield _ranking()
    yield MEMORY.measured(resident(site.running.pid("web")) / 1e6)


def _from_cache(site: Site) -> Goal:
    requests = 500
    for _ in range(20):
        site.anybody.http.get(BOARD, headers=HTML)
    with spent(web=site.web, database=site.database) as used:
        for _ in range(requests):
            site.anybody.http.get(BOARD, headers=HTML)
    return FROM_CACHE.measured(1000 * used.total / requests)


def _rates(site: Site, seconds: int) -> Iterator[Goal]:
    address = f"{site.address}{BOARD}"
    wrk.ask(address, 1, HTML)
    with spent(web=site.web) as used:
        found = wrk.ask(address, seconds, HTML)
    note = f", p99 {found.p99:.0f} ms; {found.rate * seconds / used.total:,.0f} in a second of its processor"
    yield _and_in_time(RATE.measured(found.rate, note), found.p99, 100, found.failed)
    etag = site.anybody.http.get(BOARD, headers=HTML).headers["ETag"]
    with spent(web=site.web) as used:
        known = wrk.ask(address, seconds, HTML | {"If-None-Match": etag})
    note = f", p99 {known.p99:.0f} ms; {known.rate * seconds / used.total:,.0f} in a second of its processor"
    yield UNCHANGED.measured(known.rate, note)
    own = wrk.ask(f"{site.address}{OWN}", seconds, {**HTML, **site.participant.http.headers}, connections=16)
    note = f", p95 {own.p95:.0f} ms, p99 {own.p99:.0f} ms"
    yield _and_in_time(OWN_PAGE.measured(own.rate, note), own.p95, 150, own.failed)


def _and_in_time(goal: Goal, took: float, limit: float, failed: int) -> Goal:
    """A goal that is only met if nothing failed and answers did not take longer; took, limit: milliseconds at a percentile."""
    return replace(goal, is_met=bool(goal.is_met) and took < limit and not failed)


def _renewed(site: Site, rounds: int) -> Goal:
    """What 64 readers cost at the moment when a board has changed, in terms of what one costs then."""
    alone: list[float] = []
    together: list[float] = []
    with ThreadPoolExecutor(TOGETHER) as readers:
        for _ in range(rounds):
            for costs, count in ((alone, 1), (together, TOGETHER)):
                site.running.ask("UPDATE method SET revision = revision + 1 WHERE id = %s", site.board.first)
                time.sleep(FRESH)
                with spent(web=site.web, database=site.database) as used:
                    list(readers.map(lambda _: site.anybody.http.get(BOARD, headers=HTML), range(count)))
                costs.append(used.total)
    one, many = statistics.median(alone), statistics.median(together)
    return RENEWED.measured(many / one, f" ({1000 * one:.0f} and {1000 * many:.0f} ms of processor)")


def _beside_hang_ups(site: Site, seconds: int) -> Goal:
    waits = waits_beside(site.running, BOARD, seconds, "benchmarks.server.boards")
    return HUNG_UP.measured(waits.ratio, str(waits))


async def hang_up(address: str) -> None:
    """Keep 64 clients asking for a board of 500 rows, each time another selection of it, who do not wait for an answer."""
    host, port = httpx2.URL(address).host, httpx2.URL(address).port

    async def one(number: int) -> None:
        asked = 0
        while True:
            path = f"{LARGE_BOARD}?since=2000-01-01&method={number * 100_000 + asked}"
            try:
                _, writer = await asyncio.open_connection(host, port)
                writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAccept: text/html\r\n\r\n".encode())
                await writer.drain()
                await asyncio.sleep(0.01)
                writer.close()
            except OSError:
                await asyncio.sleep(0.01)
            asked += 1

    await asyncio.gather(*(one(number) for number in range(TOGETHER)))


def _ranking() -> Goal:
    sizes = (500, 4000)
    gc.freeze()  # as the web server does with its program
    seconds = [min(_timed(size) for _ in range(3)) for size in sizes]
    exponent = math.log(seconds[1] / seconds[0]) / math.log(sizes[1] / sizes[0])
    return RANKING.measured(exponent, f", {1000 * seconds[0]:.0f} ms at 500 with 20 classes")


def _timed(count: int) -> float:
    """Seconds of processor time to rank and sort the rows of a board."""
    standings = [_row(number) for number in range(count)]
    begun = time.process_time()
    arrange(standings, TWENTY, BoardQuery())
    return time.process_time() - begun


def _row(number: int) -> BoardRow:
    values = [(number * 7919 + place) % 997 / 997 for place in range(len(TWENTY))]
    return BoardRow(
        method=f"Method {number}", title="", contributors="", affiliation="", description="", is_baseline=False,
        is_public=True, is_complete=None, is_outdated=False, submission=number,
        team=BoardTeam(number, f"Team {number}", is_suspended=False), mean=statistics.fmean(values),
        cells=tuple(map(ScoreCell, values)), date=DAY, method_id=number, paper_url="", code_url="", training=None,
        training_data="",
    )  # fmt: skip


if __name__ == "__main__":
    asyncio.run(hang_up(sys.argv[1]))
