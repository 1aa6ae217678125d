"""Fixtures of the tests that start real processes."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from tests.system.installations import Client, Installation, installation
from tests.system.object_store import ObjectStore, object_store
from tests.system.servers import OwnServers

SWEEP_SECONDS = 5  # of sites that no test breaks: where nothing gets lost, no sweep is needed
collect_ignore = [
    "other_scorer.py"
]  # run as a program: importing it would change the scorer version of every test


@dataclass(frozen=True, slots=True)
class SharedSite:
    """Two web servers and a worker that no test may break."""

    installation: Installation
    addresses: tuple[str, str]
    organiser: Client
    anybody: Client

    def participant(self, name: str) -> Client:
        return self.installation.participant(self.addresses[0], name)


@contextmanager
def running_site(servers: OwnServers) -> Iterator[SharedSite]:
    """A site with an empty database; all its processes end with the block."""
    # rarely, as in production: three sites sweeping every second took a tenth of the processors
    with installation(servers, sweep_seconds=SWEEP_SECONDS) as running:
        with ThreadPoolExecutor() as together:
            others = [together.submit(each) for each in (running.start_worker, running.start_sender)]
            first, second = together.map(running.start_web, ("web 1", "web 2"))
        for each in others:
            each.result()
        yield SharedSite(running, (first, second), running.organiser(first), running.client(first))


@pytest.fixture(scope="session")
def site(own_servers: OwnServers) -> Iterator[SharedSite]:
    """One site for all tests that only use it; each creates its own challenge and people."""
    with running_site(own_servers) as shared:
        yield shared


@pytest.fixture(scope="session")
def objects() -> Iterator[ObjectStore]:
    """One S3 server for all tests, each of which uses its own names."""
    with object_store() as running:
        yield running
