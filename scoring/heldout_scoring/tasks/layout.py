"""Person layout: heads, hands and feet of given persons, in one file."""

import math
import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, NamedTuple, TypeVar

import numpy as np

from ..archives.checking import Checked, Inspection, digest_of, nothing_to_add, severity_of_missing
from ..archives.results import ResultFile
from ..archives.xml_records import (
    LONGEST_TEXT,
    MOST_BYTES,
    MOST_ELEMENTS,
    MOST_IN_A_RECORD,
    Element,
    Grammar,
    read_records,
)
from ..competitions import CompetitionInfo
from ..data.annotations import PARTS
from ..data.arrays import as_threshold
from ..data.description import Description, Image
from ..data.layouts import SIDES, UNLISTED, WHOLE_IMAGE, Layouts, LayoutSet, LayoutTable
from ..data.matches import RankedPredictions
from ..data.truth import GroundTruth
from ..errors import Problem, Problems, SubmissionError, shown
from ..metrics.layouts import LayoutPersons, MatchLayouts, persons_of_layout_set
from ..metrics.matching import IoU
from ..metrics.ranking import Average, RankingMeasure
from ..readers.image_index import ImageIndex
from ..readers.lines import FURTHEST, QUOTED, Box, Invalid, check_box, number_in, unknown_image
from ..scores import NOT_ENTERED, ClassResult, Scores, draw_precision
from .task import Keyed, RankingSample, Task, count_by_class, only_images, table_of_classes


@dataclass(frozen=True, slots=True)
class LayoutRules:
    """How layouts are scored.

    names: the columns of the report, the parts or the whole person; boxed: whether a layout refers to a person by a box instead of
    a number; iou_threshold: the smallest IoU of a match.
    """

    match: MatchLayouts
    names: tuple[str, ...]
    boxed: bool
    iou: IoU
    iou_threshold: float
    measure: RankingMeasure
    average: Average

    def __post_init__(self) -> None:
        """Check the threshold. Raises DataError."""
        object.__setattr__(self, "iou_threshold", as_threshold("iou_threshold", self.iou_threshold))


_BELOW: Final = {"": ("results",), "results": ("layout",), "part": ("class", "bndbox"), "bndbox": SIDES}
_OF_OBJECTS: Final = Grammar("layout", _BELOW | {"layout": ("image", "object", "confidence", "part")})
_OF_BOXES: Final = Grammar("layout", _BELOW | {"layout": ("image", "confidence", "bndbox", "part")})
_OBJECT: Final = re.compile(r"0*[1-9][0-9]{0,8}")
_NOWHERE: Final = Box(*[float("nan")] * 4)

_Value = TypeVar("_Value")


class PlacedPart(NamedTuple):
    """A predicted part: its index in PARTS, and its box in pixels."""

    kind: int
    box: Box


class Row(NamedTuple):
    """A layout: the person's place in the description, or UNLISTED, the confidence, the box and the parts."""

    person: int
    confidence: float
    box: Box
    parts: list[PlacedPart]


def grammar_of(listed: LayoutSet) -> Grammar:
    """The XML grammar of a file: persons by number, or by box."""
    return _OF_BOXES if listed.boxed else _OF_OBJECTS


