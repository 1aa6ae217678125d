"""Tables of boxes or labels (CSV), with the columns of many tools."""

import csv
import json
import re
from array import array
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np

from app.images.matching import SUFFIXES, path_of, stem_of
from app.intake.formats.image_names import image_names
from app.intake.formats.image_sets import set_of_file, set_of_folder
from app.intake.formats.label_images import TABLES
from app.intake.formats.pictures import sizes_of_pictures
from app.intake.formats.reading import (
    NO_CLASS_NAMES,
    TABLE,
    AnnotatedSet,
    ListedImages,
    Reading,
    Size,
    is_class_name,
)
from app.intake.reports import FLAG, HIDDEN, OddTable, TableChoice, role_of
from heldout_scoring import GroundTruth, Problem, Rule

COLUMNS: Final = ("image", "class", "left", "top", "right", "bottom")
_SIDES: Final = COLUMNS[2:]
_ROLES: Final[Mapping[str, str]] = {
    "image": "image", "imageid": "image", "imagename": "image", "imagepath": "image", "filename": "image", "file": "image",
    "filepath": "image", "path": "image", "img": "image", "id": "image",
    "class": "class", "classname": "class", "label": "class", "labelname": "class", "category": "class", "categoryname": "class",
    "left": "left", "xmin": "left", "x1": "left", "top": "top", "ymin": "top", "y1": "top",
    "right": "right", "xmax": "right", "x2": "right", "bottom": "bottom", "ymax": "bottom", "y2": "bottom",
    "width": "width", "imagewidth": "width", "height": "height", "imageheight": "height",
    "difficult": "difficult", "isgroupof": "crowd",
    "split": "set", "datasplit": "set", "usage": "set", "subset": "set", "set": "set", "imageset": "set", "partition": "set",
    "bbox": "bbox", "regionshapeattributes": "shape", "regionattributes": "attributes",
}  # fmt: skip
"""What columns hold, by their names in lower case without other signs."""
_YES, _NO = frozenset(("1", "1.0", "true")), frozenset(("0", "0.0", "false"))
_FLAGS: Final = _YES | _NO
_OF_VIA: Final = ("file_size", "file_attributes", "region_count", "region_id")  # which say nothing of boxes
_MARKS: Final = {"label", "name", "class", "type", "category"}  # keys of VIA's attributes that name the class
_UTF16: Final = (BOM_UTF16_LE, BOM_UTF16_BE)
_SEPARATOR: Final = re.compile(r"\"?sep=.\"?")  # a line for Excel before the columns
_THOUSANDS: Final = re.compile(r"-?[1-9]\d{0,2}([.,]\d{3})+")
_EXPONENT: Final = re.compile(r"\d([.,]\d+)?E\+\d+")  # what spreadsheets make of long numbers
_LIST: Final = re.compile(r"[\[(]?([^\[\]()]*+)[\])]?")
_SIDE: Final = re.compile(r"0{0,9}[1-9][0-9]{0,4}")
_CODE: Final = re.compile(r"/[mgtj]/\w+$")  # of a class of Open Images
_DESCRIPTIONS: Final = re.compile(r"(\w+-)?class-descriptions(-\w+)*\.csv")  # with the names of such codes
_OF_IMAGES: Final = (
    "image_ids_and_rotation.csv",
    "bbox_labels_600_hierarchy.json",
)  # of Open Images, without boxes
_MOST_TOLD: Final = 10  # names of columns in a sentence
_LONGEST: Final = 40  # characters of the name of a column
_FURTHEST: Final = 1e9
_NO_CLASS: Final = "no column names the class; all objects are of one class, called object"
_EXPECTED: Final = (
    f"expected the columns {', '.join(COLUMNS)}; or those of another tool: filename, width, height, class, xmin, ymin, xmax, ymax; "
    "ImageID, LabelName, XMin, XMax, YMin, YMax; image_id, width, height, bbox; filename, region_shape_attributes, "
    "region_attributes; image, label; or filename and a column of 0 and 1 for each class"
)


