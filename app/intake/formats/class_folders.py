"""A folder of pictures for each class."""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Final

import numpy as np

from app.images.matching import SUFFIXES, path_of, stem_of
from app.intake.formats import label_images
from app.intake.formats.image_names import image_names
from app.intake.formats.image_sets import set_of, set_of_folder, words_of
from app.intake.formats.reading import (
    ANNOTATION_SUFFIXES,
    CLASS_FOLDERS,
    PICTURE_SUFFIXES,
    AnnotatedSet,
    Reading,
    is_class_name,
    note_of,
)
from heldout_scoring import GroundTruth, Problem, Rule

# words in the names of folders that are no classes
_OF_PICTURES: Final = frozenset(
    ("image", "images", "img", "imgs", "jpegimages", "pngimages", "picture", "pictures", "photo", "photos", "frame", "frames")
)  # fmt: skip
_OF_ANNOTATION: Final = frozenset(
    ("annotation", "annotations", "label", "labels", "masks", "gt", "groundtruth", "segmentation", "segmentations", "imagesets", "depth")
)  # fmt: skip
_LIST_OF_CVAT: Final = "synsets.txt"
_EXAMPLES: Final = "such as train/cat/1.jpg and train/dog/2.jpg"


def evidence(reading: Reading) -> list[Path]:
    """The folders of classes: two or more that hold pictures alone, none of them called as layouts call theirs."""
    return [] if files_between(reading) else _folders(reading)


def files_between(reading: Reading) -> list[Path]:
    """Files that keep folders from being classes: annotation in them, or called like their pictures, which it may be about."""
    folders, pictures = {*_folders(reading)}, reading.with_suffix(*PICTURE_SUFFIXES)
    stems = {_stem(path) for path in pictures if path.parent in folders}
    annotation = [path for path in reading.with_suffix(*ANNOTATION_SUFFIXES) if not note_of(path)]
    return [path for path in annotation if path.parent in folders or _stem(path) in stems]


def _folders(reading: Reading) -> list[Path]:
    pictures = reading.with_suffix(*PICTURE_SUFFIXES)
    folders = {path.parent for path in pictures if _is_in_class(path, reading.root)}
    names = {folder.name for folder in folders}
    above = {part.lower() for folder in folders for part in folder.relative_to(reading.root).parts}
    is_of_masks = any(
        part.startswith("segmentation") for part in above
    )  # of VOC's trees, in folders of their own
    if len(names) < 2 or is_of_masks or any(map(_is_of_layouts, names)):
        return []
    lists = label_images.class_lists(reading)
    if any(path.name.lower() in label_images.TABLES for path in lists) or (
        lists and not _look(pictures[0])[1]
    ):
        return []
    return [] if _are_masks_of_others(pictures) else sorted(folders)


def _is_in_class(path: Path, root: Path) -> bool:
    return path.parent != root and not set_of_folder(path.parent.name)


def _stem(path: Path) -> str:
    """What a picture and annotation of it have in common: of `a.jpg` and `a.jpg.json`, `a`."""
    return path.name.partition(".")[0]


def may_be_classes(names: Iterable[str]) -> frozenset[str]:
    """The folders of these files that may be classes, in lower case: two or more side by side that are called like no set and as no
    layout does, and are no development kit.

    >>> sorted(may_be_classes(["V/Annotations/Cat/a.xml", "V/Annotations/dog/b.xml", "V/labels/x/c.txt", "test/d.jpg"]))
    ['cat', 'dog']
    >>> may_be_classes(["VOC2012/ImageSets/Main/test.txt", "VOC2012/ImageSets/Action/test.txt", "photos/a.jpg"])
    frozenset()
    """
    folders = {above for name in names for above in PurePosixPath(name).parents if above.name}
    lists = {each for each in folders if "imagesets" in (each.name.casefold(), each.parent.name.casefold())}
    beside: dict[PurePosixPath, set[str]] = {}
    for folder in folders - lists - {each.parent for each in lists}:
        if not (set_of(folder.name, "") or _is_of_layouts(folder.name)):
            beside.setdefault(folder.parent, set()).add(folder.name.casefold())
    return frozenset(name for some in beside.values() if len(some) > 1 for name in some)


def _is_of_layouts(name: str) -> bool:
    """Whether a folder has a name that layouts give to pictures or annotation.

    >>> [name for name in ("JPEGImages", "train_masks", "with_mask", "test images", "LABELS", "images of cats") if _is_of_layouts(name)]
    ['JPEGImages', 'train_masks', 'test images', 'LABELS']
    """
    words = [word for word in words_of(name) if not (word.isdigit() or set_of_folder(word))]
    is_of_annotation = not _OF_ANNOTATION.isdisjoint((*words, "".join(words)))
    return is_of_annotation or (bool(words) and _OF_PICTURES.issuperset(words))


def _are_masks_of_others(pictures: Sequence[Path]) -> bool:
    """Whether pictures are in gray or with a palette where others of their name and size have colours."""
    first: dict[str, Path] = {}
    pair = next(((one, path) for path in pictures if (one := first.setdefault(path.stem, path)) != path), ())
    looks = {_look(path) for path in pair}
    return len({size for size, _ in looks}) == 1 and len({has_colors for _, has_colors in looks}) == 2


def _look(path: Path) -> tuple[tuple[int, int], bool]:
    """The size of a picture, and whether its pixels are colours."""
    from PIL import Image  # noqa: PLC0415 - needed only here

    try:
        with warnings.catch_warnings(action="ignore"), Image.open(path) as picture:
            return picture.size, picture.mode not in ("1", "L", "P", "I", "I;16")
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        return (0, 0), False


