"""Sequential reading of plain and compressed files, with every byte counted."""

import lzma
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import BinaryIO, Final, Protocol

from isal import igzip_lib

from scoring.archives.archive.limits import Meter
from scoring.errors import Problem, Rule, SubmissionError

_PACKED: Final = 256 << 10  # bytes read at once
_UNPACKED: Final = 1 << 20  # bytes made of them at most at once
_AT_ONCE: Final = 256 << 10  # bytes made of them at least, if there are so many
_MEMORY: Final = 128 << 20  # what xz may ask for; `xz -9` asks for 65 MiB
DAMAGED: Final[type[Exception]] = igzip_lib.IsalError  # type: ignore[assignment]  # its stub says it is an instance


class Decompressor(Protocol):
    """The interface of the libraries' decompressors."""

    @property
    def eof(self) -> bool:
        """Whether the compressed stream has ended with a correct checksum."""

    @property
    def needs_input(self) -> bool:
        """Whether more compressed input is needed."""

    @property
    def unused_data(self) -> bytes:
        """Input after the end of the stream."""

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        """Unpack some more."""


@dataclass(frozen=True, slots=True)
class Codec:
    """A compression format: its name, the magic bytes of its streams, its decompressor and the errors of that."""

    name: str
    magic: bytes
    start: Callable[[], Decompressor]
    error: type[Exception]


GZIP: Final = Codec(
    "gzip",
    b"\x1f\x8b",
    lambda: igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP),
    DAMAGED,
)
XZ: Final = Codec(
    "xz",
    b"\xfd7zXZ\x00",
    lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MEMORY),
    lzma.LZMAError,
)


class Source(Protocol):
    """A source of bytes; empty at the end."""

    def take(self, most: int) -> bytes:
        """Read the next bytes."""


@dataclass(slots=True)
class Plain:
    """An uncompressed file."""

    file: BinaryIO

    def take(self, most: int) -> bytes:
        """Read the next bytes; empty at the end."""
        return self.file.read(most)


@dataclass(slots=True)
class Unpacked:
    """The content of a compressed file. Concatenated streams are one, as in gzip and xz."""

    file: BinaryIO
    codec: Codec
    _rest: bytes = b""
    _current: Decompressor | None = field(init=False)

    def __post_init__(self) -> None:
        self._current = self.codec.start()

    def take(self, most: int) -> bytes:
        """Read the next bytes; empty at the end. Raises SubmissionError for a damaged or truncated stream."""
        while self._current is not None:
            packed = self._packed() if self._current.needs_input else b""
            try:
                data = self._current.decompress(packed, most)
            except self.codec.error as error:
                message = (
                    f"damaged: the {self.codec.name} data cannot be unpacked, or its checksum (CRC) is wrong"
                )
                raise SubmissionError(Problem("damaged", Rule(message))) from error
            if self._current.eof:
                self._current = self._next(self._current.unused_data)
            if data:
                return data
        return b""

    def _packed(self) -> bytes:
        packed, self._rest = self._rest or self.file.read(_PACKED), b""
        if not packed:
            message = (
                f"truncated: the {self.codec.name} data ends in the middle; the upload may be incomplete"
            )
            raise SubmissionError(Problem("truncated", Rule(message)))
        return packed

    def _next(self, rest: bytes) -> Decompressor | None:
        """Start the next concatenated stream, if there is one; zeros between and after streams are padding."""
        rest = rest.lstrip(b"\0")
        while len(rest) < len(self.codec.magic):
            more = self.file.read(_PACKED)
            if not more:
                break
            rest = (rest + more).lstrip(b"\0")
        if not rest:
            return None
        if not rest.startswith(self.codec.magic):
            message = f"trailing data: something that is not {self.codec.name} follows the archive"
            raise SubmissionError(Problem("trailing-data", Rule(message)))
        self._rest = rest
        return self.codec.start()


@dataclass(slots=True)
class Stream:
    """A source whose bytes are counted, with a position.

    Taken in large pieces: a call for every header alone would give up the interpreter's lock each time, and
    waits for the threads that score.
    """

    source: Source
    meter: Meter
    position: int = 0
    _ready: bytes = b""
    _used: int = 0

    def read(self, size: int) -> bytes:
        """Read a number of bytes, fewer only at the end."""
        parts = []
        missing = size
        while missing and (part := self._take(missing)):
            parts.append(part)
            missing -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def skip_to(self, position: int) -> bool:
        """Skip bytes; false if the end comes first."""
        while self.position < position:
            if not self._take(position - self.position):
                return False
        return True

    def peek(self, size: int) -> bytes:
        """The next bytes, without advancing."""
        ready = self.read(size)
        self._ready, self._used = ready + self._ready[self._used :], 0
        self.position -= len(ready)
        return ready

    def _take(self, most: int) -> bytes:
        if self._used == len(self._ready):
            self._ready, self._used = self.source.take(max(_AT_ONCE, min(most, _UNPACKED))), 0
            self.meter.count_bytes(len(self._ready))
        part = self._ready[self._used : self._used + most]
        self._used += len(part)
        self.position += len(part)
        return part