@dataclass(slots=True)
class LayoutReader:
    """Reads the layouts of one file, and keeps the line of each person's first layout."""

    listed: LayoutSet
    file: str
    problems: Problems
    first_lines: dict[tuple[str, int], int] = field(default_factory=dict)
    names: frozenset[bytes] = frozenset()  # of the images, once one is unknown

    def read(self, layout: Element) -> Row | None:
        """The values of a layout; None if one is invalid, each of which becomes a problem."""
        boxed = self.listed.boxed
        image = self._leaf(layout, "image", self._image)
        number = WHOLE_IMAGE if boxed else self._leaf(layout, "object", _object)
        confidence = self._leaf(layout, "confidence", lambda text: number_in(text, "confidence"))
        box = self._box(layout, image) if boxed else _NOWHERE
        parts = [self._part(each, image) for each in layout.inside if each.name == "part"]
        if image is None or number is None:
            return None
        person = self.listed.places.get((image.id, number), UNLISTED)
        first = None if boxed else self._first_layout(layout, (image.id, number))
        if not parts:
            self._add_empty_layout(layout, image, first)
        good = [part for part in parts if part is not None]
        if confidence is None or box is None or len(good) < len(parts):
            return None
        return Row(person, confidence, box, good)

    def _one(self, parent: Element, name: str) -> Element | None:
        """The only child element of this name; a problem and None if there is none or several."""
        found = [each for each in parent.inside if each.name == name]
        if not found:
            message = f"<{parent.name}> has no <{name}>; expected one"
            self._add_problem(Invalid("missing-element", message, expected=f"<{name}>"), parent.line)
        for each in found[1:]:
            message = f"<{parent.name}> has a second <{name}>; expected one"
            self._add_problem(Invalid("repeated-element", message, found=f"<{name}>"), each.line)
        return found[0] if len(found) == 1 else None

    def _leaf(self, parent: Element, name: str, read: Callable[[bytes], _Value | Invalid]) -> _Value | None:
        """The value in the text of the only child element of this name."""
        element = self._one(parent, name)
        if element is None:
            return None
        value = read(element.text.encode())
        if isinstance(value, Invalid):
            self._add_problem(value, element.line)
            return None
        return value

    def _image(self, text: bytes) -> Image | Invalid:
        known = self.listed.images
        if text in known:
            return known[text]
        self.names = self.names or frozenset(known)
        return unknown_image(text, self.names, self.listed.where)

    def _part(self, part: Element, image: Image | None) -> PlacedPart | None:
        kind, box = self._leaf(part, "class", _kind), self._box(part, image)
        return None if kind is None or box is None else PlacedPart(kind, box)

    def _box(self, parent: Element, image: Image | None) -> Box | None:
        element = self._one(parent, "bndbox")
        if element is None:
            return None
        edges = [self._leaf(element, side, partial(_edge, side)) for side in SIDES]
        good = [edge for edge in edges if edge is not None]
        if len(good) < len(edges):
            return None
        box = Box(*good)
        if image is not None and (wrong := check_box(box, image)) is not None:
            self.problems.add(wrong.at(self.file, element.line), self.problems.mistakes)
        return box

    def _first_layout(self, layout: Element, person: tuple[str, int]) -> int | None:
        """The line of the person's first layout, None if this is it; adds notes where the kits give a warning."""
        image, number = shown(person[0], QUOTED), person[1]
        if person not in self.listed.places:
            message = f"person {number} of '{image}' is not in {self.listed.where}; the layout is passed over"
            self.problems.note(Problem("unlisted-person", message, self.file, layout.line, found=str(number)))
        first = self.first_lines.get(person)
        self.first_lines.setdefault(person, layout.line)
        if first is not None:
            message = (
                f"a second layout of person {number} of '{image}', the first is on line {first};"
                " from 2010 on only the most confident one counts"
            )
            self.problems.note(Problem("second-layout", message, self.file, layout.line))
        return first

    def _add_empty_layout(self, layout: Element, image: Image, first: int | None) -> None:
        message = f"the layout of '{shown(image.id, QUOTED)}' has no <part>; expected at least one"
        if first is not None:
            message += f"; and it is a duplicate: line {first} has a layout of the same person"
        problem = Problem("empty-layout", message, self.file, layout.line, expected="<part>")
        self.problems.add(problem, self.problems.mistakes)

    def _add_problem(self, wrong: Invalid, line: int) -> None:
        self.problems.add(wrong.at(self.file, line))