def evidence(reading: Reading) -> list[Path]:
    """The tables of a role."""
    return [path for path in reading.with_suffix(".csv", ".tsv") if not _is_beside(path)]


def _is_beside(path: Path) -> bool:
    name = path.name.lower()
    return name in (*TABLES, *_OF_IMAGES) or _DESCRIPTIONS.fullmatch(name) is not None


def read(reading: Reading) -> Iterator[AnnotatedSet]:
    """Read every table of a role, each an image set; pictures beside them join the others."""
    for path in reading.with_suffix(*SUFFIXES):
        reading.use_as_picture(path)
    codes = _names_of_codes(reading)
    others = [path for path in reading.left if path.name.lower() in _OF_IMAGES]
    reading.leave_out(
        others, "left-out", "facts about images and classes of Open Images that boxes do not need"
    )
    for path in evidence(reading):
        reading.use(path)
        yield from _Table.of(reading, path, codes).read()


def _names_of_codes(reading: Reading) -> Mapping[str, str]:
    """The names of the classes of Open Images, by their codes."""
    found: dict[str, str] = {}
    for path in reading.with_suffix(".csv"):
        if _DESCRIPTIONS.fullmatch(path.name.lower()):
            reading.use(path)
            rows = (line.partition(",") for line in reading.text(path).splitlines())
            found |= {
                code.strip(): name.strip().strip('"') for code, _, name in rows if _CODE.match(code.strip())
            }
    names = Counter(found.values())
    return {code: name for code, name in found.items() if names[name] == 1}


class _RowError(Exception):
    """A line cannot be read: the code and the rule."""

    def __init__(self, code: str, words: str, *quotes: object) -> None:
        super().__init__(code)
        self.code, self.rule = code, Rule(words, *quotes)


_NumberedRows = tuple[tuple[int, list[str]], ...]  # with the numbers of their lines


@dataclass(frozen=True, slots=True)
class _Head:
    """The columns of a table. places: what columns hold, by their places; classes: names of columns of 0 and 1, by their places."""

    places: Mapping[str, int]
    classes: Mapping[str, int]
    is_share: bool = False  # whether boxes are shares of width and height
    rows: _NumberedRows = ()  # that were read already

    @property
    def has_boxes(self) -> bool:
        """Whether rows are objects, and not images."""
        return "left" in self.places or "bbox" in self.places or "shape" in self.places

    @property
    def has_sides(self) -> bool:
        """Whether width and height are those of boxes."""
        return "left" in self.places and "right" not in self.places

    @property
    def convention(self) -> str:
        """What corners mean: pixels as in the development kits, counted from 1, or else edges."""
        return "inclusive" if "right" in self.places and not self.is_share else "half-open"


def _following(table: Any, lines: "_Lines") -> _NumberedRows:
    """The row behind the first line."""
    row = [cell.strip() for cell in next(table, ())]
    return ((lines.number, row),)


def _are_classes(names: Sequence[str]) -> bool:
    return len({*names}) == len(names) and all(map(is_class_name, names))


@dataclass(slots=True)
class _Rows:
    """What rows say: images by their paths and what is known of each, and objects in columns."""

    images: dict[str, int] = field(default_factory=dict)
    sizes: dict[int, Size] = field(default_factory=dict)
    classes: dict[str, int] = field(default_factory=dict)
    image: "array[int]" = field(default_factory=lambda: array("l"))
    label: "array[int]" = field(default_factory=lambda: array("l"))
    boxes: "array[float]" = field(default_factory=lambda: array("d"))
    difficult: "array[int]" = field(default_factory=lambda: array("b"))
    crowd: "array[int]" = field(default_factory=lambda: array("b"))
    around: int = 0  # boxes around shapes that are none


