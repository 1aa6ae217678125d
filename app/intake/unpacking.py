"""Unpacking what was sent, in a child process with limits: archives, folders and single files, under safe names."""

import json
import os
import re
import shutil
import time
import unicodedata
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from errno import EACCES, EMLINK, ENAMETOOLONG, EOPNOTSUPP, EPERM, EXDEV
from hashlib import file_digest, sha256
from pathlib import Path, PurePosixPath
from sys import intern
from typing import TYPE_CHECKING, Any, Final

from app.images.decoding import MAX_PIXELS, PictureError, check_beginning, is_cut_off
from app.images.matching import SUFFIXES
from app.intake.formats.image_sets import folder_of_archive
from app.intake.reports import IMAGES, ROLES, UNEXPLAINED, OddTable, TableChoice
from heldout_scoring import Limits, Problem, Problems, Rule, SubmissionError
from heldout_scoring.archives.opening import ToolNames, is_archive, type_of, walk

if TYPE_CHECKING:
    from PIL import Image

PROGRESS: Final = "progress.json"
_PACKED: Final = re.compile(
    r"\.(zip|tar|t?gz|t?xz|t?bz2|7z|rar|t?zst|lz4|lzma|lz|z|cab|iso|dmg)$", re.IGNORECASE
)
_READ: Final = frozenset({"zip", "tar", "gz", "tgz", "xz", "txz"})  # of these
_SPREADSHEET: Final = re.compile(r"\.(xlsx?|xlsm|xlsb|ods|numbers)$", re.IGNORECASE)
_SAVE_AS: Final = Rule("a spreadsheet, which is not read; save it as CSV in UTF-8, and send that")
_TWICE: Final = Rule(
    "this file was sent twice; if two archives have a file of this name, call each after its image set, such as train.zip and val.zip, or put its "
    "content into a folder of its own"
)
_PART: Final = re.compile(r"\.(z\d\d|\d{3}|part\d+\.rar|r\d\d)$", re.IGNORECASE)
_OF_SYSTEMS: Final = frozenset(
    {"__MACOSX", "Thumbs.db", "desktop.ini"}
)  # what systems put beside files, as hidden files
_WAY_OUT: Final = "send it as .zip, .tar, .tar.gz or .tar.xz"
_PROGRAM: Final = b"MZ"  # for Windows
_HEAD: Final = 512  # bytes that tell the type of an archive
_EVERY: Final = 0.5  # seconds between two notes of progress
_LARGEST_FILE: Final = 1 << 30
TOO_MANY_PIXELS: Final = f"the image has too many pixels; at most {MAX_PIXELS // 10**6} million are allowed"
DIGEST: Final = 16  # bytes
NAME_ENCODINGS: Final = (
    "utf-8",
    "cp850",
    "cp437",
    "windows-1252",
    "mac_roman",
    "cp866",
    "gb18030",
    "shift_jis",
    "euc_kr",
    "big5",
)
"""That names in archives may have which do not declare theirs: those of Windows by its language, and older ones of macOS."""
# tags of EXIF data
_ORIENTATION: Final = 0x0112
_CAMERA: Final = (0x010F, 0x0110, 0x0131)  # its maker, its model, the program
_WRITTEN: Final = 0x0132
_DETAILS: Final = 0x8769
_TAKEN: Final = 0x9003


@dataclass(frozen=True, slots=True)
class SentFile:
    """A decrypted file, or a folder of the import folder; name: as it was sent."""

    role: str
    name: str
    path: Path


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    """What a data set may have: bytes unpacked, images, annotated objects."""

    unpacked: int
    images: int
    boxes: int

    @property
    def of_an_archive(self) -> Limits:
        """The limits of each archive."""
        return Limits(
            max_unpacked_bytes=self.unpacked,
            max_file_bytes=min(_LARGEST_FILE, self.unpacked),
            max_files=3 * self.images + 10_000,
            max_depth=20,
        )


@dataclass(slots=True)
class ProgressNotes:
    """Notes for the worker, in a file beside the data."""

    folder: Path
    _noted: float = 0.0

    def note(self, step: str, done: int, total: int | None = None) -> None:
        """Note how far this is, at most twice a second."""
        if time.monotonic() - self._noted >= _EVERY:
            self._noted = time.monotonic()
            draft = self.folder / f"{PROGRESS}.new"
            draft.write_text(json.dumps({"step": step, "done": done, "total": total}))
            draft.replace(self.folder / PROGRESS)


