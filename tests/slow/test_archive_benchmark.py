"""The benchmark of archives runs: uploading, the queue, and rescoring."""

import os

import pytest

from benchmarks.server.archives import (
    ARRIVED,
    BESIDE_AGAIN,
    BESIDE_SLOW,
    CHECKED,
    DRAINED,
    SCORED_AGAIN,
    WORKER,
    measure_archives,
    measure_scoring_again,
)
from tests.system.servers import OwnServers

pytestmark = [
    pytest.mark.slow,
    pytest.mark.system,
    pytest.mark.skipif("HELDOUT_SHORT" in os.environ, reason="it takes half a minute of processor time"),
]


def test_the_benchmark_of_archives_measures_every_stage(own_servers: OwnServers) -> None:
    goals = [
        *measure_archives(own_servers, archives=2, seconds=0.2, images=60),
        *measure_scoring_again(own_servers, again=2, live=1),
    ]

    assert [goal.what for goal in goals] == [
        each.what for each in (ARRIVED, BESIDE_SLOW, CHECKED, DRAINED, WORKER, SCORED_AGAIN, BESIDE_AGAIN)
    ]
    assert all(goal.is_met is not None for goal in goals)
