"""Label images, whose pixels say their classes: by index, by grey value, or by the colours of a table."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.images.decoding import MAX_PIXELS, UNREADABLE
from app.images.matching import SUFFIXES, path_of, stem_of
from app.intake.formats.image_names import image_names
from app.intake.formats.image_sets import NO_SUBSET, set_of_file, set_of_folder, words_of
from app.intake.formats.reading import (
    LABEL_IMAGES,
    NO_CLASS_NAMES,
    AnnotatedSet,
    ListedImages,
    Reading,
    is_class_name,
)
from app.intake.unpacking import TOO_MANY_PIXELS
from heldout_scoring import GroundTruth, Problem, Rule
from heldout_scoring.data.label_maps import (
    VOID,
    MaskError,
    beyond_classes,
    is_background,
    is_void,
    misnamed,
    moved_colour,
    read_label_image,
)

CLASSES_FILE: Final = "classes.txt"
LISTS: Final = (CLASSES_FILE, "class_names.txt", "labels.txt")
TABLES: Final = ("labelmap.txt", "label_colors.txt", "class_dict.csv")
WAY_OUT: Final = f"send a {TABLES[0]} with a line `name:red,green,blue` for each class, or indexed images and a {CLASSES_FILE}"
_MASKS: Final = frozenset(
    {
        "masks", "mask", "labels", "label", "segmentationclass", "segmentationclasspng", "annotations", "annotation", "annot", "gt",
    }
)  # fmt: skip
_PICTURES: Final = frozenset({"images", "image", "imgs", "img", "pictures", "jpegimages", "pngimages"})
_BESIDE: Final = re.compile(r"segmentation(object|class)(npy|png|visualization)?$", re.IGNORECASE)
_ENDING: Final = re.compile(r"(?<=.)[ ._-](l|labels?|masks?|gt|seg|segmentation)$", re.IGNORECASE)
_COLOUR: Final = r"(\d{1,3})\s*[, \t]\s*(\d{1,3})\s*[, \t]\s*(\d{1,3})"
_LINES: Final = (
    re.compile(rf"([^:,\t]+)[:,\t]\s*{_COLOUR}\s*(?:[:,].*)?$"),
    re.compile(rf"(){_COLOUR}[\s,]+(.+)$"),
)
_NUMBERED: Final = (re.compile(r"(\d{1,3})\s*[\s:;,.=)-]\s*\D.*"), re.compile(r".*\D\s*[:;,=\t]\s*(\d{1,3})"))
_LONGEST_LINE: Final = 500  # characters
_FEW: Final = 3  # images with each label but the last, below which that one may be missing by chance
_KIT_VOID: Final = 0xE0E0C0  # the colour of borders in the development kits

Labels = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class LabelClasses:
    """The names of the labels from 1 on, none if they have problems.

    colours: the label of each colour of 24 bits; empty without a table of colours; has_background: whether it has a name, too.
    """

    names: tuple[str, ...]
    colours: Mapping[int, int] = field(default_factory=dict)
    has_background: bool = False


@dataclass(slots=True)
class _Sent:
    """The pictures of a role by what they are for: label images, pictures of the images, neither.

    ending: what the names of label images have behind those of their pictures, as `_L` of CamVid.
    """

    masks: list[Path] = field(default_factory=list)
    pictures: list[Path] = field(default_factory=list)
    beside: list[Path] = field(default_factory=list)
    ending: str = ""


def evidence(reading: Reading) -> list[Path]:
    """The label images of a role: PNG in folders named so, or else all PNG if they have a palette, or a list of classes beside them."""
    others = [
        path for path in reading.with_suffix(".xml", ".json", ".csv") if path.name.lower() not in TABLES
    ]
    return [] if others else _sent(reading).masks


def _sent(reading: Reading) -> _Sent:
    found, unnamed = _Sent(), []
    for path in reading.with_suffix(*SUFFIXES, ".npy"):
        folders = path.relative_to(reading.root).parts[-2::-1]
        kind = next(filter(None, map(_kind_of, folders)), "")
        if path.suffix.lower() == ".npy" or (kind not in _MASKS and _BESIDE.match(kind)):
            found.beside.append(path)
        elif kind in _PICTURES or path.suffix.lower() != ".png":
            found.pictures.append(path)
        elif kind:
            found.masks.append(path)
        else:
            unnamed.append(path)
    known = {stem_of(path_of(name)) for name in reading.unpacked.pictures}
    known |= {path.stem for path in (*found.pictures, *unnamed)}
    if not found.masks and unnamed and (class_lists(reading) or _mode(unnamed[0]) == "P"):
        found.ending = _ending_of([path.stem for path in unnamed], known)
        found.masks = [path for path in unnamed if path.stem.endswith(found.ending)]
    else:
        names = {path.stem for path in found.masks}
        ending = _ending_of(names, known)
        found.ending = (
            ending if all(each.endswith(ending) for each in names) and known.isdisjoint(names) else ""
        )
    images = {path.stem.removesuffix(found.ending) for path in found.masks}
    masks = {*found.masks}
    found.pictures += [path for path in unnamed if path not in masks and path.stem in images]
    is_shown = bool(class_lists(reading) or found.pictures)
    if not is_shown and found.masks and _mode(found.masks[0]) not in ("P", "L"):
        found.masks = []  # photographs in a folder that is called like a class, as for faces with and without masks
    return found


def is_in_their_folder(path: Path, root: Path) -> bool:
    """Whether a picture lies in a folder that layouts give to label images and to nothing else."""
    kinds = map(_kind_of, path.relative_to(root).parts[:-1])
    return any(kind in _MASKS - {"labels", "label"} or _BESIDE.match(kind) for kind in kinds)


def has_label_images(folder: PurePosixPath) -> bool:
    """Whether a folder of pictures is called as layouts call those of label images alone, or is in one that is.

    >>> [has_label_images(PurePosixPath(name)) for name in ("hidden/SegmentationClass", "test_masks/a", "labels", "with mask")]
    [True, True, False, False]
    """
    kinds = map(_kind_of, folder.parts)
    return any(kind in ("mask", "masks", "segmentationclass") or _BESIDE.match(kind) for kind in kinds)


def _kind_of(folder: str) -> str:
    """What layouts call a folder for pictures, label images or what is beside them, without the image set in its name; empty otherwise.

    >>> [_kind_of(name) for name in ("Images", "train_labels", "valannot", "train", "faces with masks")]
    ['images', 'labels', 'annot', '', '']
    """
    words = [word for word in words_of(folder) if not (word.isdigit() or set_of_folder(word))]
    names = (folder.lower(), "".join(words))
    return next((each for each in names if each in _MASKS | _PICTURES or _BESIDE.match(each)), "")


def _ending_of(names: Iterable[str], known: AbstractSet[str]) -> str:
    """What most of these names of label images have behind those of their pictures; empty if none has. known: names of pictures.

    >>> _ending_of(["a_L", "b_L"], {"a"}), _ending_of(["a_L", "b_L"], {"c"}), _ending_of(["a_mask", "b_mask", "a"], {"a", "b"})
    ('_L', '', '_mask')
    """
    ends = Counter(
        found[0] for each in names if (found := _ENDING.search(each)) and each[: found.start()] in known
    )
    return next((ending for ending, _ in ends.most_common(1)), "")


def class_lists(reading: Reading) -> list[Path]:
    """The files that name classes: lists and tables of colours."""
    return [path for path in reading.files if path.name.lower() in (*LISTS, *TABLES)]


def _mode(path: Path) -> str:
    from PIL import Image  # noqa: PLC0415 - needed only here

    try:
        with Image.open(path, formats=["PNG"]) as image:
            return image.mode
    except (*UNREADABLE, Image.DecompressionBombError):
        return ""


def read(reading: Reading) -> list[AnnotatedSet]:
    """0 is the background, k the k-th class of a list, 255 is not counted; or each class has a colour by a table."""
    sent = _sent(reading)
    for path in sent.pictures:
        reading.use_as_picture(path)
    reading.leave_out(sent.beside, "beside-label-images", "only label images of classes, as PNG, are read")
    classes = classes_of(reading)
    read_sets = [_read_set(reading, name, masks, classes) for name, masks in _by_set(reading, sent)]
    return [each for each in read_sets if each is not None]


def _read_set(
    reading: Reading, image_set: str, paths: Mapping[str, Path], classes: LabelClasses | None
) -> AnnotatedSet | None:
    before = len(reading.problems.listed)
    reader = LabelReader(reading, classes)
    masks = {name: labels for name, path in paths.items() if (labels := reader.read(path)) is not None}
    reader.tell(image_set, len(paths))
    names = classes.names if classes else ()
    if classes is None and not reader.grey:
        most = max((int(mask[mask != VOID].max(initial=0)) for mask in masks.values()), default=0)
        names = tuple(f"class{number}" for number in range(1, most + 1))
    for name, mask in masks.items():
        if names and (wrong := beyond_classes(mask, len(names))) is not None:
            reading.problems.add(Problem("mask-label", wrong, reading.name(paths[name])))
    if not names or len(reading.problems.listed) > before:
        sizes = {name: (mask.shape[1], mask.shape[0]) for name, mask in masks.items()}
        reading.invalid.append(ListedImages(image_set, sizes))
        return None
    truth = GroundTruth.from_label_maps(list(masks.values()), classes=names, images=tuple(masks))
    files = {name: reading.name(path) for name, path in paths.items() if not path.stem.startswith(name)}
    source = reading.name_of_folder(paths.values())
    return AnnotatedSet(image_set, LABEL_IMAGES, source, reading.own(truth, image_set), files)


@dataclass(slots=True)
class LabelReader:
    """Reads the label images of a set, and counts what is odd about them."""

    reading: Reading
    classes: LabelClasses | None
    grey: str | None = None  # a file whose grey values are labels that no list names
    used: NDArray[np.int64] = field(
        default_factory=lambda: np.zeros(VOID + 1, np.int64)
    )  # how many images have each label
    void: str | None = None  # a file with void and no class
    moved: list[tuple[str, int, int]] = field(
        default_factory=list
    )  # files, a label with the colour of another, that other
    colours: dict[int, int] = field(default_factory=dict)  # of each index, by the first palette
    differing: list[str] = field(default_factory=list)  # files with another colour at an index

    def read(self, path: Path) -> Labels | None:
        """The labels of a label image; None after a problem."""
        self.reading.use(path)
        name = self.reading.name(path)
        try:
            labels = self._labels(path, name)
        except MaskError as error:
            self.reading.problems.add(Problem("mask", error.rule, name))
            return None
        used = np.bincount(labels.ravel(), minlength=VOID + 1) > 0
        self.used += used
        self.void = self.void or (name if used[VOID] else None)
        return labels

    def _labels(self, path: Path, name: str) -> Labels:
        from PIL import Image, UnidentifiedImageError  # noqa: PLC0415 - needed only here

        try:
            with Image.open(path, formats=["PNG"]) as image:
                if image.width * image.height > MAX_PIXELS:
                    raise MaskError(Rule(TOO_MANY_PIXELS))  # noqa: TRY301 - as every other problem
                if image.mode in ("RGB", "RGBA"):
                    return self._by_colour(np.asarray(image.convert("RGB")))
                palette = bytes(image.getpalette() or ()) if image.mode == "P" else b""
        except (UnidentifiedImageError, Image.DecompressionBombError):
            palette = b""  # told below
        except MaskError:
            raise
        except UNREADABLE as error:
            raise MaskError(Rule("this is not a PNG that can be read: it is damaged or cut off")) from error
        labels = read_label_image(path.read_bytes())
        self.grey = self.grey or (None if palette or self.classes else name)
        if palette:
            return self._of_palette(labels, palette, name)
        return labels

    def _by_colour(self, pixels: NDArray[np.uint8]) -> Labels:
        colours = self.classes.colours if self.classes else {}
        if not colours:
            raise MaskError(Rule(f"expected an indexed PNG of 8 bits, found one of mode RGB; {WAY_OUT}"))
        packed = pixels.astype(np.uint32) @ np.array([1 << 16, 1 << 8, 1], np.uint32)
        known = np.array(sorted(colours), np.uint32)
        place = np.searchsorted(known, packed).clip(max=len(known) - 1)
        if len(wrong := np.argwhere(known[place] != packed)):
            row, column = wrong[0].tolist()
            red, green, blue = pixels[row, column].tolist()
            where = f"{len(wrong):,} pixels have a colour that is not in the table, the first at column {column + 1}, row {row + 1}"
            raise MaskError(Rule(f"{where}: {{}}", f"{red},{green},{blue}"))
        table = np.array([colours[each] for each in known.tolist()], np.uint8)
        labels: Labels = table[place]
        return labels

    def _of_palette(self, labels: Labels, palette: bytes, name: str) -> Labels:
        """The labels of an indexed image: by the table of colours if it has all of them, else the indices."""
        used = np.unique(labels).tolist()
        if self.classes and self.classes.colours:
            colours = dict(_colours(used, palette))
            if set(colours.values()) <= set(self.classes.colours):
                table = np.zeros(VOID + 1, np.uint8)
                table[used] = [self.classes.colours[colours[each]] for each in used]
                self.moved += [(name, each, int(table[each])) for each in used if table[each] != each][:1]
                return table[labels]
        if any(self.colours.setdefault(each, colour) != colour for each, colour in _colours(used, palette)):
            self.differing.append(name)
        moved = moved_colour(labels, palette, len(self.classes.names)) if self.classes else None
        self.moved += [(name, *moved)] if moved else []
        return labels

    def tell(self, image_set: str, count: int) -> None:
        """Add what all label images of the set together show to be odd."""
        problems = self.reading.problems
        if self.moved:
            name, label, other = self.moved[0]
            has_table = bool(self.classes and self.classes.colours)
            counted = (
                "the colours count, as the table says" if has_table else "the indices count, not the colours"
            )
            words = f"in {len(self.moved):,} of {count:,} label images of {image_set} the palette shows other labels than the indices"
            rule = Rule(
                f"{words}, such as the colour of label {{}} at the index {{}}; {counted}", other, label
            )
            problems.warn(Problem("moved-colours", rule, name))
        elif self.differing:
            words = (
                f"in {len(self.differing):,} of {count:,} label images of {image_set} the palette has another colour for an index than in those before, as where "
                "a program keeps the colours of each image alone; the indices count, not the colours"
            )
            problems.warn(Problem("moved-colours", Rule(words), self.differing[0]))
        count_of_classes = len(self.classes.names) if self.classes else 0
        is_bare = bool(self.classes and not (self.classes.has_background or self.classes.colours))
        is_shifted = (self.used[:count_of_classes] >= _FEW).all() and not self.used[count_of_classes]
        if is_bare and is_shifted:
            words = (
                f"the label images of {image_set} have every label from 0 to {count_of_classes - 1:,} and never {count_of_classes:,}, the last class of the "
                "list: 0 is the background here; if it is the first class, add 1 to all labels"
            )
            problems.warn(Problem("labels-from-0", Rule(words)))
        if self.void and not self.used[1:VOID].any():
            words = f"the label images of {image_set} have no class, only 0 and 255, and 255 is not counted"
            problems.add(
                Problem("binary-masks", Rule(f"{words}; in masks of one class write 1 for its pixels"))
            )
        if self.grey:
            words = (
                f"grey values are labels only with a {CLASSES_FILE}, a line for each class from label 1 on"
            )
            problems.add(Problem(NO_CLASS_NAMES, Rule(f"there is no list of classes: {words}"), self.grey))
        elif self.classes is None:
            words = f"there is no {CLASSES_FILE} with the name of a class in each line; classes are called class1, class2, …"
            problems.warn(Problem(NO_CLASS_NAMES, Rule(words)))


def _colours(used: Iterable[int], palette: bytes) -> Iterator[tuple[int, int]]:
    """The indices that are used with their colours."""
    return ((each, _packed(palette[3 * each : 3 * each + 3])) for each in used)


def _packed(colour: bytes) -> int:
    return int.from_bytes(colour, "big")


# image sets


def _by_set(reading: Reading, sent: _Sent) -> Iterator[tuple[str, Mapping[str, Path]]]:
    """The label images of each set, by image: as lists in ImageSets say, or else by folders that are named like sets."""
    if lists := [
        path for path in reading.with_suffix(".txt") if path.parts[-3:-1] == ("ImageSets", "Segmentation")
    ]:
        yield from _by_list(reading, sent.masks, lists)
        return
    for name, paths in reading.by_set(sent.masks).items():
        images: dict[str, Path] = {}
        for path in paths:
            image = path.stem.removesuffix(sent.ending)
            if image in images:
                rule = Rule(
                    "two label images have this name; the other one is {}", reading.name(images[image])
                )
                reading.problems.add(Problem("mask", rule, reading.name(path)))
            images[image] = path
        yield name, images


def _by_list(
    reading: Reading, masks: Sequence[Path], lists: Sequence[Path]
) -> Iterator[tuple[str, Mapping[str, Path]]]:
    known = _by_line(reading, masks)
    unlisted = set(masks)
    for path in lists:
        reading.use(path)
        images = {}
        for line, text in enumerate(reading.text(path).splitlines(), 1):
            if not text.strip():
                continue
            if (found := known.get(text.strip())) is None:
                rule = Rule("there is no label image of {}", text.strip())
                reading.problems.add(Problem("mask", rule, reading.name(path), line))
            else:
                images[found[0]] = found[1]
        unlisted -= set(images.values())
        own = set_of_file(path, reading.root, NO_SUBSET) if path.stem == NO_SUBSET else path.stem
        reading.refuse_other_folders(images.values(), own, path.parents[2])
        yield own, images
    reading.leave_out(unlisted, "not-listed", "no list in ImageSets/Segmentation names them")


def _by_line(reading: Reading, masks: Sequence[Path]) -> Mapping[str, tuple[str, Path]]:
    """The name and the label image of each image, by the lines with which lists name it: with its folders, or without."""
    below = {reading.name(path): path for path in masks}
    names = image_names(below)
    names.tell(reading.problems)
    found: dict[str, list[str]] = {}
    for name in below:
        parts = PurePosixPath(name).with_suffix("").parts
        for line in {names.of[name], *("/".join(parts[start:]) for start in range(len(parts)))}:
            found.setdefault(line, []).append(name)
    return {line: (names.of[some[0]], below[some[0]]) for line, some in found.items() if len(some) == 1}


# classes


def classes_of(reading: Reading) -> LabelClasses | None:
    """The classes that lists and tables name, all the same; None if there are no such files."""
    found: dict[Path, LabelClasses] = {}
    for path in class_lists(reading):
        reading.use(path)
        lines = reading.text(path).splitlines()
        is_table = path.name.lower() in TABLES
        read_classes = (_table if is_table else _list)(reading, reading.name(path), lines)
        if read_classes is not None:
            found[path] = read_classes
    if len({each.names for each in found.values()}) > 1:
        listed = ", ".join(map(reading.name, found))
        rule = Rule(
            "these files name other classes, or the same in another order: {}; send one of them", listed
        )
        reading.problems.add(Problem("other-classes", rule, reading.name(next(iter(found)))))
    if not class_lists(reading):
        return None
    return max(found.values(), key=lambda each: len(each.colours), default=LabelClasses(()))


def _list(reading: Reading, file: str, lines: Sequence[str]) -> LabelClasses | None:
    """A list of names, the first perhaps of the background, which is label 0; labelme writes `__ignore__` before it."""
    names = [line.strip() for line in "\n".join(lines).strip().splitlines()]
    if numbers := numbers_of(names):
        rule = Rule(
            "each line has a number, {} in the first; write names alone, those of label 1, 2, … in this order",
            numbers[0],
        )
        reading.problems.add(Problem("class-name", rule, file))
        return None
    while len(names) > 1 and is_void(names[0]) and is_background(names[1]):
        del names[0]
    if names and is_background(names[0]):
        rule = Rule(
            "the first line, {}, is taken for label 0, so label 1 is the class of the second line", names[0]
        )
        reading.problems.warn(Problem("background-first", rule, file, 1))
        del names[0]
        return _checked(reading, file, LabelClasses(tuple(names), has_background=True))
    return _checked(reading, file, LabelClasses(tuple(names)))


def numbers_of(names: Sequence[str]) -> Sequence[int]:
    """The numbers that stand before or behind all names of a list, if they count its lines in any order; else none, and numbers belong to names.

    >>> numbers_of(["1: car", "2: dog"]), numbers_of(["dog,1", "car,0"]), numbers_of(["1 euro", "5 cent"]), numbers_of(["car", "dog"])
    ([1, 2], [1, 0], [], [])
    """
    for pattern in _NUMBERED:
        found = [pattern.fullmatch(name) for name in names]
        numbers = [int(each[1]) for each in found if each]
        if len(names) > 1 and sorted(numbers) in (list(range(len(names))), list(range(1, len(names) + 1))):
            return numbers
    return []


def _table(reading: Reading, file: str, lines: Sequence[str]) -> LabelClasses | None:
    """A table of colours: `name:red,green,blue` as of CVAT, `name,red,green,blue`, or `red green blue name`."""
    names: list[str] = []
    colours: dict[int, int] = {_KIT_VOID: VOID}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#") or (number == 1 and not re.search(r"\d", line)):
            continue
        is_short = len(line) <= _LONGEST_LINE
        matched = next(filter(None, (each.match(line.strip()) for each in _LINES if is_short)), None)
        colour = [int(each) for each in matched.groups()[1:4]] if matched else []
        if matched is None or max(colour) > VOID:
            reading.problems.add(
                Problem("colour", Rule("expected a name and three numbers from 0 to 255"), file, number)
            )
            return None
        name = (matched[1] or matched[5]).strip()
        label = 0 if is_background(name) else VOID if is_void(name) else len(names) + 1
        names += [name] if label not in (0, VOID) else []
        if colours.setdefault(_packed(bytes(colour)), label) != label:
            reading.problems.add(Problem("colour", Rule("another class has this colour"), file, number))
            return None
    return _checked(reading, file, LabelClasses(tuple(names), colours))


def _checked(reading: Reading, file: str, found: LabelClasses) -> LabelClasses | None:
    if (
        not found.names
        or len(set(found.names)) < len(found.names)
        or not all(map(is_class_name, found.names))
    ):
        message = "expected a different name of a class in each line"
        reading.problems.add(Problem("class-name", Rule(message), file))
        return None
    if len(found.names) >= VOID:
        message = f"expected at most {VOID - 1} classes, found {len(found.names):,}"
        reading.problems.add(Problem("class-name", Rule(message), file))
        return None
    if (wrong := misnamed(found.names)) is not None:
        reading.problems.add(Problem("background-class", wrong, file))
        return None
    return found