def noted_progress(folder: Path) -> dict[str, Any] | None:
    """Return what was noted last; None before that."""
    try:
        found: dict[str, Any] = json.loads((folder / PROGRESS).read_text())
    except FileNotFoundError:
        return None
    return found


@dataclass(frozen=True, slots=True)
class SentPicture:
    """A picture: its file, and its width and height, None if it is none; and what else is known of it besides its pixels."""

    path: Path
    size: tuple[int, int] | None
    digest: bytes  # of its content
    length: int  # in bytes
    role: str = ""  # with which it was sent
    folder: str = ""  # in which it was sent
    modified: float | None = None  # its time stamp in the archive
    is_rotated: bool = False  # by its EXIF data, which we ignore
    camera: str = ""  # and program, by its EXIF data
    taken: str = ""  # the day, by its EXIF data
    bare: int | None = (
        None  # its length without what it says besides its pixels, 0 if it is damaged; None if not looked at
    )
    own_key: str = ""  # the one before its neutral name

    @property
    def sent_as(self) -> str:
        """The role and the path that it was sent with."""
        return self.own_key or self.key

    @property
    def name(self) -> str:
        """Its path as it was sent."""
        return (PurePosixPath(self.folder) / self.path.name).as_posix()

    @property
    def suffix(self) -> str:
        """The suffix that it is served with."""
        found = self.path.suffix.lower()
        return ".jpg" if found == ".jfif" else found

    @property
    def key(self) -> str:
        """Its role and its path, by which it is known."""
        return f"{self.role}/{self.name}"


@dataclass(slots=True)
class Unpacked:
    """The annotation of each role in a folder of its own, and all pictures in one folder, by role and path."""

    folder: Path
    dataset: str
    problems: dict[str, Problems] = field(default_factory=lambda: {role: Problems() for role in ROLES})
    pictures: dict[str, SentPicture] = field(default_factory=dict)
    others: list[str] = field(
        default_factory=list
    )  # files that were sent as pictures and are none by their names
    size: int = 0
    odd_archives: list[OddTable] = field(
        default_factory=list
    )  # with names in an encoding that is not declared

    def root(self, role: str) -> Path:
        """The folder of a role; its name is that of the data set, which a development kit's folder has, too."""
        return self.folder / "unpacked" / role / self.dataset

    @property
    def images(self) -> Path:
        """The folder of all pictures."""
        return self.folder / "images"


def unpack(
    files: tuple[SentFile, ...],
    folder: Path,
    dataset: str,
    limits: ReadingLimits,
    progress: ProgressNotes,
    choice: TableChoice = UNEXPLAINED,
) -> Unpacked:
    """Unpack all files. What cannot be unpacked becomes a problem; nothing is written outside the folder."""
    found = Unpacked(folder, dataset)
    found.images.mkdir()
    for role in ROLES:
        found.root(role).mkdir(parents=True)
    for file in files:
        problems = found.problems[file.role]
        try:
            for sent in _members(file, limits, found, choice):
                _keep(found, file.role, sent, limits)
                progress.note("unpacking", found.size)
        except SubmissionError as error:
            for problem in error.problems:
                problems.add(problem if problem.file else replace(problem, file=file.name))
    return found


@dataclass(frozen=True, slots=True)
class SentContent:
    """A file that was sent: its name with folders, its bytes or where they are, and its time stamp in an archive."""

    name: str
    content: bytes | Path
    modified: float | None = None

    @property
    def length(self) -> int:
        """Its size in bytes."""
        return len(self.content) if isinstance(self.content, bytes) else self.content.stat().st_size

    @property
    def head(self) -> bytes:
        """Its first bytes."""
        if isinstance(self.content, bytes):
            return self.content[:_HEAD]
        with self.content.open("rb") as file:
            return file.read(_HEAD)

    @property
    def type(self) -> str | None:
        """The type of an archive or a compressed file by its first bytes, or else by its name; None if it is neither."""
        by_name = _PACKED.search(self.name)
        return type_of(self.head) or (by_name[1].lower() if by_name else None)

    @property
    def digest(self) -> bytes:
        """The first half of the SHA-256 of its bytes."""
        if isinstance(self.content, bytes):
            return digest_of(self.content)
        with self.content.open("rb") as file:
            return file_digest(file, "sha256").digest()[:DIGEST]


