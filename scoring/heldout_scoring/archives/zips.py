"""The members of a zip archive.

The library reads the directory; here it is compared with the rest of the file, every byte of which must belong to
exactly one member, so that all programs see the same archive.
"""

import struct
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from stat import S_IFMT, S_ISDIR, S_ISLNK, S_ISREG
from typing import BinaryIO, Final
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipInfo
from zlib import crc32

from ..errors import Problem, Rule, SubmissionError, shown
from .members import Member, Meter, Names, ToolNames, igzip

_END: Final = struct.Struct("<4s4H2LH")
_END_MAGIC: Final = b"PK\x05\x06"
_LONGEST_COMMENT: Final = 0xFFFF
# zip64: the same end in wider fields, and behind it where it is
_WIDE_END: Final = struct.Struct("<4sQ2H2L4Q")
_WIDE_END_MAGIC: Final = b"PK\x06\x06"
_LOCATOR: Final = struct.Struct("<4sLQL")
_LOCATOR_MAGIC: Final = b"PK\x06\x07"
_WIDE_FIELD: Final = 1  # kind of the extra field with wide sizes
_LARGEST_DIRECTORY: Final = 32 << 20
_LARGEST_RECORD: Final = 400  # bytes of the directory for each file that is allowed
_LOCAL: Final = struct.Struct("<4s5H3L2H")
_LOCAL_MAGIC: Final = b"PK\x03\x04"
_METHODS: Final = {
    9: "Deflate64",
    12: "bzip2",
    14: "LZMA",
    93: "Zstandard",
    95: "XZ",
    98: "PPMd",
}  # that are not read
_ENCRYPTED: Final = 0x1 | 0x40 | 0x2000
_SIZES_FOLLOW: Final = 0x8
_UTF_8: Final = 0x800
_OF_WINDOWS: Final = (0, 11)  # systems of programs that declare UTF-8: with FAT or NTFS
_DESCRIPTORS: Final[tuple[int, ...]] = (0, 12, 16, 20, 24)  # bytes behind a member whose sizes follow it
_NONE: Final[tuple[int, ...]] = (0,)
_UNICODE_NAME: Final = 0x7075
_TWO_NAMES: Final = "a mismatch: a file has two different names"
_FRAMING: Final = 64 << 10  # bytes by which a packed file may be larger than its content
_LARGE: Final = 0xFFFFFFFF  # stands for a size or a place that is given in a wider field
_NARROW_MOST: Final = 0xFFFF  # stands for a count that is
_MOST: Final = (*(_NARROW_MOST,) * 4, _LARGE, _LARGE)


@dataclass(frozen=True, slots=True)
class Extent:
    """A member: its name, and the position of its content in the file."""

    info: ZipInfo
    name: str
    start: int

    @property
    def end(self) -> int:
        """The position after the content."""
        return self.start + self.info.compress_size


def members(file: BinaryIO, meter: Meter, names: Names) -> Iterator[Member]:
    """Every regular file, in the order of the archive. Raises SubmissionError when the archive cannot be trusted."""
    infos, end = _directory(file, meter)
    for info in infos:
        meter.allow_member(info.orig_filename, info.file_size)
    meant = partial(_name_as_meant, names.of_tools) if names.of_tools else _name_as_declared
    extents = [
        _extent(file, info, meant(info)) for info in sorted(infos, key=lambda info: info.header_offset)
    ]
    _check_that_they_fill(extents, end)
    meter.allow_total(sum(info.file_size for info in infos))
    for extent in extents:
        meter.count_member()
        info = extent.info
        is_folder = extent.name.endswith("/")
        if is_folder:
            meter.count_folder()
        problem = _fault(info)
        if problem is not None:
            names.problems.add(problem)
            continue
        name = names.accept(extent.name, folder=is_folder)
        if name is not None and not is_folder:
            yield Member(name, partial(_read, file, extent, meter), _seconds(info))


def _seconds(info: ZipInfo) -> float:
    """The time stamp of an entry, whose parts may be no date: as if all months had 32 days."""
    year, month, day, hour, minute, second = info.date_time
    return ((((year * 13 + month) * 32 + day) * 24 + hour) * 60 + minute) * 60 + second


