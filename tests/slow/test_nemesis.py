"""Two minutes of random faults (one in short runs) with each kind of store lose, double or corrupt nothing acknowledged."""

from pathlib import Path

import pytest

from tests.nemesis.__main__ import broken_night
from tests.nemesis.site import Store
from tests.system.servers import OwnServers

pytestmark = [pytest.mark.slow, pytest.mark.system]

SEED = 2012


@pytest.mark.parametrize("store", Store)
def test_an_installation_survives_random_faults(
    own_servers: OwnServers, tmp_path: Path, store: Store, *, is_short: bool
) -> None:
    if is_short and store is Store.S3:
        pytest.skip("a night on S3 takes 80 s beside its faults")

    _, violations = broken_night(own_servers, tmp_path, SEED, 60 if is_short else 120, store)

    assert violations == []
