"""The real Caddy with our Caddyfile in front of the web server: uploads through it, and clients it protects from."""

import hashlib
import shutil
import socket
import ssl
import statistics
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from app.core.settings import ROOT
from tests.certificates import certificate_for_localhost
from tests.patience import LIMIT
from tests.system.installations import Client, Installation, good, installation
from tests.system.kits import small_kit
from tests.system.servers import OwnServers, eventually, free_port

CADDYFILE = ROOT / "deploy" / "Caddyfile"
CADDY = shutil.which("caddy")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.system,
    pytest.mark.skipif(CADDY is None, reason="Caddy is not installed: apt-get install caddy"),
]

MiB = 1 << 20
ARCHIVE = 200 * MiB
PART = 64 * MiB
PHASE = "fronts/test"
NOBODY = "192.0.2.1/32"  # an address that belongs to nobody


@pytest.fixture(scope="module")
def running(own_servers: OwnServers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with installation(own_servers, trusted_proxies="127.0.0.1", limit_login="3/hour") as one:
        one.load(small_kit(tmp_path_factory.mktemp("fronts")), "fronts")
        yield one


@pytest.fixture(scope="module")
def web(running: Installation) -> str:
    return running.start_web()


@pytest.fixture(scope="module")
def front(web: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Caddy that serves plain HTTP and trusts no other proxy."""
    with caddy(tmp_path_factory.mktemp("caddy"), web, HELDOUT_OUTER_PROXIES=NOBODY) as address:
        yield address


@pytest.fixture(scope="module")
def oak(running: Installation, front: str) -> Client:
    return running.participant(front, "oak")


@contextmanager
def caddy(folder: Path, web: str, *, scheme: str = "http", **variables: str) -> Iterator[str]:
    """The address of a Caddy with deploy/Caddyfile, stopped at the end of the block."""
    plain, secure = free_port(), free_port()
    address = f"{scheme}://localhost:{secure if scheme == 'https' else plain}"
    environment = {
        "HOME": str(folder),
        "XDG_DATA_HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder),
        "HELDOUT_SITE": address,
        "HELDOUT_HTTP_PORT": str(plain),
        "HELDOUT_HTTPS_PORT": str(secure),
        "HELDOUT_WEB": urlsplit(web).netloc,
        **variables,
    }
    with (folder / "log").open("wb") as log:
        command = [str(CADDY), "run", "--config", str(CADDYFILE), "--adapter", "caddyfile"]
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        assert eventually(lambda: _listens(urlsplit(address).port)), (folder / "log").read_text()
        yield address
    finally:
        process.terminate()
        process.wait(LIMIT)


def _listens(port: int | None) -> bool:
    with suppress(OSError), socket.create_connection(("localhost", port or 0), timeout=1):
        return True
    return False


def registration(email: str) -> dict[str, str]:
    return {"email": email, "name": "Somebody", "password": "a long password"}


def noise(size: int) -> Iterator[bytes]:
    """This many incompressible bytes, one MiB at a time."""
    piece = hashlib.shake_256(b"noise").digest(MiB)
    for _ in range(size // MiB):
        yield piece


def test_a_large_archive_is_uploaded_whole_and_downloaded_in_ranges(oak: Client) -> None:
    sent = oak.http.put(
        f"/api/v1/challenges/{PHASE}/uploads",
        params={"filename": "results.tar"},
        content=noise(ARCHIVE),
        headers={"Content-Length": str(ARCHIVE)},
    )
    upload = good(sent)
    part = oak.http.get(
        f"/api/v1/uploads/{upload['id']}/archive", headers={"Range": f"bytes={MiB}-{MiB + 99}"}
    )

    assert sent.status_code == 201
    assert upload["size"] == ARCHIVE
    assert part.status_code == 206
    assert part.headers["Content-Range"] == f"bytes {MiB}-{MiB + 99}/{ARCHIVE}"
    assert part.content == hashlib.shake_256(b"noise").digest(100)


def test_an_interrupted_tus_upload_resumes_where_it_stopped(oak: Client) -> None:
    where = oak.create(PHASE, ARCHIVE, "results.tar")
    assert oak.append(where, noise(PART), 0).status_code == 204

    def breaks() -> Iterator[bytes]:
        yield from noise(PART // 2)
        raise ConnectionAbortedError

    with suppress(ConnectionAbortedError):
        oak.append(where, breaks(), PART)
    assert eventually(lambda: oak.offset(where) > PART)
    offset = oak.offset(where)
    while offset < ARCHIVE:
        rest = b"".join(noise(PART + MiB))[offset % MiB :][: min(PART, ARCHIVE - offset)]
        oak.append(where, rest, offset)  # refused while the broken request still holds the upload
        offset = oak.offset(where)

    upload = good(oak.http.get(where.replace("/files", "")))
    assert upload["size"] == ARCHIVE


def test_forged_forwarded_headers_are_ignored(front: str) -> None:
    forged = {"X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https", "Accept": "text/html"}
    with httpx2.Client(base_url=front, headers=forged) as thief:
        registered = thief.post("/register", data=registration("thief@example.org"))
        codes = [
            thief.post(
                "/login",
                data={"email": "thief@example.org", "password": "a wrong password"},
                headers={"X-Forwarded-For": f"203.0.113.{number}"},
            ).status_code
            for number in range(4)
        ]

    assert registered.status_code == 303
    assert "secure" not in registered.headers["Set-Cookie"].lower()
    assert "evil" not in registered.headers["Location"]
    assert codes[-1] == 429


def test_headers_of_a_trusted_proxy_are_used(web: str, tmp_path: Path) -> None:
    with (
        caddy(tmp_path, web, HELDOUT_OUTER_PROXIES="127.0.0.0/8 ::1/128") as address,
        httpx2.Client(base_url=address, headers={"Accept": "text/html"}) as person,
    ):
        outer = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.77"}
        registered = person.post("/register", data=registration("outer@example.org"), headers=outer)

    assert registered.status_code == 303
    assert "secure" in registered.headers["Set-Cookie"].lower()


def test_certificate_files_enable_https_with_secure_cookies(web: str, tmp_path: Path) -> None:
    certificate, key = certificate_for_localhost(tmp_path)
    trusted = ssl.create_default_context(cafile=str(certificate))
    with (
        caddy(tmp_path, web, scheme="https", HELDOUT_TLS=f"tls {certificate} {key}") as address,
        httpx2.Client(base_url=address, verify=trusted, headers={"Accept": "text/html"}) as person,
    ):
        registered = person.post("/register", data=registration("secure@example.org"))

    assert registered.headers["Strict-Transport-Security"] == "max-age=31536000"
    assert registered.status_code == 303
    assert "secure" in registered.headers["Set-Cookie"].lower()


def test_a_domain_name_enables_automatic_https(tmp_path: Path) -> None:
    done = subprocess.run(
        [str(CADDY), "adapt", "--config", CADDYFILE, "--adapter", "caddyfile"],
        env={"HOME": str(tmp_path), "HELDOUT_SITE": "challenge.example.org"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert '"listen":[":443"]' in done.stdout
    assert '"host":["challenge.example.org"]' in done.stdout
    assert "auto_https" not in done.stdout


def test_slow_clients_and_idle_connections_hardly_slow_others_down(oak: Client, front: str) -> None:
    upload = good(oak.send(PHASE, b"".join(noise(20 * MiB)), "results.tar"))
    port = urlsplit(front).port or 0
    authorization = oak.http.headers["Authorization"]
    download = (
        f"GET /api/v1/uploads/{upload['id']}/archive HTTP/1.1\r\nHost: localhost:{port}\r\n"
        f"Authorization: {authorization}\r\n\r\n"
    ).encode()

    def median_of(path: str) -> float:
        times = []
        with httpx2.Client(base_url=front, headers={"Accept": "text/html"}) as reader:
            for _ in range(40):
                begun = time.perf_counter()
                assert reader.get(path).status_code == 200
                times.append(time.perf_counter() - begun)
        return statistics.median(times)

    def measured() -> dict[str, float]:
        """The smallest of three medians, because other tests run at the same time."""
        paths = ("/health", "/leaderboards/fronts/test/3")
        return {path: min(median_of(path) for _ in range(3)) for path in paths}

    alone = measured()
    with ExitStack() as stack:
        connected = [
            stack.enter_context(socket.create_connection(("localhost", port), timeout=5)) for _ in range(600)
        ]
        senders, readers = connected[:50], connected[50:100]  # and 500 idle ones
        for each in senders:
            each.sendall(b"POST /login HTTP/1.1\r\nHost: localhost\r\nX-Slow")
        for each in readers:
            each.sendall(download)
        time.sleep(2)  # everything sent until nobody reads any more counts as normal work
        beside = measured()
        assert eventually(lambda: all(_was_closed(each) for each in senders))

    # a cached page takes 3 ms, less than what a busy machine adds to any
    ratios = {path: beside[path] / max(seconds, 0.005) for path, seconds in alone.items()}
    # others would wait for seconds if slow clients held what answers them
    assert max(ratios.values()) < 10, (alone, beside)


def _was_closed(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return connection.recv(1000) == b"" or _was_closed(connection)
    except BlockingIOError:
        return False
    except OSError:
        return True
