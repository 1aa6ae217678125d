import io
import random
import re
import struct
import zipfile
from pathlib import Path

import pytest

from heldout_scoring.data.description import Limits
from tests.scoring.archives import (
    FOLDER,
    End,
    Zipped,
    deflated,
    detections,
    walked,
    written,
    zip_of,
    zipped,
)

GOOD = Zipped("a.txt", b"hello")
SIZES_FOLLOW = 0x8


def test_files_are_read_unchanged(tmp_path: Path) -> None:
    files = detections()

    result = walked(written(tmp_path, zip_of(files)))

    assert result.codes == []
    assert result.files == files


def test_archives_written_by_zipfile_are_read(tmp_path: Path) -> None:
    path = tmp_path / "results.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.mkdir("results")
        archive.writestr("results/b.txt", "stored", zipfile.ZIP_STORED)
        with archive.open("results/c.txt", "w", force_zip64=True) as file:
            file.write(b"deflated " * 1000)
        archive.comment = b"made at home"

    result = walked(path)

    assert result.codes == []
    assert result.files == {"results/b.txt": b"stored", "results/c.txt": b"deflated " * 1000}


def test_sizes_may_follow_the_content_of_a_file(tmp_path: Path) -> None:
    descriptor = b"PK\7\x08" + struct.pack("<3L", 0x3610A686, len(deflated(b"hello")), 5)
    file = Zipped("a.txt", b"hello", flags=SIZES_FOLLOW, own_crc=0, own_size=0, behind=descriptor)

    assert walked(written(tmp_path, zipped([file, Zipped("b.txt")]))).files == {
        "a.txt": b"hello",
        "b.txt": b"x",
    }


@pytest.mark.parametrize(
    ("file", "code"),
    [
        (Zipped("b.txt", b"/etc/passwd", mode=0o120777), "link"),
        (Zipped("b.txt", b"", mode=0o020666), "special-file"),
        (Zipped("b.txt", flags=0x1), "encrypted"),
        (Zipped("b.txt", flags=0x41, method=99), "encrypted"),
        (Zipped("b.txt", method=12), "compression-method"),
        (Zipped("b.txt", method=14), "compression-method"),
        (Zipped("/b.txt"), "unsafe-path"),
        (Zipped("b.txt\0.exe"), "name-character"),
    ],
)
def test_entries_that_are_not_plain_files_are_left_out_and_the_others_read(
    tmp_path: Path, file: Zipped, code: str
) -> None:
    result = walked(written(tmp_path, zipped([GOOD, file])))

    assert result.codes == [code]
    assert result.files == {"a.txt": b"hello"}


@pytest.mark.parametrize(
    "file",
    [
        Zipped("b.txt", b"hello", crc=1),
        Zipped("b.txt", b"hello", size=4),
        Zipped("b.txt", b"hello", size=6),
        Zipped("b.txt", b"hello", packed=deflated(b"hello") + b"more"),
        Zipped("b.txt", b"hello", packed=deflated(b"hello" * 100)[:-4]),
        Zipped("b.txt", b"hello", packed=b"\xff" * 20),
        Zipped("b.txt", b"", method=0, packed=random.Random(1).randbytes(70_000)),
    ],
)
def test_a_damaged_file_is_reported_by_name(tmp_path: Path, file: Zipped) -> None:
    result = walked(written(tmp_path, zipped([GOOD, file])))

    assert result.codes == ["damaged"]
    assert result.said[0].file == "b.txt"


@pytest.mark.parametrize(
    "file",
    [
        Zipped("b.txt", own_name="c.txt"),
        Zipped("b.txt", extra=struct.pack("<2H", 0x7075, 5) + b"\1abcd"),
        Zipped("b.txt", own_method=0),
        Zipped("b.txt", own_crc=1),
        Zipped("b.txt", own_size=7),
        Zipped("b.txt", behind=b"hidden"),
        Zipped("b.txt", packed=b"short", size=1, own_size=2),
    ],
)
def test_an_archive_whose_headers_contradict_each_other_is_refused(tmp_path: Path, file: Zipped) -> None:
    result = walked(written(tmp_path, zipped([GOOD, file])))

    assert result.codes == ["malformed"]
    assert result.files == {}


def test_unknown_extra_fields_are_skipped(tmp_path: Path) -> None:
    file = Zipped("a.txt", extra=struct.pack("<2H", 0x5455, 1) + b"\0")

    assert walked(written(tmp_path, zipped([file]))).files == {"a.txt": b"x"}


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (zipped([GOOD])[:-10], "truncated"),
        (zipped([GOOD])[:-30], "truncated"),
        (zipped([GOOD]) + b"more", "trailing-data"),
        (zipped([GOOD]) + zipped([GOOD]), "malformed"),
        (zipped([GOOD], End(extra_bytes=b"between")), "malformed"),
        (zipped([GOOD], End(disk=3)), "malformed"),
        (zipped([GOOD], End(count=2)), "malformed"),
        (zipped([GOOD], End(shift=1)), "malformed"),
        (zipped([GOOD], End(comment=b"PK\5\6" * 20)), "truncated"),
        (zipped([Zipped("\u00e9.txt", flags=0x800)]).replace("\u00e9".encode(), b"\xff\xfe"), "malformed"),
        (zipped([GOOD]).replace(b"PK\1\2", b"PK\1\1"), "malformed"),
        (zipped([GOOD, GOOD]).replace(b"PK\3\4", b"PK\3\3").replace(b"PK\3\3", b"PK\3\4", 1), "malformed"),
    ],
)
def test_an_archive_that_programs_could_read_differently_is_refused(
    tmp_path: Path, data: bytes, code: str
) -> None:
    result = walked(written(tmp_path, data, "results.zip"))

    assert result.codes == [code]
    assert result.files == {}


