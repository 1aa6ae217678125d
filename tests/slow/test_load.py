"""The load test runs with two people for a very short time."""

from pathlib import Path

import pytest

from benchmarks.load import spend_night
from tests.system.installations import installation
from tests.system.servers import OwnServers

pytestmark = [pytest.mark.slow, pytest.mark.system]


def test_a_short_load_test_loses_nothing(own_servers: OwnServers, tmp_path: Path) -> None:
    with installation(own_servers) as running:
        lines = spend_night(running, tmp_path, people=2, seconds=15, sends=2)

    figures = {what: measured for what, _, measured in lines}
    assert figures["submissions sent, and scored while their people watched"] == "4, 4"
    assert figures["results in the database, and scored"] == "4, 4"
    assert figures["responses of 5xx and broken connections, people"] == "0"
    assert "web" in figures["processors used, in per cent of one"]
