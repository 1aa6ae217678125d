"""Receipts: keyed while the annotation is hidden, plain once it is public."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import heldout_scoring
from app.results import receipts
from tests.system.conftest import SharedSite
from tests.system.installations import Client, good
from tests.system.kits import results, small_kit

pytestmark = pytest.mark.system

ARCHIVE = results(cat=5, dog=5)
PUBLISH = (
    "UPDATE phase SET disclosure = 'full' WHERE challenge_id = (SELECT id FROM challenge WHERE code = %s)"
)


def shown(reader: Client, number: int) -> Any:
    return reader.submission(number)["results"][0]["shown"]


def confirmed(reader: Client, receipt: str) -> Any:
    return reader.http.get(f"/api/v1/receipts/{receipt}")


def computed(tree: Path, archive: bytes, folder: Path) -> str:
    """The plain receipt, as anyone with the archive and the annotation can compute it."""
    path = folder / "results.tar.gz"
    path.write_bytes(archive)
    truth = heldout_scoring.read_tree(tree, "test")
    return heldout_scoring.evaluate(path, truth, protocol="voc2012", competition=3).receipt


def test_readers_of_a_result_can_have_its_receipt_compared(site: SharedSite, tmp_path: Path) -> None:
    tree = small_kit(tmp_path)
    site.installation.load(tree, "keyed")
    oak, elm = site.participant("receipt oak"), site.participant("receipt elm")
    upload = oak.upload("keyed/test", ARCHIVE)
    number = int(good(oak.confirm(upload, "Private", make_public=False))["id"])
    oak.final(number)
    receipt = shown(oak, number)["receipt"]
    plain = computed(tree, ARCHIVE, tmp_path)

    mine = good(confirmed(oak, receipt))

    assert (mine["submission"], mine["competition"], mine["is_plain"]) == (number, 3, False)
    assert receipt not in (plain, sha256(plain.encode()).hexdigest())
    assert shown(oak, number)["plain_receipt"] is None
    assert [confirmed(reader, receipt).status_code for reader in (elm, site.anybody)] == [404, 404]
    assert confirmed(oak, plain).status_code == 404  # receipts are only compared, never computed for a client
    assert confirmed(oak, "0" * 64).status_code == 404


def test_a_worker_adds_the_plain_receipt_once_the_annotation_is_public(
    site: SharedSite, tmp_path: Path
) -> None:
    tree = small_kit(tmp_path)
    site.installation.load(tree, "released")
    oak = site.participant("released oak")
    number = oak.submit("released/test", ARCHIVE, "Acorn")
    oak.final(number)
    keyed = shown(oak, number)["receipt"]

    receipts.publish_plain_receipts(site.installation.platform)
    before = shown(oak, number)["plain_receipt"]
    site.installation.ask(PUBLISH, "released")
    receipts.publish_plain_receipts(site.installation.platform)

    after = shown(oak, number)
    assert before is None
    assert after["receipt"] == keyed
    assert after["plain_receipt"] == computed(tree, ARCHIVE, tmp_path)
    assert good(confirmed(site.anybody, after["plain_receipt"]))["is_plain"]


def test_no_plain_receipt_is_added_while_another_phase_hides_the_annotation(
    site: SharedSite, tmp_path: Path
) -> None:
    tree = small_kit(tmp_path)
    site.installation.load(tree, "still-hidden")
    site.installation.load(tree, "made-public")
    oak = site.participant("both oak")
    number = oak.submit("made-public/test", ARCHIVE, "Acorn")
    oak.final(number)
    site.installation.ask(PUBLISH, "made-public")

    receipts.publish_plain_receipts(site.installation.platform)

    assert shown(oak, number)["plain_receipt"] is None


def test_an_installation_that_lost_its_key_does_not_create_another(site: SharedSite, tmp_path: Path) -> None:
    running = site.installation
    running.load(small_kit(tmp_path), "key-lost")
    [[name]] = running.ask("SELECT name FROM truth_key")
    with running.platform.secret.store.materialise(name) as path:
        pass
    aside = path.rename(tmp_path / "key")
    try:
        refused = running.command(
            "import", str(small_kit(tmp_path / "b")), "--challenge", "key-lost", "--phase", "b"
        )
    finally:
        aside.rename(path)

    assert refused.returncode == 1
    assert running.ask("SELECT name FROM truth_key") == [(name,)]
