"""Reports are the same whether they are made of the files that were sent or of what was read of them before."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from app.images.packs import parts_of
from app.intake import what_was_read
from app.intake.inspecting import DRAWN, KEPT, READ, Wanted, inspect, inspect_again
from app.intake.reports import HIDDEN, Audience, ClassChoice
from app.intake.unpacking import ReadingLimits, SentFile
from tests.pages.data_sets import CLASS_FOLDERS, TABLE, coco_file, jpeg, kit, label_images, zipped
from tests.pages.test_intake_reading import coco_with_mistakes

LIMITS = ReadingLimits(unpacked=64 << 20, images=1000, boxes=1000)
PICTURES = zipped(
    {f"p/{name}.jpg": jpeg(rotated=name == "a") for name in "abc"} | {"q/one.jpg": jpeg(), "q/bad.jpg": b"x"}
)
SENT = {
    "coco": ("test.json", coco_file()),
    "kit": ("kit.zip", zipped(kit())),
    "table": ("test.csv", TABLE),
    "folders": ("folders.zip", zipped(CLASS_FOLDERS)),
    "label images": ("masks.zip", zipped(label_images())),
    "mistakes": ("test.json", coco_with_mistakes()),
}
PLAIN = Wanted(origin="these files")
CHOSEN = Wanted(
    choices=(ClassChoice("dog", "hound"), ClassChoice("cat", "cat", is_ignored=True)), origin="these files"
)


def sent(folder: Path, name: str, content: bytes) -> tuple[SentFile, ...]:
    """Public annotation, these files as hidden annotation, and pictures."""
    files = (
        ("public", "val.zip", zipped(kit("val"))),
        ("hidden", name, content),
        ("images", "p.zip", PICTURES),
    )
    for _, file, some in files:
        (folder / file).write_bytes(some)
    return tuple(SentFile(role, file, folder / file) for role, file, _ in files)


def read(folder: Path, files: tuple[SentFile, ...], wanted: Wanted) -> bytes:
    """The report on files, in a folder that has what was read."""
    folder.mkdir()
    return inspect(folder, files, "VOC2012", LIMITS, wanted)


def read_again(folder: Path, kept: Path, wanted: Wanted) -> bytes:
    """The report on what was read in another folder."""
    folder.mkdir()
    (folder / KEPT).write_bytes((kept / READ).read_bytes())
    return inspect_again(folder, LIMITS, wanted)


@pytest.mark.sampled
@pytest.mark.parametrize("secret", [None, b"secret"])
@pytest.mark.parametrize("what", SENT)
def test_what_was_read_gives_the_report_and_the_pictures_of_the_files(
    what: str, secret: bytes | None, tmp_path: Path
) -> None:
    files = sent(tmp_path, *SENT[what])
    read(tmp_path / "first", files, replace(PLAIN, secret=secret))

    for number, wanted in enumerate(
        (PLAIN, CHOSEN, replace(CHOSEN, drawn=HIDDEN), replace(CHOSEN, secret=secret))
    ):
        anew, again = tmp_path / f"anew-{number}", tmp_path / f"again-{number}"
        assert read_again(again, tmp_path / "first", wanted) == read(anew, files, wanted)
        assert (again / DRAWN).exists() == (anew / DRAWN).exists()
        if (anew / DRAWN).exists():
            with (anew / DRAWN).open("rb") as one, (again / DRAWN).open("rb") as other:
                assert list(parts_of(one)) == list(parts_of(other))


def test_what_was_read_of_other_files_or_by_another_release_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = tmp_path / "first"
    read(first, sent(tmp_path, *SENT["folders"]), PLAIN)

    assert read_again(tmp_path / "same", first, PLAIN)
    assert not read_again(tmp_path / "others", first, replace(PLAIN, origin="other files"))
    assert not read_again(tmp_path / "neutral", first, replace(PLAIN, secret=b"secret"))
    monkeypatch.setattr(what_was_read, "form", lambda: "another")
    assert not read_again(tmp_path / "later", first, PLAIN)


def test_a_release_whose_readers_differ_in_anything_is_another(tmp_path: Path) -> None:
    module = tmp_path / "formats" / "coco.py"
    module.parent.mkdir()
    module.write_text("GAPS = 1\n")
    before = what_was_read.digest_of_sources([tmp_path])

    module.write_text("GAPS = 2\n")
    changed = what_was_read.digest_of_sources([tmp_path])
    module.rename(module.with_name("lvis.py"))

    assert len({before, changed, what_was_read.digest_of_sources([tmp_path])}) == 3
    assert what_was_read.form() != what_was_read.digest_of_sources([])


def test_words_follow_the_answer_to_who_may_see_a_set(tmp_path: Path) -> None:
    table = tmp_path / "test.csv"
    table.write_text("image,class,left,top,right,bottom,size\na.jpg,cat,1,1,10,10,9\n")
    files = (SentFile("public", table.name, table),)
    unanswered = read(tmp_path / "first", files, PLAIN)

    opened = read_again(
        tmp_path / "opened",
        tmp_path / "first",
        replace(PLAIN, audiences=(Audience("test", is_hidden=False),)),
    )
    closed = read_again(
        tmp_path / "closed", tmp_path / "first", replace(PLAIN, audiences=(Audience("test", is_hidden=True),))
    )

    for report, words in (
        (unanswered, "the columns … are not read"),
        (opened, "the columns size are not read"),
        (closed, "the columns … are not read"),
    ):
        assert words in {each["message"] for each in json.loads(report)["warnings"]}