@dataclass(slots=True)
class _Table:
    """Reads a table, and says what is wrong with its lines. codes: names of classes by the codes that the table has."""

    reading: Reading
    path: Path
    name: str
    encoding: str
    codes: Mapping[str, str]
    delimiter: str = ","
    rows: _Rows = field(default_factory=_Rows)  # of the image set that is read
    sets: dict[str, _Rows] = field(
        default_factory=dict
    )  # by the names in a column of sets; of a table without one by none
    objects: int = 0
    comments: int = 0
    columns: int = 0  # of the first line
    first: list[str] = field(default_factory=list)  # this line
    lacking: int = 0  # that the last row does not have
    points: set[str] = field(default_factory=set)  # commas or points of decimals
    kinds: set[str] = field(
        default_factory=set
    )  # of numbers: whole, with decimals, or with a sign that may stand between thousands
    words: dict[str, str] = field(default_factory=dict)  # that name the image sets of rows
    has_bad_rows: bool = False

    @classmethod
    def of(cls, reading: Reading, path: Path, codes: Mapping[str, str]) -> "_Table":
        with path.open("rb") as file:
            encoding = "utf-16" if file.read(2) in _UTF16 else "utf-8-sig"
        return cls(reading, path, reading.name(path), encoding, codes)

    def say(self, line: int | None, code: str, words: str, *quotes: object) -> None:
        self.reading.problems.add(Problem(code, Rule(words, *quotes), self.name, line))

    def warn(self, code: str, words: str, *quotes: object) -> None:
        self.reading.problems.warn(Problem(code, Rule(words, *quotes), self.name))

    def read(self) -> Iterator[AnnotatedSet]:
        """The set of the table; none if it has problems that leave nothing."""
        if self._is_in_other_encoding():
            return
        with self.path.open(encoding=self.encoding, newline="") as file:
            lines = _Lines(file)
            self.delimiter = _delimiter_of(lines.first)
            table = csv.reader(lines, delimiter=self.delimiter, strict=True)
            try:
                head = self._head(table, lines)
                if head is None or not self._read_rows(table, lines, head):
                    return
            except (csv.Error, UnicodeError):
                self.say(lines.number, "bad-row", "this line is not part of a table")
                return
        if lines.comments:
            count = "1 line begins" if lines.comments == 1 else f"{lines.comments:,} lines begin"
            self.warn(
                "comments", f"{count} with # and {'is' if lines.comments == 1 else 'are'} taken for comments"
            )
        if self.kinds == {"whole", "thousands"}:
            words = "every number with a point or a comma has three digits behind it, and others have neither: these are read as decimals; write numbers without signs between thousands"
            self.warn("bad-number", words)
        if not lines.has_end and self.lacking > 0:
            words = "the last line, {}, ends within its columns; send the table again if it was cut off there"
            self.warn("no-line-end", words, lines.number)
        if not any(rows.images for rows in self.sets.values()):
            if not self.has_bad_rows:
                self.say(1, "no-image", "the table has no image")
            return
        for name, rows in sorted(self.sets.items()):
            self.rows = rows
            yield from self._annotated(head, name)

    def _is_in_other_encoding(self) -> bool:
        """Whether a line is not in the encoding that was recognised, which is a problem."""
        if self.encoding != "utf-8-sig":
            return False
        with self.path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if b"\0" in line:
                    self.say(
                        number,
                        "encoding",
                        "this line has signs that no text has, as UTF-16 without its mark; save the table as CSV in UTF-8",
                    )
                    return True
                try:
                    line.decode()
                except UnicodeDecodeError:
                    return not self._takes_chosen_encoding(number)
        return False

    def _takes_chosen_encoding(self, number: int) -> bool:
        """Whether the table is in the encoding that organisers chose; else its line of this number is a problem."""
        self.encoding, way_out = self.reading.other_encoding(self.path)
        if not self.encoding:
            self.say(number, "encoding", f"this line is not UTF-8; save the table as CSV in UTF-8{way_out}")
        return bool(self.encoding)

    # columns

    def _head(self, table: Any, lines: "_Lines") -> _Head | None:
        """The columns, by the first line; None if it names none that are known, which is a problem."""
        cells = [cell.strip() for cell in next(table, ())]
        self.columns, self.first = len(cells), cells
        found = [_ROLES.get(re.sub(r"[^a-z0-9]", "", cell.lower())) for cell in cells]
        if found.count("image") == 2 and "id" in map(str.lower, cells):
            found[[*map(str.lower, cells)].index("id")] = None  # the number of a row
        places = {role: place for place, role in reversed([*enumerate(found)]) if role}
        twice = [role for role, count in Counter(filter(None, found)).items() if count > 1]
        if twice:
            named = _named(cells[place] for place, role in enumerate(found) if role == twice[0])
            words = f"two columns seem to hold the {twice[0]}: {{}}; leave one out, or choose what each column holds"
            return self._head_as_chosen(cells, lines.number, _following(table, lines), words, named)
        unread = [
            cell or f"number {place}"
            for place, (cell, role) in enumerate(zip(cells, found, strict=True), 1)
            if role is None and cell not in _OF_VIA
        ]
        shown = places.keys() - {"set"}
        has_boxes = (
            shown >= {"image", *_SIDES, "class"}
            or shown >= {"image", "bbox"}
            or shown >= {"image", "shape", "attributes"}
        )
        is_of_labels = shown == {"image", "class"} and not unread
        if not has_boxes and not is_of_labels:
            return self._head_of_flags(cells, found, table, lines)
        if unread:
            self.warn("unread-columns", "the columns {} are not read", _named(unread))
        if has_boxes and "class" not in shown and "attributes" not in shown:
            self.warn(NO_CLASS_NAMES, _NO_CLASS)
        is_share = cells[places["image"]] == "ImageID" and "left" in places
        return _Head(places, {}, is_share=is_share)

    def _head_of_flags(
        self, cells: list[str], found: Sequence[str | None], table: Any, lines: "_Lines"
    ) -> _Head | None:
        """The columns of a table of 0 and 1 for each class, or else as organisers chose them."""
        number, rows = lines.number, _following(table, lines)
        [(_, following)] = rows
        held = [
            None if role == "set" and value.lower() in _FLAGS else role  # a class that is called so
            for role, value in zip(found, following, strict=False)
        ]
        flags = [place for place, role in enumerate(held) if role is None]
        is_of_flags = {"image"} <= {*held} <= {"image", "set", None} and len(held) == len(cells)
        if (
            is_of_flags
            and flags
            and _are_classes([cells[place] for place in flags])
            and _FLAGS.issuperset(following[place].lower() for place in flags)
        ):
            places = {role: place for place, role in enumerate(held) if role}
            return _Head(places, {cells[place]: place for place in flags}, rows=rows)
        words = f"{_EXPECTED}; or choose what each column holds; found {{}}"
        return self._head_as_chosen(cells, number, rows, words, _named(cells))

    def _head_as_chosen(
        self, cells: list[str], number: int, rows: _NumberedRows, words: str, *quotes: object
    ) -> _Head | None:
        """The columns as organisers chose them, or a problem with these words.

        number: of the first line; rows: what follows it.
        """
        reading, chosen = self.reading, self.reading.tables
        image_set = set_of_file(self.path, reading.root, reading.set_name)
        is_hidden = role_of(reading.role, image_set, ()) == HIDDEN
        names = tuple(
            f"column {place}" if is_hidden or not (cell and cell.isprintable()) else cell[:_LONGEST]
            for place, cell in enumerate(cells, 1)
        )
        is_answered = len(chosen.columns) == len(cells)
        reading.odd_tables.append(
            OddTable(reading.role, self.name, names, chosen=chosen if is_answered else None)
        )
        if is_answered:
            return self._as_chosen(chosen, cells, number, rows)
        self.say(number, "columns", words, *quotes)
        return None

    def _as_chosen(
        self, chosen: TableChoice, cells: list[str], number: int, rows: _NumberedRows
    ) -> _Head | None:
        places = {role: place for place, role in enumerate(chosen.columns) if role and role != FLAG}
        flags = [place for place, role in enumerate(chosen.columns) if role == FLAG]
        heads = self.reading.heads
        head = " ".join(f"{place} {cell.casefold()}" for place, cell in enumerate(cells))
        if chosen.has_names and heads.setdefault(len(cells), (head, self.name))[0] != head:
            words = (
                "this first line and that of {} differ, but one choice of columns is for both; give both tables the same columns, called "
                "alike and in one order"
            )
            self.say(number, "columns", words, heads[len(cells)][1])
            return None
        if flags and not _are_classes([cells[place] for place in flags]):
            self.say(number, "class-name", "expected different names of classes over columns of 0 or 1")
            return None
        if flags:
            return _Head(places, {cells[place]: place for place in flags}, rows=rows)
        if not chosen.has_names:
            self.first = []
        if "class" not in chosen.columns:
            self.warn(NO_CLASS_NAMES, _NO_CLASS)
        return _Head(places, {}, rows=rows if chosen.has_names else ((number, cells), *rows))

    # rows

    def _read_rows(self, table: Any, lines: "_Lines", head: _Head) -> bool:
        """Read all rows; return whether there is something to make of them."""
        following = ((lines.number, [cell.strip() for cell in row]) for row in table)
        for number, cells in chain(head.rows, following):
            if not any(cells):
                continue
            self.lacking = self.columns - len(cells)
            try:
                self._read_row(cells, head)
            except _RowError as error:
                self.has_bad_rows = True
                self.reading.problems.add(Problem(error.code, error.rule, self.name, number))
            if self.objects > self.reading.limits.boxes:
                self.say(
                    lines.number,
                    "too-many-boxes",
                    f"at most {self.reading.limits.boxes:,} objects are allowed",
                )
                return False
        self._remark_on_sides()
        return True

    def _read_row(self, cells: list[str], head: _Head) -> None:
        if cells == self.first:
            raise _RowError("first-line", "this is the first line again; was a table appended to another?")
        if any(cells[self.columns :]):
            way_out = (
                "; write points for decimals where commas stand between fields"
                if self.delimiter == ","
                else ""
            )
            raise _RowError("field-count", f"expected {self.columns} fields, found {len(cells)}{way_out}")
        image_set = self._set_of(cells, head)
        self.rows = self.sets.setdefault(image_set, self.rows if not self.sets else _Rows())
        path = self._cell(cells, head, "image")
        if not (path.replace("\\", "/").rpartition("/")[2] and path.isprintable()):
            raise _RowError("image-name", "expected the name of an image")
        if head.classes:
            self._read_flags(path, cells, head)
            return
        others = [
            cells[place]
            for role, place in head.places.items()
            if role not in ("image", "width", "height", "set") and place < len(cells)
        ]
        if not any(others) or (
            head.places.get("shape") is not None and self._cell(cells, head, "shape") in ("{}", "")
        ):
            self._read_size(self._image(path), cells, head)  # without an object
            return
        least = max(head.places.values()) + 1
        if len(cells) < least:
            raise _RowError("field-count", f"expected {least} fields, found {len(cells)}")
        if "attributes" in head.places:
            label = _class_of(self._cell(cells, head, "attributes"))
        elif "class" in head.places:
            label = self._cell(cells, head, "class")
        else:
            label = "object"
        if _EXPONENT.fullmatch(stem_of(path_of(path))) or _EXPONENT.fullmatch(label):
            raise _RowError(
                "image-name",
                "{} is what a spreadsheet makes of a long number; give the columns the format of text",
                path,
            )
        label = self.codes.get(label, label)
        if not is_class_name(label) or "/" in label or "\\" in label:
            way_out = (
                "; for codes of Open Images write the names in class-descriptions"
                if _CODE.match(label)
                else ""
            )
            words = "expected the name of a class, without slashes or signs that cannot be seen, as names of files of results have it; found {}"
            raise _RowError("class-name", words + way_out, label)
        box = self._box(cells, head) if head.has_boxes else ()
        flags = [self._flag(cells, head, role) for role in ("difficult", "crowd")]
        image = self._image(path)
        self._read_size(image, cells, head)
        self._add(image, label)
        self.rows.boxes.extend(box)
        self.rows.difficult.append(flags[0])
        self.rows.crowd.append(flags[1])

    def _set_of(self, cells: Sequence[str], head: _Head) -> str:
        """The image set of a row, by a column that names it; empty without one."""
        if "set" not in head.places:
            return ""
        written = self._cell(cells, head, "set")
        if not (found := set_of_folder(written)):
            raise _RowError(
                "no-set", "expected the name of an image set, such as train, val or test, found {}", written
            )
        if (other := self.words.setdefault(found, written)).casefold() != written.casefold():
            words = f"'{{}}' and '{{}}' in an earlier line would both be the image set {found}; write one word for each set"
            raise _RowError("two-sets", words, written, other)
        self.reading.note_set(self.name, found)
        return found

    def _image(self, path: str) -> int:
        return self.rows.images.setdefault(path, len(self.rows.images))

    def _add(self, image: int, label: str) -> None:
        self.objects += 1
        self.rows.image.append(image)
        self.rows.label.append(self.rows.classes.setdefault(label, len(self.rows.classes)))

    def _cell(self, cells: Sequence[str], head: _Head, role: str) -> str:
        place = head.places[role]
        return cells[place] if place < len(cells) else ""

    def _flag(self, cells: Sequence[str], head: _Head, role: str) -> int:
        value = self._cell(cells, head, role) if role in head.places else ""
        if value not in ("", "0", "1"):
            raise _RowError("bad-flag", f"expected 0 or 1 as {role}, found {{}}", value)
        return int(value or 0)

    def _read_flags(self, path: str, cells: Sequence[str], head: _Head) -> None:
        """A row of 0 and 1 for each class."""
        if len(cells) <= max(head.classes.values()):
            raise _RowError(
                "field-count", f"expected {max(head.classes.values()) + 1} fields, found {len(cells)}"
            )
        shown = {name: cells[place].lower() for name, place in head.classes.items()}
        if wrong := [value for value in shown.values() if value not in _FLAGS]:
            raise _RowError("bad-flag", "expected 0 or 1 for each class, found {}", wrong[0])
        if path in self.rows.images:
            raise _RowError("same-image", "an earlier line is of this image")
        self.rows.classes = dict(zip(head.classes, range(len(head.classes)), strict=True))
        image = self._image(path)
        for name, value in shown.items():
            if value in _YES:
                self._add(image, name)

    def _read_size(self, image: int, cells: Sequence[str], head: _Head) -> None:
        """The width and height of the image, where columns have them."""
        if "width" not in head.places or "height" not in head.places or head.has_sides:
            return
        written = self._cell(cells, head, "width"), self._cell(cells, head, "height")
        if not all(_SIDE.fullmatch(each) and int(each) < 1 << 16 for each in written):
            raise _RowError(
                "bad-number",
                "expected the width and height of the image in pixels, found {} and {}",
                *written,
            )
        size = int(written[0]), int(written[1])
        if (known := self.rows.sizes.setdefault(image, size)) != size:
            raise _RowError(
                "two-sizes", "the image is {} x {}, but {} x {} in an earlier line", *size, *known
            )

    def _number(self, text: str) -> float:
        signs = {*text} & {",", "."}
        self.points = self.points or signs
        if self.delimiter != "," and signs - self.points:
            raise _RowError(
                "bad-number",
                "some numbers have a comma and others a point; write all alike, without signs between thousands",
            )
        self.kinds.add(("thousands" if _THOUSANDS.fullmatch(text) else "decimals") if signs else "whole")
        try:
            value = float(text.replace(",", ".") if self.delimiter != "," else text)
        except ValueError:
            raise _RowError("bad-number", f"expected four numbers as {', '.join(_SIDES)}") from None
        if not abs(value) < _FURTHEST:
            raise _RowError("bad-number", "expected coordinates in pixels")
        return value

    def _box(self, cells: Sequence[str], head: _Head) -> tuple[float, ...]:
        """Left, top, right and bottom of a row."""
        if head.has_sides:
            sides = ("left", "top", "width", "height")
            left, top, width, height = (self._number(self._cell(cells, head, side)) for side in sides)
            box: tuple[float, ...] = (left, top, left + width, top + height)
        elif "left" in head.places:
            box = tuple(self._number(self._cell(cells, head, side)) for side in _SIDES)
            if head.is_share and not all(0 <= side <= 1 for side in box):
                raise _RowError("not-a-share", "expected shares of the image's width and height from 0 to 1")
        elif "bbox" in head.places:
            found = _LIST.fullmatch(self._cell(cells, head, "bbox"))
            listed = re.split(r"[\s,]+", found[1].strip()) if found else []
            if len(listed) != len(_SIDES):
                raise _RowError("bad-box", "expected [left, top, width, height] as bbox")
            left, top, width, height = map(self._number, listed)
            box = (left, top, left + width, top + height)
        else:
            box = self._region(self._cell(cells, head, "shape"))
        if box[2] < box[0] or box[3] < box[1]:
            raise _RowError("inverted-box", "the box ends before it begins")
        return box

    def _region(self, text: str) -> tuple[float, ...]:
        """The box of a region of VIA; around a polygon."""
        shape = _object_in(text)
        try:
            if shape.get("name") == "rect":
                left, top, width, height = (
                    self._number(str(shape[key])) for key in ("x", "y", "width", "height")
                )
                return left, top, left + width, top + height
            if shape.get("name") in ("polygon", "polyline"):
                across, down = (
                    [self._number(str(each)) for each in shape[f"all_points_{axis}"]] for axis in "xy"
                )
                self.rows.around += 1
                return min(across), min(down), max(across), max(down)
        except (KeyError, TypeError, ValueError):
            raise _RowError("bad-box", "expected a region with its numbers") from None
        raise _RowError(
            "bad-box", "expected a region that is a rectangle or a polygon, found {}", shape.get("name")
        )

    def _remark_on_sides(self) -> None:
        """Say what boxes that end before they begin hint at."""
        listed = self.reading.problems.listed
        count = sum(each.code == "inverted-box" and each.file == self.name for each in listed)
        if count:
            boxes = (
                "1 box has right < left or bottom < top"
                if count == 1
                else f"{count:,} boxes have right < left or bottom < top"
            )
            message = (
                f"{boxes}: the last two columns may hold width and height; right and bottom are expected"
            )
            self.warn("box-convention", message)

    # the set

    def _annotated(self, head: _Head, image_set: str) -> Iterator[AnnotatedSet]:
        reading, rows = self.reading, self.rows
        image_set = image_set or set_of_file(self.path, reading.root, reading.set_name)
        named = image_names(rows.images)
        named.tell(reading.problems, self.name)
        images = [named.of[path] for path in rows.images]
        files = dict(zip(images, rows.images, strict=True))
        sizes = dict(sizes_of_pictures(reading.unpacked, reading.role, files))
        sizes |= {images[number]: size for number, size in rows.sizes.items()}
        if head.is_share and (without := [image for image in images if image not in sizes]):
            words = f"{len(without):,} of {len(images):,} images have no file, such as {{}}; boxes are shares of its width and height, so send it in the zone for images"
            self.say(None, "no-picture", words, files[without[0]])
        if named.clashes or (head.is_share and without):
            reading.invalid.append(
                ListedImages(image_set, {image: sizes.get(image) for image in images}, files)
            )
            return
        if rows.around:
            self.warn(
                "polygons",
                f"{rows.around:,} of {len(rows.image):,} objects are polygons, which are read as the boxes around them",
            )
        truth = self._truth_of_boxes(head, images, sizes) if head.has_boxes else self._truth_of_labels(images)
        yield AnnotatedSet(image_set, TABLE, self.name, reading.own(truth, image_set), files)

    def _truth_of_boxes(self, head: _Head, images: Sequence[str], sizes: Mapping[str, Size]) -> GroundTruth:
        rows = self.rows
        classes, label = _sorted(rows)
        boxes = np.array(rows.boxes).reshape(-1, 4)
        image = np.array(rows.image)
        known = np.array([sizes[each] for each in images]) if len(sizes) == len(images) else None
        if head.is_share and known is not None:
            boxes = boxes * np.tile(known[image], 2)
        return GroundTruth.from_arrays(
            image, label, boxes, convention=head.convention, images=images, classes=classes or None, sizes=known,
            difficult=np.array(rows.difficult), crowd=np.array(rows.crowd),
        )  # fmt: skip

    def _truth_of_labels(self, images: Sequence[str]) -> GroundTruth:
        classes, label = _sorted(self.rows)
        shown = np.zeros((len(images), len(classes)), np.int8)
        shown[np.array(self.rows.image), label] = 1
        return GroundTruth.from_labels(shown, images=images, classes=classes)