def digest_of(content: bytes) -> bytes:
    """The first half of a SHA-256, which is enough to tell pictures apart."""
    return sha256(content).digest()[:DIGEST]


def _members(
    file: SentFile, limits: ReadingLimits, found: Unpacked, choice: TableChoice
) -> Iterator[SentContent]:
    """Every file of an archive or a folder, or the file itself. What is in an archive that is called like an image set is in a folder of its name."""
    if _SPREADSHEET.search(file.name) and not file.path.is_dir():
        raise SubmissionError(Problem("spreadsheet", _SAVE_AS, file.name))
    if not file.path.is_dir():
        alone, is_read = SentContent(file.name, file.path), is_archive(file.path)
        if kind := _kind_that_is_not_read(alone, is_read=is_read):
            raise SubmissionError(Problem("unsupported-type", Rule(f"{kind}; {_WAY_OUT}"), file.name))
        if not is_read:
            yield alone
            return
    problems, tools = found.problems[file.role], ToolNames(choice.names or "utf-8")
    is_json = file.name.lower().endswith((".json.gz", ".json.xz"))
    above = "" if is_json or file.path.is_dir() else folder_of_archive(file.name)
    for member in walk(
        file.path,
        limits.of_an_archive,
        problems,
        name=file.name,
        json=is_json,
        of_tools=tools,
    ):
        if any(part in _OF_SYSTEMS or part.startswith(".") for part in member.name.split("/")):
            continue
        name = f"{above}/{member.name}" if above else member.name
        content = SentContent(name, member.read(), member.modified)
        if _SPREADSHEET.search(member.name):
            problems.add(Problem("spreadsheet", _SAVE_AS, name))
        elif content.type is None:
            yield content
        else:
            message = "an archive or a compressed file within an archive or a folder; send it alone"
            problems.add(Problem("nested-archive", Rule(message), name))
    if tools.undeclared:
        _ask_for_names(file, tools, found, choice)


def _ask_for_names(file: SentFile, tools: ToolNames, found: Unpacked, choice: TableChoice) -> None:
    """Have organisers say how the names of an archive are encoded that does not declare it, if they may not be UTF-8 or were said not to be."""
    is_utf_8 = _decodes(tools.undeclared, "utf-8")
    if is_utf_8 and not (tools.is_of_windows or choice.names):
        return
    encodings = tuple(each for each in NAME_ENCODINGS if _decodes(tools.undeclared, each))
    if choice.names not in encodings:
        choice = UNEXPLAINED
        if is_utf_8:
            words = "names such as {} are not declared as UTF-8; they are read as such, unless you choose another encoding"
            name = tools.undeclared[0].decode().replace("\\", "/")
            found.problems[file.role].warn(Problem("name-encoding", Rule(words, name), file.name))
    found.odd_archives.append(
        OddTable(
            file.role,
            file.name,
            encodings=encodings,
            chosen=choice if choice.names else None,
            is_archive=True,
        )
    )


def _decodes(names: Sequence[bytes], encoding: str) -> bool:
    """Whether these are names in letters in an encoding."""
    try:
        signs = "".join(name.decode(encoding) for name in names)
    except UnicodeDecodeError:
        return False
    return all(sign.isascii() or unicodedata.category(sign)[0] in "LMNP" for sign in signs)


def _kind_that_is_not_read(file: SentContent, *, is_read: bool) -> str | None:
    """What an archive is that cannot be read, in words; None for a file that is no archive. is_read: whether it begins like one that is."""
    if _PART.search(file.name):
        return "one part of a split archive, which cannot be read; join the parts"
    if file.head.startswith(_PROGRAM):
        return "a program, perhaps an archive that unpacks itself, which cannot be read; unpack it"
    kind = None if is_read else file.type
    if kind in _READ:
        return f"of type {kind} by its name, but it does not begin like one: perhaps the last part of a split archive, or damaged"
    if kind:
        return f"an archive or a compressed file of type {kind.removeprefix('.')} cannot be read here, or is damaged"
    return None


