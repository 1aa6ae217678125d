"""How backups are named and described, and what is no backup."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from app.backups.rules import (
    beyond,
    is_partial,
    manifest_from,
    manifest_text,
    sums_from,
    sums_text,
)
from app.backups.schemas import BackupError, Manifest

DIGEST = "ab" * 32
CONTENT = Path("archives", "ab", f"{DIGEST}-{7:032x}")
SUMS = {Path("database.dump"): "cd" * 32, CONTENT: DIGEST}
MANIFEST = Manifest(
    taken_at=datetime(2027, 3, 31, 2, 15, tzinfo=UTC),
    scorer="2",
    contents=1,
    size=7,
    missing=("truth/ef/ef",),
    damaged=("truth/ef/ef", "archives/01/01"),
    linked_folders=("/data/VOC2007",),
    sums=DIGEST,
)


def test_what_is_written_is_read_again() -> None:
    assert manifest_from(manifest_text(MANIFEST)) == MANIFEST
    assert sums_from(sums_text(SUMS)) == SUMS


@pytest.mark.parametrize(
    "line",
    [
        f"{DIGEST}  ../../etc/passwd",
        f"{DIGEST}  archives/ab/../../../etc/passwd",
        f"{DIGEST} {CONTENT}",
    ],
)
def test_a_line_that_no_backup_has_is_refused_by_its_number(line: str) -> None:
    with pytest.raises(BackupError, match="SHA256SUMS:3: expected a hash and the path of a content"):
        sums_from(sums_text(SUMS) + line)


def test_a_backup_without_a_database_is_none() -> None:
    with pytest.raises(BackupError, match=r"expected a line for database\.dump"):
        sums_from(sums_text({CONTENT: DIGEST}))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 2}', "null"])
def test_another_file_is_no_manifest(text: str) -> None:
    with pytest.raises(BackupError, match=r"manifest\.json was not written by"):
        manifest_from(text)


def test_a_manifest_of_a_later_version_says_what_to_use() -> None:
    with pytest.raises(BackupError, match="found format 3, expected 2: use the version that wrote it"):
        manifest_from(manifest_text(MANIFEST).replace('"format": 2', '"format": 3'))


def test_only_folders_with_the_ending_are_left_over() -> None:
    names = ("2027-03-31T021500Z.partial", "2027-03-31T021500Z", "notes.partial")

    assert [is_partial(name) for name in names] == [True, False, False]


def test_all_backups_stay_unless_a_number_is_given() -> None:
    assert beyond(["2027-03-31T021500Z"], None) == []
