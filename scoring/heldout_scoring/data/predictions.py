"""Predictions as arrays: confidences of images or persons, and boxes with a confidence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, plural
from .annotations import BoxConvention, as_convention
from .arrays import (
    SIDES,
    BoxFormat,
    Flags,
    Floats,
    Integers,
    Names,
    PerImage,
    Rows,
    as_boxes,
    as_floats,
    as_list,
    as_matrix,
    as_named,
    as_names,
    assert_is,
    assert_lengths,
    boxes_of,
    columns_of,
    rows_of_dicts,
    rows_of_supervision,
    some_of,
)


@dataclass(frozen=True, slots=True, eq=False)
class ClassConfidences:
    """The confidences of one class or action, in the order in which they were given.

    subject: int32 (n,), place of the image or person in its set; confidence: float64 (n,), finite, larger is more confident.
    """

    subject: Integers
    confidence: Floats

    def __len__(self) -> int:
        """The number of confidences."""
        return len(self.subject)

    def where(self, mask: Flags, /) -> Self:
        """The confidences that the mask selects."""
        return type(self)(self.subject[mask], self.confidence[mask])


@dataclass(frozen=True, slots=True, eq=False)
class Confidences:
    """How confident a method is that an image shows a class, or that a person performs an action.

    image: int32 (n,), into images; label: int32 (n,), into classes; score: float64 (n,), finite, larger is more confident;
    person: int32 (n,), which object of the image is meant, counted from 1, or None where the image as a whole is.
    """

    image: Integers
    label: Integers
    score: Floats
    images: tuple[str, ...]
    classes: tuple[str, ...]
    person: Integers | None = None

    def __repr__(self) -> str:
        """How many there are, and which classes."""
        return f"Confidences({len(self)} in {plural(len(self.images), 'image')}, classes: {some_of(self.classes)})"

    def __len__(self) -> int:
        """The number of confidences."""
        return len(self.image)

    @classmethod
    def from_arrays(
        cls,
        image: Any,
        label: Any,
        score: Any,
        *,
        person: Any = None,
        images: Sequence[str] | None = None,
        classes: Names | None = None,
    ) -> Self:
        """Confidences from columns of one length, a row for each image (or person) and class.

        image, label: names (n,), or whole numbers (n,): indices into `images` and `classes`, or names where these are left
        out; score: numbers (n,); person: for actions, whole numbers from 1 (n,). Raises DataError for anything else.

        >>> Confidences.from_arrays(["a", "b"], ["cat", "cat"], [0.9, 0.5]).classes
        ('cat',)
        """
        images_named, labels = as_named("image", image, images), as_named("label", label, classes)
        scores = as_floats("score", score)
        persons = None if person is None else as_persons(person)
        assert_lengths(image=images_named.place, label=labels.place, score=scores)
        if persons is not None:
            assert_lengths(image=images_named.place, person=persons)
        return cls(images_named.place, labels.place, scores, images_named.names, labels.names, persons)

    @classmethod
    def from_matrix(
        cls,
        scores: Any,
        *,
        images: Sequence[str] | None = None,
        classes: Sequence[str] | None = None,
        person: Any = None,
    ) -> Self:
        """Confidences from a table with a row for each image and a column for each class, as scikit-learn has them.

        scores: numbers (images, classes); images, classes: their names, by default "0", "1" and so on; person: for actions,
        the person of each row, whole numbers from 1, where an image may have several rows. Raises DataError for anything else.

        >>> Confidences.from_matrix([[0.9, 0.1], [0.5, 0.6]], classes=["cat", "dog"]).score.tolist()
        [0.9, 0.1, 0.5, 0.6]
        """
        table = as_matrix("scores", scores)
        rows = list(map(str, range(table.shape[0]))) if images is None else as_list("images", images)
        columns = as_names("classes", list(map(str, range(table.shape[1]))) if classes is None else classes)
        if (len(rows), len(columns)) != table.shape:
            raise DataError(
                f"expected a row for each of {len(rows)} images and a column for each of {len(columns)} classes, "
                f"found shape {table.shape}"
            )
        named = as_named("image", rows, None if person is not None else rows)
        persons = None if person is None else np.repeat(as_persons(person), len(columns))
        label = np.tile(np.arange(len(columns), dtype=np.int32), len(rows))
        image = np.repeat(named.place, len(columns))
        if persons is not None:
            assert_lengths(image=image, person=persons)
        return cls(image, label, table.ravel(), named.names, columns, persons)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        image: str = "image",
        label: str = "label",
        score: str = "score",
        person: str | None = None,
        **options: Any,
    ) -> Self:
        """Confidences from a data frame of pandas, polars or another library: a row for each image (or person) and class.

        image, label, score, person: the names of the columns; options: as for `from_arrays`. Raises DataError for a column
        that is not there, and as `from_arrays` does.

        >>> Confidences.from_frame({"image": ["a"], "label": ["cat"], "score": [0.9]}).score.tolist()
        [0.9]
        """
        images, labels, scores = columns_of(frame, image, label, score)
        persons = None if person is None else columns_of(frame, person)[0]
        return cls.from_arrays(images, labels, scores, person=persons, **options)


_MOST_PERSONS: Final = 65535
"""Tables have a row for each number up to the largest of an image."""


def as_persons(values: Any) -> Integers:
    """Numbers of objects within their images, int32 (n,), from 1 to 65,535. Raises DataError for anything else.

    >>> as_persons([1, 2]).tolist()
    [1, 2]
    """
    numbers = as_floats("person", values)
    is_valid = (numbers >= 1) & (numbers == np.floor(numbers)) & (numbers <= _MOST_PERSONS)
    if not is_valid.all():
        raise DataError(
            f"expected whole numbers from 1 to {_MOST_PERSONS} in 'person', each a number within its image, "
            f"found {numbers[~is_valid][0]:.15g}"
        )
    return numbers.astype(np.int32)


if TYPE_CHECKING:
    from .truth import GroundTruth


@dataclass(frozen=True, slots=True, eq=False)
class ClassDetections:
    """The detections of one class, in the order in which they were given, which decides ties.

    image: int32 (n,), index into Description.images; confidence: float64 (n,), finite;
    boxes: float64 (n, 4), left, top, right, bottom in pixels as given, finite, possibly outside the image or inverted;
    convention: what these four numbers mean.
    """

    image: NDArray[np.int32]
    confidence: NDArray[np.float64]
    boxes: NDArray[np.float64]
    convention: BoxConvention = BoxConvention.INCLUSIVE

    def __len__(self) -> int:
        """The number of detections."""
        return len(self.image)

    def where(self, mask: Flags, /) -> Self:
        """The detections that the mask selects."""
        return type(self)(self.image[mask], self.confidence[mask], self.boxes[mask], self.convention)

    def to(self, convention: BoxConvention) -> Self:
        """The same detections with their boxes in this convention."""
        if convention is self.convention:
            return self
        boxes = self.convention.convert(self.boxes, convention)
        return replace(self, boxes=boxes, convention=convention)


@dataclass(frozen=True, slots=True, eq=False)
class Detections:
    """Detections of all classes in all images, in the order in which they were given, which decides ties.

    image: int32 (n,), into images; label: int32 (n,), into classes; score: float64 (n,), finite, larger is more confident;
    boxes: float64 (n, 4), left, top, right, bottom, finite; convention: what these numbers mean, None where they are to be
    read as those of the ground truth; sizes: float64 (n, 2), width and height as written, where edges would round them.
    """

    image: Integers
    label: Integers
    score: Floats
    boxes: Floats
    images: tuple[str, ...]
    classes: tuple[str, ...]
    convention: BoxConvention | None = None
    sizes: Floats | None = None

    def __repr__(self) -> str:
        """How many detections and images there are, and which classes."""
        return f"Detections({len(self)} in {plural(len(self.images), 'image')}, classes: {some_of(self.classes)})"

    def __len__(self) -> int:
        """The number of detections."""
        return len(self.image)

    @classmethod
    def from_arrays(
        cls,
        image: Any,
        label: Any,
        score: Any,
        boxes: Any,
        *,
        images: Sequence[str] | None = None,
        classes: Names | None = None,
        box_format: BoxFormat | str = BoxFormat.XYXY,
        convention: BoxConvention | str | None = None,
    ) -> Self:
        """Detections from four columns of one length.

        image, label: names (n,), or whole numbers (n,): indices into `images` and `classes`, or names where these are left
        out; classes may be a mapping of each number in `label` to its name; score: numbers (n,); boxes: numbers (n, 4), of any type. Arrays that have the types of the fields are not copied: leave them
        as they are while these detections or a result of them are in use. Raises DataError for anything else, for NaN, and for names
        that are none of `images` or `classes`.

        >>> found = Detections.from_arrays(["a", "b"], ["cat", "cat"], [0.9, 0.5], [[1, 1, 10, 10], [1, 1, 9, 2]])
        >>> found.images, found.score.tolist()
        (('a', 'b'), [0.9, 0.5])
        """
        images_named, labels = as_named("image", image, images), as_named("label", label, classes)
        scores, corners = as_floats("score", score), as_boxes("boxes", boxes, box_format)
        assert_lengths(image=images_named.place, label=labels.place, score=scores, boxes=corners)
        meaning = None if convention is None else as_convention(convention)
        return cls(
            images_named.place, labels.place, scores, corners, images_named.names, labels.names, meaning
        )

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        image: str = "image",
        label: str = "label",
        score: str = "score",
        boxes: Sequence[str] = SIDES,
        **options: Any,
    ) -> Self:
        """Detections from a data frame of pandas, polars or another library: a row for each.

        image, label, score: the names of the columns; boxes: those of the four numbers of a box; options: as for `from_arrays`.
        Raises DataError for a column that is not there, and as `from_arrays` does.

        >>> frame = {"image": ["a"], "label": ["cat"], "score": [0.9], "x": [1], "y": [1], "w": [9], "h": [9]}
        >>> Detections.from_frame(frame, boxes="xywh", box_format="xywh").boxes.tolist()
        [[1.0, 1.0, 10.0, 10.0]]
        """
        images, labels, scores = columns_of(frame, image, label, score)
        return cls.from_arrays(images, labels, scores, boxes_of(frame, boxes), **options)

    @classmethod
    def from_dicts(cls, entries: PerImage, *, images: Sequence[str] | None = None, **options: Any) -> Self:
        """Detections from a mapping with `boxes`, `scores` and `labels` for each image, as torchvision's models give them.

        entries: in the order of `images` (by default "0", "1" and so on), or a mapping by their names; options: as for
        `from_arrays`. Raises DataError as `from_arrays` does.

        >>> found = Detections.from_dicts([{"boxes": [[1, 1, 10, 10]], "scores": [0.9], "labels": [1]}, {}.fromkeys(
        ...     ("boxes", "scores", "labels"), [])], classes={1: "cat"})
        >>> found.images, found.label.tolist()
        (('0', '1'), [0])
        """
        return cls._of_rows(rows_of_dicts(entries, images, _FIELDS), options)

    @classmethod
    def from_coco(
        cls, source: Path | str | bytes | Sequence[Mapping[str, Any]], truth: "GroundTruth"
    ) -> Self:
        """Detections from COCO's JSON, a list of `image_id`, `category_id`, `bbox` and `score`, for a ground truth `from_coco`.

        source: the path of the file, its content, or what a JSON parser makes of it. Raises SubmissionError with every problem,
        PathError where there is no file, and DataError for a ground truth that does not come from COCO's JSON.

        >>> from heldout_scoring import GroundTruth, evaluate
        >>> truth = GroundTruth.from_coco({"images": [{"id": 3}], "categories": [{"id": 7, "name": "car"}],
        ...   "annotations": [{"id": 1, "image_id": 3, "category_id": 7, "bbox": [15, 9, 20, 10], "area": 200}]})
        >>> found = Detections.from_coco([{"image_id": 3, "category_id": 7, "bbox": [15, 9, 20, 10], "score": 0.5}], truth)
        >>> [round(evaluate(found, truth, protocol=name).headline, 6) for name in ("coco", "voc2012")]
        [1.0, 1.0]
        """
        from ..readers.coco_json.detections import columns_of_coco  # noqa: PLC0415 - rests on this module
        from .truth import GroundTruth  # noqa: PLC0415 - rests on this module

        assert_is(truth, GroundTruth, "that was made from COCO's JSON")
        if not truth.lists.class_numbers:
            raise DataError("expected a ground truth from COCO's JSON, whose images and classes have numbers")
        found = columns_of_coco(source, truth.description)
        return cls(
            found.detections.image,
            found.detections.label,
            found.detections.confidence,
            np.concatenate([found.boxes[:, :2], found.boxes[:, :2] + found.boxes[:, 2:]], axis=1),
            truth.lists.images,
            truth.lists.classes,
            BoxConvention.HALF_OPEN,
            sizes=np.ascontiguousarray(found.boxes[:, 2:]),
        )

    @classmethod
    def from_supervision(
        cls, entries: PerImage, *, images: Sequence[str] | None = None, **options: Any
    ) -> Self:
        """Detections from a `supervision.Detections` for each image, or anything with `xyxy`, `confidence` and `class_id`.

        entries, options: as for `from_dicts`. Raises DataError as `from_arrays` does, and where there is no confidence.

        >>> from types import SimpleNamespace
        >>> one = SimpleNamespace(xyxy=np.ones((1, 4)), confidence=np.array([0.5]), class_id=np.array([0]))
        >>> len(Detections.from_supervision({"a": one}, classes=["cat"]))
        1
        """
        return cls._of_rows(rows_of_supervision(entries, images, _FIELDS), options)

    @classmethod
    def _of_rows(cls, rows: Rows, options: dict[str, Any]) -> Self:
        boxes, scores, labels = map(rows.column, _FIELDS)
        return cls.from_arrays(rows.image, labels, scores, boxes, images=rows.images, **options)


_FIELDS: Final = ("boxes", "scores", "labels")
