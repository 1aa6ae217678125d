"""A drill: an installation is backed up while it runs, restored elsewhere, and continues there."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

import heldout_scoring
from app.evaluation.scoring import HANDLER
from app.jobs import queue
from app.models import Queue
from app.operations import backup
from app.operations.backup import Backup, BackupError
from app.storage import Storage, owner_of
from app.submissions import retention
from app.web.error_responses import TUS_VERSION
from tests.system.damage import damaged
from tests.system.installations import (
    LONGEST,
    Client,
    Installation,
    good,
    installation,
    registered,
    stored_file,
)
from tests.system.kits import results, small_kit
from tests.system.servers import OwnServers, eventually, plain
from tests.working import do_all
from worker.handlers import recover_lost_jobs

pytestmark = [pytest.mark.slow, pytest.mark.system]

PHASE = "oak/test"
NIGHT = datetime(2027, 3, 31, 2, 15, tzinfo=UTC)
ARCHIVE = results(cat=5, dog=5)


@dataclass(frozen=True, slots=True)
class Site:
    """An installation with a scored, a queued and a running result, and an upload still arriving."""

    running: Installation
    person: Client
    token: str
    board: Any
    figures: Any
    upload: str
    waiting: tuple[int, int]
    arriving: str
    folder: Path  # where backups go

    def contents(self) -> set[str]:
        """The contents of its stores as named in a backup."""
        platform = self.running.platform
        stores = {
            "archives": platform.archives,
            "descriptions": platform.descriptions,
            "artefacts": platform.artefacts,
            "keys": platform.secret.store,
            "truth": platform.truths,
        }
        return {
            f"{name}/{each.key[:2]}/{each.key}" for name, store in stores.items() for each in store.contents()
        }


@pytest.fixture(scope="module")
def old(own_servers: OwnServers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("elsewhere")
    with installation(own_servers) as running:
        running.load(small_kit(folder), "oak")
        address = running.start_web()
        token = registered(running.platform, address, "Ash")
        person = running.client(address, token)
        upload = person.upload(PHASE, ARCHIVE)
        good(person.confirm(upload, "Acorn"))
        do_all(running.platform, Queue.RUNS)
        do_all(running.platform)
        waiting = (
            person.submit(PHASE, results(cat=10, dog=10), "Beech"),
            person.submit(PHASE, results(cat=2, dog=2), "Cedar"),
        )
        with running.platform.transaction() as session:
            claim = queue.claim_next(session, Queue.RUNS, timedelta(0), heldout_scoring.SCORER)
            assert claim
            HANDLER.on_claim(session, claim)
        arriving = person.create(PHASE, len(ARCHIVE))
        person.append(arriving, ARCHIVE[:100], 0)
        board, figures = person.board(PHASE), figures_of(person)
        yield Site(running, person, token, board, figures, upload, waiting, arriving, folder / "backups")


@pytest.fixture(scope="module")
def taken(old: Site) -> Path:
    """The folder of the first backup."""
    made = backup.back_up(old.running.platform, old.folder, datetime.now(UTC), quiet)
    assert made.manifest.linked_folders == ()
    assert Backup.read(made.folder) == made
    return made.folder


def figures_of(person: Client) -> Any:
    return good(person.http.get(f"/api/v1/leaderboards/{PHASE}/3/figures"))


def sums(folder: Path) -> dict[str, str]:
    lines = (folder / "SHA256SUMS").read_text().splitlines()
    return {path: digest for digest, path in (line.split("  ") for line in lines)}


def quiet(_: str) -> None:
    """Discard progress reports."""


def test_a_backup_has_all_contents_and_lists_what_it_leaves_out(old: Site, taken: Path) -> None:
    manifest = json.loads((taken / "manifest.json").read_text())

    assert set(sums(taken)) == {"database.dump", *old.contents()}
    assert {path.partition("/")[0] for path in sums(taken)} == {
        "database.dump", "archives", "descriptions", "artefacts", "keys", "truth"
    }  # fmt: skip
    assert manifest["missing"] == []
    assert "secrets.json" in str(manifest["not_included"])
    checked = subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=taken, check=False)
    assert checked.returncode == 0
    assert (taken.stat().st_mode & 0o077, re.fullmatch(r"\d{4}-\d\d-\d\dT\d{6}Z", taken.name) is None) == (
        0,
        False,
    )


def test_a_restored_site_shows_the_same_boards_and_continues_its_work(
    old: Site, taken: Path, own_servers: OwnServers
) -> None:
    with installation(own_servers) as new:
        done = new.command("restore", str(old.folder))
        assert done.returncode == 0, done.stderr
        assert "2 runs continue once a worker is running" in done.stdout

        person = new.client(new.start_web(), old.token)

        assert person.board(PHASE) == old.board
        assert figures_of(person) == old.figures
        assert person.http.get(f"/api/v1/uploads/{old.upload}/archive").content == ARCHIVE
        assert person.offset(old.arriving) == 0
        person.append(old.arriving, ARCHIVE, 0)
        assert person.http.head(old.arriving, headers={"Tus-Resumable": TUS_VERSION}).status_code == 200
        assert eventually(lambda: has_scored_all(new), LONGEST)
        assert {person.final(each)["results"][0]["state"] for each in old.waiting} == {"scored"}
        assert eventually(lambda: len(person.means(PHASE)) == 3)
        check_that_nothing_can_be_restored_over_it(new, taken)


def has_scored_all(running: Installation) -> bool:
    """Do the work of a worker and its sweeper once; returns whether no run is left."""
    recover_lost_jobs(running.platform)
    do_all(running.platform, Queue.RUNS)
    return not running.ask("SELECT FROM run WHERE state IN ('queued', 'running')")


def check_that_nothing_can_be_restored_over_it(new: Installation, taken: Path) -> None:
    assert refusal(new, taken).startswith("the database is not empty: ")


def test_a_second_backup_hard_links_old_contents_and_the_oldest_is_removed(old: Site, taken: Path) -> None:
    whole = old.folder.parent / "nightly"
    shutil.copytree(taken, whole / taken.name)
    interrupted = whole / "2027-03-30T021500Z.partial"
    interrupted.mkdir()

    said: list[str] = []
    second = backup.back_up(old.running.platform, whole, NIGHT, said.append)
    third = backup.back_up(old.running.platform, whole, NIGHT + timedelta(days=1), said.append, keep=2)

    assert said.count("0 of them are new") == 2
    assert f"removed {whole / taken.name}" in said
    assert sorted(each.name for each in whole.iterdir()) == ["2027-03-31T021500Z", "2027-04-01T021500Z"]
    [one] = [path for path in sums(third.folder) if path.startswith("truth/")][:1]
    assert (second.folder / one).samefile(third.folder / one)


def test_copies_of_an_interrupted_backup_are_reused_once_verified(old: Site, taken: Path) -> None:
    again = old.folder.parent / "again"
    left = again / "2027-03-30T021500Z.partial"
    shutil.copytree(taken, left)
    spoiled = left / next(path for path in sums(taken) if path.startswith("archives/"))
    spoiled.chmod(0o600)
    spoiled.write_bytes(b"half of it")

    said: list[str] = []

    made = backup.back_up(old.running.platform, again, NIGHT, said.append)

    assert "1 of them are new" in said
    assert sums(made.folder).keys() == sums(taken).keys()
    assert [each.name for each in again.iterdir()] == [made.folder.name]


def test_during_a_backup_nothing_is_removed_and_no_other_can_start(old: Site, tmp_path: Path) -> None:
    platform = old.running.platform
    doomed = old.person.upload(PHASE, results(cat=1, dog=1))
    [key] = [each.key for each in platform.archives.contents() if owner_of(each.key) == uuid.UUID(doomed)]
    two_days_ago = time.time() - 2 * 86_400
    os.utime(stored_file(platform.archives, key), (two_days_ago, two_days_ago))
    count = len(old.contents())
    with psycopg.connect(plain(str(old.running.settings.database_url)), autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(%s)", [0x4B45_4550])

        old.person.http.delete(f"/api/v1/uploads/{doomed}")
        retention.remove_unnamed(platform, "archives")

        assert len(old.contents()) == count
        with pytest.raises(BackupError, match="another backup of this installation"):
            backup.back_up(platform, tmp_path, NIGHT, quiet)
        other.execute("SELECT pg_advisory_unlock_all()")
        retention.remove_unnamed(platform, "archives")

    assert len(old.contents()) == count - 1


def test_missing_and_damaged_contents_are_named_and_the_rest_is_backed_up(old: Site, tmp_path: Path) -> None:
    platform = old.running.platform
    first, second = sorted(each.key for each in platform.archives.contents())[:2]
    with damaged(platform.archives, first), damaged(platform.archives, second):
        platform.archives.delete(second)
        done = old.running.command("backup", str(tmp_path / "backups"))

    [folder] = (tmp_path / "backups").iterdir()
    assert done.returncode == 1
    assert f"{folder}: " in done.stdout
    assert f"archives/{first[:2]}/{first} is damaged in its store, and in no backup here" in done.stdout
    assert f"archives/{second[:2]}/{second} is missing in its store, and in no backup here" in done.stdout
    assert "2 stored files are missing or damaged" in done.stderr
    assert not {f"archives/{key[:2]}/{key}" for key in (first, second)} & sums(folder).keys()
    manifest = json.loads((folder / "manifest.json").read_text())
    assert set(manifest["missing"]) == set(manifest["damaged"]) == {
        f"archives/{key[:2]}/{key}" for key in (first, second)
    }  # fmt: skip


@pytest.mark.parametrize("store", ["archives", "private"])
def test_a_damaged_content_is_named_and_copied_from_the_previous_backup(
    old: Site, taken: Path, tmp_path: Path, store: str
) -> None:
    shutil.copytree(taken, tmp_path / taken.name)
    said: list[str] = []
    contents: Storage = getattr(old.running.platform, store)
    key = min(each.key for each in contents.contents() if f"{each.key[:2]}/{each.key}" in str(sums(taken)))
    path = f"{'truth' if store == 'private' else store}/{key[:2]}/{key}"

    with damaged(contents, key, "flipped"):
        made = backup.back_up(old.running.platform, tmp_path, NIGHT, said.append)

    assert f"{path} is damaged in its store; linked from an earlier backup" in said
    assert (made.manifest.missing, made.manifest.damaged) == ((), (path,))
    assert (made.folder / path).samefile(tmp_path / taken.name / path)


def test_a_damaged_file_of_the_previous_backup_is_named_and_copied_again(
    old: Site, taken: Path, tmp_path: Path
) -> None:
    shutil.copytree(taken, tmp_path / taken.name)
    path = next(path for path in sums(taken) if path.startswith("archives/"))
    spoiled = tmp_path / taken.name / path
    spoiled.unlink()
    spoiled.write_bytes(b"half of it")
    said: list[str] = []

    made = backup.back_up(old.running.platform, tmp_path, NIGHT, said.append)

    assert f"{spoiled} does not have the bytes that were stored; the file is copied again" in said
    assert "1 of them are new" in said
    assert (made.manifest.missing, made.manifest.damaged) == ((), ())
    assert hashlib.sha256((made.folder / path).read_bytes()).hexdigest() == sums(taken)[path]


@pytest.fixture(scope="module")
def empty(own_servers: OwnServers) -> Iterator[Installation]:
    with installation(own_servers) as running:
        yield running


def refusal(running: Installation, folder: Path) -> str:
    """The reason why a backup is not restored."""
    with pytest.raises(BackupError) as refused:
        backup.restore(running.platform, folder, quiet)
    return str(refused.value)


def test_an_incomplete_or_changed_backup_is_refused(empty: Installation, taken: Path, tmp_path: Path) -> None:
    partial = tmp_path / f"{taken.name}.partial"
    spoiled, other, later = (tmp_path / name for name in ("spoiled", "other", "later"))
    for each in (partial, spoiled, other, later):
        shutil.copytree(taken, each)
    dump = spoiled / "database.dump"
    dump.write_bytes(hashlib.sha256(dump.read_bytes()).digest())
    (other / "SHA256SUMS").write_text("")
    manifest = later / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"format": 2', '"format": 3'))

    assert "is not a complete backup" in refusal(empty, partial)
    assert "is not a complete backup" in refusal(empty, tmp_path / "nowhere")
    assert "1 files of" in refusal(empty, spoiled)
    assert "SHA256SUMS has changed since it was written" in refusal(empty, other)
    assert "manifest.json was not written by this version of" in refusal(empty, later)


def test_stores_with_other_contents_are_refused(empty: Installation, taken: Path) -> None:
    key = empty.platform.descriptions.put(b"somebody's")

    assert f"the store of descriptions is not empty: it has {key}" in refusal(empty, taken)

    empty.platform.descriptions.delete(key)


def test_an_unusable_directory_is_named(old: Site) -> None:
    with pytest.raises(BackupError, match="/dev/null/backups cannot be used: Not a directory"):
        backup.back_up(old.running.platform, Path("/dev/null/backups"), NIGHT, quiet)
