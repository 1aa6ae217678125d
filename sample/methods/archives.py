"""Result archives in the kit's layout."""

import gzip
import io
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sample.kit import NAME


@dataclass(frozen=True, slots=True)
class ResultFile:
    """One file of an archive; its path starts below `results/sample`."""

    path: str
    content: bytes


def joined(archives: Iterable[Path]) -> bytes:
    """Return one archive with the files of several."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as tar:
        for archive in archives:
            with tarfile.open(archive) as one:
                for member in one:
                    tar.addfile(member, one.extractfile(member))
    return content.getvalue()


def text_file(path: str, lines: Iterable[str]) -> ResultFile:
    """Return a result file of these lines."""
    return ResultFile(path, "".join(f"{line}\n" for line in lines).encode("ascii"))


def pack(files: Iterable[ResultFile], archive: Path) -> None:
    """Write a .tar.gz that has no clock, user or host in it, so that equal files make equal archives."""
    with (
        archive.open("wb") as raw,
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=6, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar,
    ):
        for file in files:
            member = tarfile.TarInfo(f"results/{NAME}/{file.path}")
            member.size = len(file.content)
            tar.addfile(member, io.BytesIO(file.content))
