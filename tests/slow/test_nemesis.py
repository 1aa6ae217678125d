"""Two minutes with the nemesis, or one in a short form: nothing that was acknowledged is lost, doubled or wrong."""

from pathlib import Path

import pytest

from tests.nemesis.__main__ import broken_night
from tests.system.servers import OwnServers

pytestmark = [pytest.mark.slow, pytest.mark.system]

SEED = 2012


def test_an_installation_outlives_what_is_broken_at_random(
    own_servers: OwnServers, tmp_path: Path, *, is_short: bool
) -> None:
    _, violations = broken_night(own_servers, tmp_path, SEED, 60 if is_short else 120)

    assert violations == []
