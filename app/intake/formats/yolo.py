"""YOLO's labels: a text file for each picture, with a line for each object."""

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, Final

import numpy as np

from app.core import plain_yaml
from app.images.matching import SUFFIXES, path_of
from app.intake.formats.image_names import image_names
from app.intake.formats.image_sets import (
    says_test,
    set_folder_above,
    set_of,
    set_of_file,
    set_of_folder,
    words_of,
)
from app.intake.formats.label_images import is_in_their_folder, numbers_of
from app.intake.formats.pictures import sizes_of_pictures
from app.intake.formats.reading import (
    NO_CLASS_NAMES,
    YOLO,
    AnnotatedSet,
    ListedImages,
    Reading,
    Size,
    is_class_name,
)
from heldout_scoring import GroundTruth, Problem, Rule

_OBJECT: Final = re.compile(r"\s*\d{1,9}(\s+[-+]?(\d+(\.\d+)?|\.\d+)(e[-+]?\d+)?){4,}+\s*", re.IGNORECASE)
_FOLDER: Final = re.compile(r"(\w+[_-])?labels|obj_\w*data", re.IGNORECASE)
_OF_KINDS: Final = frozenset(
    {"labels", "images"}
)  # words that tell folders of label files and of pictures apart
_LISTS_OF_CLASSES: Final = re.compile(r"(predefined_)?classes\.txt|.+\.names|_darknet\.labels", re.IGNORECASE)
_SETTINGS: Final = (".yaml", ".yml")
_FEW: Final = 3  # objects of each class but one, below which that one may be missing by chance
_LONGEST: Final = 1 << 20  # bytes of settings and lists of classes
_BOX, _WITH_CONFIDENCE, _FOUR_POINTS = 5, 6, 9  # fields of a line
_EXPECTED: Final = (
    "expected a class number and the centre, width and height of a box, or the points of a polygon"
)


def evidence(reading: Reading) -> list[Path]:
    """The label files: lines of numbers in folders of the usual names, beside pictures of their names, or with a list of classes."""
    texts = [path for path in reading.with_suffix(".txt") if not _LISTS_OF_CLASSES.fullmatch(path.name)]
    pictures = {_folded(path.with_suffix("")) for path in reading.with_suffix(*SUFFIXES)}
    has_classes = bool(_class_files(reading))
    return [
        path
        for path in texts
        if (has_classes or _is_in_folder(path, reading.root) or _folded(path.with_suffix("")) in pictures)
        and _OBJECT.fullmatch(_first_line(path))
    ]


def _is_in_folder(path: Path, root: Path) -> bool:
    return any(_FOLDER.fullmatch(part) for part in path.relative_to(root).parts[:-1])


def _first_line(path: Path) -> str:
    with path.open("rb") as file:
        encoding = "utf-16" if file.read(2) in (BOM_UTF16_LE, BOM_UTF16_BE) else "utf-8-sig"
    with path.open(encoding=encoding, errors="replace") as file:
        return next((line for line in iter(lambda: file.readline(4096), "") if line.strip()), "")


def _class_files(reading: Reading) -> list[Path]:
    """The files that name classes: lists, and settings with `names`."""
    return [
        path
        for path in reading.left
        if _LISTS_OF_CLASSES.fullmatch(path.name)
        or (path.suffix.lower() in _SETTINGS and re.search(r"(?m)^names\s*:", _text_of(path)))
    ]


