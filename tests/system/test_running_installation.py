"""Commands find the installation running in the data folder or explain how to name one."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.operations.data_folder import NOTE, lock_data_folder, published_settings
from tests.system.conftest import SharedSite
from tests.system.installations import Installation, installation
from tests.system.kits import small_kit
from tests.system.servers import OwnServers, free_port

pytestmark = [pytest.mark.slow, pytest.mark.system]

ALONE = {
    f"HELDOUT_{name}": None
    for name in ("DATABASE_URL", "MIGRATION_DATABASE_URL", "BROKER_URL", "PRIVATE_STORAGE")
}
"""What a person's shell does not know."""


@pytest.fixture
def quiet(own_servers: OwnServers) -> Iterator[Installation]:
    with installation(own_servers) as running:
        yield running


def command(running: Installation, *words: str, **changed: str | None) -> "subprocess.CompletedProcess[str]":
    return running.command(*words, **{**ALONE, **changed})


def test_a_command_finds_the_installation_running_in_the_data_folder(
    quiet: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # not in the checkout
    words = ("import", str(small_kit(tmp_path)), "--challenge", "noted", "--phase", "test")

    with lock_data_folder(quiet.settings.data), published_settings(quiet.settings):
        found = command(quiet, *words)

    assert "loaded ground truth version 1 of noted test" in found.stdout, found.stderr


def test_without_a_running_installation_a_command_says_how_to_name_one(quiet: Installation) -> None:
    found = command(quiet, "admin-link")

    assert found.returncode == 1
    assert f"no installation runs in {quiet.settings.data}" in found.stderr
    assert "name the folder of the one that runs with HELDOUT_DATA" in found.stderr


def test_the_note_of_an_installation_that_was_killed_is_ignored(quiet: Installation) -> None:
    with lock_data_folder(quiet.settings.data), published_settings(quiet.settings):
        stale = (quiet.settings.data / NOTE).read_text()
    (quiet.settings.data / NOTE).write_text(stale)

    found = command(quiet, "admin-link")

    assert found.returncode == 1
    assert "no installation runs in" in found.stderr


def test_environment_variables_override_the_note_of_the_installation(quiet: Installation) -> None:
    with lock_data_folder(quiet.settings.data), published_settings(quiet.settings):
        link = command(quiet, "admin-link", HELDOUT_PUBLIC_URL="https://voc.example.org").stdout

    assert link.startswith("https://voc.example.org/role-links/")


def test_one_address_without_the_other_is_refused_by_name(quiet: Installation) -> None:
    found = quiet.command("admin-link", HELDOUT_BROKER_URL=None)

    assert found.returncode == 1
    assert "HELDOUT_BROKER_URL is not set" in found.stderr


def test_a_command_without_a_database_says_so(quiet: Installation) -> None:
    nowhere = "postgresql://heldout:secret@127.0.0.1:1/heldout"
    refused = [
        quiet.command(*words, HELDOUT_DATABASE_URL=nowhere, HELDOUT_MIGRATION_DATABASE_URL=nowhere)
        for words in (("admin-link",), ("migrate",))
    ]

    assert [each.returncode for each in refused] == [1, 1]
    assert all("the database cannot be reached: " in each.stderr for each in refused)
    assert not any("Traceback" in each.stderr or "secret" in each.stderr for each in refused)


def test_a_database_without_tables_is_reported_with_the_command_to_create_them(
    quiet: Installation,
) -> None:
    quiet.ask("DROP SCHEMA public CASCADE")

    found = quiet.command("admin-link")

    assert found.returncode == 1
    assert "run `heldout-server migrate`" in found.stderr


def test_alive_succeeds_for_running_services_only(site: SharedSite) -> None:
    running = site.installation
    port = site.addresses[0].rpartition(":")[2]

    def alive(part: str, **changed: str) -> int:
        return running.command("alive", part, **changed).returncode

    assert [alive("web", HELDOUT_PORT=port), alive("worker"), alive("beat")] == [0, 0, 0]
    assert alive("web", HELDOUT_PORT=str(free_port())) == 1


def test_alive_fails_in_a_container_without_a_worker(quiet: Installation) -> None:
    assert [quiet.command("alive", part).returncode for part in ("worker", "beat")] == [1, 1]


def test_a_command_ignores_a_package_called_app_in_the_current_folder(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "__init__.py").write_text("raise SystemExit('the wrong app')")

    program = Path(sys.executable).with_name("heldout-server")
    done = subprocess.run([program, "--help"], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
