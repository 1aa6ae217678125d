"""Annotations stored as arrays."""

import numpy as np
import pytest

from heldout_scoring.data.annotations import (
    Act,
    AnnotatedObject,
    Annotation,
    Box,
    action_labels_of,
    objects_of,
)

BOX = Box(1, 1, 10, 10)


class Unsearchable(tuple[str, ...]):
    """Names that raise an error on a linear search, which is slow with a thousand classes."""

    __slots__ = ()

    def index(self, *_: object) -> int:
        raise AssertionError


def test_class_numbers_are_looked_up_without_a_linear_search() -> None:
    names = Unsearchable(f"class {number}" for number in range(1203))
    page = Annotation(50, 40, (AnnotatedObject("class 1202", BOX), AnnotatedObject("class 7", BOX)))

    assert objects_of([page], names).name.tolist() == [1202, 7]


def test_action_numbers_are_looked_up_without_a_linear_search() -> None:
    page = Annotation(50, 40, (AnnotatedObject("person", BOX),))

    labels = action_labels_of([Act("running", "a", 1, -1)], Unsearchable(["reading", "running"]), {"a": page})

    assert np.array_equal(labels.action, [1])


def test_an_unlisted_class_is_refused() -> None:
    with pytest.raises(KeyError, match="dog"):
        objects_of([Annotation(50, 40, (AnnotatedObject("dog", BOX),))], ("cat",))
