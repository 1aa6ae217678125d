"""`heldout-server serve` with several processes on one port."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from app.core.settings import variable
from app.operations.processes import NOT_FOR_WEB, environment_of
from tests.patience import LIMIT
from tests.system.installations import Installation, installation, is_healthy
from tests.system.process_trees import command_of, is_alive, tree_of
from tests.system.servers import OwnServers, eventually, free_port, kill

pytestmark = [pytest.mark.slow, pytest.mark.system]

TOKEN = "a-token-of-twenty-characters"


@pytest.fixture
def quiet(own_servers: OwnServers) -> Iterator[Installation]:
    with installation(own_servers, web_processes=2) as running:
        yield running


@contextmanager
def serving(running: Installation, web_processes: int = 2) -> Iterator[tuple[int, str]]:
    """The pid and the address of the command once it answers; its variables also name the private storage."""
    update = {"port": free_port(), "web_processes": web_processes, "metrics_token": TOKEN}
    settings = running.settings.model_copy(update=update)
    command = [str(Path(sys.executable).with_name("heldout-server")), "serve"]
    environment = environment_of(settings, without=set())
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    try:
        with httpx2.Client(base_url=settings.local_address, timeout=LIMIT / 4) as http:
            assert eventually(lambda: is_healthy(http), 180)
        yield process.pid, settings.local_address
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(LIMIT)
        finally:
            process.kill()


def web_processes(pid: int) -> list[int]:
    return [each for each in tree_of(pid) if "app.operations.serving" in command_of(each)]


def counted(address: str) -> float:
    """The number of requests for the installation's state answered by all its web processes."""
    text = httpx2.get(f"{address}/metrics", headers={"Authorization": f"Bearer {TOKEN}"}, timeout=30).text
    assert "heldout_healthy" in text, text
    lines = [line for line in text.splitlines() if line.startswith("heldout_http_requests_total")]
    return sum(float(line.rpartition(" ")[2]) for line in lines if 'route="/health"' in line)


def test_other_web_processes_answer_while_one_is_replaced(quiet: Installation) -> None:
    with serving(quiet) as (pid, address):
        assert eventually(lambda: len(web_processes(pid)) == 2)
        before = web_processes(pid)
        answered = counted(address)

        kill(before[0])
        codes = [httpx2.get(f"{address}/health", timeout=30).status_code for _ in range(20)]

        assert set(codes) == {200}
        assert eventually(lambda: len(set(web_processes(pid)) - {before[0]}) == 2)
        after = web_processes(pid)
        assert {counted(address) for _ in range(10)} == {answered + len(codes)}
    assert not any(is_alive(each) for each in (pid, *before, *after))


@pytest.mark.parametrize("number", [1, 2])
def test_web_processes_do_not_know_the_private_storage_and_create_private_files(
    quiet: Installation, number: int
) -> None:
    with serving(quiet, number) as (pid, _):
        assert eventually(lambda: len(web_processes(pid)) == number)
        for each in web_processes(pid):
            variables = Path(f"/proc/{each}/environ").read_text()
            assert "MALLOC_ARENA_MAX=2" in variables  # otherwise memory of large pages is never returned
            assert "HELDOUT_DATABASE_URL" in variables
            assert [name for name in NOT_FOR_WEB if variable(name) in variables] == []
            assert "Umask:\t0077" in Path(f"/proc/{each}/status").read_text()


def test_a_port_in_use_is_reported(quiet: Installation) -> None:
    with serving(quiet) as (_, address):
        port = address.rpartition(":")[2]
        again = quiet.command("serve", HELDOUT_PORT=port)

    assert again.returncode == 1
    assert f"port {port} of 127.0.0.1 is used by another program" in again.stderr
    assert "Traceback" not in again.stderr


@pytest.mark.parametrize("number", [1, 2])
def test_new_connections_are_refused_while_a_server_stops(quiet: Installation, number: int) -> None:
    with serving(quiet, number) as (pid, address):
        where = urlsplit(address)
        place = (str(where.hostname), int(where.port or 0))
        with socket.create_connection(place) as half:  # a request that holds up the end
            half.sendall(b"POST /login HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\nemail=")
            assert eventually(lambda: httpx2.get(f"{address}/health", timeout=30).is_success)

            os.kill(pid, signal.SIGTERM)

            assert eventually(lambda: is_refused(place))
            assert is_alive(pid)


def is_refused(place: tuple[str, int]) -> bool:
    """Whether a connection is refused at once, not accepted and left alone."""
    try:
        socket.create_connection(place, timeout=5).close()
    except ConnectionRefusedError:
        return True
    return False
