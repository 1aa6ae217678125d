"""How annotation may be laid out: development kits, COCO's JSON, tables, folders of classes, label images.

Each reader makes the ground truth of every image set that it finds. Problems are collected, all at once.
"""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, Final

import numpy as np

import heldout_scoring
from app.images.matching import SUFFIXES, image_of, size_problem
from app.intake.reports import HIDDEN, IMAGES, PUBLIC, ClassCount
from app.intake.unpacking import ReadingLimits, SentContent, SentPicture, Unpacked, keep_picture
from heldout_scoring import (
    Annotation,
    Entry,
    GroundTruth,
    Image,
    Problem,
    Problems,
    Rule,
    SubmissionError,
    TreeError,
)
from heldout_scoring.competitions import CHALLENGES
from heldout_scoring.data.label_maps import MaskError, beyond_classes, misnamed, read_label_image
from heldout_scoring.evaluation import problems_of_coco

VOC, COCO, TABLE, CLASS_FOLDERS, LABEL_IMAGES = (
    "development kit (VOC)", "COCO JSON", "table (CSV)", "a folder for each class", "label images"
)  # fmt: skip
COLUMNS: Final = ("image", "class", "left", "top", "right", "bottom")
EXPECTED: Final = (
    "expected a development kit with Annotations and ImageSets, COCO's JSON, a table with the columns "
    f"{', '.join(COLUMNS)}, a folder of pictures for each class, or label images"
)
CLASSES_FILE: Final = "classes.txt"
NO_CLASS_NAMES: Final = "no-class-names"  # the code of a warning that the names chosen for classes answer
SET_NAMES: Final[Mapping[str, str]] = {PUBLIC: "val", HIDDEN: "test"}
USUAL_SETS: Final = ("trainval", "train", "val", "minival", "test-dev", "test")
LARGEST_LOOKED_INTO: Final = 200 << 20  # bytes of a JSON file that is parsed again for warnings
MOST_NAMED: Final = 3  # names in a sentence
ID_0: Final = "the annotation is numbered 0 as 'id': as in the official program, what matches such an object is a false positive"
OUTSIDE: Final = "reaches beyond its image by more than a pixel"

Size = tuple[int, int]  # width and height


@dataclass(frozen=True, slots=True)
class AnnotatedSet:
    """An image set with its annotation. files: the pictures' names where annotation gives them, by image; ignored: classes that were left out."""

    name: str
    layout: str
    source: str
    truth: GroundTruth
    files: Mapping[str, str]
    ignored: tuple[ClassCount, ...] = ()


@dataclass(frozen=True, slots=True)
class ListedImages:
    """The images of a set as its annotation lists them, with their sizes where these are known.

    So pictures are compared with a set whose annotation has problems, and everything is told at once.
    files: as in AnnotatedSet; numbered: whether images are called by numbers, as in COCO's JSON.
    """

    name: str
    sizes: Mapping[str, Size | None]
    files: Mapping[str, str] = field(default_factory=dict)
    numbered: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """What readers share: the unpacked files, the role that is read, its problems, and the sets that have some."""

    unpacked: Unpacked
    role: str
    limits: ReadingLimits
    invalid: list[ListedImages] = field(default_factory=list)

    @property
    def root(self) -> Path:
        """The folder of the role."""
        return self.unpacked.root(self.role)

    @property
    def files(self) -> list[Path]:
        """All files of the role."""
        return sorted(path for path in self.root.rglob("*") if path.is_file())

    def with_suffix(self, *suffixes: str) -> list[Path]:
        """The files whose names end like this."""
        return [path for path in self.files if path.suffix.lower() in suffixes]

    @property
    def problems(self) -> Problems:
        """The problems of the role."""
        return self.unpacked.problems[self.role]

    @property
    def set_name(self) -> str:
        """What an image set without a name is called."""
        return SET_NAMES[self.role]

    def name(self, path: Path) -> str:
        """The name of a file as it was sent."""
        return path.relative_to(self.root).as_posix()

    def own(self, truth: GroundTruth, image_set: str) -> GroundTruth:
        """The same annotation of an image set of this challenge, whose images have names and not numbers."""
        lists = replace(truth.lists, dataset=self.unpacked.dataset, image_set=image_set)
        return GroundTruth.of(lists, truth.tables)


