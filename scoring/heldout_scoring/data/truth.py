"""Ground truth: one version of the annotation of an image set, immutable and identified by its hash."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, as_path, plural, read_file
from ..stored import (
    Packed,
    as_read,
    complete,
    pack,
    pack_words,
    pieces,
    read_from,
    unpack,
    unpack_words,
    write,
)
from .annotations import (
    ActionLabels,
    Annotation,
    BoxConvention,
    CocoTable,
    Lists,
    Objects,
    Parts,
    Tables,
    action_labels_of,
    as_convention,
    labels_of,
    objects_of,
    parts_of,
    sizes_of,
)
from .arrays import (
    SIDES,
    BoxFormat,
    Flags,
    Integers,
    Names,
    PerImage,
    Places,
    Rows,
    as_boxes,
    as_flags,
    as_named,
    assert_lengths,
    assert_upright,
    boxes_of,
    columns_of,
    rows_of_dicts,
    rows_of_supervision,
    some_of,
)
from .description import Description, Image
from .label_maps import VOID, InstanceMasks, LabelMaps, LabelRuns, Masks, take_masks
from .layouts import Layouts
from .truth_from_arrays import (
    ObjectRows,
    as_areas,
    tables_of_actions,
    tables_of_label_maps,
    tables_of_labels,
    tables_of_layouts,
    tables_of_masks,
    tables_of_objects,
)

KIND: Final = "truth"
_FACTS: Final = ("dataset", "image_set", "classes", "actions", "main")
_PAIRS: Final = ("persons", "acting")
_TABLES: Final = ("objects", "parts", "acts", "masks")
_RUNS: Final = frozenset({"coco.run_start", "coco.run_end"})


def _pack(lists: Lists, tables: Tables) -> Packed:
    facts = {name: getattr(lists, name) for name in _FACTS}
    # what VOC's trees do not have is left out, so that their fingerprints stay
    if tables.convention is not BoxConvention.INCLUSIVE:
        facts["boxes"] = tables.convention
    index = {image: place for place, image in enumerate(lists.images)}
    arrays: dict[str, NDArray[Any]] = {
        "images": pack_words(lists.images),
        "segmentation": pack_words(lists.segmentation),
        "sizes": tables.sizes,
        "labels": tables.labels,
    }
    for name in _PAIRS:
        pairs = [(index[image], number) for image, number in getattr(lists, name)]
        arrays[name] = np.array(pairs, np.int32).reshape(-1, 2)
    for name in _TABLES:
        table = getattr(tables, name)
        arrays |= {f"{name}.{field.name}": getattr(table, field.name) for field in fields(table)}
    if tables.verified is not None:
        arrays["verified"] = tables.verified
    if lists.class_numbers:
        facts["class_numbers"] = lists.class_numbers
    if tables.coco is not None:
        columns = ((field.name, getattr(tables.coco, field.name)) for field in fields(tables.coco))
        arrays |= {f"coco.{name}": column for name, column in columns if column is not None}
    return Packed(facts, arrays, _RUNS)


def _tables_of(packed: Packed) -> Tables:
    coco = _group(packed, "coco")
    return Tables(
        sizes=packed.arrays["sizes"],
        labels=packed.arrays["labels"],
        objects=Objects(**_group(packed, "objects")),
        parts=Parts(**_group(packed, "parts")),
        acts=ActionLabels(**_group(packed, "acts")),
        masks=LabelRuns(**_group(packed, "masks")),
        convention=BoxConvention(packed.facts.get("boxes", BoxConvention.INCLUSIVE)),
        verified=packed.arrays.get("verified"),
        coco=CocoTable(**coco) if coco else None,
    )


def _group(packed: Packed, name: str) -> dict[str, NDArray[Any]]:
    return {
        key.partition(".")[2]: array for key, array in packed.arrays.items() if key.startswith(f"{name}.")
    }


def _lists_of(packed: Packed) -> Lists:
    facts, arrays = packed.facts, packed.arrays
    images = unpack_words(arrays["images"])

    def pairs(name: str) -> tuple[tuple[str, int], ...]:
        return tuple((images[image], number) for image, number in arrays[name].tolist())

    return Lists(
        dataset=facts["dataset"],
        image_set=facts["image_set"],
        classes=tuple(facts["classes"]),
        actions=tuple(facts["actions"]),
        images=images,
        main=facts["main"],
        segmentation=unpack_words(arrays["segmentation"]),
        persons=pairs("persons"),
        acting=pairs("acting"),
        class_numbers=tuple(facts.get("class_numbers", ())),
    )


def describe(lists: Lists, tables: Tables) -> Description:
    """What participants may know of the annotation: images with their sizes, classes, persons."""
    images = [Image(name, *size) for name, size in zip(lists.images, tables.sizes.tolist(), strict=True)]
    listed = set(lists.images)
    masks = zip(lists.segmentation, tables.masks.sizes.tolist(), strict=True)
    return Description(
        dataset=lists.dataset,
        image_set=lists.image_set,
        classes=lists.classes,
        actions=lists.actions,
        images=tuple(images[: lists.main]),
        segmentation=lists.segmentation,
        persons=lists.persons,
        acting=lists.acting,
        further=(*images[lists.main :], *(Image(name, *size) for name, size in masks if name not in listed)),
        class_numbers=lists.class_numbers,
    )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GroundTruth:
    """One version of a phase's annotation, for all tasks; `description` is what participants may know of it.

    `heldout_scoring.evaluation.missing_truth` says which competitions the annotation cannot score.
    fingerprint: the SHA-256 of its file, in hexadecimal.
    """

    lists: Lists
    tables: Tables
    description: Description
    fingerprint: str

    def __repr__(self) -> str:
        """How many images and objects there are, and which classes."""
        counts = f"{plural(len(self), 'image')}, {plural(len(self.tables.objects.image), 'object')}"
        return f"{type(self).__name__}({counts}, classes: {some_of(self.lists.classes)})"

    def __len__(self) -> int:
        """The number of images, also of those without an object."""
        return len(self.lists.images)

    @classmethod
    def open(cls, path: Path | str) -> Self:
        """The ground truth that `save` wrote. Raises PathError where there is no file, ForeignFileError for another file.

        >>> from tempfile import TemporaryDirectory
        >>> from heldout_scoring import GroundTruth
        >>> truth = GroundTruth.from_labels([[1], [0]], classes=["cat"])
        >>> with TemporaryDirectory() as folder:
        ...     truth.save(Path(folder, "truth"))
        ...     GroundTruth.open(Path(folder, "truth")).fingerprint == truth.fingerprint
        True
        """
        with read_from(path):
            return cls.of_bytes(read_file(path))

    def save(self, path: Path | str) -> None:
        """Write the whole of it to one file; the same annotation gives the same bytes. Raises PathError."""
        write(as_path(path), KIND, _pack(self.lists, self.tables))

    @property
    def content(self) -> bytes:
        """What `save` writes."""
        return pack(KIND, _pack(self.lists, self.tables))

    @classmethod
    def of_bytes(cls, content: bytes) -> Self:
        """The ground truth in the content of a file. Raises ForeignFileError for anything else.

        >>> from heldout_scoring import GroundTruth
        >>> GroundTruth.of_bytes(GroundTruth.from_labels([[1], [0]], classes=["cat"]).content).lists.classes
        ('cat',)
        """
        with complete(KIND):
            return cls._of_packed(unpack(KIND, content), hashlib.sha256(content).hexdigest())

    @classmethod
    def _of_packed(cls, packed: Packed, fingerprint: str) -> Self:
        lists, tables = _lists_of(packed), _tables_of(packed)
        return cls(lists, tables, describe(lists, tables), fingerprint)

    @classmethod
    def of(cls, lists: Lists, tables: Tables) -> Self:
        """The ground truth made of these, the same as if read from its file.

        >>> from dataclasses import replace
        >>> truth = GroundTruth.from_labels([[1], [0]], classes=["cat"])
        >>> GroundTruth.of(replace(truth.lists, image_set="test"), truth.tables).description.image_set
        'test'
        """
        packed, found = _pack(lists, tables), hashlib.sha256()
        for piece in pieces(KIND, packed):
            found.update(piece)
        return cls._of_packed(as_read(packed), found.hexdigest())

    @classmethod
    def from_arrays(  # noqa: PLR0913 - three columns, and what else is known of the objects
        cls,
        image: Any,
        label: Any,
        boxes: Any,
        *,
        convention: BoxConvention | str | None = None,
        difficult: Any = None,
        crowd: Any = None,
        area: Any = None,
        images: Sequence[str] | None = None,
        classes: Names | None = None,
        sizes: Any = None,
        box_format: BoxFormat | str = BoxFormat.XYXY,
    ) -> Self:
        """Ground truth for detection and classification from columns of one length, an object each.

        image, label: names (n,), or whole numbers (n,): indices into `images` and `classes`, or names where these are left
        out; boxes: numbers (n, 4) by `box_format` and `convention`, which has to be given; difficult, crowd: 0 or 1 (n,), objects that need not be
        found, which COCO's protocols count like any other, and boxes around several objects, which need not be found either; area: pixels (n,), which decide what COCO's
        protocols call small, medium and large, by default those of the boxes; classes: names, or a mapping of each number in `label`
        to its name; images: all that are evaluated, also those
        without an object, by default those that have one; sizes: width and height (images, 2). Raises DataError for anything else,
        and for boxes that end before they begin.

        >>> truth = GroundTruth.from_arrays(["a"], ["cat"], [[0, 0, 10, 10]], convention="half-open", images=["a", "b"])
        >>> truth.lists.images, truth.lists.classes
        (('a', 'b'), ('cat',))
        """
        meaning = as_convention(convention)
        images_named, labels = as_named("image", image, images), as_named("label", label, classes)
        corners = as_boxes("boxes", boxes, box_format)
        count = assert_lengths(image=images_named.place, label=labels.place, boxes=corners)
        assert_upright("boxes", corners)
        rows = ObjectRows(
            images_named,
            labels,
            corners,
            as_flags("difficult", difficult, count),
            as_flags("crowd", crowd, count),
            None if area is None else as_areas(area, count),
        )
        return cls.of(*tables_of_objects(rows, meaning, sizes))

    @classmethod
    def from_masks(
        cls,
        image: Any,
        label: Any,
        masks: Iterable[Any],
        *,
        crowd: Any = None,
        area: Any = None,
        images: Sequence[str] | None = None,
        classes: Names | None = None,
        sizes: Any = None,
    ) -> Self:
        """Ground truth for instance segmentation by COCO's protocols from columns of one length, an object each.

        masks: bool (height, width) for each object, as `InstanceMasks.from_arrays` takes them; area: by default the pixels of
        the masks; sizes: by default those of the masks; all others as for `from_arrays`. Boxes are the smallest around the
        masks, half-open. Raises DataError for anything else, and for masks of different sizes in an image.

        >>> truth = GroundTruth.from_masks(["a"], ["cat"], [[[0, 1, 1], [0, 1, 0]]], images=["a", "b"])
        >>> truth.tables.objects.boxes.tolist(), truth.tables.coco.area.tolist()
        ([[1.0, 0.0, 3.0, 2.0]], [3.0])
        """
        scores = np.zeros(len(as_named("image", image, images).place))
        rows = InstanceMasks.from_arrays(image, label, scores, masks, images=images, classes=classes)
        return cls.of(*tables_of_masks(rows, crowd, area, sizes))

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        image: str = "image",
        label: str = "label",
        boxes: Sequence[str] = SIDES,
        difficult: str | None = None,
        crowd: str | None = None,
        area: str | None = None,
        **options: Any,
    ) -> Self:
        """Ground truth from a data frame of pandas, polars or another library, a row for each object.

        image, label, boxes, difficult, crowd, area: the names of the columns; options and errors: as for `from_arrays`.

        >>> frame = {"image": ["a"], "label": ["cat"], "left": [1], "top": [1], "right": [10], "bottom": [10]}
        >>> GroundTruth.from_frame(frame, convention="inclusive").tables.objects.boxes.tolist()
        [[1.0, 1.0, 10.0, 10.0]]
        """
        images, labels = columns_of(frame, image, label)
        given = {"difficult": difficult, "crowd": crowd, "area": area}
        options |= {name: columns_of(frame, column)[0] for name, column in given.items() if column}
        return cls.from_arrays(images, labels, boxes_of(frame, boxes), **options)

    @classmethod
    def from_dicts(
        cls, entries: PerImage, *, images: Sequence[str] | None = None, masks: bool = False, **options: Any
    ) -> Self:
        """Ground truth from a mapping with `boxes`, `labels`, perhaps `difficult`, `iscrowd` and `area` for each image.

        entries: as for `Detections.from_dicts`; options: as for `from_arrays`, `convention` among them, in place of what the
        mappings have. masks: True reads `masks` in place of `boxes` and `difficult`, and takes the options of `from_masks`.

        >>> targets = {"a": {"boxes": [[0, 0, 10, 10]], "labels": ["cat"]}, "b": {"boxes": [], "labels": []}}
        >>> len(GroundTruth.from_dicts(targets, convention="half-open"))
        2
        """
        if masks:
            rows = rows_of_dicts(entries, images, ("masks", "labels", "iscrowd", "area"))
            return cls.from_masks(*_columns(rows, "masks"), images=rows.images, **_flags(rows) | options)
        rows = rows_of_dicts(entries, images, _FIELDS)
        return cls.from_arrays(*_columns(rows, "boxes"), images=rows.images, **_flags(rows) | options)

    @classmethod
    def from_supervision(
        cls, entries: PerImage, *, images: Sequence[str] | None = None, **options: Any
    ) -> Self:
        """Ground truth from a `supervision.Detections` for each image, whose confidence may be None.

        entries: as for `Detections.from_supervision`, perhaps with `difficult`, `iscrowd` and `area` in their `data`; options: as
        for `from_dicts`.

        >>> from types import SimpleNamespace
        >>> one = SimpleNamespace(xyxy=np.array([[0, 0, 9, 9]]), confidence=None, class_id=np.array([0]))
        >>> GroundTruth.from_supervision({"a": one}, classes=["cat"], convention="half-open")
        GroundTruth(1 image, 1 object, classes: cat)
        """
        rows = rows_of_supervision(entries, images, _FIELDS)
        return cls.from_arrays(*_columns(rows, "boxes"), images=rows.images, **_flags(rows) | options)

    @classmethod
    def from_coco(
        cls,
        source: Path | str | bytes | Mapping[str, Any],
        *,
        dataset: str | None = None,
        image_set: str = "all",
        masks: bool = True,
    ) -> Self:
        """Ground truth from COCO's JSON with `images`, `categories` and `annotations`: detection by any protocol, masks by COCO's.

        source: the path of the file, its content, or what a JSON parser makes of it. Images are called by their numbers, classes
        by their names, in the order of theirs. Where a protocol knows no crowds these are difficult objects and groups, and `ignore`
        or `difficult` of 1 make an object difficult. dataset: whose competitions there are, by default those of "LVIS" where
        images have negative categories, and else those of "COCO". masks: False leaves out the segmentations, which take most of the
        time to read and boxes do not need; the fingerprint is another one then. Raises PathError, and SubmissionError with every problem.

        >>> truth = GroundTruth.from_coco({"images": [{"id": 3}], "categories": [{"id": 7, "name": "car"}],
        ...   "annotations": [{"id": 1, "image_id": 3, "category_id": 7, "bbox": [15, 9, 20, 10], "area": 150.5}]})
        >>> truth.lists.images, truth.tables.objects.boxes.tolist()
        (('3',), [[15.0, 9.0, 35.0, 19.0]])
        """
        from ..readers.coco_json.instances import tables_of_coco  # noqa: PLC0415 - rests on this module

        return cls.of(*tables_of_coco(source, dataset, image_set, masks=masks))

    @classmethod
    def from_labels(
        cls,
        y_true: Any,
        *,
        difficult: Any = None,
        images: Sequence[str] | None = None,
        classes: Sequence[str] | None = None,
    ) -> Self:
        """Ground truth for classification: 0 or 1 for each image (row) and class (column), as scikit-learn has it.

        difficult: 0 or 1 of the same shape, what is not counted; images, classes: by default "0", "1" … Raises DataError.

        >>> GroundTruth.from_labels([[1, 0], [0, 1]], classes=["cat", "dog"]).tables.labels.tolist()
        [[1, -1], [-1, 1]]
        """
        return cls.of(*tables_of_labels(y_true, difficult, images, classes))

    @classmethod
    def from_actions(
        cls,
        y_true: Any,
        *,
        image: Any,
        person: Any,
        difficult: Any = None,
        actions: Sequence[str] | None = None,
    ) -> Self:
        """Ground truth for action classification: 0 or 1 for each person (row) and action (column).

        image, person: the name of each row's image, and its person's number in the image, from 1; difficult, actions: as
        `difficult` and `classes` of `from_labels`. Raises DataError for anything else.

        >>> truth = GroundTruth.from_actions([[1], [0]], image=["a", "a"], person=[1, 2], actions=["reading"])
        >>> truth.lists.acting
        (('a', 1), ('a', 2))
        """
        return cls.of(*tables_of_actions(y_true, as_named("image", image, None), person, difficult, actions))

    @classmethod
    def from_layouts(  # noqa: PLR0913 - the columns of two tables
        cls,
        image: Any,
        person: Any,
        *,
        owner: Any,
        kind: Any,
        parts: Any,
        convention: BoxConvention | str | None = None,
        boxes: Any = None,
        difficult: Any = None,
        images: Sequence[str] | None = None,
    ) -> Self:
        """Ground truth for person layout from columns (n,) of persons, and more (m,) of their parts, as `Layouts.from_arrays` has them.

        boxes: numbers (n, 4), for protocols up to 2007, whose results name a person by a box; without them these name
        numbers, as from 2008 on. difficult: 0 or 1 (n,), persons who need not be found, with boxes only. Raises DataError.

        >>> truth = GroundTruth.from_layouts(["a"], [1], owner=[0], kind=["head"], parts=[[1, 1, 9, 9]], convention="inclusive")
        >>> truth.lists.persons, truth.tables.parts.boxes.tolist()
        ((('a', 1),), [[1.0, 1.0, 9.0, 9.0]])
        """
        scores = np.zeros(len(as_named("image", image, images).place))
        found = Layouts.from_arrays(image, person, scores, owner=owner, kind=kind, parts=parts, images=images)
        meaning = as_convention(convention)
        return cls.of(*tables_of_layouts(found, boxes, difficult, meaning))

    @classmethod
    def from_label_maps(
        cls, labels: Sequence[Any], *, classes: Sequence[str], images: Sequence[str] | None = None
    ) -> Self:
        """Ground truth for segmentation: whole numbers (height, width) for each image, 0 the background, k the k-th class.

        255 is void, which is not counted. classes: their names from label 1 on, without the background. Raises DataError for
        anything else, such as labels between the last class and 255.

        >>> GroundTruth.from_label_maps([np.array([[0, 1], [1, 255]])], classes=["cat"]).lists.segmentation
        ('0',)
        """
        return cls.of(*tables_of_label_maps(LabelMaps.from_arrays(labels, images=images), classes))

    def choose_classes(self, names: Mapping[str, str]) -> Self:
        """The same annotation with these classes alone, in this order and under these names.

        names: the new name of each class that stays, by its name in the annotation; those that the annotation does not have are
        left out. Objects and labels of other classes are left out, too, and their pixels are void. Persons whose layout or
        actions are annotated stay only if every class does, because results name them by their numbers among all objects of an image.

        >>> truth = GroundTruth.from_labels([[1, 0, 1]], classes=["cat", "dog", "owl"])
        >>> chosen = truth.choose_classes({"owl": "bird", "cat": "cat"})
        >>> chosen.lists.classes, chosen.tables.labels.tolist()
        (('bird', 'cat'), [[1], [1]])
        """
        lists, tables = self.lists, self.tables
        taken = [lists.classes.index(name) for name in names if name in lists.classes]
        classes = tuple(names[lists.classes[place]] for place in taken)
        if classes == lists.classes and taken == list(range(len(classes))):
            return self
        if len(taken) < len(lists.classes):
            lists, tables = _without_persons(lists, tables)
        place = np.full(len(lists.classes), -1, np.int32)
        place[taken] = np.arange(len(taken))
        numbers = tuple(lists.class_numbers[each] for each in taken) if lists.class_numbers else ()
        objects = _rows(tables.objects, place[tables.objects.name] >= 0)
        tables = replace(
            tables,
            labels=tables.labels[taken],
            objects=replace(objects, name=place[objects.name].astype(np.int16)),
            masks=_relabelled(tables.masks, place),
            verified=None if tables.verified is None else _pairs_of_classes(tables.verified, place),
            coco=None if tables.coco is None else _coco_of_classes(tables.coco, place, taken),
        )
        return self.of(replace(lists, classes=classes, class_numbers=numbers), tables)

    def rename_images(self, names: Mapping[str, str]) -> Self:
        """The same annotation under other names of its images, which stand in the order of the new names.

        names: the new name of every image, different from the others; whole numbers where the annotation is COCO's, whose order is that of
        the numbers. Objects of an image keep their order.

        >>> truth = GroundTruth.from_labels([[1], [0]], classes=["cat"], images=["cat_1", "sky_1"])
        >>> renamed = truth.rename_images({"cat_1": "07", "sky_1": "03"})
        >>> renamed.lists.images, renamed.tables.labels.tolist()
        (('03', '07'), [[-1, 1]])
        """
        lists, tables = self.lists, self.tables
        numbered = bool(lists.class_numbers)

        def key(image: str) -> tuple[int, str]:
            return int(names[image]) if numbered else 0, names[image]

        main, further = lists.images[: lists.main], lists.images[lists.main :]
        images = (*sorted(main, key=key), *sorted(further, key=key))
        place = {image: number for number, image in enumerate(images)}
        old = {image: number for number, image in enumerate(lists.images)}
        order = np.array([old[image] for image in images], np.intp)
        segmentation = sorted(lists.segmentation, key=key)
        masks = {image: number for number, image in enumerate(lists.segmentation)}

        def renamed(pairs: Sequence[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
            ordered = sorted(pairs, key=lambda pair: (place[pair[0]], pair[1]))
            return tuple((names[image], number) for image, number in ordered)

        return self.of(
            replace(
                lists,
                images=tuple(names[image] for image in images),
                segmentation=tuple(names[image] for image in segmentation),
                persons=renamed(lists.persons),
                acting=renamed(lists.acting),
            ),
            replace(
                _reordered(tables, order, lists.main),
                masks=_taken(tables.masks, np.array([masks[image] for image in segmentation], np.intp)),
            ),
        )


_FIELDS: Final = ("boxes", "labels", "difficult", "iscrowd", "area")
"""What mappings for each image may have."""


def _columns(rows: Rows, drawn: str) -> tuple[Integers, NDArray[Any], NDArray[Any]]:
    return rows.image, rows.column("labels"), rows.column(drawn)


def _flags(rows: Rows) -> dict[str, Any]:
    names = {"difficult": "difficult", "iscrowd": "crowd", "area": "area"}
    return {name: rows.columns[field] for field, name in names.items() if field in rows.columns}


def _without_persons(lists: Lists, tables: Tables) -> tuple[Lists, Tables]:
    """Without layouts and actions, and without the images that are listed for these alone."""
    nothing = np.zeros(0, np.intp)
    return (
        replace(lists, actions=(), persons=(), acting=(), images=lists.images[: lists.main]),
        replace(
            tables,
            sizes=tables.sizes[: lists.main],
            objects=_rows(tables.objects, tables.objects.image < lists.main),
            parts=_rows(tables.parts, nothing),
            acts=_rows(tables.acts, nothing),
        ),
    )


_Table = TypeVar("_Table", Objects, Parts, ActionLabels)


def _rows(table: _Table, which: Flags | Places) -> _Table:
    """These rows of a table, in this order."""
    return replace(table, **{each.name: getattr(table, each.name)[which] for each in fields(table)})


def _relabelled(masks: LabelRuns, place: Integers) -> LabelRuns:
    """Label images with the labels of the classes' new places; neighbouring runs of one label become one."""
    known = np.full(256, VOID, np.uint8)
    known[0] = 0
    known[1 : len(place) + 1] = np.where(place < 0, VOID, place + 1)[: VOID - 1]
    labels = known[masks.labels]
    begins = np.ones(len(labels) + 1, np.bool_)
    begins[1:-1] = labels[1:] != labels[:-1]
    begins[masks.first] = True
    starts = np.flatnonzero(begins[:-1])
    lengths = np.add.reduceat(masks.lengths, starts) if len(starts) else masks.lengths
    first = np.concatenate([[0], np.cumsum(begins[:-1])])[masks.first].astype(np.int64)
    return LabelRuns(masks.sizes, first, labels[starts], lengths.astype(np.int32))