def _keep(found: Unpacked, role: str, sent: SentContent, limits: ReadingLimits) -> None:
    """Write a file below the folder of its role; pictures of the image role go to the folder of all pictures."""
    name = sent.name
    found.size += sent.length
    if found.size > limits.unpacked:
        message = f"too large: a data set may have at most {limits.unpacked >> 20:,} MiB unpacked"
        raise SubmissionError(Problem("too-large", Rule(message)))
    if role == IMAGES:
        if PurePosixPath(name).suffix.lower() in SUFFIXES:
            keep_picture(found, role, sent, limits)
        else:
            found.others.append(name)
        return
    target = found.root(role) / name
    if os.path.isfile(target):  # noqa: PTH113 - Path.is_file raises where a name is too long
        found.problems[role].add(Problem("duplicate", _TWICE, name))
    else:
        _write(target, sent, found.problems[role])


def keep_picture(found: Unpacked, role: str, sent: SentContent, limits: ReadingLimits) -> None:
    """Put a picture into the folder of all pictures under its role and path."""
    key = f"{role}/{sent.name}"
    if key in found.pictures:
        found.problems[role].add(Problem("duplicate", _TWICE, sent.name))
        return
    if len(found.pictures) == limits.images:
        raise SubmissionError(
            Problem("too-many-images", Rule(f"a data set may have at most {limits.images:,} images"))
        )
    target = found.images / key
    if _write(target, sent, found.problems[role]):
        found.pictures[key] = _look_at(target, role, sent, found.problems[role])


def _write(target: Path, sent: SentContent, problems: Problems) -> bool:
    """Write a file; whether that was possible under its name beside those of the others."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(sent.content, Path):
            _link_or_copy(sent.content, target)
        else:
            target.write_bytes(sent.content)
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        message = "this name is given both to a file and to a folder; send one of them under another name"
        problems.add(Problem("file-and-folder", Rule(message), sent.name))
    except OSError as error:
        if error.errno != ENAMETOOLONG:
            raise
        problems.add(
            Problem("name-too-long", Rule("this name is too long to be stored; shorten it"), sent.name)
        )
    else:
        return True
    return False


def _link_or_copy(file: Path, target: Path) -> None:
    """Copy a file; of a picture, which nothing changes, a link will do where the file systems are the same."""
    if target.name.lower().endswith(SUFFIXES):
        try:
            os.link(file, target)
        except FileExistsError:
            raise
        except OSError as error:
            if error.errno not in (EXDEV, EPERM, EACCES, EMLINK, EOPNOTSUPP):
                raise
        else:
            return
    shutil.copyfile(file, target)


def _look_at(path: Path, role: str, sent: SentContent, problems: Problems) -> SentPicture:
    """Read the header of a picture; nothing is decoded."""
    from PIL import Image, UnidentifiedImageError  # noqa: PLC0415 - needed only here

    name = sent.name
    folder = intern(PurePosixPath(name).parent.as_posix())
    known = SentPicture(path, None, sent.digest, sent.length, role, folder, sent.modified)
    try:
        check_beginning(sent.head[:16])
        with warnings.catch_warnings(action="ignore"), Image.open(path, formats=("JPEG", "PNG")) as image:
            size = image.size
            exif = _exif_of(image) if image.format == "JPEG" else {}
    except PictureError as error:
        problems.add(Problem("bad-picture", Rule(str(error)), name))
    except Image.DecompressionBombError:
        problems.add(Problem("too-many-pixels", Rule(TOO_MANY_PIXELS), name))
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError):
        problems.add(Problem("bad-picture", Rule("this image cannot be read"), name))
    else:
        if size[0] * size[1] > MAX_PIXELS:
            problems.add(Problem("too-many-pixels", Rule(TOO_MANY_PIXELS), name))
        elif is_cut_off(sent.content if isinstance(sent.content, bytes) else sent.content.read_bytes()):
            message = "the file ends before the image does; it was not copied completely"
            problems.add(Problem("bad-picture", Rule(message), name))
        else:
            return replace(
                known,
                size=size,
                is_rotated=exif.get(_ORIENTATION, 1) != 1,
                camera=intern(" ".join(str(exif.get(tag, "")) for tag in _CAMERA).strip()[:100]),
                taken=intern(str(exif.get(_TAKEN) or exif.get(_WRITTEN) or "")[:10]),
            )
    return known


def _exif_of(image: "Image.Image") -> Mapping[int, object]:
    """The EXIF data of a picture; nothing where it is broken, in any of the ways in which it can be."""
    try:
        exif = image.getexif()
        return {**exif, **exif.get_ifd(_DETAILS)}
    except Exception:  # noqa: BLE001 - the library raises whatever the bytes lead to
        return {}