def read(reading: Reading) -> list[AnnotatedSet]:
    """The class of a picture is the name of its folder. Folders above that are called like image sets are sets."""
    pictures = reading.with_suffix(*SUFFIXES)
    outside = [path for path in pictures if not _is_in_class(path, reading.root)]
    reading.refuse(
        outside, "no-class", f"in no folder of a class; expected a folder for each class, {_EXAMPLES}"
    )
    others = set(reading.with_suffix(*PICTURE_SUFFIXES)) - {*pictures}
    reading.leave_out(others, "picture-kind", f"images are read as {', '.join(SUFFIXES)}")
    sets: dict[str, dict[str, Path]] = {}
    for name, paths in reading.by_set(sorted(set(pictures) - {*outside}), of_classes=True).items():
        _check_folders(reading, paths)
        sets[name] = {image: path for image, path in _named(reading, paths) if _take(reading, path)}
    classes = _in_order(reading, {path.parent.name for some in sets.values() for path in some.values()})
    return [_class_set(reading, name, some, classes) for name, some in sorted(sets.items()) if some]


def _in_order(reading: Reading, folders: set[str]) -> Sequence[str]:
    """The classes in the order of a list of their names, or else in alphabetical order; a list of other names is a problem."""
    if folders and all(name.isdecimal() for name in folders):
        words = f"the names of all {len(folders):,} folders are numbers, each taken for a class; numbers of sequences or persons are none"
        reading.problems.warn(Problem("numbered-classes", Rule(words)))
    classes: Sequence[str] = sorted(folders)
    for path in reading.with_suffix(".txt"):
        if path.name.lower() in (*label_images.LISTS, _LIST_OF_CVAT):
            reading.use(path)
            lines = reading.text(path).splitlines()
            listed = [line.strip() for line in lines if line.strip()]
            if sorted(listed) == sorted(folders):
                classes = listed
            else:
                words = (
                    f"expected the names of the {len(folders):,} folders, each in a line; {len({*listed} - folders):,} lines name no folder, and "
                    f"{len(folders - {*listed}):,} folders are in no line"
                )
                reading.problems.add(Problem("other-classes", Rule(words), reading.name(path)))
    return classes


def _named(reading: Reading, paths: Sequence[Path]) -> Iterator[tuple[str, Path]]:
    """The images of these pictures, by their names. That of a hidden set no folder stands in a name is looked after once sets have their roles."""
    given = {reading.name(path): path for path in paths}
    names = image_names(given)
    names.tell(reading.problems)
    for name, path in given.items():
        if path not in reading.used:
            yield names.of[name], path


def called_by_class(found: AnnotatedSet) -> Rule | None:
    """What is wrong with the names of a hidden set's images, if some are called by their folders, which are their classes."""
    if found.layout != CLASS_FOLDERS:
        return None
    files = [file for image, file in found.files.items() if stem_of(path_of(file)) != image]
    words = (
        f"{len(files):,} of the images of {found.name} would be called by their folders, which are their classes, because other files have the "
        "same names, such as {}; give each file a name of its own, or give hidden images neutral names"
    )
    return Rule(words, path_of(files[0]).name) if files else None


def _check_folders(reading: Reading, pictures: Sequence[Path]) -> None:
    """Two folders are never joined to one class, and none lies in another."""
    first: dict[str, Path] = {}
    folders = {path.parent: path for path in reversed(pictures)}
    if len(groups := sorted({folder.parent for folder in folders})) > 1:
        words = (
            f"the folders of classes lie in {len(groups):,} folders, such as {{}}, whose names are not read: the innermost folders are the classes, not "
            "the outermost ones as for torchvision and Keras"
        )
        reading.problems.warn(Problem("class-groups", Rule(words, reading.name(groups[-1]))))
    for folder, picture in sorted(folders.items()):
        name = reading.name(picture)  # and not the folder's, which is a class
        if (other := first.setdefault(folder.name, folder)) != folder:
            message = "the folder of this image and {} have the name of one class; put their images together, or call the folders otherwise"
            reading.problems.add(Problem("two-class-folders", Rule(message, reading.name(other)), name))
        if above := next((each for each in folder.parents if each in folders), None):
            message = "the folder of this image is in {}, which has images of its own; expected each class in a folder beside the others"
            reading.problems.add(Problem("nested-class", Rule(message, reading.name(above)), name))


def _take(reading: Reading, path: Path) -> bool:
    """Put a picture to the others if its class has a name that can be used."""
    if is_class_name(path.parent.name):
        reading.use_as_picture(path)
        return True
    message = "expected a folder with the name of a class: letters that can be seen, at most 200"
    reading.problems.add(Problem("class-name", Rule(message), reading.name(path)))
    reading.use(path)
    return False


def _class_set(
    reading: Reading, image_set: str, pictures: Mapping[str, Path], classes: Sequence[str]
) -> AnnotatedSet:
    place = {name: number for number, name in enumerate(classes)}
    images = sorted(pictures)  # because everybody sees the order, and folder by folder it tells the class
    y_true = np.zeros((len(images), len(classes)), np.int8)
    y_true[np.arange(len(images)), [place[pictures[image].parent.name] for image in images]] = 1
    truth = reading.own(GroundTruth.from_labels(y_true, images=images, classes=classes), image_set)
    files = {image: reading.name(pictures[image]) for image in images}
    source = reading.name_of_folder(path.parent for path in pictures.values())
    return AnnotatedSet(image_set, CLASS_FOLDERS, source, truth, files)