def _pairs_of_classes(pairs: Integers, place: Integers) -> Integers:
    """Pairs of an image and a class, without classes that are left out."""
    kept = pairs[place[pairs[:, 1]] >= 0]
    return np.column_stack([kept[:, 0], place[kept[:, 1]]]).astype(np.int32)


def _coco_of_classes(table: CocoTable, place: Integers, taken: Sequence[int]) -> CocoTable:
    which = place[table.label] >= 0
    masks = _masks_of(table, np.flatnonzero(which))
    chosen = replace(
        table,
        image=table.image[which],
        label=place[table.label[which]],
        boxes=table.boxes[which],
        area=table.area[which],
        crowd=table.crowd[which],
        unnumbered=table.unnumbered[which],
    )
    if (federation := table.federation) is not None:
        chosen = replace(
            chosen,
            negative=_pairs_of_classes(federation.negative, place),
            inexhaustive=_pairs_of_classes(federation.inexhaustive, place),
            frequency=federation.frequency[list(taken)],
        )
    return chosen if masks is None else chosen.with_masks(masks)


def _masks_of(table: CocoTable, rows: Places) -> Masks | None:
    if table.run_start is None or table.run_end is None or table.run_first is None:
        return None
    heights = np.zeros(len(table.image), np.int64)  # which runs do not need
    return take_masks(Masks(table.run_start, table.run_end, table.run_first, heights), rows)


