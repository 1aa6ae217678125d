"""Work loads on the disk: folders as the development kit has them, and the same packed."""

import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Results:
    """One result, as a folder that holds `results/VOC2012/…` and as an archive of it."""

    folder: Path
    archive: Path

    @property
    def files(self) -> tuple[Path, ...]:
        """The prediction files, in the order of their names."""
        return tuple(sorted(path for path in self.folder.rglob("*") if path.is_file()))

    @property
    def unpacked(self) -> int:
        """The bytes of all files."""
        return sum(path.stat().st_size for path in self.files)

    @property
    def packed(self) -> int:
        """The bytes of the archive."""
        return self.archive.stat().st_size


def prepare(place: Path, name: str, write: Callable[[Path], None]) -> Results:
    """Let `write` fill a folder and pack it, or find what an earlier run made."""
    results = Results(place / name, place / f"{name}.tar.gz")
    if not results.archive.exists():
        write(results.folder)
        half = results.archive.with_suffix(".part")
        with tarfile.open(half, "w:gz", compresslevel=6, format=tarfile.GNU_FORMAT) as archive:
            for path in results.files:
                archive.add(path, path.relative_to(results.folder))
        half.rename(results.archive)
    return results