def _text_of(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(_LONGEST).decode("utf-8-sig", "replace")


# reading


@dataclass(slots=True)
class _Objects:
    """What label files say, by the kind of their lines: objects as image, class and box in shares of width and height.

    whole, open_ended, empty: files whose last line ends, those whose last line does not, and those without lines.
    """

    image: list[str] = field(default_factory=list)
    label: list[int] = field(default_factory=list)
    corners: list[tuple[float, ...]] = field(default_factory=list)
    polygons: int = 0
    four_points: int = 0
    whole: list[Path] = field(default_factory=list)
    open_ended: list[Path] = field(default_factory=list)
    empty: list[Path] = field(default_factory=list)


def read(reading: Reading) -> Iterator[AnnotatedSet]:
    """Read all label files of a role, one image set for each folder or list that is called like one.

    Boxes are shares of the picture's width and height; pixels are made of them, with half-open edges.
    """
    shown = evidence(reading)
    labelled = {path.parent for path in shown}
    given = _sets_in_settings(reading, labelled | {path.parent for path in reading.with_suffix(*SUFFIXES)})
    names = _names(reading)
    reading.use(*(path for path in reading.left if path.name.lower() == "obj.data"))
    notes = [path for path in reading.left if path.name.lower() == "notes.json"]
    reading.leave_out(notes, "left-out", "a note of the program that wrote the labels")
    sets = _files_by_set(reading, labelled, given)
    if names is None:
        return
    counts = np.zeros(len(names), np.int64)
    for image_set, files in sorted(sets.items()):
        for each in _read_set(reading, image_set, files, names):
            counts += np.bincount(each.truth.tables.objects.name, minlength=len(names))
            yield each
    if len(names) > 1 and not counts[0] and (counts[1:] >= _FEW).all():
        words = (
            "no label is of class 0, {}, and some are of every other class: numbers count from 0; if these begin with 1, "
            "subtract 1 from all, or write a name for 0 before the others"
        )
        reading.problems.warn(Problem("labels-from-1", Rule(words, names[0])))


@dataclass(slots=True)
class _Files:
    """The label file and the picture of each image, by their path without suffix and without the folders that tell these apart.

    Upper and lower case make no difference.
    """

    labels: dict[PurePosixPath, Path] = field(default_factory=dict)
    pictures: dict[PurePosixPath, str] = field(default_factory=dict)


def _sets_in_settings(reading: Reading, folders: set[Path]) -> Mapping[PurePosixPath, str]:
    """The image sets that settings name for these folders where no folder is called like one, such as `train: ../images/part1`."""
    here = {_key_of(folder / "_", reading.root).parent: folder for folder in sorted(folders)}
    all_here = "\n".join(map(_framed, here))
    named: dict[str, dict[str, Path]] = {}
    lost: dict[str, Path] = {}
    for path in _class_files(reading):
        for image_set, folder in _folders_in(path):
            parts = _key_of(folder / "_", Path()).parent.parts
            tails = (_framed(PurePosixPath(*parts[start:])) for start in range(max(1, len(parts))))
            found = next((tail for tail in tails if tail in all_here), None)
            (lost if found is None else named.setdefault(found, {})).setdefault(image_set, path)
    given: dict[PurePosixPath, str] = {}
    for key, folder in here.items():
        own = set_of_file(folder / "_", reading.root, "")
        framed = _framed(key)
        sets = named.get(max((each for each in named if each in framed), key=_depth, default=framed), {})
        if not own and len(sets) == 1:
            given[key] = min(sets)
        elif sets and own not in sets:
            words = f"the folder {{}} is given to {' and '.join(sorted(sets))} here"
            words += (
                f", but it is called like {own}"
                if own
                else "; give each image set a folder of its own, or leave out what is none"
            )
            counts = own and (says_test(own) or not any(map(says_test, sets)))
            words += ", which counts" if counts else "; call both alike" if own else ""
            say = reading.problems.warn if counts else reading.problems.add
            say(Problem("two-sets", Rule(words, reading.name(folder)), reading.name(min(sets.values()))))
        elif not own and len(lost) > 1 and not named:
            words = f"{' and '.join(sorted(lost))} have other folders here than those that were sent, so that all images in no folder of a set are {reading.set_name}"
            reading.problems.warn(Problem("no-set", Rule(words), reading.name(min(lost.values()))))
            lost.clear()
    return given


def _folders_in(path: Path) -> Iterator[tuple[str, Path]]:
    """The image sets that settings name, each with one of its folders; lists of images say themselves what they are."""
    is_settings = path.suffix.lower() in _SETTINGS
    found = plain_yaml.read(_text_of(path).encode(), _LONGEST).value if is_settings else None
    for key, value in found.items() if isinstance(found, dict) else ():
        for each in value if isinstance(value, list) else [value]:
            if set_of_folder(key) and isinstance(each, str) and each and not each.lower().endswith(".txt"):
                yield set_of_folder(key), Path(path_of(each))


def _framed(path: PurePosixPath) -> str:
    """A path as text that another one has in it where its folders stand one after the other in that one."""
    return f"/{path}/".replace("/./", "/")


def _depth(framed: str) -> int:
    return framed.count("/")


def _files_by_set(
    reading: Reading, folders: set[Path], given: Mapping[PurePosixPath, str]
) -> Mapping[str, _Files]:
    listed = _listed_sets(reading)
    sets: dict[str, _Files] = {}

    def set_given_to(path: Path) -> str:
        return given.get(_key_of(path, reading.root).parent, "")

    def files_of(path: Path) -> _Files:
        return sets.setdefault(set_of_image(path) or reading.set_name, _Files())

    def set_of_image(path: Path) -> str | None:
        in_list = listed.get(path.stem) or listed.get(path.stem.casefold(), "")
        return set_of_file(path.parent / "_", reading.root, set_given_to(path) or in_list) or None

    _refuse_label_images(reading)
    labels = [
        path
        for path in reading.with_suffix(".txt")
        if path.parent in folders or _is_in_folder(path, reading.root)
    ]
    if listed:
        unlisted = [path for path in (*reading.with_suffix(*SUFFIXES), *labels) if set_of_image(path) is None]
        names = " and ".join(sorted({*listed.values()}))
        reading.refuse(
            unlisted, "no-set", f"in no list of an image set, though others are in {names}; list them, too"
        )
    for path in reading.with_suffix(*SUFFIXES):
        pictures, key = files_of(path).pictures, _folded(_key_of(path, reading.root))
        if key in pictures:
            words = "this image and {} would have the same label file; send one of them, or give it a name of its own"
            reading.problems.add(Problem("two-pictures", Rule(words, pictures[key]), reading.name(path)))
        pictures[key] = reading.name(path)
        reading.use_as_picture(path)
    labels = [path for path in labels if path not in reading.used]
    placed = [path for path in labels if set_given_to(path)]
    labels = [path for path in labels if not set_given_to(path)]
    if not any(set_folder_above(path, reading.root) for path in labels):
        labels = _by_pictures(reading, labels, sets)
    for paths in [placed, *reading.by_set(labels).values()]:
        for path in paths:
            _add_labels(reading, files_of(path), _folded(_key_of(path, reading.root)), path)
        reading.use(*paths)
    return sets


def _add_labels(reading: Reading, files: _Files, key: PurePosixPath, path: Path) -> None:
    other = files.labels.setdefault(key, path)
    if other != path:
        words = "this label file and {} would be of the same image; send one of them, or give it the name of its own image"
        reading.problems.add(Problem("two-label-files", Rule(words, reading.name(other)), reading.name(path)))


def _by_pictures(reading: Reading, labels: Sequence[Path], sets: Mapping[str, _Files]) -> list[Path]:
    """Give label files that no folder calls a set to the set of the picture of their name; return the others."""
    places: dict[str, list[tuple[_Files, PurePosixPath]]] = {}
    for files in sets.values():
        for key in files.pictures:
            places.setdefault(key.name, []).append((files, key))
    others = []
    for path in labels:
        alike = places.get(path.stem.casefold(), [])
        found = [(files, key) for files, key in alike if Path(files.pictures[key]).stem == path.stem] or alike
        if len(sets) < 2 or len(found) != 1:
            others.append(path)
            continue
        [(files, key)] = found
        _add_labels(reading, files, key, path)
        reading.use(path)
    return others


def _refuse_label_images(reading: Reading) -> None:
    """Add a problem for pictures in folders of label images: as images they would have no objects, and be scored as such."""
    masks = [path for path in reading.with_suffix(*SUFFIXES) if is_in_their_folder(path, reading.root)]
    reason = (
        "in a folder of label images, but annotation was recognised as YOLO's labels; send one of the two, and images in a folder such "
        "as images"
    )
    reading.refuse(masks, "not-read", reason)


def _listed_sets(reading: Reading) -> Mapping[str, str]:
    """The image set of each picture that a list such as `train.txt` names, also by its name in lower case where that is of one set.

    A name in lists of two sets is a problem unless folders tell, and so is a folder that contradicts a list.
    """
    listed: dict[str, dict[str, Path]] = {}
    for path in reading.with_suffix(".txt"):
        image_set = set_of(path.stem, "")
        if image_set and PurePosixPath(_first_line(path).strip()).suffix.lower() in SUFFIXES:
            lines = reading.text(path).replace("\\", "/").split("\n")
            for stem in {PurePosixPath(line.strip()).stem for line in lines} - {""}:
                listed.setdefault(stem, {})[image_set] = path
            reading.use(path)
    alike: dict[str, set[str]] = {}
    for stem, sets in listed.items():
        alike.setdefault(stem.casefold(), set()).update(sets)
    found = {stem: min(sets) for stem, sets in alike.items() if len(sets) == 1}
    found |= {stem: min(sets) for stem, sets in listed.items()}
    twice: dict[str, Path] = {}
    others: dict[PurePosixPath, tuple[Path, Path]] = {}
    for path in reading.with_suffix(*SUFFIXES, ".txt"):
        own, sets = set_of_file(path.parent / "_", reading.root, ""), listed.get(path.stem, {})
        if len(sets) > 1 and not own:
            twice[path.stem] = max(sets.values())
        elif own and own not in (sets or {found.get(path.stem.casefold(), own)}):
            key = _folded(_key_of(path, reading.root))
            others.setdefault(key, (path, max(sets.values(), default=path)))
    if twice:
        name = min(twice)
        words = (
            f"{_images(twice)} in lists of two sets by name, such as {{}}; list each once, and where folders tell images of one name apart, put each "
            "set into a folder such as train"
        )
        reading.problems.add(Problem("two-sets", Rule(words, name), reading.name(twice[name])))
    if others:
        path, listing = others[min(others)]
        words = f"{_images(others)} in a folder that is called like another image set than the list with their names, such as {{}}; let both say the same"
        reading.problems.add(Problem("two-sets", Rule(words, reading.name(path)), reading.name(listing)))
    return found


def _images(some: Sized) -> str:
    return "1 image is" if len(some) == 1 else f"{len(some):,} images are"


def _key_of(path: Path, root: Path) -> PurePosixPath:
    """The path of a picture and of its label file without what tells their folders apart.

    >>> _key_of(Path("train/images/a.jpg"), Path()), _key_of(Path("train_labels/x/a.txt"), Path())
    (PurePosixPath('train/a'), PurePosixPath('train/x/a'))
    """
    *folders, stem = path.relative_to(root).with_suffix("").parts
    return PurePosixPath(*(set_of_folder(each) if _is_of_kind(each) else each for each in folders), stem)


def _folded(path: PurePath) -> PurePosixPath:
    return PurePosixPath(str(path).casefold())


def _is_of_kind(folder: str) -> bool:
    words = [word for word in words_of(folder) if not set_of_folder(word)]
    return bool(words) and _OF_KINDS.issuperset(words)


def _read_set(
    reading: Reading, image_set: str, files: _Files, names: Sequence[str]
) -> Iterator[AnnotatedSet]:
    if not files.labels:
        return  # pictures alone, which have no annotation
    _tell_of_pictures_alone(reading, image_set, files)
    keys = sorted({*files.labels, *files.pictures})
    shown = {key: files.pictures.get(key) or str(_key_of(files.labels[key], reading.root)) for key in keys}
    named = image_names(shown.values())
    named.tell(reading.problems)
    images = {key: named.of[file] for key, file in shown.items()}
    paths = {images[key]: file for key, file in shown.items()}
    sizes = sizes_of_pictures(reading.unpacked, reading.role, paths)
    without = [
        files.labels[key] for key, image in images.items() if image not in sizes and key in files.labels
    ]
    reason = "of no image that was sent; boxes are shares of its width and height, so send the image here or in the zone for images"
    reading.refuse(without, "no-picture", reason)
    before = reading.problems.total
    found = _Objects()
    for key, path in sorted(files.labels.items()):
        _read_labels(reading, path, images[key], names, found)
    if found.four_points and found.four_points == len(found.image):
        message = (
            "every line has four points: rotated boxes (OBB), which are not scored, or polygons, which nothing tells apart from these; "
            "send upright boxes (class, centre, width and height), or COCO's JSON for masks"
        )
        reading.problems.add(
            Problem("four-points", Rule(message), reading.name(files.labels[min(files.labels)]))
        )
    if len(found.image) > reading.limits.boxes:
        message = f"at most {reading.limits.boxes:,} objects are allowed"
        reading.problems.add(Problem("too-many-boxes", Rule(message)))
    if reading.problems.total > before or len(sizes) < len(paths) or named.clashes:
        reading.invalid.append(ListedImages(image_set, {image: sizes.get(image) for image in paths}, paths))
        return
    if found.polygons:
        message = (
            f"{found.polygons:,} of {len(found.image):,} objects of {image_set} are polygons, which are read as the boxes around them; "
            "for masks send COCO's JSON"
        )
        reading.problems.warn(Problem("polygons", Rule(message)))
    _tell_of_odd_ends(reading, image_set, found)
    truth = _truth_of(found, names, paths, sizes)
    source = reading.name_of_folder(files.labels.values())
    yield AnnotatedSet(image_set, YOLO, source, reading.own(truth, image_set), paths)


def _truth_of(
    found: _Objects, names: Sequence[str], paths: Mapping[str, str], sizes: Mapping[str, Size]
) -> GroundTruth:
    sides = np.array([sizes[image] for image in found.image], np.float64).reshape(-1, 2)
    corners = np.array(found.corners, np.float64).reshape(-1, 4)
    return GroundTruth.from_arrays(
        found.image, [names[label] for label in found.label], corners * np.tile(sides, 2), convention="half-open",
        images=tuple(paths), classes=tuple(names), sizes=np.array([sizes[image] for image in paths]),
    )  # fmt: skip


def _tell_of_pictures_alone(reading: Reading, image_set: str, files: _Files) -> None:
    alone = sorted(files.pictures.keys() - files.labels.keys())
    if alone:
        count = "1 image has" if len(alone) == 1 else f"{len(alone):,} images have"
        words = f"{count} no label file, such as {{}}: {image_set} has them as images without objects"
        reading.problems.warn(Problem("no-label-file", Rule(words, files.pictures[alone[0]])))


def _tell_of_odd_ends(reading: Reading, image_set: str, found: _Objects) -> None:
    """Warn of label files that are empty, or cut off perhaps: of those whose last line has no end where others end theirs."""
    if found.empty:
        count = (
            "1 label file is empty"
            if len(found.empty) == 1
            else f"{len(found.empty):,} label files are empty"
        )
        words = f"{count}, such as {{}}: {image_set} has their images without objects"
        reading.problems.warn(Problem("empty-label-file", Rule(words, reading.name(found.empty[0]))))
    if found.open_ended and found.whole:
        of = len(found.open_ended) + len(found.whole)
        words = f"{len(found.open_ended):,} of {of:,} label files of {image_set} end within a line, such as {{}}; send them again if they were cut off"
        reading.problems.warn(Problem("no-line-end", Rule(words, reading.name(found.open_ended[0]))))


# lines


def _read_labels(reading: Reading, path: Path, image: str, names: Sequence[str], found: _Objects) -> None:
    text = reading.text(path)
    if text.strip():
        (found.whole if text.endswith("\n") else found.open_ended).append(path)
    else:
        found.empty.append(path)
    for number, line in enumerate(text.split("\n"), 1):
        fields = line.split()
        if not fields:
            continue
        flaw = _flaw_of(fields, names)
        if flaw is not None:
            code, rule = flaw
            reading.problems.add(Problem(code, rule, reading.name(path), number))
            continue
        values = [float(each) for each in fields[1:]]
        found.image.append(image)
        found.label.append(int(fields[0]))
        found.polygons += len(fields) > _BOX
        found.four_points += len(fields) == _FOUR_POINTS
        found.corners.append(_corners(values))


def _flaw_of(fields: Sequence[str], names: Sequence[str]) -> tuple[str, Rule] | None:
    """The first thing that is wrong in a line, as a code and a rule; None if there is nothing."""
    if not (fields[0].isascii() and fields[0].isdigit() and len(fields[0]) < 10):
        return "bad-number", Rule("expected a whole number of a class first, found {}", fields[0])
    if int(fields[0]) >= len(names):
        words = f"expected a number of one of the {len(names):,} classes, counted from 0, found {{}}"
        return "unknown-class", Rule(words, fields[0])
    if len(fields) == _WITH_CONFIDENCE:
        return "confidence", Rule(
            f"{_EXPECTED}; a sixth field seems to be a confidence, which predictions have"
        )
    if len(fields) != _BOX and (len(fields) < 7 or len(fields) % 2 == 0):
        return "field-count", Rule(f"{_EXPECTED}, found {len(fields)} fields")
    wrong = next((each for each in fields[1:] if not _is_share(each)), None)
    if wrong is not None:
        return "not-a-share", Rule(
            "expected shares of the image's width and height from 0 to 1, found {}", wrong
        )
    return None


def _is_share(text: str) -> bool:
    try:
        return 0 <= float(text) <= 1
    except ValueError:
        return False


def _corners(values: Sequence[float]) -> tuple[float, ...]:
    """Left, top, right and bottom of a box or around a polygon.

    >>> _corners([0.5, 0.5, 0.5, 0.25]), _corners([0.1, 0.2, 0.5, 0.25, 0.3, 0.75])
    ((0.25, 0.375, 0.75, 0.625), (0.1, 0.2, 0.5, 0.75))
    """
    if len(values) == _BOX - 1:
        x, y, width, height = values
        return x - width / 2, y - height / 2, x + width / 2, y + height / 2
    across, down = values[::2], values[1::2]
    return min(across), min(down), max(across), max(down)


# classes


def _names(reading: Reading) -> Sequence[str] | None:
    """The names of the classes; None where files that name them have problems or contradict each other."""
    found: dict[tuple[str, ...], Path] = {}
    is_fit = True
    for path in _class_files(reading):
        reading.use(path)
        text = reading.text(path)
        is_settings = path.suffix.lower() in _SETTINGS
        settings = _settings_in(reading, path, text) if is_settings else None
        if is_settings and settings is None:
            is_fit = False
            continue
        names = names_of(settings) if is_settings else tuple(map(str.strip, text.rstrip().splitlines()))
        if not is_settings and (numbers := numbers_of(names)):
            rule = Rule(
                "each line has a number, {} in the first; write names alone, those of class 0, 1, … in this order",
                numbers[0],
            )
            reading.problems.add(Problem("class-name", rule, reading.name(path)))
            is_fit = False
        elif not names or len(set(names)) < len(names) or not all(map(is_class_name, names)):
            expected = (
                "a list, or a mapping of 0, 1, … to names, as 'names'"
                if is_settings
                else "a name in each line"
            )
            rule = Rule(f"expected classes with different names: {expected}")
            reading.problems.add(Problem("class-name", rule, reading.name(path)))
            is_fit = False
        elif settings and "kpt_shape" in settings:
            rule = Rule("'kpt_shape' says that the labels are poses, which are not scored; send boxes")
            reading.problems.add(Problem("poses", rule, reading.name(path)))
            is_fit = False
        else:
            found.setdefault(names, path)
            _tell_of_count(reading, path, names, settings)
    if len(found) > 1:
        one, other = list(found.values())[:2]
        rule = Rule("this file and {} name other classes; send one of them", reading.name(other))
        reading.problems.add(Problem("two-lists", rule, reading.name(one)))
        is_fit = False
    if not is_fit:
        return None
    return next(iter(found)) if found else _numbered(reading)


def _settings_in(reading: Reading, path: Path, text: str) -> Mapping[str, Any] | None:
    """What a file of settings says; None where it has problems."""
    document = plain_yaml.read(text.encode(), _LONGEST)
    for each in document.problems:
        rule = Rule("these settings cannot be read: {}", each.message)
        reading.problems.add(Problem("settings", rule, reading.name(path), each.line))
    return None if document.problems or not isinstance(document.value, dict) else document.value


def _tell_of_count(
    reading: Reading, path: Path, names: Sequence[str], settings: Mapping[str, Any] | None
) -> None:
    count = (settings or {}).get("nc")
    if count not in (None, str(len(names))):
        words = f"'nc' says {{}}, but there are {len(names):,} names; a class may be missing, and others have its number then"
        reading.problems.warn(Problem("class-count", Rule(words, count), reading.name(path)))


def _numbered(reading: Reading) -> Sequence[str]:
    """Classes without names are called by their numbers, up to the largest that is used."""
    most = 0
    for path in evidence(reading):
        for line in path.read_text("utf-8-sig", "replace").splitlines():
            if _OBJECT.fullmatch(line):
                most = max(most, min(int(line.split()[0]), 9999))
    message = "there is no data.yaml, obj.names or classes.txt with the names of classes; classes are called class0, class1, …"
    reading.problems.warn(Problem(NO_CLASS_NAMES, Rule(message)))
    return tuple(f"class{number}" for number in range(most + 1))


def names_of(settings: Any) -> tuple[str, ...]:
    """The classes that the settings of a `data.yaml` name, in a list or in a mapping of 0, 1, …; none where they do neither.

    >>> names_of({"names": ["traffic light", "car"]}), names_of({"names": {"1": "dog", "0": "cat"}}), names_of({"names": "cat"})
    (('traffic light', 'car'), ('cat', 'dog'), ())
    """
    named = settings.get("names") if isinstance(settings, dict) else None
    if isinstance(named, list):
        named = {str(place): name for place, name in enumerate(named)}
    if not isinstance(named, dict) or set(named) != set(map(str, range(len(named)))):
        return ()
    names = [named[str(place)] for place in range(len(named))]
    return tuple(name.strip() for name in names) if all(isinstance(name, str) for name in names) else ()