def _object(text: bytes) -> int | Invalid:
    if _OBJECT.fullmatch(text.decode()):
        return int(text)
    found = shown(text, QUOTED)
    message = f"expected an object's number, counted from 1, as object, found '{found}'"
    return Invalid("not-a-number", message, found, "a whole number from 1")


def _kind(text: bytes) -> int | Invalid:
    word = text.decode()
    if word in PARTS:
        return PARTS.index(word)
    found, expected = shown(word, QUOTED), ", ".join(PARTS)
    return Invalid(
        "unknown-part", f"unknown part class '{found}'; expected one of {expected}", found, expected
    )


def _edge(side: str, text: bytes) -> float | Invalid:
    value = number_in(text, side)
    if isinstance(value, Invalid) or abs(value) <= FURTHEST:
        return value
    message = (
        f"the box has a coordinate of {value:g} as {side}; expected values within ±{FURTHEST:.0f} pixels"
    )
    return Invalid("coordinate-range", message, f"{value:g}", f"±{FURTHEST:.0f}")


_BLANK: Final = r"[ \t\n]*+"
_NAME: Final = r"[!-%'-;=?-~]++"  # printable ASCII without what XML writes otherwise
_OBJECT_NUMBER: Final = r"0*+[1-9][0-9]{0,8}"
_NUMBER: Final = r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?"


def _inside(name: str, content: str) -> str:
    return f"<{name}>{_BLANK}{content}{_BLANK}</{name}>{_BLANK}"


_PERSON: Final = "".join(
    _inside(name, f"({value})")
    for name, value in (("image", _NAME), ("object", _OBJECT_NUMBER), ("confidence", _NUMBER))
)
_PART: Final = _inside("class", f"({'|'.join(PARTS)})") + _inside(
    "bndbox", "".join(_inside(side, f"({_NUMBER})") for side in SIDES)
)
_PERSONS: Final = re.compile(_PERSON)
_PARTS: Final = re.compile(_PART)
_LAYOUT: Final = _inside("layout", f"{_PERSON}(?:{_inside('part', _PART)})++")
_FILE: Final = re.compile(
    rf'(?:<\?xml version="1\.0"(?: encoding="[Uu][Tt][Ff]-8")? ?\?>)?{_BLANK}'
    + _inside("results", f"(?:{_LAYOUT})++")
)

_ELEMENTS_OF_A_PART: Final = 7
_ELEMENTS_OF_A_PERSON: Final = 4


def read_usual_form(data: bytes, listed: LayoutSet) -> LayoutTable | None:
    """The layouts of a file, if every element is in the order of the development kits and none needs a problem or a note.

    None for any other file, which has to be read element by element, and for sets that list images only.

    >>> from heldout_scoring.data.description import Description
    >>> listed = LayoutSet.of(Description("VOC2012", "val", (), (), (), persons=(("2008_000008", 2),)))
    >>> print(read_usual_form(b"<results><layout><image>2008_000008</image></layout></results>", listed))
    None
    """
    if listed.boxed or not data.isascii() or not _is_within_limits(data):
        return None
    text = data.decode("ascii")
    if not _FILE.fullmatch(text):
        return None
    persons, parts = _PERSONS.findall(text), _PARTS.findall(text)
    places = [listed.places.get((image, int(number))) for image, number, _ in persons]
    count = np.array([layout.count("<part>") for layout in text.split("</layout>")[:-1]])
    table = LayoutTable(
        person=np.array([place for place in places if place is not None], np.int32),
        confidence=np.array([float(confidence) for *_, confidence in persons]),
        boxes=np.full((len(persons), 4), np.nan),
        first=np.cumsum([0, *count], dtype=np.intp),
        kind=np.array([PARTS.index(kind) for kind, *_ in parts], np.int8),
        parts=np.array([[float(edge) for edge in edges] for _, *edges in parts]),
    )
    is_small = _ELEMENTS_OF_A_PERSON + _ELEMENTS_OF_A_PART * int(count.max()) <= MOST_IN_A_RECORD
    return table if is_small and None not in places and _needs_no_remark(table) else None


