"""The program wrk (Debian), which asks for one address over and over."""

import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_MORE_LATENCIES: Final = Path(__file__).with_name("latencies.lua")
_UNITS: Final = {"us": 0.001, "ms": 1.0, "s": 1000.0, "m": 60_000.0}


@dataclass(frozen=True, slots=True)
class Answers:
    """What a run of wrk was answered; p50, p95, p99: milliseconds; failed: refused, timed out or broken off."""

    rate: float
    p50: float
    p95: float
    p99: float
    failed: int


def is_installed() -> bool:
    """Whether there is such a program."""
    return shutil.which("wrk") is not None


def ask(address: str, seconds: int, headers: Mapping[str, str], connections: int = 64) -> Answers:
    """Ask for an address with so many connections."""
    command = [
        "wrk",
        "--threads",
        "1",
        "--connections",
        str(connections),
        "--duration",
        f"{seconds}s",
        "--latency",
        "--script",
        str(_MORE_LATENCIES),
    ]
    for name, value in headers.items():
        command += ["--header", f"{name}: {value}"]
    done = subprocess.run([*command, address], capture_output=True, text=True, check=True)
    return read(done.stdout)


def read(text: str) -> Answers:
    """What wrk printed.

    >>> text = "     50%    1.20ms\\n     99%  250.00us\\nRequests/sec:   1500.5\\n  Non-2xx or 3xx responses: 2\\n     95%    2.00ms\\n"
    >>> read(text)
    Answers(rate=1500.5, p50=1.2, p95=2.0, p99=0.25, failed=2)
    """
    failed = [
        int(each)
        for each in re.findall(r"(?:Non-2xx or 3xx responses:|connect|read|write|timeout) (\d+)", text)
    ]
    [rate] = re.findall(r"^Requests/sec:\s+([\d.]+)", text, re.MULTILINE)
    p50, p95, p99 = (_latency(text, each) for each in (50, 95, 99))
    return Answers(float(rate), p50, p95, p99, sum(failed))


def _latency(text: str, percentile: int) -> float:
    [(value, unit)] = re.findall(rf"^\s+{percentile}%\s+([\d.]+)(us|ms|s|m)", text, re.MULTILINE)
    return float(value) * _UNITS[unit]
