"""The files of an archive of any supported kind, or of a plain folder, without extracting anything."""

import os
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from tarfile import BLOCKSIZE
from typing import BinaryIO, Final, NoReturn

from ..data.description import Limits
from ..errors import Problem, Problems, Rule, SubmissionError, named, shown
from . import tarballs, zips
from .members import GZIP, XZ, Codec, Member, Meter, Names, Plain, Stream, Unpacked
from .members import ToolNames as ToolNames  # noqa: PLC0414 - for those who open archives


def folder_members(folder: Path, meter: Meter, names: Names) -> Iterator[Member]:
    """Every regular file below the folder, by name; links are not followed. Raises OSError for what cannot be read, PathError for a file."""
    for here, folders, files in os.walk(folder, onerror=_give_up):
        folders.sort()
        for name in sorted((*folders, *files)):
            meter.count_member()
            path = Path(here, name)
            if name in folders:
                meter.count_folder()
            inside = path.relative_to(folder).as_posix()
            problem = _fault(path, inside)
            if problem is not None:
                names.problems.add(problem)
            elif (safe := names.accept(inside, folder=path.is_dir())) is not None and path.is_file():
                meter.allow_member(safe, path.stat().st_size)
                yield Member(safe, partial(_read, path, safe, meter))


def alone(file: Path, name: str, meter: Meter) -> Member:
    """A file that is given without an archive, as if it lay in one under this name. Raises PathError."""
    meter.count_member()
    with named(file):
        meter.allow_member(name, file.stat().st_size)
    return Member(name, partial(_read, file, name, meter))


def _give_up(error: OSError) -> NoReturn:
    raise error


def _fault(path: Path, inside: str) -> Problem | None:
    if path.is_symlink():
        return Problem("link", Rule("a link; only files and folders are allowed"), shown(inside))
    if not path.is_dir() and not path.is_file():
        return Problem(
            "special-file", Rule("a device, FIFO or other special file, not a regular one"), shown(inside)
        )
    return None


def _read(path: Path, name: str, meter: Meter) -> bytes:
    with named(path), path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        data = file.read(min(meter.limits.max_file_bytes, size) + 1)
    meter.allow_member(name, len(data))
    meter.count_bytes(len(data))
    return data


_CODECS: Final[Mapping[str, Codec]] = {".tar.gz": GZIP, ".tar.xz": XZ}
_MAGIC: Final[Mapping[bytes, str]] = {
    GZIP.magic: ".tar.gz",
    XZ.magic: ".tar.xz",
    b"PK\x03\x04": ".zip",
    b"PK\x05\x06": ".zip",
}
_ELSEWHERE: Final[Mapping[bytes, str]] = {
    b"BZh": "bzip2",
    b"7z\xbc\xaf\x27\x1c": "7-Zip",
    b"Rar!": "RAR",
    b"\x28\xb5\x2f\xfd": "Zstandard",
}
_SINGLE: Final[Mapping[bytes, str]] = {
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"%PDF": "a PDF document",
    b"\x93NUMPY": "a NumPy array",
    b"\x89HDF": "an HDF5 file",
}
_ENDINGS: Final[Mapping[str, str]] = {
    ".tar.gz": ".tar.gz",
    ".tgz": ".tar.gz",
    ".tar.xz": ".tar.xz",
    ".txz": ".tar.xz",
    ".tar": ".tar",
    ".zip": ".zip",
}
_SUPPORTED: Final = "supported types are .tar.gz, .tgz, .tar, .tar.xz and .zip"
_SUPPORTED_WITH_JSON: Final = "supported types are .json, .json.gz, .tar.gz, .tgz, .tar, .tar.xz and .zip"


def walk(
    path: Path,
    meter: Meter | Limits,
    problems: Problems,
    *,
    name: str | None = None,
    json: bool = False,
    of_tools: ToolNames | None = None,
) -> Iterator[Member]:
    """Every file of an archive or a plain folder, in order; each must be read before the next is requested.

    meter: counts what is read, or the limits of a new one; name: the archive's name as uploaded, if it differs from that of the path; json: a JSON file, compressed or not, counts as an
    archive of this one file; of_tools: as in `Names`. A member with an invalid name or type becomes
    a problem and is left out. Raises SubmissionError when the archive as a whole cannot be trusted, PathError when it cannot be opened.
    """
    meter = Meter.of(path, meter) if isinstance(meter, Limits) else meter
    names = Names(meter.limits, problems, of_tools)
    if path.is_dir():
        yield from folder_members(path, meter, names)
        return
    with named(path):
        opened = path.open("rb")
    with opened as file:
        name = name or path.name
        kind = meter.kind = _kind(file, name, json=json)
        if kind == ".zip":
            yield from zips.members(file, meter, names)
            return
        codec = _CODECS.get(kind)
        stream = Stream(Plain(file) if codec is None else Unpacked(file, codec), meter)
        if json and _is_json(stream.peek(BLOCKSIZE)):
            meter.count_member()
            yield Member(_unpacked_name(name), partial(_read_whole, stream, name))
            return
        if codec is not None:
            _check_that_it_is_tar(stream.peek(BLOCKSIZE), codec)
        yield from tarballs.members(stream, meter, names)