def test_bytes_before_the_first_file_are_refused(tmp_path: Path) -> None:
    data = zipped([GOOD], before=b"PK\3\4 something else that looks like a file")

    assert walked(written(tmp_path, data)).codes == ["malformed"]


def test_files_may_not_overlap(tmp_path: Path) -> None:
    data = bytearray(zipped([GOOD, Zipped("b.txt", b"hello")]))
    second = data.rfind(b"PK\1\2")
    data[second + 42 : second + 46] = bytes(4)
    data[second + 46 : second + 51] = b"a.txt"

    result = walked(written(tmp_path, bytes(data)))

    assert result.codes == ["malformed"]
    assert "overlap" in result.said[0].message


def test_an_empty_archive_has_no_files(tmp_path: Path) -> None:
    result = walked(written(tmp_path, zipped([])))

    assert result.codes == []
    assert result.files == {}


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        (Limits(max_files=1), "too-many-members"),
        (Limits(max_file_bytes=5000), "file-too-large"),
        (Limits(max_unpacked_bytes=15_000), "too-large"),
        (Limits(max_ratio=10, ratio_from_bytes=15_000), "ratio"),
    ],
)
def test_limits_apply_before_anything_is_unpacked(tmp_path: Path, limits: Limits, code: str) -> None:
    files = {f"{FOLDER}/{name}.txt": bytes(10_000) for name in "ab"}

    result = walked(written(tmp_path, zip_of(files)), limits)

    assert result.codes == [code]
    assert result.files == {}


WIDE_END, LOCATOR = b"PK\6\6", b"PK\6\7"


def wide(monkeypatch: pytest.MonkeyPatch) -> bytes:
    """A zip64 archive of two files, with wide sizes in their headers and at its end."""
    monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 1)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("a.txt", "b.txt"):
            with archive.open(name, "w", force_zip64=True) as file:
                file.write(name.encode() * 10)
    # the first releases of Python 3.11 write sizes both wide and narrow
    return re.sub(rb"(?s)(PK\x03\x04.{14}).{8}", lambda found: found[1] + b"\xff" * 8, packed.getvalue())


def test_zip64_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = wide(monkeypatch)
    end = data.rfind(b"PK\5\6")
    narrow = (
        data[: end + 8] + b"\xff" * 12 + data[end + 20 :]
    )  # as programs write that always refer to the wide end

    for each in (data, narrow):
        result = walked(written(tmp_path, each))
        assert result.codes == []
        assert result.files == {name: name.encode() * 10 for name in ("a.txt", "b.txt")}


@pytest.mark.parametrize(
    ("place", "offset", "changed"),
    [
        (WIDE_END, 0, b"PK\6\5"),
        (WIDE_END, 4, struct.pack("<Q", 100)),  # more of it follows
        (WIDE_END, 16, struct.pack("<L", 1)),  # on another disk
        (WIDE_END, 24, struct.pack("<2Q", 3, 3)),
        (WIDE_END, 40, struct.pack("<Q", 0)),
        (WIDE_END, 48, struct.pack("<Q", 1)),
        (LOCATOR, 0, b"PK\6\5"),
        (LOCATOR, 8, struct.pack("<Q", 1)),
        (LOCATOR, 16, struct.pack("<L", 2)),
        (b"PK\5\6", 10, struct.pack("<H", 3)),
        (b"PK\3\4", 30 + 5 + 4, struct.pack("<Q", 49)),  # another size in the header of a file
        (b"PK\3\4", 30 + 5, struct.pack("<H", 9)),  # no wide sizes in it
    ],
)
def test_zip64_whose_parts_contradict_each_other_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: bytes, offset: int, changed: bytes
) -> None:
    data = wide(monkeypatch)
    start = data.rfind(place) + offset

    result = walked(written(tmp_path, data[:start] + changed + data[start + len(changed) :], "results.zip"))

    assert result.codes == ["malformed"]
    assert result.files == {}


def test_a_file_of_which_only_the_packed_size_is_wide_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = wide(monkeypatch)
    start = data.rfind(b"PK\3\4")
    size, packed = data[start + 39 : start + 47], data[start + 47 : start + 55]
    narrow = data[: start + 22] + size[:4] + data[start + 26 : start + 39] + packed * 2 + data[start + 55 :]

    result = walked(written(tmp_path, narrow))

    assert (result.codes, [*result.files]) == ([], ["a.txt", "b.txt"])


def test_limits_hold_for_zip64(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, wide(monkeypatch))

    found = [walked(path, limits).codes for limits in (Limits(max_files=1), Limits(max_file_bytes=49))]

    assert found == [["too-many-members"], ["file-too-large"]]