def layout_of(reading: Reading) -> str | None:
    """Recognise the layout of a role's annotation; None if it has none, or another."""
    files = reading.files
    if _kits(files):
        return VOC
    if any(path.suffix.lower() == ".json" for path in files):
        return COCO
    if any(path.suffix.lower() == ".csv" for path in files):
        return TABLE
    pictures = [path for path in files if path.suffix.lower() in SUFFIXES]
    if _are_label_images(reading, pictures):
        return LABEL_IMAGES
    return CLASS_FOLDERS if any(path.parent != reading.root for path in pictures) else None


def read_annotation(reading: Reading, layout: str | None) -> list[AnnotatedSet]:
    """Read all annotation of a role in this layout; its pictures join the others."""
    if layout is not None:
        return list(READERS[layout](reading))
    if reading.files:
        reading.problems.add(Problem("no-annotation", Rule(f"no annotation was recognised; {EXPECTED}")))
    return []


# development kits


def _kits(files: Sequence[Path]) -> list[Path]:
    """The folders that hold Annotations or ImageSets."""
    found = {
        parent.parent
        for path in files
        for parent in path.parents
        if parent.name in ("Annotations", "ImageSets")
    }
    return sorted(found)


def _read_kits(reading: Reading) -> Iterator[AnnotatedSet]:
    for kit in _kits(reading.files):
        yield from _read_kit(reading, kit)


def _read_kit(reading: Reading, kit: Path) -> Iterator[AnnotatedSet]:
    for folder in ("JPEGImages", "PNGImages"):
        for path in sorted(filter(Path.is_file, (kit / folder).rglob("*"))):
            keep_picture(
                reading.unpacked, reading.role, SentContent(reading.name(path), path), reading.limits
            )
            path.unlink()
    listed = _sets_of_kit(kit)
    if not listed:
        _list_all(kit, reading.set_name)
        listed = (reading.set_name,)
    for image_set in listed:
        try:
            odd = Problems()
            truth = heldout_scoring.read_tree(kit, image_set, problems=odd)
        except TreeError as error:
            _add_of_kit(reading, kit, error.problems)
            _warn_of_boxes_outside(reading, kit, error.annotations)
            sizes = {each.id: _known_size(each) for each in error.images}
            reading.invalid.append(ListedImages(image_set, sizes))
            continue
        if truth.lists.dataset != reading.unpacked.dataset and truth.lists.dataset not in CHALLENGES:
            truth = reading.own(truth, image_set)
        told = {(each.file, each.message) for each in reading.problems.warnings}
        for warning in odd.warnings:
            file = warning.file and reading.name(kit / warning.file)
            if (file, warning.message) not in told:  # several sets may share a file
                reading.problems.warn(replace(warning, file=file))
        source = kit.name if kit == reading.root else reading.name(kit)
        yield AnnotatedSet(image_set, VOC, source, truth, {})


def _add_of_kit(reading: Reading, kit: Path, problems: Sequence[Problem]) -> None:
    """Add problems whose files are named from the folder that was sent; several sets may share a file, told once."""
    known = {(each.file, each.line, each.message) for each in reading.problems.listed}
    for problem in problems:
        file = problem.file and reading.name(kit / problem.file)
        if (file, problem.line, problem.message) not in known:
            reading.problems.add(replace(problem, file=file))


def _warn_of_boxes_outside(reading: Reading, kit: Path, annotations: Mapping[str, Annotation]) -> None:
    """Warn of boxes beyond their image in a set that has problems; of others, findings count them."""
    for file, annotation in annotations.items():
        for number, thing in enumerate(annotation.objects, 1):
            box, width, height = thing.box, annotation.width, annotation.height
            if min(box.left, box.top) < 0 or box.right > width + 1 or box.bottom > height + 1:
                message = f"the box of object {number} {OUTSIDE}"
                reading.problems.warn(Problem("box-outside", Rule(message), reading.name(kit / file)))


def _known_size(image: Image) -> Size | None:
    return (image.width, image.height) if image.has_size else None


def _sets_of_kit(kit: Path) -> tuple[str, ...]:
    """The image sets that a kit lists; `car_val` is the label file of a class in `val`."""
    sets = kit / "ImageSets"
    files = [path for folder in (sets / "Main", sets / "Segmentation", sets) for path in folder.glob("*.txt")]
    stems = {path.stem for path in files}
    plain = {stem for stem in stems if not any(stem != each and stem.endswith(f"_{each}") for each in stems)}
    of_classes = {
        stem.rpartition("_")[2] for stem in plain if "_" in stem and stem.rpartition("_")[2] in USUAL_SETS
    }
    return tuple(
        sorted(
            {stem for stem in plain if stem.rpartition("_")[2] not in of_classes or "_" not in stem}
            | of_classes
        )
    )


