"""Two hosts share PostgreSQL, the broker and the object store: one dies, and nothing is lost."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from sqlalchemy import make_url

from app.core.settings import Settings
from app.operations.processes import environment_of
from app.operations.supervisor import Child
from tests.shared import ROOT
from tests.system.compose import keep_bytecode
from tests.system.containers import Container, Mount
from tests.system.installations import LONGEST, Client, Installation, good, installation, registered
from tests.system.kits import results, small_kit
from tests.system.networks import LOCALHOST, Network, network, outside
from tests.system.object_store import ObjectStore
from tests.system.process_trees import kill_all
from tests.system.servers import OwnServers, eventually

pytestmark = [
    pytest.mark.slow,
    pytest.mark.system,
    pytest.mark.skipif("HELDOUT_SHORT" in os.environ, reason="two hosts take more than a minute"),
]

PHASE = "hosts/test"
WEB_PORT = 8000
SHARED = ("database_url", "broker_url", "s3_endpoint")
LOCAL = {"storage", "private_storage", "migration_database_url", "data"}


@dataclass(frozen=True, slots=True)
class Host:
    """A machine with its own network, files and user that runs parts of an installation."""

    name: str
    network: Network
    settings: Settings
    running: Installation
    folder: Path
    user: int

    def start(self, part: str) -> None:
        """Start a part of `heldout-server`."""
        container = Container(
            name=self.name,
            command=["heldout-server", part],
            user=f"{self.user}:{self.user}",
            environment={
                **environment_of(self.settings, without=LOCAL),
                "PATH": f"{ROOT}/.venv/bin:/usr/bin:/bin",
                "HELDOUT_DATA": "/data",
                "HELDOUT_PORT": str(WEB_PORT),
                "PYTHONDONTWRITEBYTECODE": "",
                "PYTHONPYCACHEPREFIX": "/bytecode",
            },
            network=self.network,
            root=self._folder(f"root of {part}"),
            mounts=[
                Mount(ROOT, ROOT),
                Mount(self.running.servers.data / "bytecode", Path("/bytecode")),
                Mount(self._folder("data"), Path("/data"), is_read_only=False),
                Mount(self._folder("tmp"), Path("/tmp"), is_read_only=False),
            ],
        )
        log = self.folder / f"{part}.log"
        command = container.start_command()
        self.running.processes.start(
            Child(self.part(part), command, dict(os.environ), log, signal.SIGKILL), lambda: True
        )

    def part(self, part: str) -> str:
        return f"{part} of {self.name}"

    def _folder(self, name: str) -> Path:
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        os.chown(folder, self.user, self.user)
        return folder

    def die(self, *parts: str) -> None:
        """Kill every process of this host permanently."""
        kill_all(self.network.pids())
        for part in parts:
            self.running.processes.stop(self.part(part))
        assert eventually(lambda: not self.network.pids())


def host(name: str, running: Installation, own: Network, folder: Path, user: int) -> Host:
    """A host that reaches only three outside servers, each at its own address."""
    reached: dict[str, Any] = {}
    for number, setting in enumerate(SHARED, start=2):
        url = str(getattr(running.settings, setting))
        parts = make_url(url) if setting != "s3_endpoint" else make_url(url.replace("http", "postgresql", 1))
        assert parts.port
        address = (f"127.0.0.{number}", parts.port)
        own.reach(address, outside(str(parts.host), parts.port))
        reached[setting] = url.replace(f"{parts.host}:{parts.port}", f"{address[0]}:{address[1]}")
    return Host(name, own, running.settings.model_copy(update=reached), running, folder / name, user)


@dataclass(frozen=True, slots=True)
class Site:
    """A web server and a worker on one host, a worker on the other."""

    running: Installation
    first: Host
    second: Host
    person: Client


@pytest.fixture(scope="module")
def site(
    own_servers: OwnServers, objects: ObjectStore, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("hosts")
    with (
        network() as one,
        network() as other,
        installation(own_servers, workers=1, **objects.settings()) as running,
    ):
        keep_bytecode(own_servers)
        hosts = (host("first", running, one, folder, 20001), host("second", running, other, folder, 20002))
        for part, where in (("worker", hosts[0]), ("worker", hosts[1]), ("serve", hosts[0])):
            where.start(part)
        running.load(small_kit(folder), "hosts")
        address = one.published(WEB_PORT)
        assert eventually(lambda: is_ready(address), LONGEST), (hosts[0].folder / "serve.log").read_text()
        assert eventually(lambda: alive_workers(running) == {"first", "second"}, LONGEST)
        token = registered(running.platform, address, "Oak")
        yield Site(running, *hosts, running.client(address, token))


def is_ready(address: str) -> bool:
    try:
        return httpx2.get(f"{address}/ready", timeout=5).is_success
    except httpx2.HTTPError:
        return False


def alive_workers(running: Installation) -> set[str]:
    rows = running.ask("SELECT split_part(name, ':', 1) FROM heartbeat WHERE service = 'worker'")
    return {str(name) for (name,) in rows}


def see_that_hosts_reach_only_what_they_share(site: Site) -> None:
    """Assert that the hosts reach neither each other nor this machine."""
    port = site.first.settings.local_address.rpartition(":")[2]
    outside_port = make_url(str(site.running.settings.database_url)).port

    with site.first.network.connected((LOCALHOST, WEB_PORT)):
        pass
    for where, target in ((site.second, WEB_PORT), (site.first, outside_port), (site.second, int(port))):
        with pytest.raises(ConnectionRefusedError):
            where.network.connected((LOCALHOST, int(target or 0)))


def confirm_until_the_end(person: Client, uploads: list[str]) -> None:
    """Confirm one upload after another as long as there are responses."""
    with suppress(httpx2.HTTPError):
        for number, upload in enumerate(uploads):
            person.confirm(upload, f"Tree {number}", f"key {number}")


def test_nothing_is_lost_when_the_host_of_the_web_server_dies(site: Site) -> None:
    see_that_hosts_reach_only_what_they_share(site)
    archive = results(cat=7, dog=7)
    before = site.person.submit(PHASE, results(cat=9, dog=9), "Before")
    assert site.person.final(before)["results"][0]["state"] == "scored"
    arriving = site.person.create(PHASE, len(archive))
    site.person.append(arriving, archive[:100], 0)
    uploads = [site.person.upload(PHASE, results(cat=count, dog=count)) for count in range(1, 7)]

    confirming = threading.Thread(target=confirm_until_the_end, args=(site.person, uploads))
    confirming.start()
    assert eventually(lambda: bool(site.running.ask("SELECT FROM run WHERE state = 'running'")))
    site.first.die("worker", "serve")
    confirming.join()
    site.second.start("serve")
    address = site.second.network.published(WEB_PORT)
    assert eventually(lambda: is_ready(address), LONGEST), (site.second.folder / "serve.log").read_text()

    person = site.running.client(address, site.person.http.headers["Authorization"].removeprefix("Bearer "))
    again = [person.confirm(each, f"Tree {number}", f"key {number}") for number, each in enumerate(uploads)]
    confirmed = [int(good(each)["id"]) for each in again]
    assert {person.final(each)["results"][0]["state"] for each in confirmed} == {"scored"}
    person.append(arriving, archive[person.offset(arriving) :], person.offset(arriving))
    assert person.offset(arriving) == len(archive)
    expected = pytest.approx({"Before": 0.9, **{f"Tree {n}": (n + 1) / 10 for n in range(6)}})
    assert eventually(lambda: bool(person.means(PHASE) == expected)), person.means(PHASE)
    assert site.running.ask("SELECT FROM run WHERE state <> 'scored'") == []
