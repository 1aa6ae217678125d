"""A failed start ends with a message that says what to change, never with a traceback."""

import os
import pwd
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from app.operations.data_folder import lock_data_folder
from tests.system.servers import OwnServers, free_port, plain

pytestmark = [pytest.mark.slow, pytest.mark.system]
as_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can give files away, mount, and become others"
)

NOBODY = pwd.getpwnam("nobody").pw_uid
ROOT = Path(__file__).parents[2]


@pytest.fixture
def data() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="heldout test ") as folder:
        yield Path(folder, "data")


def start(data: Path, *before: str, command: tuple[str, ...] = ("run", "--once"), **variables: object) -> str:
    """The output of `heldout-server run`, or another command, that fails to start."""
    environment = {
        "PATH": os.defpath,
        "HELDOUT_DATA": str(data),
        "HELDOUT_PORT": "0",
        "PYTHONPATH": str(ROOT),
    }
    environment |= {name: str(value) for name, value in variables.items()}
    done = subprocess.run(
        [*before, sys.executable, "-m", "app", *command],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    output = done.stdout + done.stderr
    assert done.returncode == 1, output
    assert "Traceback" not in output
    return output


def test_all_invalid_settings_are_reported_at_once(data: Path) -> None:
    output = start(data, HELDOUT_PORT="web", HELDOUT_WORKERS="many")

    assert "HELDOUT_PORT: found 'web'" in output
    assert "HELDOUT_WORKERS: found 'many'" in output


def test_an_address_that_cannot_be_listened_on_is_reported(data: Path) -> None:
    output = start(data, HELDOUT_HOST="nowhere.invalid")

    assert "HELDOUT_HOST: found 'nowhere.invalid', where this machine cannot listen" in output


def test_one_address_without_the_other_is_reported(data: Path) -> None:
    output = start(data, HELDOUT_BROKER_URL="redis://:secret@localhost/0")

    assert "HELDOUT_DATABASE_URL is not set; set both, or neither and use `make run`" in output


def test_a_port_in_use_is_reported_before_anything_is_started(data: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        port = stranger.getsockname()[1]
        output = start(data, HELDOUT_PORT=port)

    assert f"port {port} of 127.0.0.1 is used by another program" in output
    assert "HELDOUT_PORT" in output
    assert not data.exists()


def test_a_port_in_use_on_loopback_prevents_listening_on_all_addresses(data: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        port = stranger.getsockname()[1]

        assert f"port {port} of 0.0.0.0 is used" in start(data, HELDOUT_PORT=port, HELDOUT_HOST="0.0.0.0")


def test_a_folder_in_use_by_another_installation_is_reported(data: Path) -> None:
    with lock_data_folder(data):
        output = start(data)

    assert f"{data} is in use: another installation (process {os.getpid()}) runs on it" in output


def test_the_data_folder_is_locked_even_with_external_servers(data: Path, own_servers: OwnServers) -> None:
    urls = own_servers.urls
    with lock_data_folder(data):
        output = start(data, HELDOUT_DATABASE_URL=urls.database_url, HELDOUT_BROKER_URL=urls.broker_url)

    assert f"{data} is in use" in output


def test_a_file_in_place_of_the_folder_is_reported(data: Path) -> None:
    data.touch()

    assert f"{data} cannot be used: File exists" in start(data)


@pytest.mark.parametrize("command", [("check",), ("backup", "/dev/null"), ("restore", "/dev/null")])
def test_a_file_in_place_of_the_folder_is_reported_by_every_command(
    data: Path, command: tuple[str, ...]
) -> None:
    data.touch()

    output = start(data, command=command)

    assert f"{data}/lock cannot be used: Not a directory; name another folder with HELDOUT_DATA" in output


@as_root
def test_a_command_run_as_another_user_names_the_owner_of_the_folder(data: Path) -> None:
    data.mkdir(mode=0o700)
    data.joinpath("lock").touch(mode=0o600)
    os.chown(data, NOBODY, NOBODY)

    output = start(data, "setpriv", "--bounding-set=-dac_override,-dac_read_search", command=("check",))

    assert f"{data} belongs to user nobody, and this is user root" in output


@as_root
def test_a_folder_of_another_user_is_reported_with_its_owner(data: Path) -> None:
    data.mkdir()
    os.chown(data, NOBODY, NOBODY)

    assert f"{data} belongs to user nobody: run as that user, or name another folder" in start(data)


@as_root
def test_an_unwritable_folder_is_reported_with_its_owner_and_the_current_user(data: Path) -> None:
    data.mkdir(mode=0o700)
    os.chown(data, NOBODY, NOBODY)

    output = start(data / "inside", "setpriv", "--bounding-set=-dac_override,-dac_read_search")

    assert f"{data}/inside cannot be used: {data} belongs to user nobody, and this is user root" in output
    assert "HELDOUT_DATA" in output


@as_root
def test_a_full_disk_is_reported(data: Path) -> None:
    with small_disk(data):
        output = start(data)

    assert "No space left on device" in output


@contextmanager
def small_disk(folder: Path, size: str = "2m") -> Iterator[Path]:
    folder.mkdir(mode=0o700)
    options = f"size={size},mode=700"
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=False)
    if mounted.returncode:
        pytest.skip("this machine lets nobody mount")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def test_a_database_that_does_not_answer_is_reported(data: Path, own_servers: OwnServers) -> None:
    output = start(
        data,
        HELDOUT_DATABASE_URL=f"postgresql://heldout:secret@127.0.0.1:{free_port()}/heldout",
        HELDOUT_BROKER_URL=own_servers.urls.broker_url,
    )

    assert "the database cannot be reached: " in output
    assert "Connection refused" in output
    assert "secret" not in output


def test_a_wrong_database_password_is_reported(data: Path, own_servers: OwnServers) -> None:
    urls = own_servers.urls
    user, _, rest = urls.database_url.partition("@")
    output = start(
        data,
        HELDOUT_DATABASE_URL=f"{user.rpartition(':')[0]}:secret@{rest}",
        HELDOUT_BROKER_URL=urls.broker_url,
    )

    assert "password authentication failed" in output
    assert "secret" not in output


def test_a_broker_that_does_not_answer_is_reported(data: Path, own_servers: OwnServers) -> None:
    output = start(
        data,
        HELDOUT_DATABASE_URL=own_servers.urls.database_url,
        HELDOUT_BROKER_URL=f"redis://:secret@127.0.0.1:{free_port()}/0",
    )

    assert "the broker cannot be reached: " in output
    assert "secret" not in output


def test_a_schema_of_another_version_is_reported_with_what_to_do(data: Path, own_servers: OwnServers) -> None:
    url = own_servers.fresh_database()
    with psycopg.connect(plain(own_servers.owners_url(url)), autocommit=True) as owner:
        owner.execute("CREATE TABLE alembic_version (version_num varchar(32) PRIMARY KEY)")
        owner.execute("INSERT INTO alembic_version VALUES ('0123456789ab')")
    addresses: dict[str, Any] = {
        "HELDOUT_DATABASE_URL": url,
        "HELDOUT_MIGRATION_DATABASE_URL": own_servers.owners_url(url),
        "HELDOUT_BROKER_URL": own_servers.urls.broker_url,
    }

    output = start(data, **addresses)

    own_servers.drop_database(url)
    assert "written by another version of heldout" in output
    assert "0123456789ab" in output
    assert "use the version that wrote it, or start with an empty database" in output


def test_a_data_folder_of_another_version_is_reported_with_what_to_do(data: Path) -> None:
    data.mkdir(mode=0o700)
    (data / "secrets.json").write_text(
        '{"superuser": "a", "database": "b", "broker": "c", "signing_key": "d"}'
    )

    output = start(data)

    assert f"{data}/secrets.json was not written by this version of heldout" in output
    assert f"move {data} away" in output


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            "UPDATE alembic_version SET version_num = 'an early one'; ALTER TABLE run DROP COLUMN plain_receipt",
            "was written by another version of heldout",
        ),
        ("ALTER TABLE run DROP COLUMN plain_receipt", "(run.plain_receipt is missing)"),
    ],
)
@pytest.mark.parametrize("command", ["migrate", "serve", "worker"])
def test_data_of_another_version_is_refused_with_what_to_do(
    command: str, change: str, why: str, data: Path, own_servers: OwnServers
) -> None:
    url = own_servers.database_with_tables()
    with psycopg.connect(plain(own_servers.owners_url(url)), autocommit=True) as connection:
        connection.execute(change.encode())

    output = start(
        data,
        command=(command,),
        HELDOUT_DATABASE_URL=url,
        HELDOUT_MIGRATION_DATABASE_URL=own_servers.owners_url(url),
        HELDOUT_BROKER_URL=own_servers.urls.broker_url,
        HELDOUT_PRIVATE_STORAGE=data / "private",
    )

    own_servers.drop_database(url)
    said = " ".join(output.split())
    assert why in said
    assert "use the version that wrote it, or start with an empty database" in said
    assert "HELDOUT_DATA" in said
