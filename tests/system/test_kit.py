"""A worker makes the development kit of the sample; its baseline and its script take somebody from there to a score."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import sample
from app.challenges import challenges, kits
from app.intake.importing import TreeImport, import_tree
from app.models import Disclosure
from heldout_scoring import read_tree
from tests.shared import unpack
from tests.system.conftest import SharedSite
from tests.system.installations import awaited, good, registered

pytestmark = [pytest.mark.slow, pytest.mark.system]


@dataclass(frozen=True)
class Unpacked:
    """A kit of the sample, unpacked, and the tree of which the challenge was made."""

    folder: Path
    tree: Path


def unpacked_kit(site: SharedSite, folder: Path, code: str) -> Unpacked:
    tree, platform = sample.draw_challenge(folder, images=60).tree, site.installation.platform
    for image_set, disclosure in (("val", Disclosure.FULL), ("test", Disclosure.CLASSES)):
        import_tree(platform, TreeImport(tree, code, image_set, protocol="voc2012", disclosure=disclosure))
    with platform.transaction() as session:
        kits.queue_kit(session, challenges.find_challenge(session, code).id)
    platform.notifier.wake_workers()
    awaited(lambda: good(site.anybody.http.get(f"/api/v1/challenges/{code}/data"))["kit"])
    content = site.anybody.http.get(f"/challenges/{code}/kit.tar.gz")
    (folder / "kit.tar.gz").write_bytes(content.raise_for_status().content)
    unpack(folder / "kit.tar.gz", folder)
    return Unpacked(folder / f"{code}-kit", tree)


def run(kit: Unpacked, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    programs = os.pathsep.join(
        (str(Path(sys.executable).parent), str(Path(shutil.which("curl") or "").parent), os.defpath)
    )
    return subprocess.run(
        words, cwd=kit.folder, env={"PATH": programs, **variables}, capture_output=True, text=True, timeout=120, check=False
    )  # fmt: skip


def test_the_kit_of_the_sample_leads_to_a_score_above_chance(site: SharedSite, tmp_path: Path) -> None:
    kit = unpacked_kit(site, tmp_path, "kitten")
    token = registered(site.installation.platform, site.addresses[0], "Kit")
    here = {"HELDOUT_URL": site.addresses[0], "HELDOUT_TOKEN": token}
    readme = (kit.folder / "README.md").read_text()

    made = run(kit, "python3", "baseline.py", str(kit.tree / "JPEGImages"), "val", "test", "1")
    checked = run(kit, "sh", "submit.sh", "results.tar.gz", "test", "1", "x", CHECK="1", **here)
    sent = run(kit, "sh", "submit.sh", "results.tar.gz", "test", "1", 'Colours "as is"', **here)
    (kit.folder / "comp1_cls_test_car.txt").write_text("no-image 0.5\n")
    invalid = run(kit, "sh", "submit.sh", "comp1_cls_test_car.txt", "test", "1", "x", **here)
    unasked = run(kit, "sh", "submit.sh")

    assert made.returncode == 0, made.stderr
    assert (checked.returncode, checked.stdout.count("\n")) == (0, 1), checked.stderr
    assert sent.returncode == 0, sent.stderr
    assert invalid.returncode == 1
    assert "The archive is invalid" in invalid.stderr
    assert invalid.stderr.count("\n") > 1
    assert unasked.returncode == 2
    assert "sh submit.sh ARCHIVE IMAGE_SET COMPETITION METHOD" in unasked.stderr
    client = site.installation.client(site.addresses[0], token)
    submission = client.final(int(sent.stdout.rpartition("/")[2]))
    labels = read_tree(kit.tree, "test").tables.labels
    chance = np.mean([(each == 1).sum() / (each != 0).sum() for each in labels])
    assert submission["method"]["name"] == 'Colours "as is"'
    [row] = good(client.http.get("/api/v1/submissions"))
    assert row["mean"] > chance + 0.1
    for words in (
        "There is no limit.",
        "2 results in 7 days",
        "Average precision",
        "python3 baseline.py images val val 1",
    ):
        assert words in readme