def _reordered(tables: Tables, order: Places, main: int) -> Tables:
    """The tables of images in another order."""
    place = _inverse(order)
    rows = np.argsort(place[tables.objects.image], kind="stable")
    row_of, objects = _inverse(rows), _rows(tables.objects, rows)
    parts = replace(tables.parts, owner=row_of[tables.parts.owner])
    acts = replace(tables.acts, owner=row_of[tables.acts.owner])
    return replace(
        tables,
        sizes=tables.sizes[order],
        labels=tables.labels[:, order[:main]],
        objects=replace(objects, image=place[objects.image]),
        parts=_rows(parts, np.argsort(parts.owner, kind="stable")),
        acts=_rows(acts, np.lexsort((acts.owner, acts.action))),
        verified=None if tables.verified is None else _pairs_of_images(tables.verified, place),
        coco=None if tables.coco is None else _coco_of_images(tables.coco, place),
    )


def _inverse(order: Places) -> Integers:
    """Where each place stands in an order."""
    found = np.empty(len(order), np.int32)
    found[order] = np.arange(len(order))
    return found


def _pairs_of_images(pairs: Integers, place: Integers) -> Integers:
    """Pairs of an image and a class, by image and class."""
    moved = np.column_stack([place[pairs[:, 0]], pairs[:, 1]]).astype(np.int32)
    found: Integers = moved[np.lexsort((moved[:, 1], moved[:, 0]))]
    return found


