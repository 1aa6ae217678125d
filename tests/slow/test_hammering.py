"""While one account hammers the server, others are served as before, and memory and disk use stay bounded."""

import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import httpx2
import pytest

from app.core.rate_limits import Limited
from app.core.settings import Settings
from tests.shared import ROOT
from tests.system.installations import Client, Installation, installation, registered
from tests.system.kits import results, small_kit
from tests.system.process_trees import tree_of
from tests.system.servers import OwnServers

pytestmark = [pytest.mark.slow, pytest.mark.system]

LIMITS = (*(f"limit_{what}" for what in Limited), "requests_at_once")
DEFAULTS = {name: Settings.model_fields[name].default for name in LIMITS}
PHASE = "hammered/test"
PAGES = ("/", f"/leaderboards/{PHASE}/3", "/api/v1/submissions", "/submissions")


@contextmanager
def hammered(address: str, token: str) -> Iterator[None]:
    port = address.rpartition(":")[2]
    program = [sys.executable, "-m", "tests.slow.hammer", port, token, PHASE]
    with subprocess.Popen(program, cwd=ROOT) as hammer:
        try:
            time.sleep(3)  # until its connections are open
            yield
        finally:
            hammer.kill()


def waits(person: Client, duration: timedelta) -> list[float]:
    """The response time of each page in seconds for a client at another address."""
    found = []
    end = time.monotonic() + duration.total_seconds()
    while time.monotonic() < end:
        for page in PAGES:
            begun = time.perf_counter()
            assert person.http.get(page).status_code == 200
            found.append(time.perf_counter() - begun)
        time.sleep(
            0.02
        )  # like a human reader; without it the first processor would be busy with this program alone
    return found


def p95(values: list[float]) -> float:
    return statistics.quantiles(values, n=20)[-1]


def spent_by(pid: int) -> float:
    """The processor seconds of a process and all its descendants."""
    return sum(seconds_of(each) for each in tree_of(pid))


def seconds_of(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0  # it has ended
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(pid: int) -> int:
    """The memory of a process and all its descendants in bytes; memory shared with the fork server counts once."""
    return sum(proportional_of(each) for each in tree_of(pid))


def proportional_of(pid: int) -> int:
    try:
        found = re.search(r"^Pss: +(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)
    except OSError:
        return 0  # it has ended
    return int(found[1]) << 10 if found else 0


def stored(running: Installation) -> int:
    """The disk space used by archives in bytes."""
    return sum(file.stat().st_size for file in running.settings.data.rglob("*") if file.is_file())


def test_others_hardly_notice_one_account_that_hammers_the_server(
    own_servers: OwnServers, tmp_path: Path, duration: timedelta, *, is_short: bool
) -> None:
    with installation(own_servers, **DEFAULTS) as running:
        running.load(small_kit(tmp_path), "hammered")
        address = running.start_web()
        running.start_worker()
        oak = running.participant(address, "oak")
        oak.final(oak.submit(PHASE, results(cat=5, dog=5), "Acorn"))
        token = registered(running.platform, address, "mallory")
        elsewhere = httpx2.HTTPTransport(local_address="127.0.0.2")
        pid = running.pid("web")
        with httpx2.Client(
            base_url=address, headers=oak.http.headers, transport=elsewhere, timeout=60
        ) as http:
            person = Client(http)
            waits(person, duration / 6)
            before = spent_by(pid)
            quiet, memory, disk = waits(person, duration / 3), resident(pid), stored(running)
            alone = spent_by(pid) - before
            with hammered(address, token):
                before = spent_by(pid)
                loud, most = waits(person, duration / 3), resident(pid)
                together = spent_by(pid) - before
        figures = (
            f"p95 {1000 * p95(quiet):.0f} ms, hammered {1000 * p95(loud):.0f} ms; {memory >> 20} MiB, {most >> 20} MiB;"
            f" {alone:.1f} and {together:.1f} processor seconds"
        )
        sys.stdout.write(f"{figures}\n")

        if not is_short:  # a few seconds on a busy machine say nothing
            assert p95(loud) < 3 * p95(
                quiet
            )  # 1.8 times on two processors; 6 times before all refusals were delayed
        assert most < 1.3 * memory
        assert stored(running) - disk < running.settings.max_stored
