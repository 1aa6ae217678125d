"""Unpacking what organisers send: every kind of archive and of names is read, or refused with a sentence."""

import errno
import json
import os
from pathlib import Path
from zlib import crc32

import pytest

from app.intake.inspecting import Wanted, inspect
from app.intake.reports import UNEXPLAINED, Report, TableChoice, without_words
from app.intake.table_choices import TableRequest
from app.intake.unpacking import ReadingLimits, SentFile
from heldout_scoring.stored import from_plain
from tests.pages.data_sets import coco_file, jpeg, zipped
from tests.scoring.archives import Zipped
from tests.scoring.archives import zipped as zip_of

LIMITS = ReadingLimits(unpacked=64 << 20, images=1000, boxes=1000)
END = "send it as .zip, .tar, .tar.gz or .tar.xz"


def read(folder: Path, *sent: tuple[str, str, bytes], tables: TableChoice = UNEXPLAINED) -> Report:
    """The report on files, each given by role, name and content."""
    files = []
    for number, (role, name, content) in enumerate(sent):
        path = folder / f"sent-{number}"
        path.write_bytes(content)
        files.append(SentFile(role, name, path))
    (folder / "work").mkdir()
    wanted = Wanted(tables=tables)
    return from_plain(Report, json.loads(inspect(folder / "work", tuple(files), "birds", LIMITS, wanted)))


@pytest.mark.timeout(60)
def test_a_picture_that_was_cut_off_and_filled_up_is_told_at_once(tmp_path: Path) -> None:
    filled = jpeg()[:200] + b"\xff" * (256 << 10) + bytes(4)

    report = read(tmp_path, ("public", "a.json", coco_file()), ("images", "a.jpg", filled))

    assert "a.jpg: the file ends before the image does; it was not copied completely" in {
        str(each) for each in report.problems
    }


ZIP = zipped({"a.json": coco_file()})


@pytest.mark.parametrize("role", ["images", "public", "hidden"])
@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.rar", b"Rar!\x1a\7\0", "an archive or a compressed file of type RAR cannot be read here, or is damaged"),
        ("a.7z", b"7z\xbc\xaf\x27\x1c", "an archive or a compressed file of type 7-Zip cannot be read here, or is damaged"),
        ("a.tar.bz2", b"BZh91AY", "an archive or a compressed file of type bzip2 cannot be read here, or is damaged"),
        ("a.json.zst", b"\x28\xb5\x2f\xfd", "an archive or a compressed file of type Zstandard cannot be read here, or is damaged"),
        ("a.z01", b"PK\7\x08PK\3\4", "one part of a split archive, which cannot be read; join the parts"),
        ("a.7z.001", b"7z\xbc\xaf\x27\x1c", "one part of a split archive, which cannot be read; join the parts"),
        ("a.part1.rar", b"Rar!\x1a\7\0", "one part of a split archive, which cannot be read; join the parts"),
        ("a.zip.001", ZIP[:100], "one part of a split archive, which cannot be read; join the parts"),
        ("a.z02", ZIP, "one part of a split archive, which cannot be read; join the parts"),
        ("a.zip", ZIP[100:], "of type zip by its name, but it does not begin like one: perhaps the last part of a split archive, or damaged"),
        ("a.tar.gz", b"<!DOCTYPE html>", "of type gz by its name, but it does not begin like one: perhaps the last part of a split archive, or damaged"),
        ("a.exe", b"MZ\x90", "a program, perhaps an archive that unpacks itself, which cannot be read; unpack it"),
    ],
    ids=["rar", "7z", "bzip2", "zst", "z01", "001", "part1", "zip.001", "z02", "last part", "page", "exe"],
)  # fmt: skip
def test_an_archive_that_is_not_read_is_refused_with_its_kind_and_nothing_else(
    tmp_path: Path, role: str, name: str, content: bytes, words: str
) -> None:
    report = read(tmp_path, (role, name, content))

    assert [str(each) for each in report.problems] == [f"{name}: {words}; {END}"]


@pytest.mark.parametrize("role", ["images", "hidden"])
@pytest.mark.parametrize(
    ("file", "words"),
    [
        (Zipped("a.json", flags=1), "encrypted with a password; send it without"),
        (
            Zipped("a.json", method=9),
            "unsupported compression method 9 (Deflate64); expected 'stored' or 'deflate'; Windows uses it for large files, so use another program, or send a .tar",
        ),
    ],
    ids=["encrypted", "deflate64"],
)
def test_a_zip_whose_files_cannot_be_read_is_refused_for_that_alone(
    tmp_path: Path, role: str, file: Zipped, words: str
) -> None:
    report = read(tmp_path, (role, "a.zip", zip_of([file])))

    assert [str(each) for each in report.problems] == [f"a.json: {words}"]