def _coco_of_images(table: CocoTable, place: Integers) -> CocoTable:
    moved = replace(table, image=place[table.image])
    if (federation := table.federation) is None:
        return moved
    return replace(
        moved,
        negative=_pairs_of_images(federation.negative, place),
        inexhaustive=_pairs_of_images(federation.inexhaustive, place),
    )


def _taken(masks: LabelRuns, order: Places) -> LabelRuns:
    """These label images, in this order."""
    counts = np.diff(masks.first)[order]
    first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    runs = np.arange(first[-1]) + np.repeat(masks.first[order] - first[:-1], counts)
    return LabelRuns(masks.sizes[order], first, masks.labels[runs], masks.lengths[runs])


def truth_of_boxes(
    annotations: Mapping[str, Annotation],
    *,
    dataset: str,
    image_set: str,
    classes: Sequence[str] | None = None,
) -> GroundTruth:
    """Ground truth for detection and classification from the annotation of each image, in this order.

    classes: None stands for the objects' own, in alphabetical order. Boxes are stored in the convention of the annotations.
    Image-level labels of other classes are left out. Raises DataError for an object of another class, for annotations of
    different conventions, and where only some have image-level labels.

    >>> truth = truth_of_boxes({"a": Annotation(50, 40, ())}, dataset="own", image_set="val", classes=["cat"])
    >>> truth.description.images, truth.description.classes
    ((Image(id='a', width=50, height=40, file=''),), ('cat',))
    """
    pages = list(annotations.values())
    found = sorted({thing.name for page in pages for thing in page.objects})
    known = tuple(found if classes is None else classes)
    if others := [name for name in found if name not in known]:
        raise DataError(f"'{others[0]}' is none of the classes {', '.join(known)}")
    conventions = sorted({page.convention for page in pages}) or [BoxConvention.INCLUSIVE]
    if len(conventions) > 1:
        raise DataError(f"expected boxes of one convention, found {' and '.join(conventions)}")
    objects = objects_of(pages, known)
    lists = Lists(
        dataset=dataset,
        image_set=image_set,
        classes=known,
        actions=(),
        images=tuple(annotations),
        main=len(pages),
        segmentation=(),
        persons=(),
        acting=(),
    )
    tables = Tables(
        sizes=sizes_of(pages),
        labels=labels_of(objects, len(known), len(pages)),
        objects=objects,
        parts=parts_of(pages),
        acts=action_labels_of([], (), annotations),
        masks=LabelRuns.of([]),
        convention=conventions[0],
        verified=_verified(pages, known),
    )
    return GroundTruth.of(lists, tables)


def _verified(pages: Sequence[Annotation], classes: Sequence[str]) -> Integers | None:
    """The table of image-level labels, int32 (k, 2)."""
    labelled = [page.verified for page in pages if page.verified is not None]
    if not labelled:
        return None
    if len(labelled) < len(pages):
        raise DataError("expected image-level labels for all images or for none")
    number = {name: place for place, name in enumerate(classes)}
    rows = [
        (image, number[name])
        for image, names in enumerate(labelled)
        for name in sorted(names)
        if name in number
    ]
    return np.array(rows, np.int32).reshape(-1, 2)
