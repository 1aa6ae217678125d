"""Names of images from the paths of their files, and what participants know these files by."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from app.images.matching import path_of, stem_of
from heldout_scoring import Problem, Problems, Rule

_LONGEST: Final = 200  # characters of a path
_OUTSIDE: Final = re.compile(
    r"/|[A-Za-z]:|\w+://|(.*/)?\.\./"
)  # how paths begin that do not lie below a folder of the data set
_UNSAFE: Final = re.compile(
    r'[<>:"|?*]|[. ]$|^(con|prn|aux|nul|com\d|lpt\d)(\.|$)', re.IGNORECASE
)  # on some systems


@dataclass(frozen=True, slots=True)
class ImageNames:
    """The names of the images of a set. of: by the path of their file, as it was given.

    by_path: the files whose names other files have, too, so that their images are called by their paths; clashes: pairs of files whose
    images would have one name nevertheless.
    """

    of: Mapping[str, str]
    by_path: tuple[str, ...] = ()
    clashes: tuple[tuple[str, str], ...] = ()

    def tell(self, problems: Problems, file: str | None = None) -> None:
        """Add a warning of names by path, and a problem for each clash. file: that gives the paths, if it is one."""
        if self.by_path:
            count = "1 file has" if len(self.by_path) == 1 else f"{len(self.by_path):,} files have"
            words = f"{count} the name of another, such as {{}}: its image is called by folder and name, {{}}, which everybody sees"
            problems.warn(
                Problem("named-by-path", Rule(words, self.by_path[0], self.of[self.by_path[0]]), file)
            )
        for one, other in self.clashes:
            rule = Rule(
                "the images of {} and {} would both be called {}; rename one of these files",
                one,
                other,
                self.of[one],
            )
            problems.add(Problem("same-image-name", rule, file))


def image_names(paths: Iterable[str]) -> ImageNames:
    """Call each image of a set like its file, without the suffix; those that share this name are called by folder and name.

    Folders above all files are left out. Upper and lower case make no difference between two names.

    >>> found = image_names(["set/cat/0.jpg", "set/dog/0.jpg", "set/dog/1.jpg"])
    >>> found.of
    {'set/cat/0.jpg': 'cat_0', 'set/dog/0.jpg': 'dog_0', 'set/dog/1.jpg': '1'}
    >>> found.by_path, image_names(["a.jpg", "a.png"]).clashes
    (('set/cat/0.jpg', 'set/dog/0.jpg'), (('a.jpg', 'a.png'),))
    """
    given = {path: path_of(path) for path in paths}
    as_given = {file: path for path, file in given.items()}
    counts = Counter(stem_of(file).casefold() for file in as_given)
    top = _folders_above_all(as_given)
    shared = [file for file in as_given if counts[stem_of(file).casefold()] > 1 and len(file.parts) - 1 > top]
    names = {file: stem_of(file) for file in as_given}
    names |= {file: "_".join((*file.parts[top:-1], stem_of(file))) for file in shared}
    first: dict[str, PurePosixPath] = {}
    clashes = tuple(
        (as_given[other], as_given[file])
        for file, name in names.items()
        if (other := first.setdefault(name.casefold(), file)) != file
    )
    of = {path: names[file] for path, file in given.items()}
    return ImageNames(of, tuple(as_given[file] for file in shared), clashes)


def _folders_above_all(files: Iterable[PurePosixPath]) -> int:
    """How many folders all files have in common."""
    parents = {file.parent.parts for file in files}
    count = 0
    for level in zip(*parents, strict=False):
        if len(set(level)) > 1:
            break
        count += 1
    return count


def public_names(
    files: Mapping[str, str], *, is_hidden: bool, images: Iterable[str] = ()
) -> Mapping[str, str]:
    """What participants know the file of each image by, if images are called by numbers: the path that annotation gives.

    files: by image, as annotation gives them. Of hidden sets the last part alone is public, since folders may be classes. Folders above
    all files are left out where they are none of the data set. What is no file's name on every system, or the name of two, is left out,
    and what is the number of an image that is left out, or that is one of `images` without a file: its file is called by this number.

    >>> public_names({"1": "train/a.jpg", "2": "train/b.jpg"}, is_hidden=False)
    {'1': 'train/a.jpg', '2': 'train/b.jpg'}
    >>> public_names({"1": "cat/a.jpg", "2": "dog/a.jpg", "3": "dog/b.jpg"}, is_hidden=True)
    {'3': 'b.jpg'}
    >>> public_names({"1": "/home/ash/x/a.jpg", "2": "/home/ash/y/b?.jpg"}, is_hidden=False)
    {'1': 'x/a.jpg'}
    >>> public_names({"1": "cat/1.jpg", "2": "cat/2.jpg", "3": "dog/1.jpg", "4": "cat/3.jpg"}, is_hidden=True)
    {'2': '2.jpg'}
    """
    paths = {image: path_of(name) for image, name in files.items()}
    top = 0
    if any(_OUTSIDE.match(name.strip().replace("\\", "/")) for name in files.values()):
        top = _folders_above_all(paths.values())
    names = {image: PurePosixPath(*path.parts[-1 if is_hidden else top :]) for image, path in paths.items()}
    counts = Counter(str(name).casefold() for name in names.values())
    found = {
        image: str(name)
        for image, name in names.items()
        if counts[str(name).casefold()] == 1 and _is_safe(name)
    }
    like_number: dict[str, list[str]] = {}
    for image in found:
        if len(names[image].parts) == 1:
            like_number.setdefault(stem_of(names[image]).casefold(), []).append(image)
    numbered = [image for image in {**files, **dict.fromkeys(images)} if image not in found]
    while numbered:  # each that is left out may take the name of another
        clashing = [image for image in like_number.pop(numbered.pop().casefold(), ()) if image in found]
        for image in clashing:
            del found[image]
        numbered += clashing
    return found


def _is_safe(path: PurePosixPath) -> bool:
    name = str(path)
    is_short = len(name) <= _LONGEST and all(len(part.encode(errors="replace")) <= 255 for part in path.parts)
    return bool(path.parts) and is_short and name.isprintable() and not any(map(_UNSAFE.search, path.parts))
