"""Which file shows which image, and whether it has the annotated size."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import eq
from pathlib import PurePosixPath
from typing import Final, Self
from unicodedata import normalize
from urllib.parse import unquote, urlsplit

from heldout_scoring import Rule

FOLDERS: Final = ("JPEGImages", "PNGImages", "")  # of a tree; VOC2006 has PNG
SUFFIXES: Final = (".jpg", ".jpeg", ".jfif", ".png")
OTHER_SUFFIXES: Final = (
    ".webp",
    ".bmp",
    ".tif",
    ".tiff",
    ".gif",
    ".ppm",
    ".pgm",
)  # of pictures that are not served
_OF_PICTURES: Final = frozenset((*SUFFIXES, *OTHER_SUFFIXES))
_ODD: Final = re.compile(r"[\\:?%\s]")  # in names that are more than a path
_NUMBER: Final = re.compile(r"\d+$")
_ADDRESS: Final = re.compile(r"(https?|file)://", re.IGNORECASE)


def path_of(name: str) -> PurePosixPath:
    r"""The path in the name of a file as tools write it: with slashes, without a drive or a server, and without dots.

    >>> [str(path_of(name)) for name in (r".\images\a.jpg", "https://host/x/b%20c.jpg?w=1", "C:/d.jpg", "e//../f.png")]
    ['images/a.jpg', 'x/b c.jpg', 'd.jpg', 'e/f.png']
    """
    name = name.partition("?d=")[2] or name  # of files that Label Studio serves
    if _ADDRESS.match(name):
        name = unquote(urlsplit(name).path)
    parts = re.sub(r"^[A-Za-z]:", "", name.strip()).replace("\\", "/").split("/")
    return PurePosixPath(*(part for part in parts if part not in ("", ".", "..")))


def stem_of(file: PurePosixPath) -> str:
    """The name of a file without the suffix of a picture; other dots belong to it.

    >>> stem_of(PurePosixPath("a/2008.01.png")), stem_of(PurePosixPath("v1.5"))
    ('2008.01', 'v1.5')
    """
    return _stem(file.name)


def _stem(name: str) -> str:
    stem, dot, suffix = name.rpartition(".")
    return stem if stem and dot + suffix.lower() in _OF_PICTURES else name


def _folded(name: str) -> str:
    """A name without regard to upper and lower case and to how its letters are composed, as macOS takes them apart."""
    return normalize("NFC", name).casefold()


@dataclass(frozen=True, slots=True)
class Matches:
    """Which file shows which image. two_files: two that fit an image as well; two_images: that a file fits as well."""

    of: Mapping[str, str]
    two_files: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    two_images: Mapping[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FileIndex:
    """Picture files by their names, by these without suffix, and by the numbers at their ends."""

    by_name: Mapping[str, Sequence[str]]
    by_stem: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, files: Iterable[str]) -> Self:
        """Look at the paths of files; what is no picture by its name is left out."""
        by_name: dict[str, list[str]] = {}
        by_stem: dict[str, list[str]] = {}
        for file in files:
            name = file.rpartition("/")[2]
            if name.lower().endswith(SUFFIXES):
                by_name.setdefault(_folded(name), []).append(file)
                by_stem.setdefault(_folded(_stem(name)), []).append(file)
        return cls(by_name, by_stem)

    def fitting(self, name: str) -> Sequence[str]:
        """The files that fit the name of a file, or if there is none, this name without suffix."""
        is_plain = _ODD.search(name) is None
        for each in (name,) if is_plain else dict.fromkeys((name, unquote(name))):
            last = name.rpartition("/")[2] if is_plain else path_of(each).name
            if found := self.by_name.get(_folded(last)) or self.by_stem.get(_folded(_stem(last))):
                return found
        return ()

    def numbered(self) -> Mapping[str, Sequence[str]]:
        """The files by the number at the end of their names."""
        found: dict[str, list[str]] = {}
        for stem, files in self.by_stem.items():
            if number := _NUMBER.search(stem):
                found.setdefault(str(int(number[0])), []).extend(files)
        return found


def match(
    names: Mapping[str, str],
    files: FileIndex,
    *,
    numbered: bool = False,
    own: str = "",
    is_near: Callable[[str], bool] = bool,
    is_same: Callable[[str, str], bool] = eq,
) -> Matches:
    r"""Find the picture of each image by path, then by name, then by name without suffix; upper and lower case make no difference.

    names: what annotation calls the file of each image, or the image; numbered: a number at the end of a file's name decides where none
    is named, as for COCO's images without file names, if every image has one, since numbers may count from 0 and from 1; is_near: whether a file is where those of these images are expected; own: the folder
    that goes before others that fit as well; is_same: whether two files have the same content, so that either will do. What fits two is
    not matched.

    >>> found = match({"1": r"images\b_2.jpg", "2": "b_1.png"}, FileIndex.of(["V/b_1.jpg", "V/b_2.jpg"]))
    >>> found.of
    {'1': 'V/b_2.jpg', '2': 'V/b_1.jpg'}
    >>> match({"a": "a"}, FileIndex.of(["a.jpg", "a.png"])).two_files
    {'a': ('a.jpg', 'a.png')}
    """
    by_number = files.numbered() if numbered else {}
    if not by_number.keys() >= {*names.values()}:
        by_number = {}
    of: dict[str, str] = {}
    images: dict[str, list[str]] = {}
    two_files: dict[str, tuple[str, str]] = {}
    for image, name in names.items():
        fitting = files.fitting(name) or by_number.get(name, ())
        if len(fitting) > 1:
            fitting = _best(name, fitting, own, is_near)
        if any(not is_same(fitting[0], each) for each in fitting[1:]):
            two_files[image] = (fitting[0], fitting[1])
        elif fitting:
            of[image] = fitting[0]
            images.setdefault(fitting[0], []).append(image)
    two_images: dict[str, tuple[str, str]] = {}
    for file, some in images.items():
        if len(some) > 1:
            closest, *others = sorted(some, key=lambda image: _likeness(names[image], file), reverse=True)
            is_tie = _likeness(names[closest], file) == _likeness(names[others[0]], file)
            if is_tie:
                two_images[file] = (closest, others[0])
            for image in some if is_tie else others:
                del of[image]
    return Matches(of, two_files, two_images)


def match_in_folders(
    names: Mapping[str, str], listings: Iterable[tuple[str, Sequence[str]]], *, numbered: bool
) -> Matches:
    """Find the picture of each image of a tree; if several folders have one, the first of them counts.

    names, numbered: as in `match`; listings: folders below the root, with the names of their files.

    >>> match_in_folders({"a": "a"}, [("JPEGImages", ["a.jpg", "b.txt"]), ("", ["a.png"])], numbered=False).of
    {'a': 'JPEGImages/a.jpg'}
    """
    of: dict[str, str] = {}
    two_files: dict[str, tuple[str, str]] = {}
    two_images: dict[str, tuple[str, str]] = {}
    for folder, listed in listings:
        left = {image: name for image, name in names.items() if image not in of and image not in two_files}
        index = FileIndex.of(f"{folder}/{name}" if folder else name for name in sorted(listed))
        found = match(left, index, numbered=numbered)
        of |= found.of
        two_files |= found.two_files
        two_images |= found.two_images
    return Matches(of, two_files, two_images)


def _best(name: str, files: Sequence[str], own: str, is_near: Callable[[str], bool]) -> Sequence[str]:
    """The files that are most like a path: by folders, where they are expected, in the folder of our own, with no others above, by upper and lower case."""
    wanted = path_of(unquote(name))
    ranks = [
        (
            _common(wanted.parts, file),
            is_near(file),
            file.startswith(own),
            file.count("/") - own.count("/") == len(wanted.parts) - 1,
            stem_of(PurePosixPath(file)) == stem_of(wanted),
        )
        for file in files
    ]
    return [file for file, rank in zip(files, ranks, strict=True) if rank == max(ranks)]


def _common(wanted: Sequence[str], file: str) -> int:
    """How many parts at the ends of two paths are alike, counting names with another suffix as such."""
    count = 0
    for one, other in zip(reversed(wanted[:-1]), reversed(file.split("/")[:-1]), strict=False):
        if one.casefold() != other.casefold():
            break
        count += 1
    return count


def _likeness(name: str, file: str) -> tuple[bool, int, bool]:
    """How much a name in annotation is like a file's path: by its last part, its folders, upper and lower case."""
    wanted, last = path_of(unquote(name)), file.rpartition("/")[2]
    return (
        wanted.name.casefold() == last.casefold(),
        _common(wanted.parts, file),
        stem_of(wanted) == stem_of(PurePosixPath(last)),
    )


def size_problem(expected: tuple[int | None, int | None], found: tuple[int, int]) -> Rule | None:
    """Return the problem if an image does not have its annotated size, since boxes would be misplaced; None otherwise.

    >>> size_problem((500, 375), (375, 500))
    'the image is 375 x 500, but its annotation says 500 x 375'
    """
    if None in expected or expected == found:
        return None
    (width, height), (wide, tall) = found, expected
    return Rule(f"the image is {width} x {height}, but its annotation says {wide} x {tall}")
