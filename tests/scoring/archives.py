"""Builders of valid and broken archives."""

import gzip
import io
import lzma
import struct
import tarfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from heldout_scoring.archives.members import Meter
from heldout_scoring.archives.opening import walk
from heldout_scoring.data.description import Description, Image, Limits
from heldout_scoring.errors import Problem, Problems, SubmissionError

CLASSES = ("bird", "boat", "car")
ACTIONS = ("reading", "running")
IMAGES = ("000001", "000002", "000003")
FOLDER = "results/VOC2012/Main"


def description(dataset: str = "VOC2012", image_set: str = "test") -> Description:
    return Description(
        dataset=dataset,
        image_set=image_set,
        classes=CLASSES,
        actions=ACTIONS,
        images=tuple(Image(name, 500, 375) for name in IMAGES),
        segmentation=IMAGES,
        persons=((IMAGES[0], 1),),
        acting=((IMAGES[0], 1),),
    )


def lines(*images: str) -> bytes:
    return "".join(f"{image} 0.5 10 20 110 220\n" for image in images or IMAGES).encode()


def detections(number: int = 3, folder: str = FOLDER, classes: Iterable[str] = CLASSES) -> dict[str, bytes]:
    return {f"{folder}/comp{number}_det_test_{name}.txt".lstrip("/"): lines() for name in classes}


def tar(files: Mapping[str, bytes | tarfile.TarInfo], kind: int = tarfile.PAX_FORMAT) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=kind) as archive:
        for name, content in files.items():
            if isinstance(content, tarfile.TarInfo):
                archive.addfile(content)
            else:
                archive.addfile(special(name, tarfile.REGTYPE, size=len(content)), io.BytesIO(content))
    return packed.getvalue()


def special(name: str, kind: bytes, *, size: int = 0, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.size, info.linkname = kind, size, link
    return info


def header(name: str, kind: bytes = tarfile.REGTYPE, size: int = 0) -> bytes:
    """One block of a tar header, for any size, even one that no library would write."""
    block = bytearray(special(name, kind).tobuf(tarfile.USTAR_FORMAT))
    block[124:136] = b"%011o\0" % size if size >= 0 else b"\xff" + (size & (1 << 88) - 1).to_bytes(11, "big")
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def extension(kind: bytes, content: bytes) -> bytes:
    return header("extension", kind, len(content)) + content + bytes(-len(content) % 512)


def record(key: str, value: str) -> bytes:
    tail = f" {key}={value}\n".encode()
    length = len(tail) + 2
    return b"%d" % (length if length > 99 else len(tail) + len(str(length))) + tail


END = bytes(1024)


@dataclass(frozen=True)
class Zipped:
    """One file of a zip archive; fields that are None get their correct value."""

    name: str
    data: bytes = b"x"
    method: int = 8
    flags: int = 0
    packed: bytes | None = None
    size: int | None = None
    crc: int | None = None
    mode: int = 0o100644
    extra: bytes = b""
    own_name: str | None = None
    own_method: int | None = None
    own_crc: int | None = None
    own_size: int | None = None
    behind: bytes = b""

    @property
    def content(self) -> bytes:
        if self.packed is not None:
            return self.packed
        return deflated(self.data) if self.method == 8 else self.data

    def common(self, *, own: bool) -> bytes:
        crc = zlib.crc32(self.data) if self.crc is None else self.crc
        size = len(self.data) if self.size is None else self.size
        method = self.method
        if own:
            crc = crc if self.own_crc is None else self.own_crc
            size = size if self.own_size is None else self.own_size
            method = method if self.own_method is None else self.own_method
        return struct.pack("<4H3L", self.flags, method, 0, 0x4021, crc, len(self.content), size)


@dataclass(frozen=True)
class End:
    """The end of a zip archive; fields that are None get their correct value."""

    count: int | None = None
    disk: int = 0
    comment: bytes = b""
    shift: int = 0
    extra_bytes: bytes = field(default=b"")


AS_IT_SHOULD_BE = End()


def zipped(files: Iterable[Zipped], end: End = AS_IT_SHOULD_BE, before: bytes = b"") -> bytes:
    body, directory, count = bytearray(before), bytearray(), 0
    for file in files:
        name, own_name = (text.encode() for text in (file.name, file.own_name or file.name))
        place = len(body)
        body += b"PK\3\4\x14\0" + file.common(own=True) + struct.pack("<2H", len(own_name), 0) + own_name
        body += file.content + file.behind
        directory += b"PK\1\2\x14\3\x14\0" + file.common(own=False)
        directory += struct.pack("<5H2L", len(name), len(file.extra), 0, 0, 0, file.mode << 16, place)
        directory += name + file.extra
        count += 1
    count = count if end.count is None else end.count
    start = len(body) + end.shift
    tail = struct.pack("<4H2LH", end.disk, end.disk, count, count, len(directory), start, len(end.comment))
    return bytes(body) + bytes(directory) + end.extra_bytes + b"PK\5\6" + tail + end.comment


def zip_of(files: Mapping[str, bytes]) -> bytes:
    return zipped(Zipped(name, data) for name, data in files.items())


def deflated(data: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


def gz(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


def xz(data: bytes) -> bytes:
    return lzma.compress(data, preset=0)


@dataclass
class Walked:
    """The outcome of walking through an archive."""

    files: dict[str, bytes]
    problems: Problems
    meter: Meter
    error: SubmissionError | None = None

    @property
    def codes(self) -> list[str]:
        return [problem.code for problem in self.said]

    @property
    def said(self) -> tuple[Problem, ...]:
        return self.problems.listed + (self.error.problems if self.error else ())


def walked(path: Path, limits: Limits | None = None, name: str | None = None) -> Walked:
    meter = Meter.of(path, limits or Limits())
    result = Walked({}, Problems(), meter)
    try:
        for member in walk(path, meter, result.problems, name=name):
            result.files[member.name] = member.read()
    except SubmissionError as error:
        result.error = error
    return result


def written(folder: Path, data: bytes, name: str = "results.bin") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path
