"""A backup on disk: a folder with the dump of the database, contents of the stores, their hashes and a manifest.

Inside it, a content is a file `store/ab/abcd…`, whose name is its key in that store.
"""

import hashlib
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal, Self

from pydantic import AwareDatetime, BaseModel, ValidationError

from app.storage import NewDigest

DATABASE, SUMS, MANIFEST = Path("database.dump"), Path("SHA256SUMS"), Path("manifest.json")
NAME = "%Y-%m-%dT%H%M%SZ"  # of a backup's folder, by the time in UTC
ANY_NAME = "????-??-??T??????Z"
PARTIAL = ".partial"  # ending of a folder that is not whole


class BackupError(Exception):
    """A backup cannot be taken or restored; says why and what can be done."""


class Manifest(BaseModel, frozen=True):
    """What a backup says of itself, in `manifest.json`. It is written last: a folder without it is not whole."""

    format: Literal[2] = 2
    taken_at: AwareDatetime
    missing: tuple[str, ...]  # contents that the database names and this backup does not have
    damaged: tuple[str, ...]  # those that the stores did not have, or had with other bytes
    linked_folders: tuple[str, ...]  # of pictures, which are in no store
    sums: str  # sha256 of the file of all hashes
    not_included: tuple[str, ...] = (
        "passwords and other secrets of the installation, such as secrets.json of its data folder",
        "the broker, which holds hints that workers do without, and counts of requests",
        "uploads whose bytes were still arriving, which are sent again from the start",
        "mail in the data folder, and logs",
    )


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup that is whole; sums: the sha256 of each of its files but the last two."""

    folder: Path
    manifest: Manifest
    sums: Mapping[Path, str]

    @property
    def contents(self) -> list[Path]:
        """Every file but the dump of the database."""
        return [path for path in self.sums if path != DATABASE]

    @property
    def size(self) -> int:
        """Bytes of all these files."""
        return sum((self.folder / path).stat().st_size for path in self.sums)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """The backup in a folder. Raises BackupError where its manifest or hashes are not those that were written."""
        try:
            manifest = Manifest.model_validate_json((folder / MANIFEST).read_bytes())
        except ValidationError:
            raise BackupError(
                f"{folder / MANIFEST} was not written by this version of `heldout-server backup`"
            ) from None
        if digest_of_file(folder / SUMS) != manifest.sums:
            raise BackupError(f"{folder / SUMS} has changed since it was written; restore another backup")
        lines = (line.split("  ", 1) for line in (folder / SUMS).read_text("utf-8").splitlines())
        return cls(folder, manifest, {Path(path): digest for digest, path in lines})

    def verify(self) -> None:
        """Compare every file with its hash. Raises BackupError."""
        changed = [path for path, digest in self.sums.items() if not self._has(path, digest)]
        if changed:
            raise BackupError(
                f"{len(changed)} files of {self.folder} are missing or have changed, such as {changed[0]}; "
                "nothing was restored, try another backup"
            )

    def _has(self, path: Path, digest: str) -> bool:
        file = self.folder / path
        return file.is_file() and digest_of_file(file) == digest


def seal(
    partial: Path, taken_at: datetime, missing: list[str], damaged: list[str], linked_folders: tuple[str, ...]
) -> Backup:
    """Make a backup of a folder that has everything but hashes and manifest, see it on the disk, and give it its name.

    missing, damaged: contents that are not in it, and those that were not intact in the stores.
    """
    files = sorted(each.relative_to(partial) for each in partial.rglob("*") if each.is_file())
    sums = {path: digest_of_file(partial / path) for path in files}
    (partial / SUMS).write_text("".join(f"{digest}  {path}\n" for path, digest in sums.items()), "utf-8")
    manifest = Manifest(
        taken_at=taken_at,
        missing=tuple(missing),
        damaged=tuple(damaged),
        linked_folders=linked_folders,
        sums=digest_of_file(partial / SUMS),
    )
    (partial / MANIFEST).write_text(manifest.model_dump_json(indent=2) + "\n", "utf-8")
    os.sync()
    folder = partial.rename(partial.with_name(partial.name.removesuffix(PARTIAL)))
    return Backup(folder, manifest, sums)


def whole_backups(directory: Path) -> list[Path]:
    """Backups that are whole, the newest first."""
    return sorted((each.parent for each in directory.glob(f"{ANY_NAME}/{MANIFEST}")), reverse=True)


def interrupted_backups(directory: Path) -> list[Path]:
    """What was left by backups that were interrupted."""
    return list(directory.glob(f"{ANY_NAME}{PARTIAL}"))


def link(source: Path, target: Path) -> None:
    """Let two backups share a file; copy it where the file system has no links, or too many of them."""
    try:
        target.hardlink_to(source)
    except OSError:
        shutil.copyfile(source, target)


def digest_of_file(path: Path, new_digest: NewDigest = hashlib.sha256) -> str:
    """The hash of a file in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, new_digest).hexdigest()
