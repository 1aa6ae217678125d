"""Unpacking what was sent, in a child process with limits: archives, folders and single files, under safe names."""

import json
import shutil
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Final

from app.images.decoding import MAX_PIXELS, PictureError, check_beginning
from app.images.matching import SUFFIXES
from app.intake.reports import IMAGES, ROLES
from scoring import Limits, Problem, SubmissionError
from scoring.archives.archive import Meter, is_archive, walk
from scoring.errors import Problems

PROGRESS: Final = "progress.json"
_EVERY: Final = 0.5  # seconds between two notes of progress
_LARGEST_FILE: Final = 1 << 30
TOO_MANY_PIXELS: Final = f"the picture has too many pixels; at most {MAX_PIXELS // 10**6} million are allowed"
_ORIENTATION: Final = 0x0112  # of EXIF


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
class Progress:
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
class Picture:
    """A picture: its file, and its width and height, None if it is none."""

    path: Path
    size: tuple[int, int] | None
    is_rotated: bool = False  # by its EXIF data, which we ignore


@dataclass(slots=True)
class Unpacked:
    """The annotation of each role in a folder of its own, and all pictures in one folder, by their names without folders."""

    folder: Path
    dataset: str
    problems: dict[str, Problems] = field(default_factory=lambda: {role: Problems() for role in ROLES})
    pictures: dict[str, Picture] = field(default_factory=dict)
    size: int = 0

    def root(self, role: str) -> Path:
        """The folder of a role; its name is that of the data set, which a development kit's folder has, too."""
        return self.folder / "unpacked" / role / self.dataset

    @property
    def images(self) -> Path:
        """The folder of all pictures."""
        return self.folder / "images"


def unpack(
    files: tuple[SentFile, ...], folder: Path, dataset: str, limits: ReadingLimits, progress: Progress
) -> Unpacked:
    """Unpack all files. What cannot be unpacked becomes a problem; nothing is written outside the folder."""
    found = Unpacked(folder, dataset)
    found.images.mkdir()
    for role in ROLES:
        found.root(role).mkdir(parents=True)
    for file in files:
        problems = found.problems[file.role]
        try:
            for name, content in _members(file, limits, problems):
                _keep(found, file.role, name, content, limits)
                progress.note("unpacking", found.size)
        except SubmissionError as error:
            for problem in error.problems:
                problems.add(_with_file(problem, file.name))
    return found


def _members(file: SentFile, limits: ReadingLimits, problems: Problems) -> Iterator[tuple[str, bytes | Path]]:
    """Every file of an archive or a folder, or the file itself."""
    if not file.path.is_dir() and not is_archive(file.path):
        yield file.name, file.path
        return
    meter = Meter.of(file.path, limits.of_an_archive)
    for member in walk(
        file.path, meter, problems, name=file.name, json=file.name.lower().endswith((".json.gz", ".json.xz"))
    ):
        if "__MACOSX" not in member.name and not PurePosixPath(member.name).name.startswith("."):
            yield member.name, member.read()


def _with_file(problem: Problem, name: str) -> Problem:
    return problem if problem.file else Problem(problem.code, problem.message, name)


def _keep(found: Unpacked, role: str, name: str, content: bytes | Path, limits: ReadingLimits) -> None:
    """Write a file below the folder of its role; pictures of the image role go to the folder of all pictures."""
    found.size += len(content) if isinstance(content, bytes) else content.stat().st_size
    if found.size > limits.unpacked:
        message = f"too large: a data set may have at most {limits.unpacked >> 20:,} MiB unpacked"
        raise SubmissionError(Problem("too-large", message))
    if role == IMAGES:
        if PurePosixPath(name).suffix.lower() in SUFFIXES:
            keep_picture(found, role, name, content, limits)
        else:
            found.problems[role].warn(
                Problem("not-a-picture", "neither JPEG nor PNG by its name; ignored", name)
            )
        return
    target = found.root(role) / name
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists():
        found.problems[role].add(Problem("duplicate", "this file was sent twice", name))
        return
    _write(target, content)


def keep_picture(found: Unpacked, role: str, name: str, content: bytes | Path, limits: ReadingLimits) -> None:
    """Put a picture into the folder of all pictures under its name without folders."""
    last = PurePosixPath(name).name
    if last in found.pictures:
        found.problems[role].add(Problem("duplicate-picture", "two pictures have this name", name))
        return
    if len(found.pictures) == limits.images:
        raise SubmissionError(
            Problem("too-many-images", f"a data set may have at most {limits.images:,} images")
        )
    target = found.images / last
    _write(target, content)
    picture = _look_at(target, name, found.problems[role])
    found.pictures[last] = picture
    if picture.is_rotated:
        message = "rotated by its EXIF data, which is ignored: annotation has to be of the pixels as they are stored"
        found.problems[role].warn(Problem("exif-rotation", message, name))


def _write(target: Path, content: bytes | Path) -> None:
    if isinstance(content, Path):
        shutil.copyfile(content, target)
    else:
        target.write_bytes(content)


def _look_at(path: Path, name: str, problems: Problems) -> Picture:
    """Read the header of a picture; nothing is decoded."""
    from PIL import Image, UnidentifiedImageError  # noqa: PLC0415 - needed only here

    try:
        with path.open("rb") as file:
            check_beginning(file.read(16))
        with warnings.catch_warnings(action="ignore"), Image.open(path, formats=("JPEG", "PNG")) as image:
            size = image.size
            rotation = image.getexif().get(_ORIENTATION, 1) if image.format == "JPEG" else 1
    except PictureError as error:
        problems.add(Problem("bad-picture", str(error), name))
    except Image.DecompressionBombError:
        problems.add(Problem("too-many-pixels", TOO_MANY_PIXELS, name))
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError):
        problems.add(Problem("bad-picture", "this picture cannot be read", name))
    else:
        if size[0] * size[1] <= MAX_PIXELS:
            return Picture(path, size, is_rotated=rotation != 1)
        problems.add(Problem("too-many-pixels", TOO_MANY_PIXELS, name))
    return Picture(path, None)
