"""One file of an archive: its name, and its content read within limits."""

import lzma
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol, Self

from ..data.description import Limits
from ..errors import Problem, Problems, Rule, SubmissionError, from_extra, named, shown

_MIB = 1 << 20


@dataclass(slots=True)
class Meter:
    """Counts what is actually read of an archive, whatever its headers say.

    packed: bytes of the archive, None for a plain folder; kind: such as ".tar.gz".
    """

    limits: Limits
    packed: int | None = None
    kind: str = ""
    members: int = 0
    folders: int = 0
    unpacked: int = 0

    @classmethod
    def of(cls, path: Path, limits: Limits) -> Self:
        """The meter of the archive or folder at a path. Raises PathError where there is none."""
        with named(path):
            return cls(limits, None if path.is_dir() else path.stat().st_size)

    def count_member(self) -> None:
        """Count one more entry: file, folder or other. Raises SubmissionError when there are too many."""
        self.members += 1
        if self.members > self.limits.max_files:
            message = (
                f"too many entries: an archive may hold at most {self.limits.max_files} files and folders"
            )
            raise SubmissionError(
                Problem("too-many-members", Rule(message), expected=str(self.limits.max_files))
            )

    def count_folder(self) -> None:
        """Note that the last entry was a folder."""
        self.folders += 1

    @property
    def files(self) -> int:
        """The entries that were not folders."""
        return self.members - self.folders

    def count_bytes(self, count: int) -> None:
        """Count unpacked bytes. Raises SubmissionError when there are too many."""
        self.unpacked += count
        self.allow_total(self.unpacked)

    def allow_total(self, total: int) -> None:
        """Raise SubmissionError if this number of unpacked bytes exceeds a limit."""
        if total > self.limits.max_unpacked_bytes:
            message = (
                f"too large: the content may have at most {in_mib(self.limits.max_unpacked_bytes)} unpacked"
            )
            raise SubmissionError(
                Problem("too-large", Rule(message), expected=in_mib(self.limits.max_unpacked_bytes))
            )
        if self.packed is not None and total > max(
            self.limits.ratio_from_bytes, self.limits.max_ratio * self.packed
        ):
            message = f"too large: unpacked, a {self.kind} archive may have at most {self.limits.max_ratio} times its size"
            raise SubmissionError(
                Problem("ratio", Rule(message), expected=f"a ratio of at most {self.limits.max_ratio}")
            )

    def allow_member(self, name: str, size: int) -> None:
        """Raise SubmissionError if a file of this size exceeds the limit."""
        if size > self.limits.max_file_bytes:
            most = in_mib(self.limits.max_file_bytes)
            message = f"too large: its size is {size} bytes unpacked; at most {most} are read"
            raise SubmissionError(
                Problem("file-too-large", Rule(message), shown(name), found=str(size), expected=most)
            )


def in_mib(size: int) -> str:
    """A size in MiB, for messages.

    >>> in_mib(128 << 20)
    '128 MiB'
    """
    return f"{size / _MIB:,.0f} MiB"


@dataclass(frozen=True, slots=True)
class Member:
    """A file of an archive: its safe name, and a function that reads it, to be called before the next member is requested.

    modified: its time stamp in seconds, for nothing but comparing those of one archive; None if there is none.
    """

    name: str
    read: Callable[[], bytes]
    modified: float | None = None


_DRIVE = re.compile(r"[A-Za-z]:")
_BOTH = "the name '{}' is given both to a file and to a folder"
_SURROGATE = re.compile("[\ud800-\udfff]")  # a byte that is not UTF-8


@dataclass(slots=True)
class ToolNames:
    """Names as any program writes them: with backslashes for slashes, and in a zip in an encoding that is not declared.

    encoding: of these; undeclared: those that are not ASCII, as they stand there; is_of_windows: whether a program for it, which by the standard
    writes UTF-8 where it declares it alone, has written one of them.
    """

    encoding: str = "utf-8"
    undeclared: list[bytes] = field(default_factory=list)
    is_of_windows: bool = False


