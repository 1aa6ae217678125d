"""A running installation for tests: its own database and folders, web servers and workers as real processes."""

import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import httpx2
import psycopg
from sqlalchemy import make_url

from app.accounts import service as accounts
from app.editions import service as editions
from app.editions.service import Imported, TreeImport
from app.migrating import migrate
from app.models import Role
from app.platform import Platform, platform_of
from app.processes import web_child, worker_child
from app.settings import Settings, free_port
from app.supervisor import Child, Supervisor, supervised
from tests.system.process_trees import pool_of
from tests.system.servers import OwnServers, eventually, plain

LONGEST = 60  # seconds in which everything has to come to its end
BROKERS = count(1)  # numbers of the broker's databases, so that installations do not hear each other's rings
PEOPLE = count(1)

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Client:
    """Somebody's program, or nobody's; `phase` is an address such as `oak/test`."""

    http: httpx2.Client

    def send(self, phase: str, archive: bytes, name: str = "results.tar.gz") -> httpx2.Response:
        """Upload an archive as one stream."""
        return self.http.put(f"/api/editions/{phase}/uploads", params={"filename": name}, content=archive)

    def upload(self, phase: str, archive: bytes) -> str:
        """The number of an upload that was checked and has no problems."""
        answer = good(self.send(phase, archive))
        assert answer["valid"], answer["report"]
        return str(answer["id"])

    def confirm(
        self, upload: str, method: str, key: str | None = None, competitions: tuple[int, ...] | None = None
    ) -> httpx2.Response:
        """Have an upload scored as a method's result."""
        wanted: dict[str, Any] = {"upload": upload, "method": {"name": method}}
        if competitions is not None:
            wanted["competitions"] = competitions
        return self.http.post(
            "/api/submissions", json=wanted, headers={"Idempotency-Key": key} if key else {}
        )

    def submit(self, phase: str, archive: bytes, method: str) -> int:
        """Upload and confirm; the submission's number."""
        return int(good(self.confirm(self.upload(phase, archive), method))["id"])

    def submission(self, number: int) -> Any:
        return good(self.http.get(f"/api/submissions/{number}"))

    def final(self, number: int, seconds: float = LONGEST) -> Any:
        """A submission once nothing will change any more."""
        assert eventually(lambda: bool(self.submission(number)["is_final"]), seconds), self.submission(number)
        return self.submission(number)

    def board(self, phase: str, competition: int = 3) -> Any:
        return good(self.http.get(f"/api/leaderboards/{phase}/{competition}"))

    def means(self, phase: str, competition: int = 3) -> dict[str, float | None]:
        """What a board shows, by method."""
        return {row["method"]: row["mean"] for row in self.board(phase, competition)["rows"]}


