"""Archives that the server makes."""

import gzip
import io
import tarfile
from collections.abc import Iterable
from typing import BinaryIO


def pack_files(stream: BinaryIO, files: Iterable[tuple[str, bytes]]) -> None:
    """Write a tar.gz of these files, paths with contents; the same files always give the same bytes."""
    with (
        gzip.GzipFile(fileobj=stream, mode="wb", mtime=0, filename="") as compressed,
        tarfile.open(fileobj=compressed, mode="w|", format=tarfile.PAX_FORMAT) as archive,
    ):
        for path, content in files:
            member = tarfile.TarInfo(safe_path(path))
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


def safe_path(path: str) -> str:
    """Return a path that stays in the folder in which an archive is unpacked.

    >>> safe_path("/a/../b//c.txt")
    'a/b/c.txt'
    """
    return "/".join(part for part in path.split("/") if part not in ("", ".", ".."))
