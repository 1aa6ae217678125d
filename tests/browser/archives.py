"""Archives derived from the archive of a made-up method."""

import io
import tarfile
from collections.abc import Callable
from pathlib import Path

from tests.system.kits import packed


def thinned(archive: Path) -> bytes:
    """The archive with every second line only, so that it differs from the method's."""
    return _changed(archive.read_bytes(), lambda _, lines: lines[::2])


def spoilt(archive: bytes) -> bytes:
    """The archive with a missing field in line 3 of the cars and an unknown image in line 1."""

    def change(name: str, lines: list[str]) -> list[str]:
        if not name.endswith("_car.txt"):
            return lines
        first, second, third, *rest = lines
        return [f"no-{first}", second, third.rpartition(" ")[0], *rest]

    return _changed(archive, change)


def _changed(archive: bytes, change: Callable[[str, list[str]], list[str]]) -> bytes:
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        files = {
            member.name: file.read().decode().splitlines()
            for member in tar
            if (file := tar.extractfile(member)) is not None
        }
    return packed(
        {name: "".join(f"{line}\n" for line in change(name, lines)).encode() for name, lines in files.items()}
    )
