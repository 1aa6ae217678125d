"""Small Layout sets with results."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from heldout_scoring import Description, Image
from heldout_scoring.data.annotations import AnnotatedObject, Annotation, Box, Part
from heldout_scoring.data.layouts import UNLISTED, WHOLE_IMAGE, Layout, LayoutTable, layouts_to_xml
from heldout_scoring.data.truth import GroundTruth, truth_of_boxes
from heldout_scoring.errors import Problems, Severity
from heldout_scoring.readers.image_index import ImageIndex
from heldout_scoring.tasks.layout_files import read_layouts
from tests.scoring.layout_oracles import PARTS, Given, Key, Limb, Person
from tests.scoring.oracles import Corners

WHERE = "comp7_layout_val.xml"
HEAD = "<part><class>head</class><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>9</xmax><ymax>9</ymax></bndbox></part>"


def phase(*persons: Key, images: Sequence[str] = ("a_1", "a_2")) -> Description:
    """A phase whose public description lists these images and persons; object 0 is a whole image."""
    sizes = tuple(Image(image, 50, 40) for image in images)
    return Description("VOC2012", "val", ("person",), (), sizes, persons=persons or (("a_1", 1), ("a_2", 2)))


def read(
    content: str | bytes, description: Description | None = None, mistakes: Severity = Severity.NOTE
) -> tuple[LayoutTable, Problems]:
    data = content.encode() if isinstance(content, str) else content
    problems = Problems(mistakes=mistakes)
    index = ImageIndex.of(description or phase())
    return read_layouts(data, index, file=WHERE, problems=problems), problems


def layout(*inside: str, image: str = "a_1", number: str = "1", confidence: str = "0.5") -> str:
    head = f"<image>{image}</image><object>{number}</object><confidence>{confidence}</confidence>"
    return f"<layout>{head}{''.join(inside or (HEAD,))}</layout>"


def results(*layouts: str) -> str:
    """A result file with one line per layout, the first on line 2."""
    return "\n".join(["<results>", *layouts, "</results>"])


def xml_of(given: Sequence[Given]) -> bytes:
    return layouts_to_xml(
        Layout(
            each.image,
            each.confidence,
            tuple(Part(limb.name, Box(*limb.box)) for limb in each.parts),
            each.number,
            Box(*each.box) if each.box else None,
        )
        for each in given
    )


def layouts_of(given: Sequence[Given], persons: Sequence[Key]) -> LayoutTable:
    """The layouts read from `xml_of(given)` when these persons are known."""
    parts = [limb for each in given for limb in each.parts]
    nowhere = (math.nan,) * 4
    return LayoutTable(
        person=np.array(
            [
                persons.index(key)
                if (key := (each.image, each.number or WHOLE_IMAGE)) in persons
                else UNLISTED
                for each in given
            ],
            np.int32,
        ),
        confidence=np.array([each.confidence for each in given], np.float64),
        boxes=np.array([each.box or nowhere for each in given], np.float64).reshape(-1, 4),
        first=np.cumsum([0, *(len(each.parts) for each in given)]),
        kind=np.array([PARTS.index(limb.name) for limb in parts], np.int8),
        parts=np.array([limb.box for limb in parts], np.float64).reshape(-1, 4),
    )


def truth_of(people: Mapping[Key, Person]) -> GroundTruth:
    """Ground truth whose Layout set lists these persons in this order; all other objects are chairs."""
    images: dict[str, list[AnnotatedObject]] = {}
    for (image, number), person in sorted(people.items()):
        things = images.setdefault(image, [])
        things += [_thing("chair", person)] * (number - len(things) - 1)
        things.append(_thing("person", person))
    return _truth(images, tuple(people))


def truth_of_images(people: Mapping[str, Sequence[Person]]) -> GroundTruth:
    """Ground truth whose Layout set lists these images in this order, as in 2007; each contains a chair."""
    chair = AnnotatedObject("chair", Box(1, 1, 30, 30))
    images = {image: [chair, *(_thing("person", each) for each in people[image])] for image in sorted(people)}
    return _truth(images, tuple((image, WHOLE_IMAGE) for image in people))


def _thing(name: str, person: Person) -> AnnotatedObject:
    parts = tuple(Part(limb.name, Box(*limb.box)) for limb in person.parts) if name == "person" else ()
    return AnnotatedObject(name, Box(*person.box), difficult=person.difficult, parts=parts)


def _truth(images: Mapping[str, Sequence[AnnotatedObject]], persons: tuple[Key, ...]) -> GroundTruth:
    annotations = {image: Annotation(50, 40, tuple(things)) for image, things in images.items()}
    truth = truth_of_boxes(annotations, dataset="VOC2012", image_set="val", classes=("chair", "person"))
    return GroundTruth.of(replace(truth.lists, persons=persons), truth.tables)


def limb(name: str = "head", box: Corners = (1, 1, 10, 10)) -> Limb:
    return Limb(name, box)
