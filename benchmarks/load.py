"""A deadline night: `python -m benchmarks.load --minutes 10 --write`.

Two hundred people send a result within a minute and watch its page as a browser does, asking as often as the page says and with
its ETag, and go on reading their pages; readers look at boards a hundred times a second (by wrk, where it is installed). Web server, worker,
database, broker and all clients share this machine, so the processor time of each is told.
"""

import argparse
import asyncio
import contextlib
import html
import json
import re
import resource
import statistics
import subprocess
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx2

from app.accounts import service as accounts
from app.models import Role
from benchmarks.machine import describe_machine
from benchmarks.server import wrk
from benchmarks.server.processor import Spent, resident, spent_with_ended
from benchmarks.server.sites import DEFAULTS, own_servers
from benchmarks.server.table import COSTS, markdown, write_between_marks
from tests.system.installations import DESCRIPTION, STATEMENT, Installation, installation
from tests.system.kits import results, small_kit

PHASE: Final = "night/test"
BOARDS: Final = ("/leaderboards/night/test/3", "/api/v1/leaderboards/night/test/3", "/editions/night", "/")
READING_PAUSE: Final = 5.0  # seconds between two pages of somebody who has a score
SAMPLE_PAUSE: Final = 5.0
WARM: Final = 60.0  # seconds after which memory should not grow any more
PERCENTILE: Final = 95
SCRIPT: Final = Path(__file__).with_name("readers.lua")


@dataclass(slots=True)
class Night:
    """What happened: milliseconds by kind of request, statuses, submissions with their last state, megabytes over time."""

    waits: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    statuses: Counter[int] = field(default_factory=Counter)
    broken: int = 0  # connections
    submissions: dict[int, bool] = field(default_factory=dict)  # by number, whether it has its score
    memory: list[tuple[float, float]] = field(default_factory=list)  # seconds and megabytes

    @property
    def errors(self) -> int:
        """Responses that say that the server failed, and connections that broke."""
        return self.broken + sum(count for status, count in self.statuses.items() if status >= 500)


@dataclass(slots=True)
class Person:
    """A participant with a browser; every request is counted for the address that their proxy tells."""

    number: int
    client: httpx2.AsyncClient
    token: str
    night: Night

    async def ask(self, kind: str, method: str, path: str, **content: Any) -> httpx2.Response:
        """Send a request, and again after the time that a refusal names."""
        headers = {
            "Authorization": f"Bearer {self.token}",
            "X-Forwarded-For": f"10.1.{self.number // 250}.{self.number % 250 + 1}",
            "Accept": "text/html",
            **content.pop("headers", {}),
        }
        while True:
            begun = time.perf_counter()
            try:
                response = await self.client.request(method, path, headers=headers, **content)
            except httpx2.HTTPError:
                self.night.broken += 1
                await asyncio.sleep(1)
                continue
            self.night.waits[kind].append(1000 * (time.perf_counter() - begun))
            self.night.statuses[response.status_code] += 1
            if response.status_code not in (429, 503):
                return response
            await asyncio.sleep(float(response.headers.get("Retry-After", 1)))

    async def take_part(self, delay: float, end: float) -> None:
        """Send a result, watch it, and read until the end."""
        await asyncio.sleep(delay)
        submission = await self._submit()
        await self._watch(submission, end)
        pages = (f"/submissions/{submission}", "/submissions", BOARDS[0])
        turn = self.number
        while time.monotonic() < end:
            await self.ask("page", "GET", pages[turn % len(pages)])
            turn += 1
            await asyncio.sleep(READING_PAUSE)

    async def _submit(self) -> int:
        archive = results(cat=self.number % 10 + 1, dog=self.number % 7 + 1)
        address = f"/api/v1/editions/{PHASE}/uploads?filename=results.tar.gz"
        upload = (await self.ask("upload", "PUT", address, content=archive)).json()
        while upload["state"] == "received":  # it waits for a place among the checks
            upload = (await self.ask("check", "POST", f"/api/v1/uploads/{upload['id']}/check")).json()
        request = {
            "upload": upload["id"],
            "method": {"name": f"Method {self.number}", "description": DESCRIPTION},
            "training": STATEMENT,
            "make_public": True,
        }
        key = {"Idempotency-Key": f"night {self.number}"}
        confirmed = await self.ask("confirm", "POST", "/api/v1/submissions", json=request, headers=key)
        submission = int(confirmed.json()["id"])
        self.night.submissions[submission] = False
        return submission

    async def _watch(self, submission: int, end: float) -> None:
        """Follow the page as htmx does: what is replaced says when to ask again, and with which ETag."""
        page = (await self.ask("page", "GET", f"/submissions/{submission}")).text
        while (
            found := re.search(r'hx-get="([^"]+)" hx-trigger="every (\d+)s"', page)
        ) and time.monotonic() < end:
            named = re.search(r"hx-headers='([^']+)'", page)
            headers = json.loads(html.unescape(named[1])) if named else {}
            await asyncio.sleep(float(found[2]))
            answer = await self.ask("status", "GET", html.unescape(found[1]), headers=headers)
            page = answer.text if answer.status_code == 200 else page
        self.night.submissions[submission] = "hx-get" not in page


async def _spend(night: Night, people: Sequence[str], address: str, seconds: float, web: int) -> None:
    """Let everybody take part, and look at the memory of the web process meanwhile."""
    end, limits = (
        time.monotonic() + seconds,
        httpx2.Limits(max_connections=None, max_keepalive_connections=None),
    )
    async with httpx2.AsyncClient(base_url=address, limits=limits, timeout=60) as client:
        rush = min(60.0, seconds / 3)
        persons = [Person(number, client, token, night) for number, token in enumerate(people)]
        watching = asyncio.create_task(_sample(night, web))
        await asyncio.gather(*(each.take_part(each.number * rush / len(persons), end) for each in persons))
        watching.cancel()


