"""Where a development kit keeps its annotation: `read_tree` takes a tree of 2006 to 2012 in as one ground truth."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar

import numpy as np

from scoring.annotations import READERS, Annotation, AnnotationError, ListedImage, read_image_set
from scoring.arrays import Bytes
from scoring.errors import Problem
from scoring.masks import VOID, MaskError, Masks, read_label_image
from scoring.tables import Act, acts_of, labels_of, objects_of, parts_of, sizes_of
from scoring.truth import PARTS, GroundTruth, Lists, Tables

NEVER_SCORED: Final = "other"
"""The action of those who do none of the others: annotated from 2011 on, and no competition's."""

WHOLE_IMAGE: Final = 0
"""Stands for the object where a Layout set lists images only, as that of 2007 does."""

_SHOWN: Final = 20
_Read = TypeVar("_Read")


class TreeError(Exception):
    """A tree cannot be taken in; `problems` names every wrong file, the message the first twenty."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        more = [f"and {len(problems) - _SHOWN} more"] if len(problems) > _SHOWN else []
        super().__init__("\n".join([*map(str, self.problems[:_SHOWN]), *more]))


@dataclass(frozen=True, slots=True)
class _Tree:
    """The tree being read, and what was found wrong with it so far."""

    root: Path
    image_set: str
    problems: list[Problem] = field(default_factory=list)

    def wrong(self, code: str, path: Path, message: str, line: int | None = None) -> None:
        self.problems.append(Problem(code, message, file=path.relative_to(self.root).as_posix(), line=line))

    def read(self, path: Path, reader: Callable[[bytes], _Read]) -> _Read | None:
        try:
            return reader(path.read_bytes())
        except AnnotationError as error:
            self.wrong("annotation", path, str(error), error.line)
        except MaskError as error:
            self.wrong("mask", path, str(error))
        except OSError as error:
            self.wrong("no-file", path, f"this file cannot be read ({error.strerror})")
        return None

    def listed(self, path: Path, columns: tuple[int, ...]) -> tuple[ListedImage, ...]:
        """The lines of an image set with one of these counts of numbers each; none where there is no such file."""
        rows = (self.read(path, read_image_set) or ()) if path.exists() else ()
        good = tuple(row for row in rows if len(row.numbers) in columns)
        if len(good) < len(rows):
            self.wrong("columns", path, f"{len(rows) - len(good)} lines have too few or too many columns")
        return good

    def set_file(self, task: str) -> Path:
        return self.root / "ImageSets" / task / f"{self.image_set}.txt"

    def annotation_file(self, image: str) -> Path:
        files = [self.root / "Annotations" / f"{image}{suffix}" for suffix in READERS]
        return next((file for file in files if file.exists()), files[0])

    def labels(self, path: Path, columns: int) -> tuple[ListedImage, ...]:
        """The lines of a label file; the last of their numbers is the label."""
        rows = self.listed(path, (columns,))
        if not {row.numbers[-1] for row in rows} <= {1, 0, -1}:
            self.wrong("label", path, "a label is neither 1 nor 0 nor -1")
        return rows

    def label_files(self, folder: Path) -> Mapping[str, Path]:
        """The label files by the name of their class or action, in alphabetical order."""
        end = f"_{self.image_set}.txt"
        return {path.name.removesuffix(end): path for path in sorted(folder.glob(f"?*{end}"))}


def read_tree(tree: Path, image_set: str) -> GroundTruth:
    """The ground truth of an image set, read from a development kit's tree such as `VOCdevkit/VOC2007`.

    Needs ImageSets and Annotations. The Segmentation set with SegmentationClass, the Layout set and the Action set are
    taken in where they are there. The classes are those that have a label file. Raises TreeError with every file
    that is wrong, and then returns nothing.
    """
    there = _Tree(tree, image_set)
    main, labelled = _main_set(there)
    people = tuple(_people(there))
    acts = tuple(_acts(there))
    images = tuple(dict.fromkeys([*main, *(image for image, _ in people), *(act.image for act in acts)]))
    annotations = dict(_annotations(there, images))
    classes = tuple(labelled) or tuple(sorted({o.name for a in annotations.values() for o in a.objects}))
    _check_names(there, annotations, classes)
    _check_objects(there, annotations, people, acts)
    masks = dict(_masks(there, annotations, len(classes)))
    if not main and not masks:
        message = f"no image of the set '{image_set}' here; expected the folder of an edition, such as VOCdevkit/VOC2007"
        there.wrong("no-image-set", there.set_file("Main"), message)
    if there.problems:
        raise TreeError(there.problems)
    acting: dict[str, set[int]] = {}
    for act in acts:
        acting.setdefault(act.image, set()).add(act.number)
    lists = Lists(
        dataset=tree.resolve().name,
        image_set=image_set,
        classes=classes,
        actions=tuple(dict.fromkeys(act.action for act in acts)),
        images=images,
        main=len(main),
        segmentation=tuple(masks),
        persons=people,
        acting=tuple((image, number) for image in images for number in sorted(acting.get(image, ()))),
    )
    return GroundTruth.of(lists, _tables(lists, annotations, acts, labelled, Masks.of(list(masks.values()))))


def _main_set(there: _Tree) -> tuple[tuple[str, ...], Mapping[str, tuple[int, ...]]]:
    """The images of the Main set, and by class what its label file says of each of them."""
    folder = there.root / "ImageSets" / "Main"
    folder = folder if folder.is_dir() else folder.parent  # 2006 has no folders by task
    rows = there.listed(folder / f"{there.image_set}.txt", (0, 1))
    main = tuple(dict.fromkeys(row.image for row in rows))
    labelled: dict[str, tuple[int, ...]] = {}
    for name, file in there.label_files(folder).items():
        rows = there.labels(file, columns=1)
        main = main or tuple(row.image for row in rows)  # trees that lack the plain list are about
        if tuple(row.image for row in rows) != main:
            there.wrong("label-images", file, f"expected the images of '{there.image_set}' in their order")
        labelled[name] = tuple(row.numbers[0] for row in rows)
    return main, labelled


def _people(there: _Tree) -> Iterator[tuple[str, int]]:
    for row in there.listed(there.set_file("Layout"), (0, 1)):
        yield row.image, row.numbers[0] if row.numbers else WHOLE_IMAGE


def _acts(there: _Tree) -> Iterator[Act]:
    for action, file in there.label_files(there.root / "ImageSets" / "Action").items():
        if action != NEVER_SCORED:
            yield from (Act(action, row.image, *row.numbers) for row in there.labels(file, columns=2))


def _annotations(there: _Tree, images: Sequence[str]) -> Iterator[tuple[str, Annotation]]:
    for image in images:
        file = there.annotation_file(image)
        annotation = there.read(file, READERS[file.suffix])
        if annotation is not None:
            yield image, annotation


def _check_names(there: _Tree, annotations: Mapping[str, Annotation], classes: Sequence[str]) -> None:
    for image, annotation in annotations.items():
        for name in sorted({thing.name for thing in annotation.objects}.difference(classes)):
            there.wrong("class", there.annotation_file(image), f"'{name}' is no class that has a label file")
        parts = {part.name for thing in annotation.objects for part in thing.parts}
        for name in sorted(parts.difference(PARTS)):
            there.wrong(
                "part", there.annotation_file(image), f"'{name}' is neither a head nor a hand nor a foot"
            )


def _check_objects(
    there: _Tree,
    annotations: Mapping[str, Annotation],
    people: Sequence[tuple[str, int]],
    acts: Sequence[Act],
) -> None:
    listed = [(there.set_file("Layout"), *person) for person in people if person[1] != WHOLE_IMAGE]
    folder = there.root / "ImageSets" / "Action"
    listed += [(folder / f"{act.action}_{there.image_set}.txt", act.image, act.number) for act in acts]
    for file, image, number in listed:
        if image in annotations and not 1 <= number <= len(annotations[image].objects):
            there.wrong("object", file, f"the annotation of '{image}' has no object {number}")


def _masks(there: _Tree, annotations: Mapping[str, Annotation], classes: int) -> Iterator[tuple[str, Bytes]]:
    """The label images of the Segmentation set; none where the tree came without them."""
    folder = there.root / "SegmentationClass"
    for row in there.listed(there.set_file("Segmentation"), (0,)) if folder.is_dir() else ():
        file = folder / f"{row.image}.png"
        mask = there.read(file, read_label_image)
        if mask is None:
            continue
        size, known = mask.shape[::-1], annotations.get(row.image)
        if known and size != (known.width, known.height):
            there.wrong(
                "mask-size",
                file,
                f"expected {known.width} x {known.height} pixels, found {size[0]} x {size[1]}",
            )
        if (most := int(mask[mask != VOID].max(initial=0))) > classes:
            there.wrong("mask-label", file, f"expected labels up to {classes} and {VOID}, found {most}")
        yield row.image, mask


def _tables(
    lists: Lists,
    annotations: Mapping[str, Annotation],
    acts: Sequence[Act],
    labelled: Mapping[str, tuple[int, ...]],
    masks: Masks,
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
        acts=acts_of(acts, lists.actions, annotations),
        masks=masks,
    )
