"""Reading of a development kit's tree of 2006 to 2012, as one ground truth or as its public description."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar

import numpy as np

from ..competitions import CHALLENGES, classes_of
from ..data.annotations import (
    PARTS,
    Act,
    Annotation,
    Lists,
    Tables,
    action_labels_of,
    labels_of,
    objects_of,
    parts_of,
    sizes_of,
)
from ..data.arrays import Bytes
from ..data.description import UNKNOWN_SIDE, Description, Image
from ..data.label_maps import LabelRuns, MaskError, beyond_classes, misnamed, read_label_image
from ..data.layouts import WHOLE_IMAGE
from ..data.truth import GroundTruth
from ..errors import Problem, Problems, Rule, ScoringError, as_path, from_extra, plural, shown
from .voc_annotations import (
    READERS,
    AnnotationError,
    ListedImage,
    read_image_set,
    read_size,
)

NEVER_SCORED: Final = "other"
"""The action of persons who do none of the others: annotated from 2011 on, never scored."""

_SHOWN: Final = 20
_SET: Final = re.compile(r"\w[\w.+-]{0,99}")
_Read = TypeVar("_Read")


class TreeError(ScoringError):
    """A tree cannot be read; `problems` has everything that is wrong with its files, the message lists the first twenty.

    images: those of the Main set; annotations: what could be read, by the name of the file in the tree.
    """

    def __init__(
        self,
        problems: Sequence[Problem],
        images: Sequence[Image] = (),
        annotations: Mapping[str, Annotation] | None = None,
    ) -> None:
        self.problems = tuple(problems)
        self.images = tuple(images)
        self.annotations = annotations or {}
        more = [f"and {len(problems) - _SHOWN} more"] if len(problems) > _SHOWN else []
        super().__init__("\n".join([*map(str, self.problems[:_SHOWN]), *more]))


def dataset_of(tree: Path) -> str:
    """The name of a challenge: that of its folder, or of the link's target if the folder is a link with another name.

    >>> dataset_of(Path("VOCdevkit/VOC2007/"))
    'VOC2007'
    """
    name = tree.absolute().name
    return name if name in CHALLENGES else tree.resolve().name


@dataclass(frozen=True, slots=True)
class KitFiles:
    """The tree of a challenge, one image set of it, and the problems and warnings found so far.

    Raises TreeError where there is no such folder, and for an image set that cannot be the name of a file.
    """

    root: Path
    image_set: str
    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.root.is_dir():
            raise TreeError([Problem("no-tree", f"there is no folder '{self.root}'")])
        if not _SET.fullmatch(self.image_set):
            message = f"expected the name of an image set, such as 'val', found '{shown(self.image_set)}'"
            raise TreeError([Problem("no-image-set", message, found=shown(self.image_set))])

    def add_problem(self, code: str, path: Path, message: str, line: int | None = None) -> None:
        """Add a problem of a file of the tree."""
        self.problems.append(Problem(code, message, self.name_of(path), line))

    def warn(self, code: str, path: Path, message: str) -> None:
        """Add a warning about a file of the tree, which is read all the same."""
        self.warnings.append(Problem(code, message, self.name_of(path)))

    def name_of(self, path: Path) -> str:
        """The name of a file in the tree."""
        return path.relative_to(self.root).as_posix()

    def read(self, path: Path, reader: Callable[[bytes], _Read]) -> _Read | None:
        """The file as the reader returns it; None if it is invalid, and all that is wrong becomes problems."""
        try:
            return reader(path.read_bytes())
        except AnnotationError as error:
            for mistake in error.mistakes:
                self.add_problem(mistake.code, path, mistake.message, mistake.line)
        except MaskError as error:
            self.add_problem("mask", path, error.rule)
        except OSError as error:
            self.add_problem("no-file", path, Rule(f"this file cannot be read ({error.strerror})"))
        return None

    def listed(self, path: Path, columns: tuple[int, ...]) -> tuple[ListedImage, ...]:
        """The lines of an image set that have one of these counts of numbers; none if the file does not exist."""
        rows = (self.read(path, read_image_set) or ()) if path.exists() else ()
        good = tuple(row for row in rows if len(row.numbers) in columns)
        if len(good) < len(rows):
            self.add_problem(
                "columns",
                path,
                Rule(f"{plural(len(rows) - len(good), 'line')} with too few or too many columns"),
            )
        return good

    @property
    def dataset(self) -> str:
        """The challenge's name."""
        return dataset_of(self.root)

    @property
    def main_folder(self) -> Path:
        """The folder that lists the Main set; 2006 has no folders by task."""
        folder = self.root / "ImageSets" / "Main"
        return folder if folder.is_dir() else folder.parent

    def set_file(self, task: str) -> Path:
        """The file that lists the image set of a task."""
        return self.root / "ImageSets" / task / f"{self.image_set}.txt"

    def annotation_file(self, image: str) -> Path:
        """The annotation file of an image, whether it exists or not."""
        files = [self.root / "Annotations" / f"{image}{suffix}" for suffix in READERS]
        return next((file for file in files if file.exists()), files[0])

    def labels(self, path: Path, columns: int) -> tuple[ListedImage, ...]:
        """The lines of a label file; the last of their numbers is the label."""
        rows = self.listed(path, (columns,))
        if not {row.numbers[-1] for row in rows} <= {1, 0, -1}:
            self.add_problem("label", path, Rule("a label is neither 1 nor 0 nor -1"))
        if len({(row.image, row.numbers[:-1]) for row in rows}) < len(rows):
            self.add_problem("label", path, Rule("two lines give the same image or person different labels"))
        return rows

    def label_files(self, folder: Path) -> Mapping[str, Path]:
        """The label files by the name of their class or action, in alphabetical order."""
        end = f"_{self.image_set}.txt"
        return {path.name.removesuffix(end): path for path in sorted(folder.glob(f"?*{end}"))}

    def action_files(self) -> Mapping[str, Path]:
        """The label files of the actions that competitions score."""
        files = self.label_files(self.root / "ImageSets" / "Action")
        return {action: file for action, file in files.items() if action != NEVER_SCORED}

    def persons(self) -> Iterator[tuple[str, int]]:
        """The image and object of each line of the Layout set."""
        for row in self.listed(self.set_file("Layout"), (0, 1)):
            yield row.image, row.numbers[0] if row.numbers else WHOLE_IMAGE

    def check_labels(self, classes: Sequence[str], masks: Collection[str]) -> None:
        """Add a problem if there are label images and a class cannot be one of their labels."""
        if masks and (wrong := misnamed(classes)) is not None:
            self.add_problem("background-class", self.set_file("Segmentation"), wrong)

    def add_missing_image_set(self) -> None:
        """Add the problem that neither the Main set nor the Segmentation set has an image."""
        message = f"no image of the set '{self.image_set}' here; expected the folder of a challenge, such as VOCdevkit/VOC2007"
        self.add_problem("no-image-set", self.set_file("Main"), Rule(message))


