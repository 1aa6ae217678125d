"""Web processes that share a port add up their counts, also after one of them was replaced."""

import os
import subprocess
import sys
from pathlib import Path

from app.core.counters import FOLDER

COUNT = """
import sys
from prometheus_client import CollectorRegistry, generate_latest
from app.core import counters

for _ in range(int(sys.argv[1])):
    counters.count_request({"method": "GET", "path": "/"}, 200, 0.2)
registry = CollectorRegistry()
for collector in counters.collectors():
    registry.register(collector)
sys.stdout.write(generate_latest(registry).decode())
"""
SAMPLE = 'heldout_http_requests_total{method="GET",route="none",status="2xx"}'


def counted(folder: Path, requests: int) -> dict[str, float]:
    """The samples that a process exposes after counting this number of requests."""
    environment = os.environ | {FOLDER: str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", COUNT, str(requests)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line.rpartition(" ") for line in done.stdout.splitlines() if line.startswith("heldout")]
    return {sample: float(value) for sample, _, value in lines}


def test_counts_of_processes_add_up_and_outlive_them(tmp_path: Path) -> None:
    assert counted(tmp_path, 3)[SAMPLE] == 3

    after = counted(tmp_path, 4)

    assert after[SAMPLE] == 7
    assert after['heldout_http_request_seconds_bucket{le="0.25",method="GET",route="none"}'] == 7