class _Lines:
    """The lines of a text without comments, which begin with #. first: of these; number: of the last line, from 1; has_end: whether it has one; comments: so far."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.number = self.comments = 0
        self.has_end = True
        self.first = self._next(is_first=True)
        self._is_new = True

    def _next(self, *, is_first: bool) -> str:
        for line in self._file:
            self.number += 1
            text = str(line)
            self.has_end = text.endswith(("\n", "\r"))
            if is_first and text.startswith("#") and "region_shape_attributes" in text:
                return text[1:]  # the columns of early versions of VIA
            if is_first and _SEPARATOR.fullmatch(text.strip()):
                continue
            if not text.lstrip().startswith("#"):
                if text.strip() or not is_first:
                    return text
            else:
                self.comments += 1
        return ""

    def __iter__(self) -> Iterator[str]:
        line = self.first
        while line:
            yield line
            line = self._next(is_first=False)


def _delimiter_of(line: str) -> str:
    """The sign between the columns of the first line.

    >>> _delimiter_of("image;class"), _delimiter_of("image,label")
    (';', ',')
    """
    return max(",;\t", key=line.count)


def _named(names: Any) -> str:
    listed = list(names)
    return ", ".join(listed[:_MOST_TOLD]) + (" …" if len(listed) > _MOST_TOLD else "")


def _sorted(rows: _Rows) -> tuple[tuple[str, ...], Any]:
    """The classes in alphabetical order, and the place of each object's class in it."""
    classes = tuple(sorted(rows.classes))
    place = {name: number for number, name in enumerate(classes)}
    as_found = np.array([place[name] for name in rows.classes], np.int64)
    return classes, as_found[np.array(rows.label, np.int64)]


def _object_in(text: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise _RowError("bad-box", "expected an object in JSON as VIA writes it")
    return found


def _class_of(text: str) -> str:
    """The class in the attributes of a region of VIA: the only one, or the one that is called so."""
    found = {key: value for key, value in _object_in(text).items() if isinstance(value, str) and value}
    marked = [value for key, value in found.items() if key.lower() in _MARKS]
    values = [*found.values()] if len(found) == 1 else marked
    if len(values) != 1:
        raise _RowError("class-name", "expected one attribute of the region that names its class")
    return str(values[0])
