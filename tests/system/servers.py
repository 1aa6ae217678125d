"""PostgreSQL and Valkey servers for tests, on free ports and in a temporary folder."""

import os
import select
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import psycopg
import pytest
import redis
from sqlalchemy import make_url

from app.core.settings import Settings
from app.jobs.sandbox import preload
from app.operations.data_folder import load_secrets
from app.operations.embedded import NOBODY, OWNER, SUPERUSER, Servers, embedded_servers
from app.operations.migrating import migrate
from tests.patience import LIMIT, START
from worker.handlers import IN_CHILDREN

DATABASES = count(1)
WITH_TABLES = "with_tables"  # is copied, which takes a fifth of the time of all migrations


@dataclass(frozen=True, slots=True)
class OwnServers:
    """Running servers and what a test can do to them."""

    data: Path
    urls: Servers

    def fresh_database(self) -> str:
        """The application's URL for a new, empty database."""
        return self._create_database(f"test_{next(DATABASES)}", "template1")

    def database_with_tables(self) -> str:
        """The same with the newest schema and the application's rights, as after `migrate`."""
        if not self._has_database(WITH_TABLES):
            url = self._create_database(WITH_TABLES, "template1")
            migrate(Settings(database_url=url, migration_database_url=self.owners_url(url)))
        url = self._create_database(f"test_{next(DATABASES)}", WITH_TABLES)
        name, role = make_url(url).database, make_url(url).username
        with psycopg.connect(self.superusers_url(), autocommit=True) as connection:
            # all other rights are copied
            connection.execute(f"REVOKE ALL ON DATABASE {name} FROM PUBLIC".encode())
            connection.execute(f"GRANT CONNECT ON DATABASE {name} TO {role}".encode())
        return url

    def _has_database(self, name: str) -> bool:
        with psycopg.connect(self.superusers_url()) as connection:
            found = connection.execute("SELECT FROM pg_database WHERE datname = %s", (name,))
            return found.rowcount == 1

    def _create_database(self, name: str, template: str) -> str:
        with psycopg.connect(self.superusers_url(), autocommit=True) as connection:
            # does not write all pages into the log
            statement = f"CREATE DATABASE {name} OWNER {OWNER} TEMPLATE {template} STRATEGY FILE_COPY"
            connection.execute(statement.encode())
        return make_url(self.urls.database_url).set(database=name).render_as_string(hide_password=False)

    def owners_url(self, url: str) -> str:
        """The URL for the role that owns the tables of the same database."""
        owner = make_url(self.urls.migration_database_url)
        return owner.set(database=make_url(url).database).render_as_string(hide_password=False)

    def drop_database(self, url: str) -> None:
        with psycopg.connect(self.superusers_url(), autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {make_url(url).database} WITH (FORCE)")

    @contextmanager
    def database_in(self, folder: Path) -> Iterator[str]:
        """The application's URL for a database whose files are in this folder."""
        url = self.fresh_database()
        if os.geteuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
        with psycopg.connect(self.superusers_url(), autocommit=True) as connection:
            connection.execute(f"CREATE TABLESPACE elsewhere LOCATION '{folder}'".encode())
            try:
                connection.execute(
                    f"ALTER DATABASE {make_url(url).database} SET TABLESPACE elsewhere".encode()
                )
                yield url
            finally:
                self.drop_database(url)
                connection.execute("DROP TABLESPACE elsewhere")

    def empty_broker(self) -> None:
        with redis.Redis.from_url(self.urls.broker_url) as client:
            client.flushall()

    def spare_the_disk(self) -> None:
        """Turn off what protects from a loss of power: a killed server loses nothing by that."""
        with psycopg.connect(self.superusers_url(), autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET fsync = off")
            connection.execute("ALTER SYSTEM SET full_page_writes = off")
            connection.execute("SELECT pg_reload_conf()")

    def kill_database(self) -> None:
        """Kill -9 the postmaster, which is restarted automatically."""
        kill(self.urls.processes.pid("postgres"))

    def kill_broker(self) -> None:
        """Kill -9 the broker, which is restarted automatically with what it had stored."""
        kill(self.urls.processes.pid("valkey"))

    @contextmanager
    def database_down(self) -> Iterator[None]:
        """Stop the database and start it again at the end."""
        child = self.urls.processes.stop("postgres")
        try:
            yield
        finally:
            self.urls.processes.start(child, lambda: database_answers(self.urls.database_url), START)

    @contextmanager
    def broker_down(self, *, loses: bool = False) -> Iterator[None]:
        """Stop the broker and start it again at the end, empty if it `loses` everything."""
        child = self.urls.processes.stop("valkey")
        if loses:
            shutil.rmtree(self.data / "valkey" / "appendonlydir")
            (self.data / "valkey" / "dump.rdb").unlink(missing_ok=True)
        try:
            yield
        finally:
            self.urls.processes.start(child, lambda: broker_answers(self.urls.broker_url), START)

    @contextmanager
    def broker_paused(self) -> Iterator[None]:
        """Make the broker accept connections but not answer them."""
        pid = self.urls.processes.pid("valkey")
        assert pid
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    def superusers_url(self, driver: str = "postgresql") -> str:
        """The superuser's URL for a database without tables."""
        url = make_url(self.urls.database_url).set(drivername=driver, database="postgres")
        password = load_secrets(self.data).superuser
        return url.set(username=SUPERUSER, password=password).render_as_string(hide_password=False)


@pytest.fixture(scope="session")
def own_servers() -> Iterator[OwnServers]:
    """One pair of servers for all tests, whose own processes have children like workers."""
    preload(*IN_CHILDREN)
    # with a blank in the name, because users' folders have them
    with tempfile.TemporaryDirectory(prefix="heldout test ") as folder:
        data = Path(folder, "data")
        with embedded_servers(data, report=print) as urls:
            servers = OwnServers(data, urls)
            servers.spare_the_disk()
            yield servers


@pytest.fixture(scope="module")
def database_url(own_servers: OwnServers) -> Iterator[str]:
    """A migrated database for each module, without rows."""
    url = own_servers.database_with_tables()
    yield url
    own_servers.drop_database(url)


@pytest.fixture(scope="module")
def broker_url(own_servers: OwnServers) -> str:
    """A broker that is empty at the start of each module."""
    own_servers.empty_broker()
    return own_servers.urls.broker_url


def database_answers(url: str) -> bool:
    try:
        psycopg.connect(plain(url), connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True


def broker_answers(url: str) -> bool:
    try:
        with redis.Redis.from_url(url, socket_timeout=2) as client:
            return bool(client.ping())
    except redis.RedisError:
        return False


def plain(url: str) -> str:
    """The URL in psycopg's own format."""
    return url.replace("postgresql+psycopg://", "postgresql://")


def kill(pid: int | None) -> None:
    """Kill -9 a process that a test has started and wait until it has ended."""
    assert pid
    end = os.pidfd_open(pid)
    os.kill(pid, signal.SIGKILL)
    assert gone(end, LIMIT)


def gone(pidfd: int, seconds: float) -> bool:
    """Whether a process ends in time; closes its pidfd."""
    try:
        return bool(select.select([pidfd], [], [], seconds)[0])
    finally:
        os.close(pidfd)


def free_port() -> int:
    """A port that is not in use."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def eventually(question: Callable[[], bool], seconds: float = LIMIT) -> bool:
    """Poll until the check succeeds, for what cannot be awaited otherwise."""
    give_up = time.monotonic() + seconds
    while not (response := question()) and time.monotonic() < give_up:
        time.sleep(0.02)
    return response
