"""Ground truth: one version of the annotation of an image set, immutable and identified by its hash."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from scoring.data.boxes import BoxConvention
from scoring.data.checking import (
    BoxFormat,
    Names,
    as_boxes,
    as_choice,
    as_flags,
    as_named,
    assert_lengths,
    assert_upright,
)
from scoring.data.frames import SIDES, boxes_of, columns_of
from scoring.data.instance_masks import InstanceMasks
from scoring.data.label_maps import LabelMaps
from scoring.data.layouts import Layouts
from scoring.data.per_image import PerImage, rows_of_dicts, rows_of_supervision
from scoring.data.stored_truth import StoredTruth
from scoring.data.tables import Lists, Tables
from scoring.data.tables_from_arrays import (
    ObjectRows,
    as_areas,
    tables_of_actions,
    tables_of_label_maps,
    tables_of_labels,
    tables_of_layouts,
    tables_of_masks,
    tables_of_objects,
)
from scoring.data.truth_content import content_of


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GroundTruth(StoredTruth):
    """One version of a phase's annotation, for all tasks; `description` is what participants may know of it.

    `scoring.evaluation.missing_truth` says which competitions the annotation cannot score.
    """

    @classmethod
    def of(cls, lists: Lists, tables: Tables) -> Self:
        """The ground truth made of these, the same as if read from its file.

        >>> from dataclasses import replace
        >>> truth = GroundTruth.from_labels([[1], [0]], classes=["cat"])
        >>> GroundTruth.of(replace(truth.lists, image_set="test"), truth.tables).description.image_set
        'test'
        """
        return cls.of_bytes(content_of(lists, tables))

    @classmethod
    def from_arrays(  # noqa: PLR0913 - three columns, and what else is known of the objects
        cls,
        image: Any,
        label: Any,
        boxes: Any,
        *,
        convention: BoxConvention | str,
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
        out; boxes: numbers (n, 4) by `convention` and `box_format`; difficult, crowd: 0 or 1 (n,), objects that need not be
        found, which COCO's protocols count like any other, and boxes around several objects, which need not be found either; area: pixels (n,), which decide what COCO's
        protocols call small, medium and large, by default those of the boxes; classes: names, or a mapping of each number in `label`
        to its name; images: all that are evaluated, also those
        without an object, by default those that have one; sizes: width and height (images, 2). Raises DataError for anything else,
        and for boxes that end before they begin.

        >>> truth = GroundTruth.from_arrays(["a"], ["cat"], [[0, 0, 10, 10]], convention="half-open", images=["a", "b"])
        >>> truth.lists.images, truth.lists.classes
        (('a', 'b'), ('cat',))
        """
        corners = as_boxes("boxes", boxes, box_format)
        assert_upright("boxes", corners)
        rows = ObjectRows(
            as_named("image", image, images),
            as_named("label", label, classes),
            corners,
            as_flags("difficult", difficult, len(corners)),
            as_flags("crowd", crowd, len(corners)),
            None if area is None else as_areas(area, len(corners)),
        )
        assert_lengths(image=rows.image.place, label=rows.label.place, boxes=rows.boxes)
        return cls.of(*tables_of_objects(rows, as_choice("convention", convention, BoxConvention), sizes))

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
    def from_dicts(cls, entries: PerImage, *, images: Sequence[str] | None = None, **options: Any) -> Self:
        """Ground truth from a mapping with `boxes`, `labels`, perhaps `difficult`, `iscrowd` and `area` for each image.

        entries: as for `Detections.from_dicts`; options: as for `from_arrays`, `convention` among them.

        >>> targets = {"a": {"boxes": [[0, 0, 10, 10]], "labels": ["cat"]}, "b": {"boxes": [], "labels": []}}
        >>> GroundTruth.from_dicts(targets, convention="half-open").lists.main
        2
        """
        rows = rows_of_dicts(entries, images, ("boxes", "labels", "difficult", "iscrowd", "area"))
        fields = {"difficult": "difficult", "crowd": "iscrowd", "area": "area"}
        options |= {name: rows.columns[field] for name, field in fields.items() if field in rows.columns}
        labels, boxes = rows.column("labels"), rows.column("boxes")
        return cls.from_arrays(rows.image, labels, boxes, images=rows.images, **options)

    @classmethod
    def from_supervision(
        cls, entries: PerImage, *, images: Sequence[str] | None = None, **options: Any
    ) -> Self:
        """Ground truth from a `supervision.Detections` for each image, whose confidence may be None.

        entries: as for `Detections.from_supervision`; options: as for `from_arrays`, `convention` among them.

        >>> from types import SimpleNamespace
        >>> one = SimpleNamespace(xyxy=np.array([[0, 0, 9, 9]]), confidence=None, class_id=np.array([0]))
        >>> GroundTruth.from_supervision({"a": one}, classes=["cat"], convention="half-open")
        GroundTruth(1 images, 1 objects, classes: cat)
        """
        rows = rows_of_supervision(entries, images, confidence=False)
        labels, boxes = rows.column("labels"), rows.column("boxes")
        return cls.from_arrays(rows.image, labels, boxes, images=rows.images, **options)

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
        from scoring.readers.coco_json.to_data import read_source, tables_of_coco  # noqa: PLC0415 - rests on this module

        name, data = read_source(source, "instances.json")
        return cls.of(*tables_of_coco(data, dataset, image_set, file=name, masks=masks))

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
        convention: BoxConvention | str,
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
        meaning = as_choice("convention", convention, BoxConvention)
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
