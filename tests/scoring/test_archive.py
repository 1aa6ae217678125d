import bz2
import gzip
import os
from pathlib import Path

import pytest

from heldout_scoring.archives.members import Meter, Names
from heldout_scoring.archives.opening import folder_members
from heldout_scoring.data.description import Limits
from heldout_scoring.errors import Problems
from tests.scoring.archives import detections, gz, tar, walked, written, xz, zip_of

FILES = detections()
TAR = tar(FILES)


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (TAR, "results.tar"),
        (gz(TAR), "results.tar.gz"),
        (gz(TAR), "RESULTS.TGZ"),
        (xz(TAR), "results.tar.xz"),
        (xz(TAR), "results.txz"),
        (zip_of(FILES), "results.zip"),
        (gz(TAR), "9f86d081884c7d65"),
    ],
)
def test_the_kind_of_an_archive_is_known_from_its_first_bytes(tmp_path: Path, data: bytes, name: str) -> None:
    assert walked(written(tmp_path, data, name)).files == FILES


@pytest.mark.parametrize(
    ("data", "name", "other"),
    [
        (xz(TAR), "results.tar.gz", ".tar.xz"),
        (TAR, "results.tar.gz", ".tar"),
        (zip_of(FILES), "results.tar.gz", ".zip"),
        (TAR + zip_of(FILES), "results.zip", ".tar"),
    ],
)
def test_a_file_extension_of_another_kind_is_refused(
    tmp_path: Path, data: bytes, name: str, other: str
) -> None:
    result = walked(written(tmp_path, data, name))

    assert result.codes == ["wrong-extension"]
    assert other in result.said[0].message


def test_the_extension_is_checked_on_the_name_given_by_the_sender(tmp_path: Path) -> None:
    path = written(tmp_path, gz(TAR), "9f86d081884c7d65")

    assert walked(path, name="mine.zip").codes == ["wrong-extension"]


@pytest.mark.parametrize(
    ("data", "code", "word"),
    [
        (b"", "empty", "0 bytes"),
        (bz2.compress(TAR), "unsupported-type", "bzip2"),
        (b"7z\xbc\xaf\x27\x1c" + bytes(600), "unsupported-type", "7-Zip"),
        (b"<html><script>alert(1)</script>", "unsupported-type", "known type"),
        (gz(b""), "empty", "no file"),
        (gz(b"") * 50, "empty", "no file"),
        (gz(gz(TAR)), "nested-archive", "another archive"),
        (gz(zip_of(FILES)), "nested-archive", "another archive"),
        (gz(b"2008_000001 0.5\n" * 100), "not-tar", "tar format"),
        (gz(bytes(100)), "not-tar", "tar format"),
        (gz(TAR)[:-20], "truncated", "incomplete"),
        (xz(TAR)[:-20], "truncated", "incomplete"),
        (gz(TAR)[:-8] + bytes(8), "damaged", "CRC"),
        (xz(TAR)[:200] + bytes(20) + xz(TAR)[220:], "damaged", "xz"),
        (gz(TAR) + b"\xde\xad", "trailing-data", "gzip"),
        (gz(TAR) + b"\x1f", "trailing-data", "gzip"),
        (gz(TAR) + bytes(600_000) + b"\1", "trailing-data", "gzip"),
    ],
)
def test_unsupported_archives_are_refused(tmp_path: Path, data: bytes, code: str, word: str) -> None:
    result = walked(written(tmp_path, data))

    assert result.codes == [code]
    assert word in result.said[0].message


@pytest.mark.parametrize("pack", [gz, xz])
def test_concatenated_streams_are_read_as_one(tmp_path: Path, pack: type[bytes]) -> None:
    data = pack(TAR[:1000]) + bytes(4) + pack(TAR[1000:]) + bytes(512)

    assert walked(written(tmp_path, data)).files == FILES


def test_the_checksum_after_the_last_file_is_verified(tmp_path: Path) -> None:
    padded = TAR + bytes(3 << 20)
    data = gzip.compress(padded, 1, mtime=0)

    result = walked(written(tmp_path, data[:-8] + b"\1\2\3\4" + data[-4:]))

    assert result.files == FILES
    assert result.codes == ["damaged"]


def test_a_plain_folder_is_read_like_an_archive(tmp_path: Path) -> None:
    for name, data in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)

    result = walked(tmp_path)

    assert result.files == FILES
    assert result.codes == []
    assert result.meter.unpacked == sum(map(len, FILES.values()))


def test_links_and_special_files_of_a_folder_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a.txt").symlink_to("/etc/passwd")
    (tmp_path / "elsewhere").symlink_to("/etc")
    (tmp_path / "b.txt").write_bytes(b"b")
    os.mkfifo(tmp_path / "c.txt")

    result = walked(tmp_path)

    assert result.files == {"b.txt": b"b"}
    assert result.codes == ["link", "special-file", "link"]


def test_an_unreadable_folder_is_not_treated_as_empty(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(folder_members(tmp_path / "gone", Meter(Limits()), Names(Limits(), Problems())))


def test_limits_apply_to_folders(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(bytes(2000))
    (tmp_path / "b.txt").write_bytes(b"b")

    assert walked(tmp_path, Limits(max_file_bytes=1000)).codes == ["file-too-large"]
    assert walked(tmp_path, Limits(max_unpacked_bytes=1000)).codes == ["too-large"]
    assert walked(tmp_path, Limits(max_files=1)).codes == ["too-many-members"]
    assert walked(tmp_path, Limits(max_path_length=3)).codes == ["name-too-long", "name-too-long"]


def test_the_packed_size_is_known_for_archives_and_not_for_folders(tmp_path: Path) -> None:
    path = written(tmp_path, b"12345")

    assert Meter.of(path, Limits()).packed == 5
    assert Meter.of(tmp_path, Limits()).packed is None
