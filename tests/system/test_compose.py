"""The services of docker-compose.yml, started with their commands, users and variables, serve and score."""

import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest

from app.platform import Platform, platform_of
from app.settings import Settings
from app.supervisor import supervised
from tests.compose_file import configuration
from tests.shared import ROOT
from tests.system.compose import FASTER, Project, keep_bytecode
from tests.system.containers import Mount, completed
from tests.system.holds import in_a_pipe
from tests.system.installations import LONGEST, Client, awaited, registered
from tests.system.kits import results, small_kit
from tests.system.networks import network
from tests.system.process_trees import stopped, tree_of
from tests.system.servers import OwnServers, eventually, plain

pytestmark = pytest.mark.system

PHASE = "composed/test"
README = (ROOT / "README.md").read_text()
WORKERS = ("worker-1", "worker-2")


@dataclass(frozen=True, slots=True)
class Site:
    """What `docker compose up --scale worker=2` would have started, with an edition."""

    project: Project
    platform: Platform
    person: Client
    imported: str

    def ask(self, statement: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(plain(str(self.platform.settings.database_url)), autocommit=True) as connection:
            return connection.execute(statement.encode()).fetchall()


@pytest.fixture(scope="module")
def site(own_servers: OwnServers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    url = own_servers.fresh_database()
    folder = tmp_path_factory.mktemp("project")
    settings = Settings(data=folder, database_url=url, broker_url=own_servers.urls.broker_url)
    services = configuration()["services"]
    keep_bytecode(own_servers)
    with network() as own, supervised(print) as processes:
        project = Project(
            services, folder, own_servers, url.rpartition("/")[2].partition("?")[0], own, processes, FASTER
        )
        project.prepare()
        address = own.published(8000)
        start(project, address)
        kit = Mount(small_kit(tmp_path_factory.mktemp("kit")), Path("/VOC2012"))
        words = [
            "import",
            "/VOC2012",
            "--edition",
            "composed",
            "--phase",
            "test",
            "--quota",
            "1000",
            "--images",
            "copy",
        ]
        imported = project.run("worker", *words, mounts=[kit])
        assert imported.returncode == 0, imported.stdout + imported.stderr
        platform = platform_of(settings)
        with httpx2.Client(base_url=address, timeout=LONGEST) as http:
            http.headers["Authorization"] = f"Bearer {registered(platform, address, 'Oak')}"
            yield Site(project, platform, Client(http), imported.stdout)
        platform.engine.dispose()
    own_servers.drop_database(url)


def start(project: Project, address: str) -> None:
    """Start the services in the order in which they wait for each other."""

    def objects() -> None:
        project.up("objects", ready=lambda: project.is_healthy("objects"))
        assert project.run("bucket").returncode == 0

    def migrate() -> None:
        done = project.run("migrate")
        assert done.returncode == 0, done.stderr

    with ThreadPoolExecutor() as together:
        parts = [together.submit(objects), together.submit(migrate), together.submit(project.up, "valkey")]
    for part in parts:
        part.result()
    for name in WORKERS:
        project.up("worker", name)
    project.up("beat")
    project.up("web", ready=partial(answers, address))


def answers(address: str) -> bool:
    try:
        return httpx2.get(f"{address}/ready", timeout=5).is_success
    except httpx2.HTTPError:
        return False


def test_every_service_is_healthy_by_its_own_check(site: Site) -> None:
    for name in ("web", "worker-1", "beat"):
        assert eventually(partial(site.project.is_healthy, name), 30), site.project.healthcheck(name)


def test_the_web_server_can_neither_find_nor_read_ground_truth(site: Site) -> None:
    project = site.project
    volume = Mount(project.volume("truth"), Path("/truth"))
    [truth] = [each for each in volume.source.rglob("*") if each.is_file()]
    inside = str(volume.target / truth.relative_to(volume.source))

    def found(name: str) -> str:
        return project.execute(name, "head", "-c", "1", inside).stderr

    thief = replace(project.container("web", "thief", mounts=[volume]), command=["head", "-c", "1", inside])

    assert "No such file" in found("web")
    assert found("worker-1") == ""
    assert "Permission denied" in completed(thief.start_command(), LONGEST).stderr
    for pid in tree_of(project.pid("web")):
        known = Path(f"/proc/{pid}/environ").read_text() + Path(f"/proc/{pid}/mountinfo").read_text()
        assert "HELDOUT_DATABASE_URL" in known
        assert not re.search("PRIVATE|truth|owner", known)
    assert "HELDOUT_PRIVATE_STORAGE" in Path(f"/proc/{project.pid('worker-1')}/environ").read_text()


@pytest.mark.parametrize("command", re.findall(r"`docker compose exec (\w+) (heldout-server .+?)`", README))
def test_the_deployment_passes_its_own_check_as_documented(site: Site, command: tuple[str, str]) -> None:
    service, words = command
    name = {"worker": "worker-1"}.get(service, service)
    done = site.project.execute(name, *words.split())

    assert done.returncode == 0, done.stdout
    assert "none failed" in done.stdout


def test_without_a_mail_server_letters_are_on_a_volume(site: Site) -> None:
    assert eventually(lambda: any(site.project.volume("mail").glob("*.eml")))


def test_no_service_can_write_but_to_its_volumes_or_has_a_right_of_root(site: Site) -> None:
    for name in ("web", "worker-1", "beat"):
        status = Path(f"/proc/{site.project.pid(name)}/status").read_text()
        assert {line.split()[1] for line in re.findall(r"^Cap(?:Prm|Eff|Bnd).+$", status, re.MULTILINE)} == {
            "0" * 16
        }
        assert "NoNewPrivs:\t1" in status
        assert site.project.execute(name, "touch", "/data/file").stderr
        assert site.project.execute(name, "touch", "/tmp/file").returncode == 0


def test_what_one_worker_has_begun_the_other_finishes_whichever_is_killed(site: Site) -> None:
    project = site.project
    [truth] = [each for each in project.volume("truth").rglob("*") if each.is_file()]
    queued = [site.person.submit(PHASE, results(cat=count), f"Queued {count}") for count in range(1, 5)]
    assert {site.person.final(each)["entries"][0]["state"] for each in queued} == {"scored"}

    for killed, other in (WORKERS, WORKERS[::-1]):
        with in_a_pipe(truth) as pipe:
            os.chown(pipe.path, truth.parent.stat().st_uid, -1)
            with stopped(tree_of(awaited(partial(project.processes.pid, other)))):
                begun = site.person.submit(PHASE, results(cat=5, dog=5), f"Begun on {killed}")
                assert eventually(lambda: bool(site.ask("SELECT FROM run WHERE state = 'running'")))
                project.kill(killed)
            pipe.put_back()
        assert site.person.final(begun)["entries"][0]["state"] == "scored"
        assert site.ask("SELECT FROM run WHERE crashes > 0") == []
        project.up("worker", killed)

    assert len(site.person.means(PHASE)) == 6