_PICTURES: Final = ("JPEGImages/{}.jpg", "PNGImages/{}.png")


def read_public(tree: Path | str, image_set: str) -> Description:
    r"""The public description of an image set, from a development kit's tree with or without annotation.

    Of label files only the names and the images listed are read. The classes are those that have a label file of this set,
    or else of another one, or else those of the challenge. Sizes are those of the pictures, or else of the annotation; an
    image without either is `UNKNOWN_SIDE` wide and high. Raises TreeError with a problem for every invalid image set.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "ImageSets", "Main", "cat_val.txt")
    ...     file.parent.mkdir(parents=True)
    ...     _ = file.write_text("2008_000008 1\n2008_000015 -1\n")
    ...     found = read_public(Path(folder), "val")
    >>> found.classes, [image.id for image in found.images]
    (('cat',), ['2008_000008', '2008_000015'])
    """
    kit = KitFiles(as_path(tree), image_set)
    labels = kit.label_files(kit.main_folder)
    main = _main_images(kit, labels)
    people = tuple(kit.persons())
    acting = _acting(kit)
    masks = tuple(row.image for row in kit.listed(kit.set_file("Segmentation"), (0,)))
    classes = tuple(labels) or _classes_of_other_sets(kit) or classes_of(kit.dataset)
    if not main and not masks:
        kit.add_missing_image_set()
    kit.check_labels(classes, masks)
    if kit.problems:
        raise TreeError(kit.problems)
    images = tuple(dict.fromkeys([*main, *(image for image, _ in people), *acting]))
    sized = tuple(_sized(kit, image) for image in dict.fromkeys((*images, *masks)))
    return Description(
        dataset=kit.dataset,
        image_set=image_set,
        classes=classes,
        actions=tuple(kit.action_files()),
        images=sized[: len(main)],
        segmentation=masks,
        persons=people,
        acting=tuple((image, number) for image in images for number in sorted(acting.get(image, ()))),
        further=sized[len(main) :],
    )


def _main_images(kit: KitFiles, labels: Mapping[str, Path]) -> tuple[str, ...]:
    """The images of the Main set; some trees lack the plain list."""
    for file in (kit.main_folder / f"{kit.image_set}.txt", *labels.values()):
        images = tuple(dict.fromkeys(row.image for row in kit.listed(file, (0, 1))))
        if images:
            return images
    return ()


