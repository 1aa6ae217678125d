"""A deadline night: `python -m benchmarks.load --minutes 10 --write`.

Two hundred people send a result within a minute and watch its page as a browser does, asking as often as the page says and with
its ETag, and go on reading their pages; readers look at boards a hundred times a second (by wrk, where it is installed). Web server, worker,
database, broker and all clients share this machine, so the processor time of each is told. With `--minutes 120 --people 40 --results 60`
each of forty sends a result every two minutes for two hours, which shows whether memory grows.
"""

import argparse
import asyncio
import contextlib
import re
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import httpx2

from app.people import accounts
from benchmarks.machine import describe_machine
from benchmarks.people import BOARDS, Night, Person
from benchmarks.server import wrk
from benchmarks.server.processor import Spent, resident, spent_with_ended
from benchmarks.server.sites import DEFAULTS, own_servers
from benchmarks.server.table import COSTS, markdown, write_between_marks
from tests.system.installations import Installation, installation
from tests.system.kits import small_kit

SAMPLE_PAUSE: Final = 5.0
WARM: Final = 60.0  # seconds after which memory should not grow any more
PERCENTILE: Final = 95
SCRIPT: Final = Path(__file__).with_name("readers.lua")


async def _spend(
    night: Night,
    people: Sequence[str],
    sends: int,
    address: str,
    seconds: float,
    memory: Callable[[], dict[str, float]],
) -> None:
    """Let everybody take part, and look at the memory of the processes meanwhile."""
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx2.AsyncClient(base_url=address, limits=limits, timeout=60) as client:
        rush = min(60.0, seconds / 3)
        persons = [Person(number, client, token, night) for number, token in enumerate(people)]
        watching = asyncio.create_task(_sample(night, memory))
        await asyncio.gather(
            *(each.take_part(each.number * rush / len(persons), seconds, sends) for each in persons)
        )
        if watching.done():
            watching.result()  # raises what ended it
        watching.cancel()


def _resident(pid: int) -> int:
    """Bytes of memory of a process; none of one that has just been replaced."""
    try:
        return resident(pid)
    except OSError:
        return 0


async def _sample(night: Night, memory: Callable[[], dict[str, float]]) -> None:
    while True:
        night.memory.append(memory())
        await asyncio.sleep(SAMPLE_PAUSE)


@contextlib.contextmanager
def _readers(address: str, rate: int, seconds: float) -> Iterator["subprocess.Popen[str] | None"]:
    """So many readers a second on boards, home and a challenge's page, each from an address of their own."""
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
    running: Installation, folder: Path, people: int, seconds: float, sends: int = 1
) -> list[tuple[str, str, str]]:
    """A night on an installation that has nothing yet: what was measured, its goal, and the figure; sends: results of each of the people."""
    running.load(small_kit(folder), "night")
    address = running.start_web(**DEFAULTS, trusted_proxies="127.0.0.1")
    running.start_worker(workers=2)
    tokens = [
        accounts.create_program_token(running.platform, f"night{number}@example.org", f"Person {number}")
        for number in range(people)
    ]
    night, web = Night(), running.pid("web")

    def memory() -> dict[str, float]:
        """Megabytes of the web process, and of the largest of those that score."""
        return {"web": resident(web) / 1e6, "scoring": max(map(_resident, running.pool()), default=0) / 1e6}

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
            asyncio.run(_spend(night, tokens, sends, address, seconds, memory))
        used.seconds["people"] = time.process_time() - busy
        printed = reading.communicate()[0] if reading else ""
        used.seconds["readers"] = _of_ended_children() - ended
    return [
        *_lines(night, people * sends, used, seconds),
        *_reader_lines(printed, seconds),
        _stored(running, night),
    ]


def _of_ended_children() -> float:
    """Seconds of processor time of the programs that this one has started and seen end, such as wrk."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _lines(night: Night, sent: int, used: Spent, seconds: float) -> Iterator[tuple[str, str, str]]:
    scored = sum(night.submissions.values())
    yield (
        "submissions sent, and scored while their people watched",
        f"{sent}, none lost",
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
    warm = night.memory[min(int(WARM / SAMPLE_PAUSE), len(night.memory) // 2)]
    for name, last in night.memory[-1].items():
        first = warm[name]
        yield (
            f"memory of the {name} process, warm and at the end",
            "within 10 %",
            f"{first:.0f} and {last:.0f} MB ({100 * (last / max(first, 1) - 1):+.0f} %)",
        )
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
    [[rows, scored]] = running.ask("SELECT count(*), count(*) FILTER (WHERE state = 'scored') FROM result")
    return "results in the database, and scored", str(len(night.submissions)), f"{rows}, {scored}"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--minutes", type=float, default=10)
    options.add_argument("--people", type=int, default=200, help="half as many readers a second")
    options.add_argument("--results", type=int, default=1, help="that each of the people sends")
    options.add_argument("--write", action="store_true", help="write the table into docs/administer/costs.md")
    chosen = options.parse_args()
    machine = describe_machine()
    with own_servers() as servers, installation(servers) as running, tempfile.TemporaryDirectory() as folder:
        lines = spend_night(running, Path(folder), chosen.people, 60 * chosen.minutes, chosen.results)
    text = "\n".join(
        (*markdown(("", "goal", "measured"), lines), "", f"{chosen.minutes:g} minutes; {machine}.")
    )
    print(text)
    if chosen.write:
        write_between_marks(COSTS, text, "benchmarks.load")


if __name__ == "__main__":
    main()