def _list_all(kit: Path, image_set: str) -> None:
    """List every annotated image, for kits without image sets."""
    main = kit / "ImageSets" / "Main"
    main.mkdir(parents=True, exist_ok=True)
    names = sorted(path.stem for path in (kit / "Annotations").glob("*.xml"))
    (main / f"{image_set}.txt").write_text("".join(f"{name}\n" for name in names))


# COCO


def _read_json_files(reading: Reading) -> Iterator[AnnotatedSet]:
    for path in reading.with_suffix(".json"):
        yield from _read_coco(reading, path)


def _read_coco(reading: Reading, path: Path) -> Iterator[AnnotatedSet]:
    name, data = reading.name(path), path.read_bytes()
    image_set = _set_of(path.stem, reading.set_name)
    listed = _look_into(reading, name, data, image_set)
    try:
        truth = GroundTruth.from_coco(data, image_set=image_set)
    except SubmissionError as error:
        _add_all_of_coco(reading, name, data, error)
        _look_for_boxes_outside(reading, name, data, listed)
        reading.invalid.append(listed)
        return
    yield AnnotatedSet(image_set, COCO, name, truth, listed.files)


def _add_all_of_coco(reading: Reading, name: str, data: bytes, error: SubmissionError) -> None:
    """Add every problem of a file, also those of masks, which are so many at times that they would leave no room for others."""
    found = problems_of_coco(data, file=name)
    known = {str(each) for each in found.listed}
    others = (replace(each, file=name) for each in error.problems)
    reading.problems.extend(each for each in others if str(each) not in known)
    reading.problems.join(found)


def _set_of(stem: str, otherwise: str) -> str:
    """The image set in the name of a file.

    >>> _set_of("instances_val2017", "test"), _set_of("annotation", "test"), _set_of("image_info_test-dev2017", "x")
    ('val', 'test', 'test-dev')
    """
    lowered = stem.lower()
    return next((each for each in USUAL_SETS if each in lowered), otherwise)


def _look_into(reading: Reading, name: str, data: bytes, image_set: str) -> ListedImages:
    """Warn of what is valid and perhaps not meant; return the listed images."""
    if len(data) > LARGEST_LOOKED_INTO:
        message = (
            f"more than {LARGEST_LOOKED_INTO >> 20} MiB: not looked at for gaps in category ids and the like"
        )
        reading.problems.warn(Problem("not-looked-into", Rule(message), name))
        return ListedImages(image_set, {})
    images, categories, annotations = _lists_of_coco(data)
    warn = partial(_warn, reading.problems, name)
    _look_at_annotations(annotations, warn)
    numbers = sorted(each["id"] for _, each in categories if type(each.get("id")) is int)
    if numbers and numbers[-1] - numbers[0] + 1 != len(numbers):
        words = "categories: ids from {} to {} have gaps; predictions have to use them as they are"
        warn("category-gaps", Rule(words, numbers[0], numbers[-1]))
    files = {
        str(each.get("id")): str(each["file_name"])
        for _, each in images
        if isinstance(each.get("file_name"), str)
    }
    for index, each in images:
        if "/" in files.get(str(each.get("id")), ""):
            rule = Rule("the file name has folders, which are left out", place=Entry(f"images[{index}]"))
            warn("folder-in-name", rule)
    sizes = {str(each["id"]): _size_of(each) for _, each in images if type(each.get("id")) is int}
    return ListedImages(image_set, sizes, files, numbered=True)


def _lists_of_coco(data: bytes) -> "tuple[Records, Records, Records]":
    """The objects in `images`, `categories` and `annotations`; none in what is no such file, which is told elsewhere."""
    try:
        root = json.loads(data)
    except (ValueError, RecursionError):
        root = {}
    found = root if isinstance(root, dict) else {}
    return (
        _records(found.get("images")),
        _records(found.get("categories")),
        _records(found.get("annotations")),
    )


def _size_of(image: Mapping[str, Any]) -> Size | None:
    width, height = image.get("width"), image.get("height")
    return (width, height) if type(width) is int and type(height) is int else None