def is_archive(path: Path) -> bool:
    """Whether a file begins as an archive of a supported type does, or as a compressed file. Raises PathError."""
    with named(path), path.open("rb") as file:
        head = file.read(BLOCKSIZE)
    return tarballs.is_header(head) or any(head.startswith(magic) for magic in _MAGIC)


def type_of(head: bytes) -> str | None:
    r"""The type of an archive or of a compressed file by its first 512 bytes, supported or not; None if these begin neither.

    >>> type_of(b"Rar!"), type_of(b"PK\x03\x04"), type_of(b"{}")
    ('RAR', '.zip', None)
    """
    found = next((kind for magic, kind in {**_MAGIC, **_ELSEWHERE}.items() if head.startswith(magic)), None)
    return found or (".tar" if head.strip(b"\0") and tarballs.is_header(head) else None)


def _is_json(head: bytes) -> bool:
    """Whether a file that is no tar archive begins as JSON does."""
    return not tarballs.is_header(head) and head.removeprefix(BOM_UTF8).lstrip()[:1] in (b"[", b"{")


def _unpacked_name(name: str) -> str:
    """The name of a compressed JSON file after unpacking, which always ends in .json."""
    stem = shown(name.rpartition("/")[2])
    for ending in (".gz", ".xz"):
        stem = stem.removesuffix(ending)
    return stem if stem.lower().endswith(".json") else f"{stem}.json"


def _read_whole(stream: Stream, name: str) -> bytes:
    data = stream.read(stream.meter.limits.max_file_bytes + 1)
    stream.meter.allow_member(name, len(data))
    return data


def _kind(file: BinaryIO, name: str, *, json: bool) -> str:
    """The kind of archive by its first bytes. Raises SubmissionError if the extension of its name is of another kind."""
    head = file.read(BLOCKSIZE)
    file.seek(0)
    if json and _is_json(head):
        return ".json"
    kind = _kind_by_magic(head, _SUPPORTED_WITH_JSON if json else _SUPPORTED)
    said = next((kind for ending, kind in _ENDINGS.items() if name.lower().endswith(ending)), kind)
    if said != kind:
        message = (
            f"the archive's type is {kind}, its name ends as if it were {said}; give it the right extension"
        )
        raise SubmissionError(Problem("wrong-extension", Rule(message), found=kind, expected=said))
    return kind


def _kind_by_magic(head: bytes, supported: str) -> str:
    if not head:
        raise SubmissionError(Problem("empty", Rule("the archive is empty: 0 bytes")))
    for magic, kind in _MAGIC.items():
        if head.startswith(magic):
            return kind
    if tarballs.is_header(head):
        return ".tar"
    for magic, other in _ELSEWHERE.items():
        if head.startswith(magic):
            raise SubmissionError(
                Problem("unsupported-type", Rule(f"the archive's type is {other}; {supported}"), found=other)
            )
    single = next((what for magic, what in _SINGLE.items() if head.startswith(magic)), None)
    found = (
        "not an archive of a known type" if single is None else f"{single}, not an archive of result files"
    )
    raise SubmissionError(
        Problem("unsupported-type", Rule(f"{found}; {supported}"), found=single or shown(head[:8]))
    )


def _check_that_it_is_tar(head: bytes, codec: Codec) -> None:
    if not head:
        raise SubmissionError(
            Problem("empty", Rule(f"the archive is empty: no file in the {codec.name} data"))
        )
    if any(head.startswith(magic) for magic in (*_MAGIC, *_ELSEWHERE)):
        message = (
            f"nested: the {codec.name} data holds another archive; expected one tar archive, packed once"
        )
        raise SubmissionError(Problem("nested-archive", Rule(message)))
    if not tarballs.is_header(head):
        message = f"the {codec.name} data is not in the tar format; pack the files with tar first"
        raise SubmissionError(Problem("not-tar", Rule(message)))