def _acting(kit: KitFiles) -> Mapping[str, set[int]]:
    """The persons of the Action set, by image in the order in which files list them."""
    acting: dict[str, set[int]] = {}
    for file in (*kit.action_files().values(), kit.set_file("Action")):
        for row in kit.listed(file, (0, 1, 2)):
            acting.setdefault(row.image, set()).update(row.numbers[:1])
    return {image: numbers for image, numbers in acting.items() if numbers}


def _classes_of_other_sets(kit: KitFiles) -> tuple[str, ...]:
    files = sorted(kit.main_folder.glob("*.txt"))
    ends = [f"_{file.name}" for file in files]
    names = {file.name.removesuffix(end) for end in ends for file in files if file.name.endswith(end)}
    return tuple(sorted(names))


def _sized(kit: KitFiles, image: str) -> Image:
    size = _size_of_picture(kit, image) or _size_of_annotation(kit, image)
    return Image(image, *(size or (UNKNOWN_SIDE, UNKNOWN_SIDE)))


def _size_of_picture(kit: KitFiles, image: str) -> tuple[int, int] | None:
    with from_extra("files"):
        from PIL import Image as Picture  # noqa: PLC0415 - only where an image is decoded

    for pattern in _PICTURES:
        try:
            with Picture.open(kit.root / pattern.format(image), formats=("JPEG", "PNG")) as picture:
                return picture.size
        except OSError:  # missing, or not a picture
            continue
    return None


def _size_of_annotation(kit: KitFiles, image: str) -> tuple[int, int] | None:
    try:
        return read_size(kit.annotation_file(image).read_bytes())
    except OSError:
        return None


ODD_FLAG: Final = "odd-flag"
"""The code of a flag in an annotation file that is neither 0 nor 1."""


def read_tree(tree: Path | str, image_set: str, *, problems: Problems | None = None) -> GroundTruth:
    """The ground truth of an image set, read from a development kit's tree such as `VOCdevkit/VOC2007`.

    ImageSets and Annotations are required; the Segmentation set with SegmentationClass, the Layout set and the Action set
    are read if present. The classes are those that have a label file, or else an object, or else those of the
    challenge. problems: where warnings about the annotation are collected. Raises TreeError with every problem of its files.

    >>> from tempfile import TemporaryDirectory
    >>> box = "<bndbox><xmin>1</xmin><ymin>1</ymin><xmax>10</xmax><ymax>10</ymax></bndbox>"
    >>> size = "<size><width>50</width><height>40</height></size>"
    >>> page = f"<annotation>{size}<object><name>cat</name>{box}</object></annotation>"
    >>> with TemporaryDirectory() as folder:
    ...     for name, text in (("ImageSets/Main/val.txt", "2008_000008"), ("Annotations/2008_000008.xml", page)):
    ...         Path(folder, name).parent.mkdir(parents=True)
    ...         _ = Path(folder, name).write_text(text)
    ...     truth = read_tree(Path(folder), "val")
    >>> truth.description.classes, truth.tables.objects.boxes.tolist()
    (('cat',), [[1.0, 1.0, 10.0, 10.0]])
    """
    kit = KitFiles(as_path(tree), image_set)
    main, labelled = _main_set(kit)
    people = tuple(kit.persons())
    acts = tuple(_acts(kit))
    images = tuple(dict.fromkeys([*main, *(image for image, _ in people), *(act.image for act in acts)]))
    annotations = dict(_annotations(kit, images))
    classes = _classes(kit, labelled, annotations)
    _check_names(kit, annotations, classes)
    _check_objects(kit, annotations, people, acts)
    masks = dict(_masks(kit, annotations, len(classes)))
    if not main and not masks:
        kit.add_missing_image_set()
    kit.check_labels(classes, masks)
    if kit.problems:
        read = {kit.name_of(kit.annotation_file(image)): each for image, each in annotations.items()}
        raise TreeError(kit.problems, [_sized(kit, image) for image in main], read)
    if problems is not None:
        for warning in kit.warnings:
            problems.warn(warning)
    acting: dict[str, set[int]] = {}
    for act in acts:
        acting.setdefault(act.image, set()).add(act.number)
    lists = Lists(
        dataset=kit.dataset,
        image_set=image_set,
        classes=classes,
        actions=tuple(dict.fromkeys(act.action for act in acts)),
        images=images,
        main=len(main),
        segmentation=tuple(masks),
        persons=people,
        acting=tuple((image, number) for image in images for number in sorted(acting.get(image, ()))),
    )
    return GroundTruth.of(
        lists, _tables(lists, annotations, acts, labelled, LabelRuns.of(list(masks.values())))
    )


