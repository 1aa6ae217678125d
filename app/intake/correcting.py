"""The labels of an image as a child process reads them, and annotation with corrected labels of some images."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from app.images.decoding import PictureError, make, read_file
from app.images.packs import pack
from app.intake.image_labels import (
    FLAGS,
    MOST_BOXES,
    MOST_CLASSES,
    EditedBox,
    EditedClass,
    ImageLabels,
    ImageScene,
    problems_of,
)
from app.intake.reports import without_words
from heldout_scoring import GroundTruth
from heldout_scoring.data.label_maps import Masks, take_masks

POSITIVE, DIFFICULT, NEGATIVE = 1, 0, -1  # what labels of images say
VIEW: Final = (2560, 2560)  # largest width and height of a picture, so that small objects can be looked at
OF_COCO: Final = ("difficult", "group_of")  # flags
Rows = NDArray[np.intp]
Labels = NDArray[np.int8]


class CorrectionError(ValueError):
    """Corrections that do not fit the annotation; the message quotes nothing of it."""


def scene_of(truth: GroundTruth, image: str) -> ImageScene:
    """The labels of an image. Raises CorrectionError if there is no such image, or if it has too many."""
    place = _place(truth, image)
    lists, tables = truth.lists, truth.tables
    size = truth.tables.sizes[place].tolist() if truth.tables.has_size[place] else (None, None)
    rows = _rows_of(truth, place)
    classes = _classes(truth, place, rows)
    if len(rows) > MOST_BOXES or len(classes or ()) > MOST_CLASSES:
        what = f"{MOST_BOXES:,} boxes or {MOST_CLASSES:,} classes"
        raise CorrectionError(f"'{image}' has more than {what}; it is corrected by a new data set")
    numbers = {number for name, number in (*lists.persons, *lists.acting) if name == image and number}
    negative = tables.coco.negative if tables.coco else None
    flags = OF_COCO if tables.coco else FLAGS if tables.verified is not None else FLAGS[:3]
    return ImageScene(
        image=image,
        width=size[0],
        height=size[1],
        convention=tables.convention.value,
        labels=ImageLabels(boxes=tuple(_boxes(truth, rows)), classes=classes),
        flags=flags,
        fixed=tuple(sorted(numbers)),
        absent=_paired(truth, place, negative) or (),
        stated=_paired(truth, place, tables.verified),
        beside=tuple(_beside(truth, image, rows)),
        has_boxes=bool(len(tables.objects.image)),
        has_masks=tables.coco is not None and tables.coco.has_masks,
    )


def _place(truth: GroundTruth, image: str) -> int:
    try:
        return truth.lists.images.index(image)
    except ValueError:
        raise CorrectionError(
            f"{image} is no image with boxes or classes; a label image is corrected by a new data set"
        ) from None


def _rows_of(truth: GroundTruth, place: int) -> Rows:
    return np.flatnonzero(truth.tables.objects.image == place)


def _boxes(truth: GroundTruth, rows: Rows) -> Iterator[EditedBox]:
    objects = truth.tables.objects
    for number, row in enumerate(rows.tolist(), 1):
        left, top, right, bottom = objects.boxes[row].tolist()
        flags = {name: bool(getattr(objects, name)[row]) for name in FLAGS}
        name = truth.lists.classes[int(objects.name[row])]
        yield EditedBox(
            number=number, class_name=name, left=left, top=top, right=right, bottom=bottom, **flags
        )


def _classes(truth: GroundTruth, place: int, rows: Rows) -> tuple[EditedClass, ...] | None:
    """The classes of an image; None if they follow from its boxes, or if it has no labels of its own."""
    if place >= truth.lists.main:
        return None
    labels = truth.tables.labels[:, place]
    objects = truth.tables.objects
    if len(objects.image) and np.array_equal(labels, _labels_of(objects, len(truth.lists.classes), rows)):
        return None
    shown = np.flatnonzero(labels != NEGATIVE).tolist()
    return tuple(
        EditedClass(class_name=truth.lists.classes[each], difficult=bool(labels[each] == DIFFICULT))
        for each in shown
    )


def _labels_of(objects: Any, classes: int, rows: Rows) -> Labels:
    """What follows from the boxes of an image for each class, as the development kits have it."""
    labels = np.full(classes, NEGATIVE, np.int8)
    names, difficult = objects.name[rows], objects.difficult[rows]
    labels[names[difficult]] = DIFFICULT
    labels[names[~difficult]] = POSITIVE
    return labels


def _paired(truth: GroundTruth, place: int, pairs: NDArray[np.int32] | None) -> tuple[str, ...] | None:
    if pairs is None:
        return None
    return tuple(truth.lists.classes[each] for each in pairs[pairs[:, 0] == place, 1].tolist())


def _beside(truth: GroundTruth, image: str, rows: Rows) -> Iterator[str]:
    """What else is annotated in an image."""
    tables = truth.tables
    if image in truth.lists.segmentation:
        yield "a label image"
    if tables.coco is not None and tables.coco.has_masks:
        yield "masks of objects"
    if np.isin(tables.parts.owner, rows).any():
        yield "heads, hands and feet"
    if np.isin(tables.acts.owner, rows).any():
        yield "actions"


def make_scene(truth: Path, image: str, file: Path | None, edit: str, edited: str) -> bytes:
    """Make a scene in a child process: a pack of its JSON and its picture, which is empty if there is none.

    file: of the image; edit: id of what the organiser corrected before, and `edited` its labels as JSON, if there is any.
    """
    with without_words():
        try:
            found = scene_of(GroundTruth.open(truth), image)
        except CorrectionError as error:
            return packed(ImageScene(image, None, None, problem=f"{error}.", edit=edit), b"")
        found = replace(found, edit=edit, edited=ImageLabels.model_validate_json(edited) if edited else None)
        if file is None:
            return packed(found, b"")
        try:
            made = make(read_file(file), VIEW)
        except PictureError:
            return packed(found, b"")
        size = (found.width or made.width, found.height or made.height)
        return packed(replace(found, width=size[0], height=size[1], has_picture=True), made.view)


def packed(found: ImageScene, view: bytes) -> bytes:
    """A scene as it is stored."""
    return pack([json.dumps(found.as_plain()).encode(), view])


# correcting


@dataclass(frozen=True, slots=True)
class _Image:
    """A correction of an image. rows: its objects before; kept: the box of each that stays, by its row; new: further boxes."""

    place: int
    rows: Rows
    kept: Mapping[int, EditedBox]
    new: Sequence[EditedBox]
    labels: ImageLabels
    scene: ImageScene


def problems_with(truth: GroundTruth, edits: Mapping[str, ImageLabels]) -> list[str]:
    """What is wrong with corrections, by their images, as sentences that quote nothing."""
    found = []
    for image, labels in edits.items():
        try:
            scene = scene_of(truth, image)
        except CorrectionError as error:
            found.append(str(error))
            continue
        for field, message in problems_of(labels, truth.lists.classes, scene).items():
            where = f"{image}, {field.replace('-', ' ')}" if field else image
            found.append(f"{where}: {message}")
    return found


def corrected(truth: GroundTruth, edits: Mapping[str, ImageLabels]) -> GroundTruth:
    """The annotation with other labels of these images. Raises CorrectionError with all that is wrong.

    Objects of an image keep their order, and new ones follow them. Classes of an image follow from its boxes where they did before.
    """
    if problems := problems_with(truth, edits):
        raise CorrectionError("; ".join(problems))
    images = [_image(truth, image, labels) for image, labels in edits.items()]
    number = {name: place for place, name in enumerate(truth.lists.classes)}
    tables, old_rows = truth.tables, _Changes.of(images)
    objects = tables.objects
    places = np.concatenate([objects.image[old_rows.kept_of(len(objects.image))], old_rows.images])
    order = np.argsort(places, kind="stable")
    kept = old_rows.kept_of(len(objects.image))

    def column(name: str, values: Mapping[int, Any], new: Sequence[Any]) -> Any:
        before = getattr(objects, name)
        changed = before.copy()
        for row, value in values.items():
            changed[row] = value
        added = np.array(new, before.dtype).reshape(-1, *before.shape[1:])
        return np.concatenate([changed[kept], added])[order]

    stays = {row: box for each in images for row, box in each.kept.items()}
    new = [box for each in images for box in each.new]
    flags = {
        name: column(name, {row: getattr(box, name) for row, box in stays.items()}, [getattr(box, name) for box in new])
        for name in FLAGS
    }  # fmt: skip
    changed = replace(
        objects,
        image=places[order].astype(objects.image.dtype),
        name=column(
            "name",
            {row: number[box.class_name] for row, box in stays.items()},
            [number[box.class_name] for box in new],
        ),
        boxes=column("boxes", {row: box.corners for row, box in stays.items()}, [box.corners for box in new]),
        **flags,
    )
    moved = _new_places(len(objects.image), kept, order)
    parts = np.isin(tables.parts.owner, kept)
    acts = np.isin(tables.acts.owner, kept)
    result = replace(
        tables,
        objects=changed,
        parts=replace(
            tables.parts,
            owner=moved[tables.parts.owner[parts]],
            kind=tables.parts.kind[parts],
            boxes=tables.parts.boxes[parts],
        ),
        acts=replace(
            tables.acts,
            action=tables.acts.action[acts],
            owner=moved[tables.acts.owner[acts]],
            label=tables.acts.label[acts],
        ),
        coco=_coco(truth, images, number),
    )
    return GroundTruth.of(truth.lists, replace(result, labels=_image_labels(truth, changed, images, number)))


def _image(truth: GroundTruth, image: str, labels: ImageLabels) -> _Image:
    place = _place(truth, image)
    rows = _rows_of(truth, place)
    if truth.tables.coco is not None:  # where a crowd is difficult for protocols that know none
        crowds = tuple(
            box.model_copy(update={"difficult": box.difficult or box.group_of}) for box in labels.boxes
        )
        labels = labels.model_copy(update={"boxes": crowds})
    kept = {int(rows[box.number - 1]): box for box in labels.boxes if box.number is not None}
    new = [box for box in labels.boxes if box.number is None]
    return _Image(place, rows, kept, new, labels, scene_of(truth, image))


@dataclass(frozen=True, slots=True)
class _Changes:
    """removed: rows of objects that go; images: those of the new objects."""

    removed: Rows
    images: Rows

    @classmethod
    def of(cls, images: Sequence[_Image]) -> "_Changes":
        removed = [row for each in images for row in each.rows.tolist() if row not in each.kept]
        added = [each.place for each in images for _ in each.new]
        return cls(np.array(removed, np.intp), np.array(added, np.intp))

    def kept_of(self, count: int) -> Rows:
        """The rows that stay, of so many."""
        return np.setdiff1d(np.arange(count), self.removed)


def _new_places(count: int, kept: Rows, order: Rows) -> NDArray[np.int32]:
    """Where each row is afterwards; -1 for one that is removed."""
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order))
    found = np.full(count, -1, np.int32)
    found[kept] = place[: len(kept)]
    return found


def _coco(truth: GroundTruth, images: Sequence[_Image], number: Mapping[str, int]) -> Any:
    """The objects as COCO's annotation has them: in an image in the same order as the others; new ones at the end."""
    table = truth.tables.coco
    if table is None:
        return None
    columns = {
        name: getattr(table, name).copy()
        for name in ("image", "label", "boxes", "area", "crowd", "unnumbered")
    }
    removed: list[int] = []
    added: list[tuple[int, EditedBox]] = []
    for each in images:
        own = np.flatnonzero(table.image == each.place).tolist()
        if len(own) != len(each.rows):
            raise CorrectionError(
                f"{each.scene.image} has other objects in COCO's table; send a new data set"
            )
        before = {box.number: box for box in each.scene.labels.boxes}
        for row, mine in zip(each.rows.tolist(), own, strict=True):
            box = each.kept.get(row)
            if box is None:
                removed.append(mine)
                continue
            columns["label"][mine] = number[box.class_name]
            columns["crowd"][mine] = box.group_of
            if before[box.number].corners != box.corners:
                columns["boxes"][mine] = _sides(box)
                columns["area"][mine] = _area(box)
        added += [(each.place, box) for box in each.new]
    kept = np.setdiff1d(np.arange(len(table.image)), removed)
    more = {
        "image": [place for place, _ in added],
        "label": [number[box.class_name] for _, box in added],
        "boxes": [_sides(box) for _, box in added],
        "area": [_area(box) for _, box in added],
        "crowd": [box.group_of for _, box in added],
        "unnumbered": [False for _ in added],
    }
    joined = {
        name: np.concatenate([column[kept], np.array(more[name], column.dtype).reshape(-1, *column.shape[1:])])
        for name, column in columns.items()
    }  # fmt: skip
    changed = replace(table, **joined)
    if table.run_start is None or table.run_end is None or table.run_first is None:
        return changed
    heights = np.zeros(len(table.image), np.int64)  # which runs do not need
    return changed.with_masks(
        take_masks(Masks(table.run_start, table.run_end, table.run_first, heights), kept)
    )


def _sides(box: EditedBox) -> tuple[float, float, float, float]:
    """Left, top, width and height; boxes of COCO have edges without a width."""
    return box.left, box.top, box.right - box.left, box.bottom - box.top


def _area(box: EditedBox) -> float:
    return (box.right - box.left) * (box.bottom - box.top)


def _image_labels(
    truth: GroundTruth, objects: Any, images: Sequence[_Image], number: Mapping[str, int]
) -> Labels:
    """The labels of all images; objects: after the corrections."""
    labels = truth.tables.labels.copy()
    for each in images:
        if each.place >= truth.lists.main:
            continue
        if each.scene.labels.classes is None:
            rows = np.flatnonzero(objects.image == each.place)
            labels[:, each.place] = _labels_of(objects, len(truth.lists.classes), rows)
        elif each.labels.classes is not None:
            labels[:, each.place] = NEGATIVE
            for shown in each.labels.classes:
                labels[number[shown.class_name], each.place] = DIFFICULT if shown.difficult else POSITIVE
    found: Labels = labels
    return found
