"""The members of a tar archive, read sequentially.

The header blocks are read by the library; what lies between them is read here, because the library reads extension
headers of any size, follows chains of them as deep as they are, and counts on sizes being true.
"""

import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from tarfile import (
    AREGTYPE,
    BLOCKSIZE,
    DIRTYPE,
    GNUTYPE_LONGLINK,
    GNUTYPE_LONGNAME,
    GNUTYPE_SPARSE,
    LNKTYPE,
    REGTYPE,
    SYMTYPE,
    XGLTYPE,
    XHDTYPE,
    TarInfo,
)
from typing import Final

from ..errors import Problem, Rule, SubmissionError, shown
from .members import Member, Meter, Names, Stream

_EXTENSIONS: Final = {GNUTYPE_LONGNAME, GNUTYPE_LONGLINK, XHDTYPE, XGLTYPE}
_MOST_EXTENSIONS: Final = 6  # before one member; GNU tar writes two, pax two
_LONGEST_EXTENSION: Final = 64 << 10
_LONGEST_NUMBER: Final = 20  # digits


@dataclass(slots=True)
class Entry:
    """The header of a member."""

    name: str
    kind: bytes
    size: int
    modified: float


def members(stream: Stream, meter: Meter, names: Names) -> Iterator[Member]:
    """Every regular file, in order. Raises SubmissionError when the archive cannot be read any further."""
    while (entry := _next_entry(stream)) is not None:
        meter.count_member()
        meter.allow_member(entry.name, entry.size)
        if entry.kind == DIRTYPE:
            meter.count_folder()
        end = stream.position + (_in_blocks(entry.size) if _has_content(entry) else 0)
        problem = _fault(entry)
        if problem is not None:
            names.problems.add(problem)
        else:
            name = names.accept(entry.name, folder=entry.kind == DIRTYPE)
            if name is not None and entry.kind != DIRTYPE:
                yield Member(name, partial(_read, stream, entry), entry.modified)
        if not stream.skip_to(end):
            raise _truncated()
    _read_to_the_end(stream)


def is_header(block: bytes) -> bool:
    """Whether these 512 bytes can be the first header of a tar archive."""
    if not block.strip(b"\0"):
        return len(block) == BLOCKSIZE
    try:
        TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return False
    return True


def _read(stream: Stream, entry: Entry) -> bytes:
    data = stream.read(entry.size)
    if len(data) < entry.size:
        raise _truncated()
    return data


def _in_blocks(size: int) -> int:
    return -(-size // BLOCKSIZE) * BLOCKSIZE


def _has_content(entry: Entry) -> bool:
    return entry.kind not in (DIRTYPE, LNKTYPE, SYMTYPE)


def _fault(entry: Entry) -> Problem | None:
    name = shown(entry.name)
    if entry.kind in (LNKTYPE, SYMTYPE):
        return Problem("link", Rule("a link; only files and folders are allowed"), name)
    if entry.kind == GNUTYPE_SPARSE:
        return Problem("special-file", Rule("a sparse file; this type is not supported"), name)
    if entry.kind not in (REGTYPE, DIRTYPE):
        return Problem("special-file", Rule("a device, FIFO or other special file, not a regular one"), name)
    return None


def _next_entry(stream: Stream) -> Entry | None:
    """Read the headers of the next member; None at the end-of-archive marker."""
    records: dict[bytes, bytes] = {}
    for _ in range(_MOST_EXTENSIONS):
        header = _next_header(stream)
        if header is None:
            return None
        if header.type not in _EXTENSIONS:
            return _described(header, records)
        content = _extension(stream, header)
        if header.type == GNUTYPE_LONGNAME:
            records[b"path"] = content.rstrip(b"\0")
        elif header.type == XHDTYPE:
            records |= _records(content)
        elif header.type == XGLTYPE:
            _records(content)  # what is said of all members at once names none of them
    raise _malformed("a file has more extension headers than any program writes")


def _next_header(stream: Stream) -> TarInfo | None:
    block = stream.read(BLOCKSIZE)
    if len(block) < BLOCKSIZE:
        raise _truncated()
    if not block.strip(b"\0"):
        return None
    try:
        header = TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except tarfile.HeaderError as error:
        raise _malformed("a header is damaged, its checksum is wrong") from error
    if header.size < 0:
        raise _malformed("a header gives a negative size")
    return header


def _extension(stream: Stream, header: TarInfo) -> bytes:
    if header.size > _LONGEST_EXTENSION:
        raise _malformed(f"an extension header, such as a long name, is too large: {header.size} bytes")
    content = stream.read(_in_blocks(header.size))
    if len(content) < header.size:
        raise _truncated()
    return content[: header.size]


def _records(content: bytes) -> dict[bytes, bytes]:
    """The records of a pax header: `<length> <key>=<value>` and a line feed, where length counts the whole record."""
    records = {}
    start = 0
    while start < len(content):
        digits, _, _ = content[start : start + _LONGEST_NUMBER].partition(b" ")
        length = int(digits) if digits.isdigit() else 0
        record = content[start : start + length]
        key, equals, value = record[len(digits) + 1 : -1].partition(b"=")
        if not (equals and len(record) == length and record.endswith(b"\n")):
            raise _malformed("an extension header (pax) is damaged")
        records[key] = value
        start += length
    return records


def _described(header: TarInfo, records: dict[bytes, bytes]) -> Entry:
    path = records.get(b"path")
    name = header.name if path is None else path.decode("utf-8", "surrogateescape")
    size = records.get(b"size", b"%d" % header.size)
    if not size.isdigit() or len(size) > _LONGEST_NUMBER:
        raise _malformed("an extension header gives a size that is no size")
    kind = REGTYPE if header.type == AREGTYPE else header.type
    if any(key.startswith(b"GNU.sparse.") for key in records):
        kind = GNUTYPE_SPARSE
    return Entry(name, kind, int(size), header.mtime)


def _read_to_the_end(stream: Stream) -> None:
    """Read the padding, so that the checksum of a compressed stream is verified; nothing but zeros is allowed."""
    while block := stream.read(BLOCKSIZE << 8):
        if block.strip(b"\0"):
            raise SubmissionError(
                Problem("trailing-data", Rule("trailing data: something follows the end of the archive"))
            )


def _truncated() -> SubmissionError:
    message = "truncated: the tar archive ends in the middle; the upload may be incomplete"
    return SubmissionError(Problem("truncated", Rule(message)))


def _malformed(why: str) -> SubmissionError:
    return SubmissionError(Problem("malformed", Rule(f"not a valid tar archive: {why}")))
