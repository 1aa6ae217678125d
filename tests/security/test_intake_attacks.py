"""Hostile archives sent as data sets: refused with a sentence, within bounds, and nothing is written elsewhere."""

import json
import os
import tempfile
from pathlib import Path

import pytest

from app.intake.inspecting import Wanted, inspect
from app.intake.reports import ROLES, Report
from app.intake.unpacking import ReadingLimits, SentFile
from app.jobs.sandbox import ChildLimits, LimitExceededError, run_in_subprocess
from heldout_scoring.stored import from_plain
from tests.attacks import Upload, read_manifest
from tests.pages.data_sets import bomb, coco_file, jpeg, kit, zipped

MOST = ReadingLimits(unpacked=64 << 20, images=1000, boxes=1000)
CHILD = ChildLimits(seconds=60, memory=2 << 30)
QUICK = 15  # every fifteenth of the corpus is tried in the quick form


def inspected(folder: Path, role: str, name: str, path: Path) -> Report | str:
    """The report on a file, or the sentence why reading it was stopped; nothing but its folder may change."""
    with tempfile.TemporaryDirectory(dir=folder) as inner:
        before = {each for each in folder.rglob("*") if not each.is_relative_to(inner)}
        try:
            output = run_in_subprocess(
                CHILD, inspect, Path(inner), (SentFile(role, name, path),), "VOC2012", MOST, Wanted()
            )
        except LimitExceededError as error:
            return str(error)
        written = sum(each.stat().st_size for each in Path(inner).rglob("*") if each.is_file())
        links = [each for each in Path(inner).rglob("*") if each.is_symlink()]
        after = {each for each in folder.rglob("*") if not each.is_relative_to(inner)}
    assert after == before
    assert links == []
    assert written < 3 * MOST.unpacked
    for secret in (str(folder), str(path.parent), "Traceback", "root:"):
        assert secret not in output.decode()
    return from_plain(Report, json.loads(output))


@pytest.fixture(scope="module")
def uploads(attacks: Path) -> list[Upload]:
    return list(read_manifest(attacks))


WHOLE = (
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif("HELDOUT_SHORT" in os.environ, reason="`make test` tries a part of the corpus"),
)


@pytest.mark.sampled
@pytest.mark.shared
@pytest.mark.parametrize("step", [QUICK, pytest.param(1, marks=WHOLE)])
def test_the_corpus_of_attacks_escapes_from_no_role(uploads: list[Upload], tmp_path: Path, step: int) -> None:
    for number, upload in enumerate(uploads[::step]):
        role = ROLES[number % len(ROLES)]
        report = inspected(tmp_path, role, upload.path.name, upload.path)
        archive_is_bad = upload.expected == "reject" and upload.name.startswith(("tar_", "zip_", "bomb_"))
        assert not (archive_is_bad and isinstance(report, Report) and report.is_valid), upload.name


HOSTILE = {
    "too many boxes": coco_file(
        annotations=[
            {"id": each, "image_id": 1, "category_id": 1, "bbox": [1, 1, 2, 2], "area": 4, "iscrowd": 0}
            for each in range(1, 1200)
        ]
    ),
    "a deep list": b'{"images": ' + b"[" * 200_000,
    "a huge number": coco_file(categories=[{"id": 10**400, "name": "cat"}, {"id": 2, "name": "dog"}]),
    "numbers that are no numbers": coco_file(images=[{"id": float("nan")}, {"id": float("inf")}]),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_json_is_a_problem(what: str, tmp_path: Path) -> None:
    path = tmp_path / "test.json"
    path.write_bytes(HOSTILE[what])

    report = inspected(tmp_path, "hidden", "test.json", path)

    assert isinstance(report, Report)
    assert not report.is_valid


def test_a_bomb_of_pixels_is_not_decoded(tmp_path: Path) -> None:
    path = tmp_path / "p.zip"
    path.write_bytes(zipped({"a.png": bomb(), "b.png": bomb()}))

    report = inspected(tmp_path, "images", "p.zip", path)

    assert isinstance(report, Report)
    assert [each.code for each in report.problems][:2] == ["too-many-pixels"] * 2


def test_label_images_and_tables_of_bombs_are_bounded(tmp_path: Path) -> None:
    for name, content in (
        ("masks.zip", zipped({"classes.txt": b"cat", "a.png": bomb()})),
        ("t.csv", b"image,class,left,top,right,bottom\n" + b'"' + b"x" * (1 << 20)),
        ("zeros.zip", zipped({"a.csv": bytes(200 << 20)})),
    ):
        path = tmp_path / name
        path.write_bytes(content)
        report = inspected(tmp_path, "hidden", name, path)
        assert isinstance(report, str) or not report.is_valid, name


def test_folders_among_the_pictures_of_a_kit_stop_no_worker(tmp_path: Path) -> None:
    path = tmp_path / "kit.zip"
    path.write_bytes(zipped({**kit(), "VOC2012/JPEGImages/more/a.jpg": jpeg()}))

    report = inspected(tmp_path, "hidden", path.name, path)

    assert isinstance(report, Report)
    assert (report.is_valid, report.images.count) == (True, 1)
