"""Confidences of images or persons."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np

from scoring.data.arrays import Flags, Floats, Integers
from scoring.data.checking import (
    DataError,
    Names,
    as_floats,
    as_list,
    as_matrix,
    as_named,
    as_names,
    assert_lengths,
    some_of,
)
from scoring.data.frames import columns_of


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
        return f"Confidences({len(self)} in {len(self.images)} images, classes: {some_of(self.classes)})"

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