async def _sample(night: Night, web: int) -> None:
    begun = time.monotonic()
    while True:
        night.memory.append((time.monotonic() - begun, resident(web) / 1e6))
        await asyncio.sleep(SAMPLE_PAUSE)


@contextlib.contextmanager
def _readers(address: str, rate: int, seconds: float) -> Iterator["subprocess.Popen[str] | None"]:
    """So many readers a second on boards, home and an edition's page, each from an address of their own."""
    if not wrk.is_installed():
        yield None
        return
    command = [
        "wrk", "--threads", "1", "--connections", str(rate), "--duration", f"{seconds:.0f}s", "--timeout", "30s",
        "--latency", "--script", str(SCRIPT), address, "--", *BOARDS,
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        try:
            yield program
        finally:
            program.terminate()


def spend_night(
    running: Installation, folder: Path, people: int, seconds: float
) -> list[tuple[str, str, str]]:
    """A night on an installation that has nothing yet: what was measured, its goal, and the figure."""
    running.load(small_kit(folder), "night")
    address = running.start_web(**DEFAULTS, trusted_proxies="127.0.0.1")
    running.start_worker(workers=2)
    tokens = [
        accounts.token_of_program(
            running.platform, f"night{number}@example.org", f"Person {number}", Role.PARTICIPANT
        )
        for number in range(people)
    ]
    night, web = Night(), running.pid("web")
    servers = {name: running.servers.urls.processes.pid(name) or 0 for name in ("postgres", "valkey")}
    with _readers(address, max(1, people // 2), seconds) as reading:
        roots = {
            "web": web,
            "worker": running.pid("worker"),
            "database": servers["postgres"],
            "broker": servers["valkey"],
        }
        busy, ended = time.process_time(), _of_ended_children()
        with spent_with_ended(**roots) as used:
            asyncio.run(_spend(night, tokens, address, seconds, web))
        used.seconds["people"] = time.process_time() - busy
        printed = reading.communicate()[0] if reading else ""
        used.seconds["readers"] = _of_ended_children() - ended
    return [*_lines(night, people, used, seconds), *_reader_lines(printed, seconds), _stored(running, night)]


def _of_ended_children() -> float:
    """Seconds of processor time of the programs that this one has started and seen end, such as wrk."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _lines(night: Night, people: int, used: Spent, seconds: float) -> Iterator[tuple[str, str, str]]:
    scored = sum(night.submissions.values())
    yield (
        "submissions sent, and scored while their people watched",
        f"{people}, none lost",
        f"{len(night.submissions)}, {scored}",
    )
    yield "responses of 5xx and broken connections, people", "0", str(night.errors)
    refused = night.statuses[429]
    yield "refused for a moment (429), and tried again", "", str(refused)
    for kind, waits in sorted(night.waits.items()):
        goal = "< 500 ms" if kind in ("page", "status") else ""
        yield (
            f"{kind}: p95 of {len(waits):,}, median",
            goal,
            f"{_p95(waits):.0f} ms, {statistics.median(waits):.0f} ms",
        )
    asked, unchanged = len(night.waits["status"]), night.statuses[304]
    yield "polls answered by 304", "", f"{100 * unchanged / max(1, asked):.0f} %"
    warm = [megabytes for at, megabytes in night.memory if at >= min(WARM, seconds / 2)]
    first, last = (warm or [night.memory[-1][1]])[0], night.memory[-1][1]
    yield "memory of the web process, warm and at the end", "flat", f"{first:.0f} and {last:.0f} MB"
    shares = ", ".join(f"{name} {100 * spent / seconds:.0f} %" for name, spent in used.seconds.items())
    yield "processors used, in per cent of one", "", shares


def _p95(values: Sequence[float]) -> float:
    return statistics.quantiles(values, n=100)[PERCENTILE - 1] if len(values) > 1 else values[0]


def _reader_lines(printed: str, seconds: float) -> Iterator[tuple[str, str, str]]:
    if not printed:
        return
    found = re.search(r"answered (\d+) unchanged (\d+) failed (\d+) p50 ([\d.]+) p95 ([\d.]+)", printed)
    assert found, printed
    answered, unchanged, failed = map(int, found.groups()[:3])
    yield (
        "readers: requests a second, answered by 304",
        "100",
        f"{answered / seconds:.0f}, {100 * unchanged / max(1, answered):.0f} %",
    )
    yield "readers: refused, failed or broken", "0", str(failed)
    yield "readers: p95, median", "< 500 ms", f"{float(found[5]):.0f} ms, {float(found[4]):.0f} ms"


def _stored(running: Installation, night: Night) -> tuple[str, str, str]:
    [[rows, scored]] = running.ask("SELECT count(*), count(*) FILTER (WHERE state = 'scored') FROM entry")
    return "entries in the database, and scored", str(len(night.submissions)), f"{rows}, {scored}"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--minutes", type=float, default=10)
    options.add_argument("--people", type=int, default=200, help="half as many readers a second")
    options.add_argument("--write", action="store_true", help="write the table into docs/costs.md")
    chosen = options.parse_args()
    machine = describe_machine()
    with own_servers() as servers, installation(servers) as running, tempfile.TemporaryDirectory() as folder:
        lines = spend_night(running, Path(folder), chosen.people, 60 * chosen.minutes)
    text = "\n".join(
        (*markdown(("", "goal", "measured"), lines), "", f"{chosen.minutes:g} minutes; {machine}.")
    )
    print(text)
    if chosen.write:
        write_between_marks(COSTS, text, "benchmarks.load")


if __name__ == "__main__":
    main()
