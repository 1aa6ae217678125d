from dataclasses import replace

import pytest

from heldout_scoring import (
    AnnotatedObject,
    Annotation,
    Box,
    DataError,
    GroundTruth,
    Layout,
    Layouts,
    Part,
    evaluate,
    truth_of_boxes,
)

IMAGES = [f"i_{number:02}" for number in range(12)]


@pytest.mark.parametrize(("protocol", "number"), [("voc2012", 3), ("voc2008", 3), ("voc2007", None)])
def test_layouts_from_arrays_equal_those_from_annotations(protocol: str, number: int | None) -> None:
    """Persons are objects 3 and 1 of their images; the second is difficult, and one image has no parts."""
    head, hand = Part("head", Box(2, 2, 9, 9)), Part("hand", Box(20, 20, 29, 29))
    person, dog = AnnotatedObject("person", Box(1, 1, 40, 40)), AnnotatedObject("dog", Box(5, 5, 9, 9))
    found = Layouts.from_list(
        Layout(
            image,
            0.9 - row / 100,
            (head, hand) if row % 2 else (hand,),
            object=(number if row else 1) if number else None,
            box=None if number else Box(1, 1, 40, 41),
        )
        for row, image in enumerate(IMAGES)
    )
    laid_out = replace(person, parts=(head, hand))
    pages = {image: Annotation(60, 60, (dog, dog, laid_out)) for image in IMAGES}
    pages[IMAGES[0]] = Annotation(60, 60, (replace(laid_out, difficult=True),))
    pages[IMAGES[1]] = Annotation(60, 60, (dog, dog, person))
    known = truth_of_boxes(pages, dataset="VOC2012", image_set="val")
    persons = tuple((image, (3 if row else 1) if number else 0) for row, image in enumerate(IMAGES))

    rows = [row for row in range(len(IMAGES)) if row != 1]
    made = GroundTruth.from_layouts(
        list(reversed(IMAGES)),
        [3] * (len(IMAGES) - 1) + [1],
        owner=[len(IMAGES) - 1 - row for row in rows for _ in range(2)],
        kind=["head", "hand"] * len(rows),
        parts=[[2, 2, 9, 9], [20, 20, 29, 29]] * len(rows),
        boxes=None if number else [[1, 1, 40, 40]] * len(IMAGES),
        difficult=[0] * (len(IMAGES) - 1) + [1],
        convention="inclusive",
        images=IMAGES,
    )

    expected = evaluate(
        found, GroundTruth.of(replace(known.lists, persons=persons), known.tables), protocol=protocol
    )
    result = evaluate(found, made, protocol=protocol)
    assert result.classes == expected.classes
    assert result.headline == expected.headline
    assert any(each.value for each in result.classes)


def test_a_person_listed_twice_is_refused() -> None:
    with pytest.raises(DataError, match="a person stands twice"):
        GroundTruth.from_layouts(["a", "a"], [1, 1], owner=[], kind=[], parts=[], convention="inclusive")
