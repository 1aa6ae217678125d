"""Reading of a development kit's tree of 2006 to 2012 as one ground truth."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from scoring.competitions import classes_of
from scoring.data.annotations import Annotation
from scoring.data.arrays import Bytes
from scoring.data.ground_truth import GroundTruth
from scoring.data.label_maps import LabelRuns, beyond_classes
from scoring.data.layouts import WHOLE_IMAGE
from scoring.data.tables import PARTS, Lists, Tables, labels_of
from scoring.errors import Problems, Rule
from scoring.files import as_path
from scoring.readers.tables import Act, action_labels_of, objects_of, parts_of, sizes_of
from scoring.readers.voc.annotations import READERS
from scoring.readers.voc.kit_files import KitFiles, TreeError
from scoring.readers.voc.label_images import read_label_image

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
        raise TreeError(kit.problems)
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