def _main_set(kit: KitFiles) -> tuple[tuple[str, ...], Mapping[str, tuple[int, ...]]]:
    """The images of the Main set, and by class the label of each of them in its label file."""
    folder = kit.main_folder
    rows = kit.listed(folder / f"{kit.image_set}.txt", (0, 1))
    main = tuple(dict.fromkeys(row.image for row in rows))
    labelled: dict[str, tuple[int, ...]] = {}
    for name, file in kit.label_files(folder).items():
        rows = kit.labels(file, columns=1)
        main = main or tuple(row.image for row in rows)  # some trees lack the plain list
        if tuple(row.image for row in rows) != main:
            kit.add_problem(
                "label-images", file, Rule(f"expected the images of '{kit.image_set}' in their order")
            )
        labelled[name] = tuple(row.numbers[0] for row in rows)
    return main, labelled


def _acts(kit: KitFiles) -> Iterator[Act]:
    for action, file in kit.action_files().items():
        yield from (Act(action, row.image, *row.numbers) for row in kit.labels(file, columns=2))


def _annotations(kit: KitFiles, images: Sequence[str]) -> Iterator[tuple[str, Annotation]]:
    for image in images:
        file = kit.annotation_file(image)
        annotation = kit.read(file, READERS[file.suffix])
        if annotation is not None:
            for oddity in annotation.oddities:
                kit.warn(ODD_FLAG, file, oddity)
            yield image, annotation


def _classes(
    kit: KitFiles, labelled: Mapping[str, tuple[int, ...]], annotations: Mapping[str, Annotation]
) -> tuple[str, ...]:
    found = {thing.name for annotation in annotations.values() for thing in annotation.objects}
    return tuple(labelled) or tuple(sorted(found)) or classes_of(kit.dataset)


def _check_names(kit: KitFiles, annotations: Mapping[str, Annotation], classes: Sequence[str]) -> None:
    for image, annotation in annotations.items():
        for name in sorted({thing.name for thing in annotation.objects}.difference(classes)):
            kit.add_problem(
                "class", kit.annotation_file(image), Rule("'{}' is no class that has a label file", name)
            )
        parts = {part.name for thing in annotation.objects for part in thing.parts}
        for name in sorted(parts.difference(PARTS)):
            kit.add_problem(
                "part", kit.annotation_file(image), Rule("'{}' is neither a head nor a hand nor a foot", name)
            )


def _check_objects(
    kit: KitFiles,
    annotations: Mapping[str, Annotation],
    people: Sequence[tuple[str, int]],
    acts: Sequence[Act],
) -> None:
    listed = [(kit.set_file("Layout"), *person) for person in people if person[1] != WHOLE_IMAGE]
    folder = kit.root / "ImageSets" / "Action"
    listed += [(folder / f"{act.action}_{kit.image_set}.txt", act.image, act.number) for act in acts]
    for file, image, number in listed:
        if image in annotations and not 1 <= number <= len(annotations[image].objects):
            kit.add_problem("object", file, Rule(f"the annotation of '{image}' has no object {{}}", number))


def _masks(kit: KitFiles, annotations: Mapping[str, Annotation], classes: int) -> Iterator[tuple[str, Bytes]]:
    """The label images of the Segmentation set; none if the tree has no folder of them."""
    folder = kit.root / "SegmentationClass"
    for row in kit.listed(kit.set_file("Segmentation"), (0,)) if folder.is_dir() else ():
        file = folder / f"{row.image}.png"
        mask = kit.read(file, read_label_image)
        if mask is None:
            continue
        size, known = mask.shape[::-1], annotations.get(row.image)
        if known and size != (known.width, known.height):
            kit.add_problem(
                "mask-size",
                file,
                Rule(f"expected {known.width} x {known.height} pixels, found {size[0]} x {size[1]}"),
            )
        if (wrong := beyond_classes(mask, classes)) is not None:
            kit.add_problem("mask-label", file, wrong)
        yield row.image, mask


def _tables(
    lists: Lists,
    annotations: Mapping[str, Annotation],
    acts: Sequence[Act],
    labelled: Mapping[str, tuple[int, ...]],
    masks: LabelRuns,
) -> Tables:
    pages = list(annotations.values())
    objects = objects_of(pages, lists.classes)
    labels = (
        np.array(list(labelled.values()), np.int8)
        if labelled
        else labels_of(objects, len(lists.classes), lists.main)
    )
    return Tables(
        sizes=sizes_of(pages),
        labels=labels,
        objects=objects,
        parts=parts_of(pages),
        acts=action_labels_of(acts, lists.actions, annotations),
        masks=masks,
    )
