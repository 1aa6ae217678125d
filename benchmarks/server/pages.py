"""What every page costs, and how that grows with the number of runs in the database."""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.server.processor import spent
from benchmarks.server.sites import Site
from tests.system.installations import Client

HTML: Final = {"Accept": "text/html", "Accept-Encoding": "gzip"}


@dataclass(frozen=True, slots=True)
class Page:
    """A page as somebody reads it; the address may name numbers that `address_on` knows."""

    what: str
    address: str
    reader: str = "anybody"
    is_known: bool = False  # the reader has it, and asks whether it has changed


PAGES: Final = (
    Page("documentation, which reads nothing", "/docs"),
    Page("home", "/"),
    Page("search", "/find?q=method%2099"),
    Page("challenge", "/challenges/history"),
    Page("challenge, fifth page", "/challenges/history?page=5"),
    Page("competition", "/challenges/history/test/competitions/3"),
    Page("leaderboard of 100 methods", "/leaderboards/board/test/3"),
    Page("method", "/methods/{method}"),
    Page("public team", "/teams/{other_team}"),
    Page("published submission, 100 on its board", "/submissions/{shown}"),
    Page("status of a queued submission", "/submissions/{waiting}/status", "participant"),
    Page("the same where nothing has changed", "/submissions/{waiting}/status", "participant", is_known=True),
    Page("submission with 10 results", "/submissions/{many}"),
    Page("own submissions", "/submissions", "participant"),
    Page("own uploads", "/uploads", "participant"),
    Page("own teams", "/teams", "participant"),
    Page("own team", "/teams/{team}", "participant"),
    Page("submit", "/challenges/history/test/submit", "participant"),
    Page("organise", "/organise", "organiser"),
    Page("phase", "/organise/phases/{phase}", "organiser"),
    Page("exposure", "/organise/phases/{phase}/exposure", "organiser"),
    Page("alike results", "/organise/phases/{phase}/alike", "organiser"),
    Page("teams of a challenge", "/organise/challenges/history/teams", "organiser"),
    Page("jobs", "/admin", "organiser"),
)


@dataclass(frozen=True, slots=True)
class Cost:
    """What a page costs a site: milliseconds of processor for a request, medians; bytes as they are sent."""

    web: float
    database: float
    size: int

    @property
    def total(self) -> float:
        """Of the web process and of the database together."""
        return self.web + self.database


@dataclass(frozen=True, slots=True)
class PageCosts:
    """What a page costs each of some sites, the one with the shortest history first."""

    page: Page
    costs: tuple[Cost, ...]

    @property
    def growth(self) -> float:
        """How many times as much the last costs as the first."""
        return self.costs[-1].total / self.costs[0].total


def measure_pages(
    sites: Sequence[Site], rounds: int, requests: int, pages: Sequence[Page] = PAGES
) -> Iterator[PageCosts]:
    """Ask each site in turn, so that whatever else the machine does meets all of them; requests: in each round."""
    for page in pages:
        yield PageCosts(page, _measure(sites, page, rounds, requests))


def _measure(sites: Sequence[Site], page: Page, rounds: int, requests: int) -> tuple[Cost, ...]:
    found: list[list[Cost]] = [[] for _ in sites]
    for _ in range(rounds + 1):
        for site, costs in zip(sites, found, strict=True):
            costs.append(_ask(site, page, requests))
    return tuple(
        Cost(
            statistics.median(each.web for each in costs[1:]),  # the first fills caches
            statistics.median(each.database for each in costs[1:]),
            costs[0].size,
        )
        for costs in found
    )


def _ask(site: Site, page: Page, requests: int) -> Cost:
    reader: Client = getattr(site, page.reader)
    address, size, headers = address_on(site, page), 0, dict(HTML)
    if page.is_known:
        headers["If-None-Match"] = reader.http.get(address, headers=HTML).headers["ETag"]
    redrawn = 0
    with spent(web=site.web, database=site.database) as used:
        for _ in range(requests):
            response = reader.http.get(address, headers=headers)
            if (
                page.is_known and response.status_code == 200
            ):  # its pause has become longer, which it is told once
                redrawn, headers["If-None-Match"] = redrawn + 1, response.headers["ETag"]
            elif response.status_code != (304 if page.is_known else 200):
                raise ValueError(f"{address}: {response.status_code} {response.text[:300]}")
            size = response.num_bytes_downloaded
    if redrawn > 1:
        raise ValueError(f"{address}: drawn {redrawn} times, expected once at most")
    seconds = used.seconds
    return Cost(1000 * seconds["web"] / requests, 1000 * seconds["database"] / requests, size)


def address_on(site: Site, page: Page) -> str:
    """The address of a page with the numbers that a site has for it."""
    last = site.history.first + site.history.count - 1
    [[phase]] = site.running.ask("SELECT phase_id FROM submission WHERE id = %s", last)
    [[other]] = site.running.ask("SELECT team_id FROM method WHERE id = %s", last)
    return page.address.format(
        waiting=site.waiting.first,
        many=site.many.first,
        shown=site.board.first,
        team=site.team,
        other_team=other,
        method=last,
        phase=phase,
    )
