"""`heldout-server check` passes if everything works and names what does not."""

import re
from contextlib import ExitStack
from pathlib import Path

import pytest
from sqlalchemy import create_engine
from sqlalchemy.orm import Session

from app.core.settings import Settings
from app.operations import deployment
from app.operations.data_folder import lock_data_folder, published_settings
from app.operations.deployment import (
    PROBE_MIB,
    CheckedProcess,
    CheckRow,
    broker,
    exposure,
    forbidden_web_variables,
    stored_files,
)
from app.operations.health import has_free_space
from app.platform import platform_of
from tests.system.conftest import SharedSite
from tests.system.damage import damaged
from tests.system.installations import Installation, installation
from tests.system.kits import results, small_kit
from tests.system.servers import OwnServers
from tests.system.test_startup import as_root, small_disk

pytestmark = [pytest.mark.slow, pytest.mark.system]

NOWHERE = "127.0.0.1:1"
OTHERS = {"jobs"}  # jobs that other tests of this site left to do or caused to be given up
ALONE = {
    f"HELDOUT_{name}": None
    for name in ("DATABASE_URL", "MIGRATION_DATABASE_URL", "BROKER_URL", "PRIVATE_STORAGE")
}
"""What a person's shell does not know."""


def outcomes(site: SharedSite, *words: str, **changed: str | None) -> tuple[int, dict[str, str], str]:
    """The exit code of a check, the result of each line, and its whole output."""
    port = site.addresses[0].rpartition(":")[2]
    usual = {"HELDOUT_PORT": port, "HELDOUT_SWEEP_SECONDS": "60"}  # a busy machine is not an error
    done = site.installation.command("check", *words, **{**usual, **changed})
    assert "Traceback" not in done.stderr, done.stderr
    rows = re.findall(r"^│ (\S[^│]*?) +│ (ok|failed) +│", done.stdout, re.MULTILINE)
    return done.returncode, dict(rows), " ".join(done.stdout.replace("│", " ").split())


@pytest.mark.parametrize("part", ["worker", "web", "sender"])
def test_a_running_installation_passes_as_each_of_its_parts(
    site: SharedSite, part: str, tmp_path: Path
) -> None:
    settings = site.installation.settings
    site.installation.load(small_kit(tmp_path), f"checked-{part}")

    with lock_data_folder(settings.data), published_settings(settings):
        code, found, words = outcomes(site, part, **ALONE)

    assert {name for name, result in found.items() if result != "ok"} <= OTHERS, words
    assert (len(found), code) == (
        {"worker": 20, "web": 20, "sender": 11}[part],
        0 if "none failed" in words else 1,
    )


def test_each_problem_is_named_with_what_to_do(site: SharedSite, tmp_path: Path) -> None:
    settings = site.installation.settings
    readable = tmp_path / "password"
    readable.write_text("short")
    readable.chmod(0o666)

    code, found, words = outcomes(
        site,
        HELDOUT_DATABASE_URL=settings.migration_database_url,
        HELDOUT_BROKER_URL=f"redis://{NOWHERE}/0",
        HELDOUT_PRIVATE_STORAGE=str(readable),
        HELDOUT_STORAGE="/dev/null",
        HELDOUT_MAX_UPLOAD=str(1 << 50),
        HELDOUT_PUBLIC_URL="http://voc.example.org",
        HELDOUT_SMTP_PASSWORD_FILE=str(readable),
    )

    assert code == 1
    assert {name for name, result in found.items() if result == "failed"} - OTHERS == {
        "database role", "broker", "store of archives", "store of descriptions", "store of artefacts",
        "store of files", "store of intake", "ground truth", "free disk", "secrets", "public address",
    }  # fmt: skip
    for sentence in ("heldout_owner owns", "cannot be reached", "Not a directory", "HELDOUT_PUBLIC_URL"):
        assert sentence in words
    assert "checks failed: database role" in words