def _look_for_boxes_outside(reading: Reading, name: str, data: bytes, listed: ListedImages) -> None:
    """Warn of boxes beyond their image in a file that has problems; of others, findings count them."""
    if not listed.sizes:
        return
    warn = partial(_warn, reading.problems, name)
    for index, each in _lists_of_coco(data)[2]:
        box, size = each.get("bbox"), listed.sizes.get(str(each.get("image_id")))
        if (
            size is None
            or not isinstance(box, list)
            or [type(side) in (int, float) for side in box] != [True] * 4
        ):
            continue
        left, top, width, height = box
        if min(left, top) < -1 or left + width > size[0] + 1 or top + height > size[1] + 1:
            place = Entry(f"annotations[{index}]", each.get("id"))
            warn("box-outside", Rule(f"the box {OUTSIDE}", place=place))


def _look_at_annotations(annotations: "Records", warn: Callable[[str, Rule], None]) -> None:
    for index, each in annotations:
        place = Entry(f"annotations[{index}]", each.get("id"))
        if "iscrowd" not in each:
            warn("missing-iscrowd", Rule("'iscrowd' is missing; taken for 0", place=place))
        if each.get("id") == 0:
            warn("id-0", Rule(ID_0, place=place))


Records = list[tuple[int, dict[str, Any]]]  # objects with their places


def _records(found: Any) -> Records:
    return (
        [(index, each) for index, each in enumerate(found) if isinstance(each, dict)]
        if isinstance(found, list)
        else []
    )


def _warn(problems: Problems, name: str, code: str, rule: Rule) -> None:
    problems.warn(Problem(code, rule, name))


# tables


def _read_tables(reading: Reading) -> Iterator[AnnotatedSet]:
    for path in reading.with_suffix(".csv"):
        yield from _read_table(reading, path)


def _read_table(reading: Reading, path: Path) -> Iterator[AnnotatedSet]:
    """Boxes as image, class, left, top, right, bottom in pixels, counted from 1, the last ones included.

    A row with an image alone is an image without an object. A picture is called by its name without extension.
    """
    name = reading.name(path)
    rows: list[tuple[str, str, tuple[float, ...]]] = []
    images: dict[str, None] = {}
    say = partial(_say_of_row, reading.problems, name)
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        table = csv.reader(file)
        try:
            head = tuple(cell.strip().lower() for cell in next(table, ()))
            if head[:6] != COLUMNS:
                say(1, "columns", f"expected the columns {', '.join(COLUMNS)}")
                return
            for row in table:
                _read_row(row, table.line_num, say, rows, images)
                if len(rows) > reading.limits.boxes:
                    say(
                        table.line_num,
                        "too-many-boxes",
                        f"at most {reading.limits.boxes:,} objects are allowed",
                    )
                    return
            _remark_on_sides(reading, name)
        except csv.Error:
            say(table.line_num, "bad-row", "this line is not part of a table")
            return
    if not images:
        say(1, "no-image", "the table has no image")
        return
    image_set = _set_of(path.stem, reading.set_name)
    truth = GroundTruth.from_arrays(
        [row[0] for row in rows], [row[1] for row in rows], np.array([row[2] for row in rows]).reshape(-1, 4),
        convention="inclusive", images=tuple(images), classes=tuple(sorted({row[1] for row in rows})) or None,
        sizes=_sizes(reading.unpacked, images),
    )  # fmt: skip
    yield AnnotatedSet(image_set, TABLE, name, reading.own(truth, image_set), {})


def _remark_on_sides(reading: Reading, name: str) -> None:
    """Say what boxes that end before they begin hint at."""
    count = sum(each.code == "inverted-box" and each.file == name for each in reading.problems.listed)
    if count:
        boxes = "1 box ends before it begins" if count == 1 else f"{count:,} boxes end before they begin"
        message = f"{boxes}: the last two columns may hold width and height; right and bottom are expected"
        reading.problems.warn(Problem("box-convention", Rule(message), name))


def _say_of_row(problems: Problems, file: str, line: int, code: str, message: str) -> None:
    problems.add(Problem(code, Rule(message), file, line))


def _read_row(
    row: Sequence[str],
    line: int,
    say: Any,
    rows: list[tuple[str, str, tuple[float, ...]]],
    images: dict[str, None],
) -> None:
    cells = [cell.strip() for cell in row]
    if not any(cells):
        return
    image = PurePosixPath(cells[0])
    stem = image.stem if image.suffix.lower() in SUFFIXES else image.name
    if not is_name(stem):
        say(line, "image-name", "expected the name of an image without blanks")
        return
    if not any(cells[1:]):
        images.setdefault(stem)
        return
    if len(cells) < 6:
        say(line, "field-count", f"expected 6 fields, found {len(cells)}")
        return
    if not is_name(cells[1]):
        say(line, "class-name", "expected the name of a class without blanks")
        return
    try:
        box = tuple(float(cell) for cell in cells[2:6])
    except ValueError:
        say(line, "bad-number", "expected four numbers as left, top, right, bottom")
        return
    if not all(abs(side) < 1e9 for side in box):
        say(line, "bad-number", "expected coordinates in pixels")
    elif box[2] < box[0] or box[3] < box[1]:
        say(line, "inverted-box", "the box ends before it begins")
    else:
        images.setdefault(stem)
        rows.append((stem, cells[1], box))


