"""Layouts read from result files and from arrays."""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from scoring.archives.xml_records import Element, read_records
from scoring.data.ground_truth import GroundTruth
from scoring.data.layouts import UNLISTED, Layouts, LayoutTable
from scoring.errors import Problem, Problems
from scoring.readers.image_index import ImageIndex
from scoring.tasks.layout.grammar import LayoutReader, Row, grammar_of
from scoring.tasks.layout.usual_form import read_usual_form
from scoring.tasks.task import Keyed


def read_layouts(data: bytes, images: ImageIndex, *, file: str, problems: Problems) -> LayoutTable:
    r"""Read a file of `<results><layout>…</layout>…</results>`, elements in any order, numbers exactly Python's float().

    An invalid layout becomes a problem with its line, and is left out. What the development kits warn of becomes a note: a
    person who is not in the set, a second layout of a person. A layout without a part and a box that ends before it begins
    are kept as in the kits; `problems.mistakes` says whether they are problems or notes. A file without any layout or any part
    is a problem, because the kits cannot read it.

    >>> from scoring.data.description import Description
    >>> index = ImageIndex.of(Description("VOC2012", "val", (), (), (), persons=(("2008_000008", 2),)))
    >>> text = b"<results><layout><image>2008_000008</image><object>3</object></layout></results>"
    >>> found = Problems()
    >>> len(read_layouts(text, index, file="comp7_layout_val.xml", problems=found))
    0
    >>> print(found.listed[0])
    comp7_layout_val.xml:1: <layout> has no <confidence>; expected one
    """
    found = read_usual_form(data, images.persons)
    if found is not None:
        return found
    reader, columns = LayoutReader(images.persons, file, problems), _Columns()
    count = len(problems.listed)

    def take(layout: Element) -> None:
        columns.seen += 1
        row = reader.read(layout)
        if row is not None:
            columns.add(row)

    read_records(data, grammar_of(images.persons), take, file=file, problems=problems)
    if len(problems.listed) == count and not columns.kind:
        what = "layout has a <part>" if columns.seen else "<layout> is in the file: it is empty"
        problems.add(Problem("no-part" if columns.seen else "no-layout", f"no {what}", file))
    return columns.layouts()


@dataclass(slots=True)
class _Columns:
    """The layouts so far, as columns: a list of objects would take ten times the memory."""

    seen: int = 0
    person: "array[int]" = field(default_factory=lambda: array("i"))
    confidence: "array[float]" = field(default_factory=lambda: array("d"))
    boxes: "array[float]" = field(default_factory=lambda: array("d"))
    first: "array[int]" = field(default_factory=lambda: array("q", [0]))
    kind: "array[int]" = field(default_factory=lambda: array("b"))
    parts: "array[float]" = field(default_factory=lambda: array("d"))

    def add(self, row: Row) -> None:
        self.person.append(row.person)
        self.confidence.append(row.confidence)
        self.boxes.extend(row.box)
        for part in row.parts:
            self.kind.append(part.kind)
            self.parts.extend(part.box)
        self.first.append(len(self.kind))

    def layouts(self) -> LayoutTable:
        return LayoutTable(
            person=np.array(self.person, np.int32),
            confidence=np.array(self.confidence, np.float64),
            boxes=np.array(self.boxes, np.float64).reshape(-1, 4),
            first=np.array(self.first, np.intp),
            kind=np.array(self.kind, np.int8),
            parts=np.array(self.parts, np.float64).reshape(-1, 4),
        )


def accepts(predictions: object) -> bool:
    """Whether these are layouts."""
    return isinstance(predictions, Layouts)


def split(predictions: Layouts, truth: GroundTruth) -> Iterator[Keyed[LayoutTable]]:
    """All layouts under the key "person"; those of persons who are not in the Layout set are not counted, as in the kits."""
    places = {person: place for place, person in enumerate(truth.lists.persons)}
    image, number = predictions.image.tolist(), predictions.person.tolist()
    persons = [(predictions.images[place], object_) for place, object_ in zip(image, number, strict=True)]
    table = LayoutTable(
        person=np.array([places.get(person, UNLISTED) for person in persons], np.int32),
        confidence=predictions.score,
        boxes=predictions.boxes,
        first=np.searchsorted(predictions.owner, np.arange(len(predictions) + 1)),
        kind=predictions.kind,
        parts=predictions.parts,
    )
    yield Keyed("person", table)
