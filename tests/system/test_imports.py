"""How an import changes an existing phase, and which competitions it offers."""

import shutil
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
import pytest

from app.challenges import challenges
from app.evaluation import rescoring
from app.intake.importing import TreeImport, import_tree
from app.storage import Storage
from tests.scoring.builders import Kit
from tests.system.conftest import SharedSite
from tests.system.installations import good
from tests.system.kits import CLASSES, DATASET, IMAGES, packed, small_kit

pytestmark = pytest.mark.system

AUDIT = "SELECT a.action, a.details->'changes' FROM audit a WHERE a.details->>'phase' = %s ORDER BY a.id"


def imported(site: SharedSite, tree: Path, *options: str) -> str:
    printed = site.installation.command("import", str(tree), "--phase", "test", *options)
    assert printed.returncode == 0, printed.stderr
    return printed.stdout


@pytest.mark.slow
def test_a_second_import_applies_its_options_and_reports_the_changes(
    site: SharedSite, tmp_path: Path
) -> None:
    tree = small_kit(tmp_path)
    imported(site, tree, "--challenge", "changing", "--title", "Before")

    printed = imported(
        site, tree, "--challenge", "changing", "--title", "After", "--quota", "7/14",
        "--closes", "2099-01-31T12:00+02:00", "--disclosure", "full", "--limit", "max_files=30000",
    )  # fmt: skip

    assert "already imported, rules updated: ground truth version 1" in printed
    for change in (
        "title: Before → After",
        "quotas: 2 in 7 days; 30 in 365 days → 7 in 14 days",
        "closes at: none → 31 Jan 2099 10:00 UTC",
        "disclosure: classes → full",
        "limit max_files: 20000 → 30000",
        "WARNING: the annotation is public now",
    ):
        assert change in printed
    [phase] = good(site.anybody.http.get("/api/v1/challenges/changing"))["phases"]
    assert phase["phase"]["quotas"] == [{"results": 7, "days": 14}]
    assert phase["phase"]["closes_at"] == "2099-01-31T10:00:00Z"
    created, changed = site.installation.ask(AUDIT, "changing test")
    assert created == ("phase.create", [])
    assert changed[0] == "phase.import"
    assert {"name": "quotas", "before": "2 in 7 days; 30 in 365 days", "after": "7 in 14 days"} in changed[1]


@pytest.mark.slow
def test_an_import_with_nothing_new_leaves_no_trace(site: SharedSite, tmp_path: Path) -> None:
    tree = small_kit(tmp_path)
    imported(site, tree, "--challenge", "still")

    assert "nothing changed" in imported(
        site, tree, "--challenge", "still", "--quota", "2/7", "--quota", "30/365"
    )
    assert [action for action, _ in site.installation.ask(AUDIT, "still test")] == ["phase.create"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--challenge", "organise"), "is reserved"),
        (("--challenge", "a/b"), "cannot be used in URLs"),
        (("--challenge", "fir", "--closes", "2099-01-31T12:00"), "has no time zone"),
        (("--challenge", "fir", "--quota", "0"), "a held-out phase needs a quota"),
        (("--challenge", "fir", "--closes", "2001-01-31T12:00Z"), "before it opens"),
    ],
)
def test_an_import_with_invalid_options_loads_nothing(
    site: SharedSite, tmp_path: Path, options: tuple[str, ...], words: str
) -> None:
    printed = site.installation.command("import", str(small_kit(tmp_path)), "--phase", "test", *options)

    assert printed.returncode == 1
    assert words in " ".join(printed.stderr.split())
    assert "Traceback" not in printed.stderr
    assert site.installation.ask("SELECT count(*) FROM challenge WHERE code IN ('fir', 'organise')") == [(0,)]


@pytest.mark.slow
def test_competitions_are_offered_once_their_ground_truth_is_imported(
    site: SharedSite, tmp_path: Path
) -> None:
    tree = small_kit(tmp_path)

    printed = imported(site, tree, "--challenge", "partial")

    assert "comp5 is not offered: there are no label images (SegmentationClass)" in printed
    assert "comp9 is not offered: there is no Action set" in printed
    assert competitions(site) == [1, 2, 3, 4]
    someone = site.participant("partial")
    page = someone.http.get("/challenges/partial/test/submit").text
    assert "comp3_det_test_" in page
    assert "comp5" not in page
    assert (
        "there are no label images"
        in site.organiser.http.get("/organise/challenges/partial/ground-truth").text
    )
    assert "there are no label images" not in someone.http.get("/challenges/partial").text

    add_masks(tree)
    printed = imported(site, tree, "--challenge", "partial")

    assert "new boards by then: comp5, comp6" in printed
    assert "the boards show version 1 until `heldout-server rescore" in " ".join(printed.split())
    assert competitions(site) == [1, 2, 3, 4]
    done = site.installation.command("rescore", "--challenge", "partial", "--phase", "test")
    assert done.returncode == 0, done.stderr
    rescoring.activate_complete(site.installation.platform)
    assert competitions(site) == [1, 2, 3, 4, 5, 6]


