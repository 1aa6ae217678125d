import tarfile
from pathlib import Path

import pytest

from heldout_scoring.data.description import Limits
from tests.scoring.archives import (
    END,
    detections,
    extension,
    gz,
    header,
    record,
    special,
    tar,
    walked,
    written,
    xz,
)

FILE = header("a.txt", size=5) + b"hello".ljust(512, b"\0")


@pytest.mark.parametrize("kind", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
@pytest.mark.parametrize("pack", [bytes, gz, xz])
def test_files_are_read_unchanged(tmp_path: Path, kind: int, pack: type[bytes]) -> None:
    files = detections()

    result = walked(written(tmp_path, pack(tar(files, kind))))

    assert result.codes == []
    assert result.files == files
    assert result.meter.members == 3


def test_folders_are_skipped(tmp_path: Path) -> None:
    folder = special("./", tarfile.DIRTYPE)

    result = walked(written(tmp_path, tar({"./": folder, "./a.txt": b"a"})))

    assert result.files == {"a.txt": b"a"}
    assert result.codes == []


@pytest.mark.parametrize("kind", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
def test_long_names_are_read_from_extension_headers(tmp_path: Path, kind: int) -> None:
    name = "results/" + "n" * 200 + ".txt"

    result = walked(written(tmp_path, tar({name: b"a"}, kind)))

    assert result.files == {name: b"a"}


def test_the_oldest_format_without_a_magic_number_is_read(tmp_path: Path) -> None:
    old = header("a.txt", tarfile.AREGTYPE, size=5) + b"hello".ljust(512, b"\0") + END

    assert walked(written(tmp_path, old)).files == {"a.txt": b"hello"}


def test_a_global_header_does_not_rename_members(tmp_path: Path) -> None:
    data = extension(tarfile.XGLTYPE, record("path", "../evil.txt")) + FILE + END

    assert walked(written(tmp_path, data)).files == {"a.txt": b"hello"}


def test_the_long_name_of_a_link_is_skipped(tmp_path: Path) -> None:
    data = extension(tarfile.GNUTYPE_LONGLINK, b"target\0") + FILE + END

    assert walked(written(tmp_path, data)).files == {"a.txt": b"hello"}


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (tarfile.SYMTYPE, "link"),
        (tarfile.LNKTYPE, "link"),
        (tarfile.CHRTYPE, "special-file"),
        (tarfile.BLKTYPE, "special-file"),
        (tarfile.FIFOTYPE, "special-file"),
        (tarfile.CONTTYPE, "special-file"),
        (tarfile.GNUTYPE_SPARSE, "special-file"),
    ],
)
def test_members_that_are_not_regular_files_are_refused(tmp_path: Path, kind: bytes, code: str) -> None:
    data = header("odd.txt", kind) + FILE + END

    result = walked(written(tmp_path, data))

    assert result.codes == [code]
    assert result.files == {"a.txt": b"hello"}


def test_a_sparse_file_in_pax_format_is_refused(tmp_path: Path) -> None:
    data = extension(tarfile.XHDTYPE, record("GNU.sparse.major", "1")) + FILE + END

    assert walked(written(tmp_path, data)).codes == ["special-file"]


def test_an_unsafe_path_in_an_extension_header_is_refused(tmp_path: Path) -> None:
    data = extension(tarfile.XHDTYPE, record("path", "/tmp/a.txt")) + FILE + END

    assert walked(written(tmp_path, data)).codes == ["unsafe-path"]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (FILE + b"\1" * 512, "malformed"),
        (FILE + header("b.txt", size=-512) + END, "malformed"),
        (FILE + extension(tarfile.XHDTYPE, record("size", "-1536")) + FILE + END, "malformed"),
        (FILE + extension(tarfile.XHDTYPE, record("size", "9" * 25)) + FILE + END, "malformed"),
        (FILE + extension(tarfile.XHDTYPE, b"no record") + FILE + END, "malformed"),
        (FILE + extension(tarfile.XHDTYPE, b"9 nothing") + FILE + END, "malformed"),
        (FILE + extension(tarfile.XHDTYPE, b"0" * 5000) + FILE + END, "malformed"),
        (FILE + extension(tarfile.GNUTYPE_LONGNAME, b"b.txt\0") * 6 + FILE + END, "malformed"),
        (FILE + header("long", tarfile.GNUTYPE_LONGNAME, 1 << 28), "malformed"),
        (FILE + header("long", tarfile.GNUTYPE_LONGNAME, 600) + b"n" * 512, "truncated"),
        (FILE + header("b.txt", size=600) + b"n" * 512, "truncated"),
        (FILE + header("b.txt", size=5) + b"n" * 100, "truncated"),
        (FILE, "truncated"),
        (FILE + b"half a header", "truncated"),
        (FILE + END + FILE, "trailing-data"),
        (FILE + header("b.txt", size=1 << 40), "file-too-large"),
    ],
)
def test_an_archive_that_breaks_off_or_is_malformed_is_refused(
    tmp_path: Path, data: bytes, code: str
) -> None:
    result = walked(written(tmp_path, data))

    assert result.files["a.txt"] == b"hello"
    assert result.codes == [code]


def test_a_link_is_skipped_whatever_size_it_claims(tmp_path: Path) -> None:
    data = header("link", tarfile.LNKTYPE, 700) + FILE + END

    assert walked(written(tmp_path, data)).files == {"a.txt": b"hello"}


def test_a_truncated_file_is_detected_when_it_is_skipped(tmp_path: Path) -> None:
    data = FILE + header("odd", tarfile.FIFOTYPE, 5000) + b"short"

    assert walked(written(tmp_path, data)).codes == ["special-file", "truncated"]


def test_more_members_than_allowed_are_refused(tmp_path: Path) -> None:
    data = tar({f"{number}.txt": b"" for number in range(6)})

    result = walked(written(tmp_path, data), Limits(max_files=5))

    assert result.codes == ["too-many-members"]
    assert len(result.files) == 5


def test_limits_count_unpacked_bytes(tmp_path: Path) -> None:
    data = gz(tar({"a.txt": bytes(200_000)}))

    assert walked(written(tmp_path, data), Limits(max_unpacked_bytes=100_000)).codes == ["too-large"]
    assert walked(written(tmp_path, data), Limits(ratio_from_bytes=100_000)).codes == ["ratio"]
    assert walked(written(tmp_path, data), Limits(max_file_bytes=100_000)).codes == ["file-too-large"]
    assert walked(written(tmp_path, data)).codes == []
