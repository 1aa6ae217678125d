"""A whole installation of docker-compose.yml with two workers, a challenge and a participant."""

import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import psycopg

from app.core.settings import Settings
from app.operations.supervisor import supervised
from app.platform import Platform, platform_of
from tests.compose_file import configuration
from tests.shared import ROOT
from tests.system.compose import FASTER, Project, keep_bytecode
from tests.system.containers import Mount
from tests.system.installations import LONGEST, Client, registered
from tests.system.kits import small_kit
from tests.system.networks import network
from tests.system.servers import OwnServers, plain

ADMINISTERING = "\n".join(page.read_text() for page in sorted((ROOT / "docs/administer").glob("*.md")))
CODE = "composed"
PHASE = f"{CODE}/test"
WORKERS = ("worker-1", "worker-2")
WEB_PORT = 8000


@dataclass(frozen=True, slots=True)
class Site:
    """The site that `docker compose up -d` starts."""

    project: Project
    platform: Platform
    address: str

    def ask(self, statement: str) -> list[tuple[Any, ...]]:
        """Run a query as the application role."""
        with psycopg.connect(plain(str(self.platform.settings.database_url)), autocommit=True) as connection:
            return connection.execute(statement.encode()).fetchall()

    def load(self, folder: Path) -> None:
        """Import a challenge as documented."""
        kit = Mount(small_kit(folder), Path("/VOC2012"))
        words = [
            "import",
            "/VOC2012",
            "--challenge",
            CODE,
            "--phase",
            "test",
            "--quota",
            "1000",
            "--images",
            "copy",
        ]
        done = self.project.run("worker", *words, mounts=[kit])
        assert done.returncode == 0, done.stdout + done.stderr

    def start(self, workers: Sequence[str] = WORKERS) -> None:
        """Start the services that serve, score and send."""
        for name in workers:
            self.project.up("worker", name)
        self.project.up("beat")
        self.project.up("sender")
        self.project.up("web", ready=partial(answers, self.address))

    @contextmanager
    def client(self, token: str) -> Iterator[Client]:
        with httpx2.Client(base_url=self.address, timeout=LONGEST) as http:
            http.headers["Authorization"] = f"Bearer {token}"
            yield Client(http)

    def participant(self, name: str) -> str:
        """The token of a newly registered participant."""
        return registered(self.platform, self.address, name)


@contextmanager
def composed(servers: OwnServers, folder: Path) -> Iterator[Site]:
    """A site with its servers running and the database migrated; the test starts the rest."""
    url = servers.fresh_database()
    database = url.rpartition("/")[2].partition("?")[0]
    platform = platform_of(Settings(data=folder, database_url=url, broker_url=servers.urls.broker_url))
    services = configuration()["services"]
    keep_bytecode(servers)
    with network() as own, supervised(print) as processes:
        project = Project(services, folder, servers, database, own, processes, FASTER)
        project.prepare()
        start_engines(project)
        yield Site(project, platform, own.published(WEB_PORT))
    platform.engine.dispose()
    servers.drop_database(url)


def start_engines(project: Project) -> None:
    """Start the servers that our own services wait for."""

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


def answers(address: str) -> bool:
    """Whether a web server reports that it is ready."""
    try:
        return httpx2.get(f"{address}/ready", timeout=5).is_success
    except httpx2.HTTPError:
        return False


@dataclass(frozen=True, slots=True)
class DocumentedRun:
    """A line `docker compose run …` in the documentation."""

    service: str
    words: tuple[str, ...]
    volumes: tuple[
        tuple[str, Path, bool], ...
    ]  # place on the machine, place in the container, whether read-only
    variables: dict[str, str]

    def start(self, project: Project, places: dict[str, Path]) -> str:
        """Run it with the machine's folders replaced, and return what it prints."""
        mounts = [Mount(places[where], target, is_read_only) for where, target, is_read_only in self.volumes]
        done = project.run(self.service, *self.words, mounts=mounts, **self.variables)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def documented_run(*named: str) -> DocumentedRun:
    """The only `docker compose run --rm` command in docs/administer that runs a service with these words."""
    lines = map(str.strip, ADMINISTERING.replace("\\\n", " ").splitlines())
    [line] = [one for one in lines if one.startswith("docker compose run --rm ") and " ".join(named) in one]
    words = line.partition("#")[0].split()[4:]
    volumes, variables = [], {}
    while words[0] in {"-v", "-e"}:
        option, value, *words = words
        if option == "-v":
            where, target, *mode = value.split(":")
            volumes.append((where, Path(target), mode == ["ro"]))
        else:
            name, _, text = value.partition("=")
            variables[name] = text
    assert not re.search("[<>|]", line)
    return DocumentedRun(words[0], tuple(words[1:]), tuple(volumes), variables)