def _is_within_limits(data: bytes) -> bool:
    """Whether the XML reader would take this many bytes and elements, and texts of this length."""
    begins = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("<"))
    longest = int(np.diff(begins).max(initial=0))
    return len(data) <= MOST_BYTES and len(begins) <= MOST_ELEMENTS and longest <= LONGEST_TEXT


def _needs_no_remark(table: LayoutTable) -> bool:
    """Whether each person has one layout, confidences are finite and no box is inverted or far away."""
    sides = table.parts[:, 2:] - table.parts[:, :2] + 1
    return bool(
        len(np.unique(table.person)) == len(table)
        and np.isfinite(table.confidence).all()
        and (np.abs(table.parts) <= FURTHEST).all()
        and (sides > 0).all()
    )


def read_layouts(data: bytes, images: ImageIndex, *, file: str, problems: Problems) -> LayoutTable:
    r"""Read a file of `<results><layout>…</layout>…</results>`, elements in any order, numbers exactly Python's float().

    An invalid layout becomes a problem with its line, and is left out. What the development kits warn of becomes a note: a
    person who is not in the set, a second layout of a person. A layout without a part and a box that ends before it begins
    are kept as in the kits; `problems.mistakes` says whether they are problems or notes. A file without any layout or any part
    is a problem, because the kits cannot read it.

    >>> from heldout_scoring.data.description import Description
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


def check_layouts(file: ResultFile, checked: Checked, inspection: Inspection) -> None:
    """Check the layouts of all persons and count them."""
    images, problems = inspection.images, inspection.problems
    wrong = problems.total
    found = read_layouts(file.read(), images, file=file.name, problems=problems)
    checked.lines += len(found)
    total = len(images.persons.places)
    missing = total - len(np.unique(found.person[found.person != UNLISTED]))
    boxes = np.nan_to_num(found.boxes, nan=np.inf)  # of persons that have a number instead
    checked.digests[file.key] = digest_of(
        found.person, found.confidence, boxes, found.first, found.kind, found.parts
    )
    checked.add_list(file.key, found.confidence, is_partial=missing > 0)
    if missing and len(found) and problems.total == wrong:  # what is refused is not missing
        whom = "images" if images.persons.boxed else "persons"
        message = f"{missing:,} of the {total:,} {whom} of {images.persons.where} have no layout and count as missed"
        note = Problem("missing-predictions", message, file.name, found=str(missing))
        problems.add(note, severity_of_missing(missing, total))


NOTHING_TO_FIND: Final = "nobody in the set has one"
NOBODY_LISTED: Final = "every layout is of a person outside the set, and nothing is left to be counted"


@dataclass(frozen=True, slots=True, eq=False)
class LayoutTruth:
    """The persons of the Layout set, and the selected columns of the report: None for all of the protocol's."""

    people: LayoutPersons
    columns: tuple[str, ...] | None = None


def load(truth: GroundTruth) -> LayoutTruth:
    """The persons of the Layout set with their parts."""
    return LayoutTruth(persons_of_layout_set(truth))


def missing_truth(truth: GroundTruth) -> str | None:
    """Why a ground truth cannot score person layout; None if it can."""
    if not truth.lists.persons:
        return "there is no Layout set"
    return None if len(truth.tables.parts.owner) else "no head, hand or foot is annotated"


def select(truth: LayoutTruth, names: Sequence[str]) -> LayoutTruth:
    """The same truth with these columns only."""
    return replace(truth, columns=tuple(names))


def columns(_info: CompetitionInfo, _description: Description, rules: LayoutRules) -> tuple[str, ...]:
    """The kinds of parts, or the person where a layout counts as a whole."""
    return rules.names


def match(
    parsed: Iterator[Keyed[LayoutTable]], _truth: LayoutTruth, _rules: LayoutRules
) -> Iterator[Keyed[LayoutTable]]:
    """Return the file unchanged: there is only one, and `score` matches it."""
    return parsed