def _directory(file: BinaryIO, meter: Meter) -> tuple[list[ZipInfo], int]:
    """The central directory, and its position in the file."""
    size = file.seek(0, 2)
    file.seek(max(0, size - _END.size - _LONGEST_COMMENT))
    tail = file.read()
    place = tail.rfind(_END_MAGIC)
    if place < 0 or len(tail) - place < _END.size:
        message = "truncated or damaged: the zip archive has no end; the upload may be incomplete"
        raise SubmissionError(Problem("truncated", Rule(message)))
    comment = _END.unpack_from(tail, place)[-1]
    if place + _END.size + comment < len(tail):
        message = "trailing data: something follows the end of the zip archive"
        raise SubmissionError(Problem("trailing-data", Rule(message)))
    count, length, start = _said_at_the_end(file, tail[place:], size - len(tail) + place)
    if count > meter.limits.max_files or length > max(
        _LARGEST_DIRECTORY, _LARGEST_RECORD * meter.limits.max_files
    ):
        message = f"too many entries: an archive may hold at most {meter.limits.max_files} files and folders"
        raise SubmissionError(Problem("too-many-members", Rule(message), found=str(count)))
    infos = _infos(file)
    if len(infos) != count:
        raise _malformed(f"a mismatch: its end counts {count} entries, its directory has {len(infos)}")
    return infos, start


def _said_at_the_end(file: BinaryIO, ending: bytes, place: int) -> tuple[int, int, int]:
    """How many entries the directory has, how long it is and where it begins, as the end at this place says, wide or not."""
    _, disk, first_disk, here, count, length, start, _ = _END.unpack_from(ending)
    end, is_wide = place, _NARROW_MOST in (here, count) or _LARGE in (length, start)
    file.seek(max(0, place - _LOCATOR.size))
    locator = file.read(_LOCATOR.size)
    if is_wide or locator.startswith(_LOCATOR_MAGIC):
        end = place - _LOCATOR.size - _WIDE_END.size
        file.seek(max(0, end))
        wide = file.read(_WIDE_END.size)
        if end < 0 or not (locator.startswith(_LOCATOR_MAGIC) and wide.startswith(_WIDE_END_MAGIC)):
            raise _malformed("its end says that it is in zip64, and what belongs to that is not there")
        narrow = (disk, first_disk, here, count, length, start)
        _, rest, _, _, disk, first_disk, here, count, length, start = _WIDE_END.unpack(wide)
        _, located_disk, located, disks = _LOCATOR.unpack(locator)
        same = all(
            short in (most, long)
            for short, long, most in zip(
                narrow, (disk, first_disk, here, count, length, start), _MOST, strict=True
            )
        )
        if rest != _WIDE_END.size - 12 or located_disk or located != end or disks > 1 or not same:
            raise _malformed("a mismatch: its two ends, of zip and of zip64, do not say the same")
    if disk or first_disk or here != count:
        raise _malformed("it is one part of a split archive")
    if start + length != end:
        raise _malformed(
            "its directory is not where its end says; something stands before, between or behind"
        )
    return count, length, start


def _infos(file: BinaryIO) -> list[ZipInfo]:
    try:
        with zipfile.ZipFile(file) as archive:
            return archive.infolist()
    except UnicodeDecodeError as error:
        raise _malformed("a name is not encoded as UTF-8") from error
    except (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error) as error:
        raise _malformed("its directory is corrupt") from error


def _extent(file: BinaryIO, info: ZipInfo, meant: str) -> Extent:
    """Locate an entry's content. Raises SubmissionError if its local header differs from the directory."""
    file.seek(info.header_offset)
    header = file.read(_LOCAL.size)
    if len(header) < _LOCAL.size or not header.startswith(_LOCAL_MAGIC):
        raise _malformed("corrupt, its directory points to where no file begins")
    _, _, flags, method, _, _, checksum, packed, size, name_length, extra_length = _LOCAL.unpack(header)
    name = file.read(name_length).decode("utf-8" if flags & _UTF_8 else "cp437", "surrogateescape")
    if name != info.orig_filename:
        raise _malformed(_TWO_NAMES)
    same = (flags, method) == (info.flag_bits, info.compress_type)
    if not flags & _SIZES_FOLLOW:
        if _LARGE in (packed, size):
            packed, size = _wide_sizes(file.read(extra_length), packed, size)
        same = same and (checksum, packed, size) == (info.CRC, info.compress_size, info.file_size)
    if not same:
        raise _malformed("a mismatch: a file's header does not say what the directory says")
    return Extent(info, meant, info.header_offset + _LOCAL.size + name_length + extra_length)


