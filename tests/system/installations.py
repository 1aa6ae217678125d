"""A running installation for tests, with its own database and folders and with web servers and workers as real processes."""

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
import redis
from psycopg.pq import ExecStatus
from sqlalchemy import make_url

from app.core.settings import Settings
from app.intake.importing import Imported, TreeImport, import_tree
from app.models import Quota
from app.operations.processes import environment_of, sender_child, web_child, worker_child
from app.operations.serving import listen
from app.operations.supervisor import Child, Supervisor, supervised
from app.platform import Platform, platform_of
from app.storage import FolderStorage, Storage, content_key
from app.web.error_responses import TUS_VERSION
from app.web.tus import format_metadata
from tests.patience import LIMIT, START
from tests.people import confirm_address
from tests.second_factors import token_of_admin
from tests.system.forking import Forked, ForkingSupervisor
from tests.system.process_trees import pool_of
from tests.system.servers import OwnServers, eventually, plain
from tests.unlimited import UNLIMITED

LONGEST = LIMIT  # seconds within which everything has to finish
# databases of the broker, 16 in all: with one of its own an installation does not get another's notifications
FREE_BROKER_DATABASES = list(range(1, 16))
PEOPLE = count(1)

DESCRIPTION = "Features of the whole image, and one linear classifier for each class. " * 8
STATEMENT = {
    "given_data_only": True,
    "other_data": "none",
    "no_excluded_data": True,
    "annotation": "segmentations",
}

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Client:
    """A client, anonymous without a token; `phase` is an address such as `oak/test`."""

    http: httpx2.Client

    def send(self, phase: str, archive: bytes, name: str = "results.tar.gz") -> httpx2.Response:
        """Upload an archive in one stream."""
        return self.http.put(
            f"/api/v1/challenges/{phase}/uploads", params={"filename": name}, content=archive
        )

    def create(self, phase: str, size: int, filename: str = "results.tar.gz", **metadata: str) -> str:
        """Create a tus upload and return its address."""
        headers = {
            "Tus-Resumable": TUS_VERSION,
            "Upload-Length": str(size),
            "Upload-Metadata": format_metadata({"filename": filename, **metadata}),
        }
        response = self.http.post(f"/api/v1/challenges/{phase}/uploads", headers=headers)
        assert response.status_code == 201, response.text
        return str(response.headers["Location"])

    def append(
        self, where: str, content: bytes | Iterator[bytes], offset: int, **headers: str
    ) -> httpx2.Response:
        """Append bytes to a tus upload; `headers` have underscores in place of hyphens."""
        tus = {
            "Tus-Resumable": TUS_VERSION,
            "Upload-Offset": str(offset),
            "Content-Type": "application/offset+octet-stream",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        return self.http.patch(where, content=content, headers=tus)

    def offset(self, where: str) -> int:
        """The number of bytes that an upload has received."""
        return int(self.http.head(where, headers={"Tus-Resumable": TUS_VERSION}).headers["Upload-Offset"])

    def upload(self, phase: str, archive: bytes) -> str:
        """Upload an archive without problems and return the id of the checked upload."""
        upload = good(self.send(phase, archive))
        assert upload["valid"], upload["report"]
        return str(upload["id"])

    def confirm(
        self,
        upload: str,
        method: str,
        key: str | None = None,
        competitions: tuple[int, ...] | None = None,
        *,
        make_public: bool = True,
    ) -> httpx2.Response:
        """Submit an upload as a result of a method."""
        request: dict[str, Any] = {
            "upload": upload,
            "method": {"name": method, "description": DESCRIPTION},
            "training": STATEMENT,
            "make_public": make_public,
        }
        if competitions is not None:
            request["competitions"] = competitions
        return self.http.post(
            "/api/v1/submissions", json=request, headers={"Idempotency-Key": key} if key else {}
        )

    def submit(self, phase: str, archive: bytes, method: str) -> int:
        """Upload and confirm an archive; returns the id of the submission."""
        return int(good(self.confirm(self.upload(phase, archive), method))["id"])

    def submission(self, number: int) -> Any:
        return good(self.http.get(f"/api/v1/submissions/{number}"))

    def final(self, number: int, seconds: float = LONGEST) -> Any:
        """A submission once it is final."""
        assert eventually(lambda: bool(self.submission(number)["is_final"]), seconds), self.submission(number)
        return self.submission(number)

    def board(self, phase: str, competition: int = 3) -> Any:
        return good(self.http.get(f"/api/v1/leaderboards/{phase}/{competition}"))

    def means(self, phase: str, competition: int = 3) -> dict[str, float | None]:
        """The means on a board by method."""
        return {row["method"]: row["mean"] for row in self.board(phase, competition)["rows"]}


@dataclass(frozen=True, slots=True)
class Installation:
    """A running installation and what a test can do with it."""

    settings: Settings
    platform: Platform
    processes: Supervisor
    servers: OwnServers
    stack: ExitStack = field(default_factory=ExitStack)

    def start_web(self, name: str = "web", **changed: object) -> str:
        """Start a web server with its own settings; returns its address."""
        listener = self.stack.enter_context(listen(self.settings.model_copy(update={"port": 0})))
        settings = self.settings.model_copy(update={"port": listener.getsockname()[1], **changed})
        with httpx2.Client(base_url=settings.local_address, timeout=LIMIT / 4) as http:
            self.processes.start(
                self.named(name, web_child(settings, listener)), lambda: is_healthy(http), START
            )
        return settings.local_address

    def start_worker(self, name: str = "worker", **changed: object) -> None:
        """Start a worker and wait until its pool is running."""
        settings = self.settings.model_copy(update=changed)
        child = self.named(name, worker_child(settings))
        self.processes.start(child, lambda: len(self.pool(name)) == settings.workers, START)

    def start_sender(self, **changed: object) -> None:
        """Start a sender and wait until it reports alive."""
        child = self.named("sender", sender_child(self.settings.model_copy(update=changed)))
        alive = "SELECT FROM heartbeat WHERE service = 'sender'"
        self.processes.start(child, lambda: bool(self.ask(alive)), START)

    @contextmanager
    def started_as_installed(self) -> Iterator["Installation"]:
        """The same installation with a web server and a worker of its own that are started as outside of tests, not forked."""
        with supervised(print) as processes:
            started = replace(self, processes=processes)
            started.start_web()
            started.start_worker()
            yield started

    def named(self, name: str, child: Child) -> Child:
        return replace(
            child,
            name=name,
            log=self.settings.data / "logs" / f"{name}.log",
            environment={**child.environment, **self._bytecode()},
        )

    def _bytecode(self) -> dict[str, str]:
        """Cache bytecode elsewhere if none is written beside the sources, or every process would compile its imports for seconds."""
        if not sys.dont_write_bytecode:
            return {}
        return {
            "PYTHONDONTWRITEBYTECODE": "",
            "PYTHONPYCACHEPREFIX": str(self.servers.data / "bytecode"),
        }

    def children(self) -> list[Child]:
        """The children that run web servers and workers."""
        with listen(self.settings.model_copy(update={"port": 0})) as listener:
            return [
                web_child(self.settings, listener),
                worker_child(self.settings),
                sender_child(self.settings),
            ]

    def pid(self, name: str) -> int:
        """The pid of the process with this name; waits while it is being restarted."""
        return awaited(lambda: self.processes.pid(name))

    def pool(self, worker: str = "worker") -> list[int]:
        """The current processes of a worker's pool."""
        pid = self.processes.pid(worker)
        return pool_of(pid) if pid else []

    def client(self, address: str, token: str | None = None) -> Client:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return Client(
            self.stack.enter_context(httpx2.Client(base_url=address, headers=headers, timeout=LONGEST))
        )

    def organiser(self, address: str) -> Client:
        """A client with an admin's token, who organises every challenge; only the latest token is valid."""
        token = token_of_admin(self.platform, "organiser@localhost", "Organiser")
        return self.client(address, token)

    def participant(self, address: str, name: str) -> Client:
        """A client of a newly registered person with a token from the account page."""
        return self.client(address, registered(self.platform, address, name))

    def command(self, *words: str, **changed: str | None) -> subprocess.CompletedProcess[str]:
        """Run `heldout-server` with this installation's settings as variables, some of them `changed`."""
        variables = {**environment_of(self.settings, without=set()), **self._bytecode(), **changed}
        with Forked(
            [sys.executable, "-m", "app", *words],
            env={name: value for name, value in variables.items() if value is not None},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                output, problems = process.communicate(timeout=LONGEST)
            except BaseException:
                process.kill()
                raise
        return subprocess.CompletedProcess(words, process.returncode, output, problems)

    def load(self, tree: Path, challenge: str, **rules: Any) -> Imported:
        """Import a tree as the test set of a challenge, with a quota large enough for tests."""
        rules = {"quotas": (Quota(rules.pop("quota", 1000), 7),)} | rules
        return import_tree(self.platform, TreeImport(tree, challenge, "test", **rules))

    def forget_follow_ups(self) -> None:
        """Drop all follow-up jobs (intervals, figures, pictures), so that workers only score runs."""
        self.ask(
            "CREATE FUNCTION forget() RETURNS trigger LANGUAGE plpgsql"
            " AS $$ BEGIN DELETE FROM job WHERE id = NEW.id; RETURN NULL; END $$"
        )
        self.ask(
            "CREATE TRIGGER forget AFTER INSERT ON job FOR EACH ROW WHEN (NEW.queue = 'follow-ups')"
            " EXECUTE FUNCTION forget()"
        )

    def truth(self, phase: str) -> Path:
        """The file with the newest ground truth of a phase."""
        challenge, _, image_set = phase.partition("/")
        [[fingerprint, public_id]] = self.ask(
            "SELECT fingerprint, public_id FROM ground_truth g JOIN phase p ON g.phase_id = p.id JOIN challenge e"
            " ON p.challenge_id = e.id WHERE e.code = %s AND p.image_set = %s ORDER BY version DESC LIMIT 1",
            challenge,
            image_set,
        )
        return stored_file(self.platform.truths, content_key(fingerprint, public_id))

    def ask(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Run a query as the owner of the tables."""
        with psycopg.connect(plain(str(self.settings.migration_database_url)), autocommit=True) as connection:
            cursor = connection.execute(statement.encode(), values)
            has_rows = cursor.pgresult is not None and cursor.pgresult.status == ExecStatus.TUPLES_OK
            return cursor.fetchall() if has_rows else []  # also for rows without columns, as from SELECT FROM


def stored_file(store: Storage, key: str) -> Path:
    """The file of a content, so that a test can replace it."""
    with store.materialise(key) as path:
        return path


@contextmanager
def installation(servers: OwnServers, **settings: Any) -> Iterator[Installation]:
    """An installation with an empty database and no processes yet; everything it starts ends with the block."""
    database_url = servers.database_with_tables()
    with tempfile.TemporaryDirectory(prefix="heldout test ") as folder, ExitStack() as stack:
        broker_url = stack.enter_context(broker_database(servers))
        data = Path(folder, "data")
        data.mkdir(mode=0o700)
        chosen: dict[str, Any] = {"lease_seconds": 3, "sweep_seconds": 1, "retry_seconds": 0.05, **settings}
        complete = Settings(
            data=data,
            database_url=database_url,
            migration_database_url=servers.owners_url(database_url),
            broker_url=broker_url,
            private_storage=data / "private",
            **{**UNLIMITED, **chosen},
        )
        platform = platform_of(complete)
        for store in platform.stores:
            if isinstance(store, FolderStorage):
                store.check()  # creates its folder, which is not created once there are rows
        stack.callback(servers.drop_database, database_url)
        stack.callback(platform.engine.dispose)
        processes = stack.enter_context(supervised(print, ForkingSupervisor))
        yield Installation(complete, platform, processes, servers, stack)


@contextmanager
def broker_database(servers: OwnServers) -> Iterator[str]:
    """The URL of an empty broker database reserved for the block."""
    number = FREE_BROKER_DATABASES.pop(0)
    url = make_url(servers.urls.broker_url).set(database=str(number)).render_as_string(hide_password=False)
    try:
        with redis.Redis.from_url(url) as client:
            client.flushdb()
        yield url
    finally:
        FREE_BROKER_DATABASES.append(number)


def registered(platform: Platform, address: str, name: str) -> str:
    """Register a person and confirm their address; returns their token."""
    person = {"email": f"person{next(PEOPLE)}@example.org", "name": name, "password": "a long password"}
    with httpx2.Client(base_url=address, timeout=LONGEST) as browser:
        assert browser.post("/register", data=person).status_code == 303
        confirm_address(platform, person["email"])
        page = browser.post("/account/tokens", data={"name": "tests", "scope": ["read", "submit"]}).text
    [token] = set(re.findall(r"hld_\w{36}", page))
    return str(token)


def good(response: httpx2.Response) -> Any:
    """The JSON of a response, which must be successful."""
    assert response.is_success, f"{response.status_code} {response.text}"
    return response.json()


def is_healthy(web: httpx2.Client) -> bool:
    try:
        return web.get("/ready").is_success
    except httpx2.HTTPError:
        return False


def awaited(look: Callable[[], Answer | None], seconds: float = LONGEST) -> Answer:
    """Wait until `look` finds something, and return it."""
    found: list[Answer] = []

    def is_there() -> bool:
        result = look()
        if result:
            found.append(result)
        return bool(result)

    assert eventually(is_there, seconds), "waited in vain"
    return found[0]