def score(parsed: Iterator[Keyed[LayoutTable]], truth: LayoutTruth, rules: LayoutRules) -> Scores:
    """The average precision of each kind of part and their mean, or of layouts as a whole, with a curve for each.

    Raises SubmissionError if there is no Layout set, or if it lists images where the protocol expects numbered persons, or
    the reverse.
    """
    if not len(truth.people.persons.count):
        raise SubmissionError(
            Problem("no-layout-set", "the image set has no Layout set: there is nobody to lay out")
        )
    if truth.people.boxed != rules.boxed:
        raise SubmissionError(_mismatch(rules))
    measured = rules.measure.name
    names = [name for name in rules.names if truth.columns is None or name in truth.columns]
    found = [each.value for each in parsed]
    if not found:
        absent = tuple(ClassResult.not_entered(name, 0) for name in names)
        return Scores(measured, None, NOT_ENTERED, absent, (), ())
    matched = rules.match(found[0], truth.people, rules.iou, rules.iou_threshold)
    ranked = [each for each in matched if each.class_name in names]
    values = [_value(each, rules) for each in ranked]
    classes = tuple(_class_result(each, value) for each, value in zip(ranked, values, strict=True))
    mean = rules.average(values)
    headline, reason = (None, "a part has no value") if math.isnan(mean) else (mean, None)
    table = table_of_classes(measured, classes)
    curves = map(draw_precision, ranked)
    return Scores(measured, headline, reason, classes, (table, *curves), tuple(ranked))


def _mismatch(rules: LayoutRules) -> Problem:
    expected, found = ("boxes of persons", "numbers") if rules.boxed else ("numbers of persons", "boxes")
    message = f"the protocol asks for {expected}, and results for this image set name persons by {found}"
    return Problem("other-protocol", message)


def _value(ranked: RankedPredictions, rules: LayoutRules) -> float:
    return rules.measure.of(ranked.outcomes, ranked.positives) if ranked.positives else math.nan


def _class_result(ranked: RankedPredictions, value: float) -> ClassResult:
    predictions = len(ranked.outcomes)
    if math.isnan(value):
        reason = NOBODY_LISTED if ranked.positives else NOTHING_TO_FIND
        return ClassResult(ranked.class_name, None, reason, ranked.positives, predictions)
    return ClassResult(ranked.class_name, value, None, ranked.positives, predictions)


def resample(rankings: Sequence[RankedPredictions], truth: GroundTruth, rules: LayoutRules) -> RankingSample:
    """The ranked parts or persons, drawn by the images of the Layout set."""
    people, images = persons_of_layout_set(truth), len(truth.lists.images)
    parts = {name: people.parts_of(kind) for kind, name in enumerate(PARTS)}
    lines = np.repeat(np.arange(len(people.image)), people.persons.count)
    positives = []
    for ranking in rankings:
        if ranking.class_name in parts:
            image = np.repeat(people.image[lines], parts[ranking.class_name].count)
        else:
            image = people.image[lines[~people.persons.difficult]]
        positives.append(image)
    table = count_by_class(positives, len(rankings), images)
    sample = RankingSample(rankings, table, rules.measure.weighted, rules.average, truth.lists.images)
    return only_images(sample, truth, [image for image, _ in truth.lists.persons])


def one_for_each_person(description: Description) -> int:
    """As many predictions as there are persons."""
    return len(description.persons)


LAYOUT: Final = Task(
    name="layout",
    title="Person layout",
    read=read_layouts,
    check_file=check_layouts,
    check_all=nothing_to_add,
    accepts=accepts,
    split=split,
    missing_truth=missing_truth,
    load=load,
    match=match,
    score=score,
    resample=resample,
    fewest_lines=one_for_each_person,
    columns=columns,
    select=select,
)