def _wide_sizes(extra: bytes, packed: int, size: int) -> tuple[int, int]:
    """The sizes of a local header, of which the large ones stand in the field of zip64: first the unpacked, then the packed."""
    wide = next((content for kind, content in _extra_fields(extra) if kind == _WIDE_FIELD), b"")
    large = [number for (number,) in struct.iter_unpack("<Q", wide[: len(wide) // 8 * 8])]
    if len(large) < (packed, size).count(_LARGE):
        raise _malformed("a mismatch: a file's header gives no size")
    size, packed = (large.pop(0) if each == _LARGE else each for each in (size, packed))
    return packed, size


def _name_as_declared(info: ZipInfo) -> str:
    """The name of an entry. Raises SubmissionError if an extra field gives it a second name, which some programs prefer."""
    if any(kind == _UNICODE_NAME for kind, _ in _extra_fields(info.extra)):
        raise _malformed(_TWO_NAMES)
    return info.orig_filename


def _name_as_meant(tools: ToolNames, info: ZipInfo) -> str:
    """The name of an entry with slashes, in Unicode if an extra field or a flag has it so, or else in the encoding of tools.

    Raises SubmissionError if the extra field is of another name.
    """
    is_declared = info.flag_bits & _UTF_8 != 0
    raw = info.orig_filename.encode("utf-8" if is_declared else "cp437")
    for kind, content in _extra_fields(info.extra):
        if kind == _UNICODE_NAME:
            if content[1:5] != crc32(raw).to_bytes(4, "little"):
                raise _malformed(_TWO_NAMES)
            raw, is_declared = content[5:], True
    if not is_declared and not raw.isascii():
        tools.undeclared.append(raw)
        tools.is_of_windows |= info.create_system in _OF_WINDOWS
    return raw.decode("utf-8" if is_declared else tools.encoding, "surrogateescape").replace("\\", "/")


def _extra_fields(extra: bytes) -> Iterator[tuple[int, bytes]]:
    """The kind and the content of each extra field."""
    while len(extra) >= 4:
        kind, length = struct.unpack_from("<2H", extra)
        yield kind, extra[4 : 4 + length]
        extra = extra[4 + length :]


def _check_that_they_fill(extents: list[Extent], end: int) -> None:
    """Check that every byte before the directory belongs to exactly one entry."""
    place, spare = 0, _NONE
    for extent in extents:
        _check_gap(extent.info.header_offset - place, spare)
        place, spare = extent.end, _DESCRIPTORS if extent.info.flag_bits & _SIZES_FOLLOW else _NONE
    _check_gap(end - place, spare)


def _check_gap(gap: int, allowed: tuple[int, ...]) -> None:
    if gap < 0:
        raise _malformed("files overlap")
    if gap not in allowed:
        raise _malformed("something stands before or between its files")


def _fault(info: ZipInfo) -> Problem | None:
    name, mode = shown(info.orig_filename), info.external_attr >> 16
    if S_ISLNK(mode):
        return Problem("link", Rule("a link; only files and folders are allowed"), name)
    if S_IFMT(mode) and not S_ISREG(mode) and not S_ISDIR(mode):
        return Problem("special-file", Rule("a device or other special file, not a regular one"), name)
    if info.flag_bits & _ENCRYPTED:
        return Problem("encrypted", Rule("encrypted with a password; send it without"), name)
    if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        kind = _METHODS.get(info.compress_type, "unknown")
        message = (
            f"unsupported compression method {info.compress_type} ({kind}); expected 'stored' or 'deflate'"
        )
        if kind == "Deflate64":
            message += "; Windows uses it for large files, so use another program, or send a .tar"
        return Problem(
            "compression-method", Rule(message), name, found=str(info.compress_type), expected="0 or 8"
        )
    return None


def _read(file: BinaryIO, extent: Extent, meter: Meter) -> bytes:
    info = extent.info
    if info.compress_size > info.file_size + _FRAMING:
        raise _damaged(info)
    file.seek(extent.start)
    data = file.read(info.compress_size)
    if info.compress_type == ZIP_DEFLATED:
        data = _inflate(data, info)
    meter.count_bytes(len(data))
    if len(data) != info.file_size or crc32(data) != info.CRC:
        raise _damaged(info)
    return data


def _inflate(packed: bytes, info: ZipInfo) -> bytes:
    decompressor = igzip().IgzipDecompressor(flag=igzip().DECOMP_DEFLATE)
    try:
        data: bytes = decompressor.decompress(packed, info.file_size + 1)
    except igzip().IsalError as error:
        raise _damaged(info) from error
    if not decompressor.eof or decompressor.unused_data:
        raise _damaged(info)
    return data


def _damaged(info: ZipInfo) -> SubmissionError:
    message = "damaged: the file's size or checksum (CRC) is not what the archive says"
    return SubmissionError(Problem("damaged", Rule(message), shown(info.orig_filename)))


def _malformed(why: str) -> SubmissionError:
    return SubmissionError(Problem("malformed", Rule(f"not a valid zip archive: {why}")))