@dataclass(slots=True)
class Names:
    """The names so far in one archive. of_tools: how they are read if any program may have written them."""

    limits: Limits
    problems: Problems
    of_tools: ToolNames | None = None
    _files: dict[str, str] = field(default_factory=dict)
    _folders: dict[str, str] = field(default_factory=dict)

    def accept(self, name: str, *, folder: bool) -> str | None:
        """The normalised name, without './' and '//'; None for an invalid one, which becomes a problem."""
        if self.of_tools:
            name = name.replace("\\", "/")
        problem = _fault(name, self.limits) or _fault_of_a_file(name, folder=folder)
        if problem is None:
            parts = _parts(unicodedata.normalize("NFC", name))
            problem = self._clash(parts, folder=folder)
        if problem is not None:
            self.problems.add(problem)
            return None
        return "/".join(parts)

    def _clash(self, parts: list[str], *, folder: bool) -> Problem | None:
        """The problem if another entry has this name on some file system; otherwise the name is recorded."""
        name = "/".join(parts)
        above = ["/".join(parts[:count]) for count in range(1, len(parts) + folder)]
        for each in above:
            if each.casefold() in self._files:
                return Problem("file-and-folder", Rule(_BOTH, shown(each)), shown(name))
        if not folder:
            key = name.casefold()
            if key in self._folders:
                return Problem("file-and-folder", Rule(_BOTH, shown(name)), shown(name))
            if key in self._files:
                return _twice(name, self._files[key])
            self._files[key] = name
        self._folders.update((each.casefold(), each) for each in above)
        return None


def _twice(name: str, other: str) -> Problem:
    if name == other:
        return Problem(
            "duplicate", Rule("a duplicate: '{}' is in the archive twice", shown(name)), shown(name)
        )
    rule = Rule("a duplicate: it differs from '{}' only in upper and lower case", shown(other))
    return Problem("duplicate", rule, shown(name))


def _parts(name: str) -> list[str]:
    return [part for part in name.split("/") if part not in ("", ".")]


def _fault(name: str, limits: Limits) -> Problem | None:
    if len(name) > limits.max_path_length:
        message = f"the name is {len(name)} characters long; at most {limits.max_path_length} are allowed"
        return Problem(
            "name-too-long",
            Rule(message),
            shown(name),
            found=str(len(name)),
            expected=str(limits.max_path_length),
        )
    problem = _fault_of_characters(name) or _fault_of_the_path(name)
    if problem is None and name.count("/") > limits.max_depth:
        message = f"the path is too deep; at most {limits.max_depth} folders are allowed"
        return Problem("path-too-deep", Rule(message), shown(name), expected=str(limits.max_depth))
    return problem


def _fault_of_characters(name: str) -> Problem | None:
    if _SURROGATE.search(name):
        message = (
            "the name is not encoded as UTF-8, so that its letters are not known; give it a name in ASCII"
        )
        return Problem("name-encoding", Rule(message), shown(name))
    if not name.isprintable():
        message = "the name contains a control character or an invisible one"
        return Problem("name-character", Rule(message), shown(name))
    if unicodedata.normalize("NFKC", name) != unicodedata.normalize("NFC", name):
        message = "the name contains a character that only looks like another one; give it a name in ASCII"
        return Problem("name-character", Rule(message), shown(name))
    if any(part != part.strip() for part in name.split("/")):
        return Problem("name-character", Rule("the name begins or ends with whitespace"), shown(name))
    return None


def _fault_of_the_path(name: str) -> Problem | None:
    if name.startswith("/"):
        why = "it is absolute"
    elif ".." in name.split("/"):
        why = "it leads outside of the archive"
    elif "\\" in name or _DRIVE.match(name) or name.startswith("~"):
        why = "it means another place on some systems"
    else:
        return None
    return Problem(
        "unsafe-path",
        Rule(f"unsafe path, {why}; expected names such as 'results/Main/file.txt'"),
        shown(name),
    )


def _fault_of_a_file(name: str, *, folder: bool) -> Problem | None:
    if folder or _parts(name):
        return None
    return Problem("unsafe-path", Rule("unsafe path: a file without a name"), shown(name) or None)


_PACKED: Final = 256 << 10  # bytes read at once
_UNPACKED: Final = 1 << 20  # bytes made of them at most at once
_AT_ONCE: Final = 256 << 10  # bytes made of them at least, if there are so many
_MEMORY: Final = 128 << 20  # what xz may ask for; `xz -9` asks for 65 MiB


def igzip() -> Any:
    """The library that unpacks gzip and zip. Raises ImportError where it is not installed."""
    with from_extra("files"):
        from isal import igzip_lib  # noqa: PLC0415 - not needed for arrays
    return igzip_lib


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
    error: Callable[[], type[Exception]]


GZIP: Final = Codec(
    "gzip",
    b"\x1f\x8b",
    lambda: igzip().IgzipDecompressor(flag=igzip().DECOMP_GZIP),
    lambda: igzip().IsalError,
)
XZ: Final = Codec(
    "xz",
    b"\xfd7zXZ\x00",
    lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MEMORY),
    lambda: lzma.LZMAError,
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
            except self.codec.error() as error:
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