def is_name(text: str) -> bool:
    """Whether a text can be the name of a class or an image."""
    return (
        bool(text)
        and text.isprintable()
        and not any(letter.isspace() for letter in text)
        and len(text) <= 200
    )


def _sizes(unpacked: Unpacked, images: Mapping[str, None]) -> Any:
    """Width and height of each image where all pictures are there; else None."""
    known = {PurePosixPath(name).stem: each.size for name, each in unpacked.pictures.items()}
    sizes = [known.get(image) for image in images]
    return None if None in sizes else np.array(sizes)


# folders of classes


def _read_class_folders(reading: Reading) -> list[AnnotatedSet]:
    """The class of a picture is the name of its folder. Folders called train, val or test above are image sets."""
    sets: dict[str, dict[str, str]] = {}
    for path in reading.with_suffix(*SUFFIXES):
        folders = path.relative_to(reading.root).parts[:-1]
        if not folders:
            reading.problems.add(
                Problem("no-class", Rule("this picture is in no folder of a class"), path.name)
            )
            continue
        above = next((each for each in folders[:-1] if each.lower() in USUAL_SETS), None)
        image_set = above.lower() if above else reading.set_name
        if not (is_name(folders[-1]) and is_name(path.stem)):
            message = "expected names of classes and images without blanks"
            reading.problems.add(Problem("class-name", Rule(message), reading.name(path)))
            continue
        keep_picture(reading.unpacked, reading.role, SentContent(reading.name(path), path), reading.limits)
        path.unlink()
        sets.setdefault(image_set, {})[path.stem] = folders[-1]
    classes = sorted({name for labels in sets.values() for name in labels.values()})
    return [_class_set(reading, image_set, labels, classes) for image_set, labels in sorted(sets.items())]


def _class_set(
    reading: Reading, image_set: str, labels: Mapping[str, str], classes: Sequence[str]
) -> AnnotatedSet:
    place = {name: number for number, name in enumerate(classes)}
    labels = dict(
        sorted(labels.items())
    )  # by image, because everybody sees the order, and folder by folder it tells the class
    y_true = np.zeros((len(labels), len(classes)), np.int8)
    y_true[np.arange(len(labels)), [place[name] for name in labels.values()]] = 1
    truth = GroundTruth.from_labels(y_true, images=tuple(labels), classes=classes)
    return AnnotatedSet(image_set, CLASS_FOLDERS, reading.unpacked.dataset, reading.own(truth, image_set), {})


# label images


def _are_label_images(reading: Reading, pictures: Sequence[Path]) -> bool:
    """Whether pictures are label images: all PNG, and with a list of classes, or with a palette."""
    from PIL import Image  # noqa: PLC0415 - needed only here

    if not pictures or any(path.suffix.lower() != ".png" for path in pictures):
        return False
    if any(reading.root.rglob(CLASSES_FILE)):
        return True
    try:
        with Image.open(pictures[0], formats=["PNG"]) as first:
            return bool(first.mode == "P")
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        return False


def _read_label_images(reading: Reading) -> list[AnnotatedSet]:
    """0 is the background, k the k-th class of `classes.txt`, 255 is not counted."""
    masks: dict[str, Any] = {}
    for path in reading.with_suffix(*SUFFIXES):
        try:
            if path.stem in masks:
                raise MaskError(Rule("two label images have this name"))  # noqa: TRY301 - told like every other
            masks[path.stem] = read_label_image(path.read_bytes())
        except MaskError as error:
            reading.problems.add(Problem("mask", error.rule, reading.name(path)))
    classes = _listed_classes(reading)
    most = max((int(mask[mask != 255].max(initial=0)) for mask in masks.values()), default=0)
    names = classes or tuple(f"class{number}" for number in range(1, most + 1))
    if classes is None:
        message = f"there is no {CLASSES_FILE} with the name of a class in each line; classes are called class1, class2, …"
        reading.problems.warn(Problem(NO_CLASS_NAMES, Rule(message)))
    for name, mask in masks.items():
        if (wrong := beyond_classes(mask, len(names))) is not None:
            reading.problems.add(Problem("mask-label", wrong, f"{name}.png"))
    if reading.problems.listed or not names:
        sizes = {name: (mask.shape[1], mask.shape[0]) for name, mask in masks.items()}
        reading.invalid.append(ListedImages(reading.set_name, sizes))
        return []
    images = tuple(masks)
    truth = GroundTruth.from_label_maps([masks[image] for image in images], classes=names, images=images)
    source = reading.unpacked.dataset
    return [AnnotatedSet(reading.set_name, LABEL_IMAGES, source, reading.own(truth, reading.set_name), {})]