def test_all_files_of_a_competition_not_offered_are_one_problem(site: SharedSite, tmp_path: Path) -> None:
    site.installation.load(small_kit(tmp_path), "lacking")
    someone = site.participant("lacking")

    folder = f"results/{DATASET}"
    masks = {f"{folder}/Segmentation/comp5_test_cls/{image}.png": b"" for image in IMAGES}
    archive = packed({f"{folder}/Main/comp3_det_test_{name}.txt": b"" for name in CLASSES} | masks)

    report = good(someone.send("lacking/test", archive))["report"]

    [problem] = report["problems"]
    assert problem["code"] == "not-offered"
    assert problem["message"] == f"comp5 is not offered for {DATASET} test; leave out its files"


@pytest.mark.slow
def test_an_annotation_without_what_a_board_needs_is_refused(site: SharedSite, tmp_path: Path) -> None:
    tree = small_kit(tmp_path)
    add_masks(tree)
    imported(site, tree, "--challenge", "complete")
    shutil.rmtree(tree / "SegmentationClass")

    printed = site.installation.command("import", str(tree), "--phase", "test", "--challenge", "complete")

    assert printed.returncode == 1
    assert "lacks what competitions with a board need (comp5: there are no label images" in " ".join(
        printed.stderr.split()
    )


def competitions(site: SharedSite) -> list[int]:
    [phase] = good(site.anybody.http.get("/api/v1/challenges/partial"))["phases"]
    return [card["number"] for card in phase["competitions"]]


def add_masks(tree: Path) -> None:
    kit = Kit(tree)
    kit.write("ImageSets/Segmentation/test.txt", "000001\n")
    kit.mask("000001", np.zeros((40, 50), np.uint8))


@dataclass(frozen=True, slots=True, eq=False)
class Interrupted:
    """A store of descriptions in which something else happens while the first description is being stored."""

    store: Storage
    events: list[Callable[[], object]]

    def open(self, key: str, start: int = 0) -> BinaryIO:
        return self.store.open(key, start)

    def put(self, content: bytes | Path, upload_id: uuid.UUID | None = None) -> str:
        while self.events:
            self.events.pop()()
        return self.store.put(content, upload_id)


def test_simultaneous_imports_both_apply_without_blocking_on_storage(
    site: SharedSite, tmp_path: Path
) -> None:
    running, tree = site.installation, small_kit(tmp_path)
    running.load(tree, "twice")

    def other() -> None:
        running.load(tree, "twice", limits={"max_files": 30_000})

    descriptions = cast("Storage", Interrupted(running.platform.descriptions, [other]))
    slow = replace(running.platform, descriptions=descriptions)
    import_tree(slow, TreeImport(tree, "twice", "test", limits={"max_ratio": 200}))

    phase = challenges.phase_page(running.platform, "twice", "test")
    limits = challenges.description_of(running.platform.descriptions, phase.description_key).limits
    assert (limits.max_files, limits.max_ratio) == (30_000, 200)


@pytest.mark.sampled
def test_publishing_annotation_hidden_by_another_phase_must_be_explicit(
    site: SharedSite, tmp_path: Path
) -> None:
    tree = small_kit(tmp_path)
    imported(site, tree, "--challenge", "hiding")
    words = ("import", str(tree), "--phase", "test", "--challenge", "showing", "--disclosure", "full")

    refused = site.installation.command(*words)
    there = site.anybody.http.get("/api/v1/challenges/showing").status_code
    allowed = site.installation.command(*words, "--allow-public-copy")

    assert refused.returncode == 1
    assert "hiding test keeps the same annotation hidden" in refused.stderr
    assert "--allow-public-copy" in refused.stderr
    assert there == 404
    assert allowed.returncode == 0, allowed.stderr
    recorded = "SELECT details->'public_copy_of_hidden' FROM audit WHERE details->>'phase' = 'showing test'"
    assert site.installation.ask(recorded) == [(["hiding test"],)]


def test_a_phase_cannot_disclose_annotation_hidden_by_another_phase(site: SharedSite, tmp_path: Path) -> None:
    tree = small_kit(tmp_path)
    site.installation.load(tree, "hidden-twice")
    phase = site.installation.load(tree, "disclosing").phase_id

    wanted = {"disclosure": "full", "annotation_is_public": True, "reason": "it is public"}
    refused = site.organiser.http.put(f"/api/v1/organise/phases/{phase}/disclosure", json=wanted)

    assert refused.status_code == 409
    assert "another phase keeps the same annotation hidden" in refused.text