def unicode_name(name: str, declared: str) -> bytes:
    """The extra field of a zip that gives a file a name in Unicode."""
    content = b"\1" + crc32(declared.encode()).to_bytes(4, "little") + name.encode()
    return b"\x75\x70" + len(content).to_bytes(2, "little") + content


@pytest.mark.parametrize(
    ("files", "names"),
    [
        ([Zipped("bär/a.jpg", jpeg())], ["bär/a.jpg"]),
        ([Zipped("b_r/a.jpg", jpeg(), extra=unicode_name("bär/a.jpg", "b_r/a.jpg"))], ["bär/a.jpg"]),
        ([Zipped("cat\\"), Zipped("cat\\a.jpg", jpeg())], ["cat/a.jpg"]),
    ],
    ids=["utf-8", "unicode field", "backslash"],
)
def test_names_in_a_zip_are_read_as_programs_write_them(
    tmp_path: Path, files: list[Zipped], names: list[str]
) -> None:
    read(tmp_path, ("images", "a.zip", zip_of(files)))

    root = tmp_path / "work" / "images" / "images"
    assert [path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()] == names


@pytest.mark.parametrize(
    "name", ["..\\..\\a.jpg", "C:\\a.jpg", "\\\\server\\a.jpg", "cat\\..\\..\\..\\a.jpg"]
)
def test_no_backslash_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    report = read(tmp_path, ("images", "a.zip", zip_of([Zipped(name, jpeg())])))

    assert [each.code for each in report.problems] == ["unsafe-path"]
    assert list(tmp_path.rglob("*.jpg")) == []


def test_a_name_in_another_encoding_is_a_problem_with_a_way_out(tmp_path: Path) -> None:
    sent = zipped({"XX.jpg": jpeg()}).replace(b"XX.jpg", "表.jpg".encode("cp932"))

    report = read(tmp_path, ("images", "a.zip", sent))

    [problem] = report.problems
    assert problem.code == "name-encoding"
    assert (
        "not encoded as UTF-8, so that its letters are not known; give it a name in ASCII" in problem.message
    )


NAMES = {
    "bär": "cp850",
    "Ärger": "windows-1252",
    "猫犬": "gb18030",
    "表": "shift_jis",
    "кот": "cp866",
    "猫": "gb18030",
}


@pytest.mark.parametrize("name", NAMES)
def test_names_that_do_not_declare_their_encoding_are_asked_for_and_read_as_chosen(
    tmp_path: Path, name: str
) -> None:
    raw = name.encode(NAMES[name])
    packed = bytearray(
        zipped({f"{'X' * len(raw)}/a.jpg": jpeg(), "dog/b.jpg": jpeg(shade=1)}).replace(b"X" * len(raw), raw)
    )
    for place in range(len(packed)):
        if packed[place : place + 4] == b"PK\1\2":
            packed[place + 5] = 0  # of FAT, as programs for Windows say
    archive = ("public", "a.zip", bytes(packed))

    for folder in ("1", "2"):
        (tmp_path / folder).mkdir()

    asked = read(tmp_path / "1", archive)
    [odd] = asked.explained_tables
    choice = TableRequest(encoding=NAMES[name], is_archive=True).after([odd], TableChoice())
    found = read(tmp_path / "2", archive, tables=choice)

    assert "name-encoding" in {each.code for each in (*asked.problems, *asked.warnings)}
    assert (odd.is_archive, odd.chosen, NAMES[name] in odd.encodings) == (True, None, True)
    assert found.problems == ()
    assert sorted(each.found for each in found.classes) == sorted((name, "dog"))
    assert [each.chosen for each in found.explained_tables] == [choice]


@pytest.mark.parametrize("role", ["images", "hidden"])
def test_a_name_that_is_given_to_a_file_and_to_a_folder_is_a_problem(tmp_path: Path, role: str) -> None:
    kinds = {"images": ("V.jpg", jpeg()), "hidden": ("V.json", coco_file())}
    name, content = kinds[role]

    report = read(tmp_path, (role, name, content), (role, "a.zip", zipped({f"{name}/{name}": content})))

    assert [each.code for each in report.problems] == ["file-and-folder"]


@pytest.mark.parametrize("role", ["images", "hidden"])
def test_a_name_that_is_too_long_to_be_stored_is_a_problem(tmp_path: Path, role: str) -> None:
    report = read(tmp_path, (role, "a.zip", zipped({f"{'é' * 200}.jpg": jpeg()})))

    assert report.problems[0].code == "name-too-long"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EISDIR, errno.ENOENT])
def test_only_a_failure_of_the_machine_is_an_outage(number: int) -> None:
    with pytest.raises((OSError, SystemExit)) as raised, without_words():
        raise OSError(number, os.strerror(number), "SECRET/a.jpg")

    assert isinstance(raised.value, OSError) == (number == errno.ENOSPC)
    assert "SECRET" not in str(raised.value)  # since a folder may be a class