def _listed_classes(reading: Reading) -> tuple[str, ...] | None:
    found = sorted(reading.root.rglob(CLASSES_FILE))
    if not found:
        return None
    lines = found[0].read_text("utf-8-sig", "replace").splitlines()
    names = tuple(line.strip() for line in lines if line.strip())
    if len(set(names)) < len(names) or not all(map(is_name, names)):
        message = "expected a different name without blanks in each line"
        reading.problems.add(Problem("class-name", Rule(message), reading.name(found[0])))
        return None
    if (wrong := misnamed(names)) is not None:
        reading.problems.add(Problem("background-class", wrong, reading.name(found[0])))
    return names


READERS: Final[Mapping[str, Callable[[Reading], Iterable[AnnotatedSet]]]] = {
    VOC: _read_kits,
    COCO: _read_json_files,
    TABLE: _read_tables,
    CLASS_FOLDERS: _read_class_folders,
    LABEL_IMAGES: _read_label_images,
}


# pictures and annotation together


def pictures_of(unpacked: Unpacked, found: AnnotatedSet) -> Mapping[str, SentPicture]:
    """The picture of each image: that of the file that the annotation names, or else the one called like the image."""
    return _pictures_of(unpacked, _listed(found))


def _listed(found: AnnotatedSet) -> ListedImages:
    description = found.truth.description
    sizes = {image.id: _known_size(image) for image in (*description.images, *description.further)}
    return ListedImages(found.name, sizes, found.files, numbered=bool(description.class_numbers))


def _pictures_of(unpacked: Unpacked, listed: ListedImages) -> Mapping[str, SentPicture]:
    known = {image_of(name, numbered=listed.numbered): each for name, each in unpacked.pictures.items()}
    pictures = {}
    for image in listed.sizes:
        file = PurePosixPath(listed.files.get(image, "")).name
        picture = unpacked.pictures.get(file) or known.get(image)
        if picture is not None:
            pictures[image] = picture
    return pictures


def check_pictures(
    unpacked: Unpacked,
    sets: Mapping[str, Sequence[AnnotatedSet]],
    invalid: Mapping[str, Sequence[ListedImages]],
) -> None:
    """Add what does not fit between pictures and annotation: missing ones, and other sizes. invalid: the sets with problems."""
    listed = [(role, _listed(each)) for role, found in sets.items() for each in found]
    listed += [(role, each) for role, found in invalid.items() for each in found]
    if not listed:
        return
    used: set[Path] = set()
    for role, each in listed:
        pictures = _pictures_of(unpacked, each)
        used.update(picture.path for picture in pictures.values())
        _check_set(unpacked.problems[role], each, pictures)
    unused = sorted(picture.path.name for picture in unpacked.pictures.values() if picture.path not in used)
    if unused:
        count = "1 picture has" if len(unused) == 1 else f"{len(unused):,} pictures have"
        message = f"{count} no annotation, such as {', '.join(unused[:MOST_NAMED])}"
        unpacked.problems[IMAGES].warn(Problem("picture-without-annotation", message))


def _check_set(problems: Problems, listed: ListedImages, pictures: Mapping[str, SentPicture]) -> None:
    for image, size in listed.sizes.items():
        picture = pictures.get(image)
        if picture is None or picture.size is None or size is None:
            continue
        if rule := size_problem(size, picture.size):
            problems.add(Problem("picture-size", rule, picture.path.name))
    missing = [
        PurePosixPath(listed.files.get(each, each)).name for each in listed.sizes if each not in pictures
    ]
    if missing:
        message = (
            f"{len(missing):,} of {len(listed.sizes):,} images of {listed.name} have no picture, "
            f"such as {', '.join(missing[:MOST_NAMED])}"
        )
        problems.warn(Problem("annotation-without-picture", Rule(message)))