@dataclass(frozen=True, slots=True)
class Installation:
    """What runs, and what a test may do with it."""

    settings: Settings
    platform: Platform
    processes: Supervisor
    servers: OwnServers
    until_the_end: ExitStack = field(default_factory=ExitStack)

    def start_web(self, name: str = "web", **changed: object) -> str:
        """Start a web server, with settings of its own; returns its address."""
        settings = self.settings.model_copy(update={"port": free_port("127.0.0.1"), **changed})
        with httpx2.Client(base_url=settings.local_address, timeout=2) as http:
            self.processes.start(self._named(name, web_child(settings)), lambda: is_healthy(http))
        return settings.local_address

    def start_worker(self, name: str = "worker", **changed: object) -> None:
        """Start a worker, and wait until its pool is there."""
        settings = self.settings.model_copy(update=changed)
        child = self._named(name, worker_child(settings))
        self.processes.start(child, lambda: len(self.pool(name)) == settings.workers)

    def _named(self, name: str, child: Child) -> Child:
        return replace(
            child,
            name=name,
            log=child.log.with_name(f"{name}.log"),
            environment={**child.environment, **self._bytecode()},
        )

    def _bytecode(self) -> dict[str, str]:
        """Where Python may keep none beside the sources, every process would compile all it imports, for seconds."""
        if not sys.dont_write_bytecode:
            return {}
        return {
            "PYTHONDONTWRITEBYTECODE": "",
            "PYTHONPYCACHEPREFIX": str(self.servers.data / "bytecode"),
        }

    def pid(self, name: str) -> int:
        """The process with this name; waits for one that is being started again."""
        return awaited(lambda: self.processes.pid(name))

    def pool(self, worker: str = "worker") -> list[int]:
        """The processes of a worker's pool that are there by now."""
        pid = self.processes.pid(worker)
        return pool_of(pid) if pid else []

    def client(self, address: str, token: str | None = None) -> Client:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return Client(
            self.until_the_end.enter_context(
                httpx2.Client(base_url=address, headers=headers, timeout=LONGEST)
            )
        )

    def organiser(self, address: str) -> Client:
        """A client with an organiser's token; the last one asked for is good."""
        token = accounts.token_of_program(self.platform, "organiser@localhost", "Organiser", Role.ORGANISER)
        return self.client(address, token)

    def participant(self, address: str, name: str) -> Client:
        """A client of somebody who registers now, and makes a token on the account page."""
        return self.client(address, registered(address, name))

    def command(self, *words: str, **changed: str | None) -> subprocess.CompletedProcess[str]:
        """What `heldout-server` says, told where this installation is as a worker is; variables may be `changed`."""
        program = Path(sys.executable).with_name("heldout-server")
        variables = {**worker_child(self.settings).environment, **self._bytecode(), **changed}
        return subprocess.run(
            [str(program), *words],
            env={name: value for name, value in variables.items() if value is not None},
            capture_output=True,
            text=True,
            timeout=LONGEST,
            check=False,
        )

    def load(self, tree: Path, edition: str, **rules: Any) -> Imported:
        """Import a tree as the test set of an edition."""
        return editions.import_tree(self.platform, TreeImport(tree, edition, "test", **rules))

    def truth(self, phase: str) -> Path:
        """The file of a phase's newest ground truth."""
        edition, _, image_set = phase.partition("/")
        [[fingerprint]] = self.ask(
            "SELECT fingerprint FROM ground_truth g JOIN phase p ON g.phase_id = p.id JOIN edition e"
            " ON p.edition_id = e.id WHERE e.code = %s AND p.image_set = %s ORDER BY version DESC LIMIT 1",
            edition,
            image_set,
        )
        return self.platform.truths.path(fingerprint)

    def ask(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """What the database itself says."""
        with psycopg.connect(plain(str(self.settings.database_url)), autocommit=True) as connection:
            cursor = connection.execute(statement.encode(), values)
            return cursor.fetchall() if cursor.description else []


@contextmanager
def installation(servers: OwnServers, **settings: Any) -> Iterator[Installation]:
    """An installation with an empty database and nothing running yet; all it starts ends with it."""
    database_url = servers.fresh_database()
    broker = make_url(servers.urls.broker_url).set(database=str(next(BROKERS)))
    with tempfile.TemporaryDirectory(prefix="heldout test ") as folder, ExitStack() as until_the_end:
        data = Path(folder, "data")
        data.mkdir(mode=0o700)
        chosen: dict[str, Any] = {"lease_seconds": 3, "sweep_seconds": 1, **settings}
        complete = Settings(
            data=data,
            database_url=database_url,
            broker_url=broker.render_as_string(hide_password=False),
            private_storage=data / "private",
            secret_key=servers.urls.secret_key,
            **chosen,
        )
        platform = platform_of(complete)
        migrate(platform.engine)
        until_the_end.callback(servers.drop_database, database_url)
        until_the_end.callback(platform.engine.dispose)
        processes = until_the_end.enter_context(supervised(print))
        yield Installation(complete, platform, processes, servers, until_the_end)


def registered(address: str, name: str) -> str:
    """The token of somebody who has just registered."""
    person = {"email": f"person{next(PEOPLE)}@example.org", "name": name, "password": "a long password"}
    with httpx2.Client(base_url=address, timeout=LONGEST) as browser:
        assert browser.post("/register", data=person).status_code == 303
        page = browser.post("/account/tokens", data={"name": "tests"}).text
    [token] = set(re.findall(r"hld_[\w-]{40,}", page))
    return str(token)


def good(response: httpx2.Response) -> Any:
    """The JSON of an answer that must not be a refusal."""
    assert response.is_success, f"{response.status_code} {response.text}"
    return response.json()


def is_healthy(web: httpx2.Client) -> bool:
    try:
        return web.get("/health").is_success
    except httpx2.HTTPError:
        return False


def awaited(look: Callable[[], Answer | None], seconds: float = LONGEST) -> Answer:
    """What `look` finds as soon as there is something."""
    found: list[Answer] = []

    def is_there() -> bool:
        answer = look()
        if answer:
            found.append(answer)
        return bool(answer)

    assert eventually(is_there, seconds), "waited in vain"
    return found[0]