def test_every_damaged_and_missing_file_is_named(own_servers: OwnServers, tmp_path: Path) -> None:
    with installation(own_servers) as running:
        running.load(small_kit(tmp_path), "damaged")
        someone = running.participant(running.start_web(), "oak")
        for _ in range(3):
            someone.upload("damaged/test", results(cat=5, dog=5))
        platform = running.platform
        keys = sorted(each.key for each in platform.archives.contents())
        truth = next(platform.truths.contents()).key
        intact = contents_checked(running)
        with ExitStack() as damages:
            for store, key in (
                (platform.archives, keys[0]),
                (platform.truths, truth),
                (platform.archives, keys[1]),
            ):
                damages.enter_context(damaged(store, key, "flipped"))
            platform.archives.delete(keys[1])
            found = contents_checked(running)
            done = running.command("check", "worker")
            of_web = contents_checked(running, private_storage=None)

    assert (intact.advice, intact.finding) == (
        "",
        "all 7 that the database refers to are intact",
    )
    archives, missing = (f"archives/{key[:2]}/{key}" for key in keys[:2])
    lines = (f"damaged: {archives}", f"missing: {missing}", f"damaged: truth/{truth[:2]}/{truth}")
    assert found.listed == lines
    assert "3 of 7 that the database refers to are damaged or missing" in found.finding
    assert "copy them back" in found.advice
    assert of_web.listed == lines[:2]
    assert set(lines) <= set(done.stdout.splitlines())


def contents_checked(running: Installation, **changed: object) -> CheckRow:
    """The check of the contents by a process with these settings."""
    platform = platform_of(running.settings.model_copy(update=changed))
    found = stored_files(platform)
    platform.engine.dispose()
    return found


def looked_at(site: SharedSite, part: CheckedProcess, **changed: object) -> dict[str, CheckRow]:
    """The checks of a service with these settings, by name."""
    port = int(site.addresses[0].rpartition(":")[2])
    settings = site.installation.settings.model_copy(
        update={"port": port, "sweep_seconds": 60, "migration_database_url": None, **changed}
    )
    platform = platform_of(settings)
    found = {each.name: each for each in deployment.checks(platform, part, is_embedded=False)}
    platform.engine.dispose()
    return found


def test_a_web_process_that_can_read_the_folder_of_ground_truth_fails(
    site: SharedSite, tmp_path: Path
) -> None:
    site.installation.load(small_kit(tmp_path), "readable")

    found = looked_at(site, CheckedProcess.WEB, private_storage=None)

    assert {name for name, each in found.items() if each.advice} - OTHERS == {"ground truth"}
    assert found["ground truth"].finding.startswith("the web process can read /")


def test_checks_that_need_the_database_are_skipped_without_it(site: SharedSite) -> None:
    nowhere = f"postgresql+psycopg://heldout:secret@{NOWHERE}/heldout"

    found = looked_at(site, CheckedProcess.WORKER, database_url=nowhere)

    assert found["database"].advice
    assert not {"workers", "migrations", "database role"} & found.keys()
    assert "secret" not in found["database"].finding


@as_root
def test_a_full_database_disk_is_detected(own_servers: OwnServers, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "48m") as disk, own_servers.database_in(disk) as url:
        engine = create_engine(url)
        with Session(engine) as session, session.begin():
            found = {mebibytes: has_free_space(session, mebibytes) for mebibytes in (1, PROBE_MIB, 2)}
        engine.dispose()

    assert found == {1: True, PROBE_MIB: False, 2: True}


def test_free_database_space_is_unknown_if_temporary_files_are_limited(own_servers: OwnServers) -> None:
    limited = {"options": "-c temp_file_limit=1MB"}
    engine = create_engine(own_servers.superusers_url("postgresql+psycopg"), connect_args=limited)
    with Session(engine) as session, session.begin():
        unknown = has_free_space(session, PROBE_MIB)
    engine.dispose()

    assert unknown is None


def test_a_ground_truth_folder_inside_public_storage_is_reported(tmp_path: Path) -> None:
    inside = Settings(data=tmp_path, private_storage=tmp_path / "storage" / "truth")
    beside = Settings(data=tmp_path, private_storage=tmp_path / "truth")
    for each in (inside, beside):
        assert each.private_storage
        each.private_storage.mkdir(parents=True, mode=0o700)

    assert "which web processes read" in str(exposure(inside))
    assert exposure(beside) is None


def test_variables_that_a_web_process_should_not_have_are_named(tmp_path: Path) -> None:
    found = forbidden_web_variables(Settings(data=tmp_path, private_storage=tmp_path, smtp_password="secret"))

    assert found == ["HELDOUT_PRIVATE_STORAGE", "HELDOUT_SMTP_PASSWORD"]


def test_a_broker_that_requires_a_password_is_reported(site: SharedSite) -> None:
    url = str(site.installation.settings.broker_url)
    address = url.rpartition("@")[2]

    found = broker(f"redis://{address}")

    assert "cannot be reached: HELLO must be called with the client already authenticated" in found.finding
