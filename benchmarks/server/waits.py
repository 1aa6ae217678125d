"""How long somebody waits whose requests come from another address, and beside a program that keeps the server busy."""

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import httpx2

from benchmarks.server.pages import HTML
from benchmarks.server.sites import DEFAULTS
from tests.system.installations import Installation


@dataclass(frozen=True, slots=True)
class Waits:
    """Milliseconds at the 99th percentile, alone and beside the program."""

    quiet: float
    loud: float

    @property
    def ratio(self) -> float:
        """How many times as long somebody waits beside the program."""
        return self.loud / self.quiet

    def __str__(self) -> str:
        return f" ({self.quiet:.0f} and {self.loud:.0f} ms)"


def waits_beside(running: Installation, page: str, seconds: float, module: str, *arguments: str) -> Waits:
    """The waits for a page of a web server with its usual limits, while a module is run with its address and the arguments."""
    address = running.start_web("guarded", **DEFAULTS)
    elsewhere = httpx2.HTTPTransport(local_address="127.0.0.2")
    with httpx2.Client(base_url=address, transport=elsewhere, timeout=60) as other:
        _waits(other, page, 1)
        quiet = _waits(other, page, seconds)
        with _busy_with(module, address, *arguments):
            loud = _waits(other, page, seconds)
    running.processes.stop("guarded")
    return Waits(_p99(quiet), _p99(loud))


def _waits(client: httpx2.Client, page: str, seconds: float) -> list[float]:
    """Milliseconds of each request, two hundred in a second at most."""
    found, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        for path in ("/health", page):
            begun = time.perf_counter()
            client.get(path, headers=HTML).raise_for_status()
            found.append(1000 * (time.perf_counter() - begun))
        time.sleep(0.005)
    return found


def _p99(values: Sequence[float]) -> float:
    return statistics.quantiles(values, n=100)[-1]


@contextmanager
def _busy_with(module: str, *arguments: str) -> Iterator[None]:
    with subprocess.Popen([sys.executable, "-m", module, *arguments]) as program:
        try:
            time.sleep(1)
            if program.poll() is not None:
                raise ValueError(f"{module} ended with {program.returncode}")
            yield
        finally:
            program.kill()
