"""Fields of JSON entries as arrays, with a problem for each that is wrong."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from ...data.arrays import Flags, Floats
from ...data.description import MAX_FILE_PROBLEMS, UNKNOWN_SIDE, Description
from ...errors import LONGEST_NAME, Entry, Problem, Problems, Rule, shown
from .records import doubled_names

_LEAST, _MOST = -(2**63), 2**63 - 1
_EXACT: Final = 2**53
"""Up to which a number with a point or an exponent is exact."""
_GREATEST: Final = 1e300
_FURTHEST: Final = 1e9
"""How far a coordinate may be from the image's corner, in pixels."""

_MOST_FIELDS: Final = 8  # of an entry in a sentence
_OTHER_FORMS: Final = {
    "keypoints": "keypoints, which are not scored",
    "segments_info": "panoptic segmentation, which is not scored",
    "caption": "captions, which are not scored",
    "densepose": "results of DensePose, which are not scored",
}
"""What entries seem to be that have a field and lack others."""

Identifiers = NDArray[np.int64]


@dataclass(slots=True)
class Entries:
    """The entries of a list in a JSON file, and which of them are fit so far.

    name: of the list, "" of one that is the whole file; first: the number of the first entry, from 0; objects: bool (n,), which are JSON objects at all; fit:
    bool (n,), of which nothing wrong is known. file_names: what the files of images are called that `image_id` refers to; named: the numbers of
    images by the names of their files, where these are known; lacking: fields that no entry has and each needs.
    """

    values: Sequence[Any]
    name: str
    file: str
    problems: Problems
    first: int = 0
    named: Mapping[str, int] = field(default_factory=dict)
    file_names: Mapping[Any, Any] = field(default_factory=dict)
    lacking: list[str] = field(default_factory=list)
    objects: Flags = field(init=False)
    fit: Flags = field(init=False)
    _wrong: set[tuple[int, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.objects = np.array([isinstance(value, dict) for value in self.values], np.bool_)
        self.fit = self.objects.copy()
        for index in np.flatnonzero(~self.objects)[:MAX_FILE_PROBLEMS].tolist():
            value = self.values[index]
            message = Rule("expected an object, found {}", written(value))
            self.say(index, "bad-entry", message, written(value), "an object")
        if not self.fit.all():
            self.values = [value if fit else {} for value, fit in zip(self.values, self.fit, strict=True)]

    def place(self, index: int) -> Entry:
        """How a message calls an entry: its path, and its id and image as far as it has them.

        >>> entry = {"id": 887, "image_id": 42}
        >>> print(Entries([entry], "annotations", "instances.json", Problems()).place(0))
        annotations[0] (id 887, image 42)
        """
        entry = self.values[index] if self.objects[index] else {}
        image, named, own = entry.get("image_id"), entry.get("file_name"), entry.get("id")
        if isinstance(image, int):
            named = self.file_names.get(image, named)
        if isinstance(named, str):
            image = shown(named, LONGEST_NAME)
        elif _is_identifier(image):
            image = f"image {shown(str(image), LONGEST_NAME)}"
        else:
            image = None
        return Entry(f"{self.name}[{self.first + index}]", own if _is_identifier(own) else None, image)

    def numbers_by_name(self) -> Mapping[str, int]:
        """The `id` of each entry that has a `file_name`, by that name."""
        pairs = zip(self.column("file_name"), self.column("id"), strict=True)
        return {name: number for name, number in pairs if isinstance(name, str) and _is_identifier(number)}

    def names(self) -> Mapping[Any, Any]:
        """The `file_name` of each entry that has an `id`, by that."""
        pairs = zip(self.column("id"), self.column("file_name"), strict=True)
        return {number: name for number, name in pairs if _is_identifier(number)}

    def say(
        self, index: int, code: str, message: str, found: str | None = None, expected: str | None = None
    ) -> None:
        """Add a problem about an entry, and count the entry as unfit."""
        self.fit[index] = False
        rule = Rule.of(message).at(self.place(index))
        self.problems.add(Problem(code, rule, self.file, found=found, expected=expected))

    def refuse_doubled(self, names: Collection[str]) -> None:
        """Say which of these names stand twice in an entry."""
        for index, value in enumerate(self.values):
            for name in doubled_names(value):
                if name in names:
                    self.say(index, "doubled-field", Rule(f"'{name}' stands twice; leave one out"))

    def column(self, name: str, default: Any = None) -> list[Any]:
        """The field of every entry; the default where it is not there."""
        return [entry.get(name, default) for entry in self.values]

    def _check_field(
        self,
        name: str,
        column: list[Any],
        is_right: Callable[[Any], bool],
        expected: str | Callable[[Any], Rule],
    ) -> None:
        """Say what is wrong; expected: what a value has to be, or a function that says it of the value found."""
        if column and not is_right(column[0]) and self.all_lack(name):
            return
        for index, value in enumerate(column):
            if not self.objects[index] or is_right(value):
                continue
            self._wrong.add((index, name))
            right = Rule(expected) if isinstance(expected, str) else expected(value)
            if name in self.values[index]:
                words = f"expected {right.words} as '{name}', found {{}}"
                message = Rule(words, *right.quotes, _found(value))
                self.say(index, f"bad-{name.replace('_', '-')}", message, written(value), right.rstrip(","))
            else:
                self.say(index, "missing-field", Rule(f"'{name}' is missing"), expected=right.rstrip(","))

    def all_lack(self, name: str) -> bool:
        """Whether no entry from the first on has a field, which each needs; `say_what_all_lack` says so once for all of them."""
        if self.first or not self.objects.any() or any(name in value for value in self.values):
            return False
        self.lacking.append(name)
        self._wrong.update((index, name) for index in range(len(self.values)))
        self.fit[:] = False
        return True

    def say_what_all_lack(self) -> bool:
        """Say in one problem which fields no entry has, and what the entries seem to be instead; return whether several lack some."""
        if not self.lacking:
            return False
        first = int(np.argmax(self.objects))
        given, count = [*self.values[first]], int(self.objects.sum())
        message = f"{_named(self.lacking)} {'is' if len(self.lacking) == 1 else 'are'} missing"
        message += f", as in all {count:,} entries that were read" if count > 1 else ""
        form, found = _form_of(self.lacking, given), _named(given[:_MOST_FIELDS])
        quotes = [found] if found and (form or count > 1) else []
        message += "; found {}" if quotes else ""
        message += f": this looks like {form}" if form else ""
        self.say(first, "missing-field", Rule(message, *quotes), found or None, _named(self.lacking))
        return count > 1

    def wholes(self, name: str, default: int | None = None) -> Identifiers:
        """Whole numbers: int64 (n,), 0 for an unfit entry. A number such as 3.0 counts as one."""
        column = self.column(name, default)
        self._check_field(name, column, _is_whole, self._expected_whole)
        return np.array([int(value) if _is_whole(value) else 0 for value in column], np.int64)

    def _expected_whole(self, value: Any) -> Rule:
        if isinstance(value, int) and not isinstance(value, bool):
            return Rule(f"a whole number from {_LEAST} to {_MOST}")
        if isinstance(value, float) and value.is_integer():
            return Rule("a whole number in digits (with a point or an exponent it is exact up to 2^53 only)")
        if not isinstance(value, str):
            return Rule("a whole number")
        number = self.named.get(value)
        if number is not None:
            return Rule("{}, the 'id' of the image with this 'file_name',", number)
        is_number = value.strip("-").isdecimal()
        return Rule(f"a whole number{', without quotes,' if is_number else ' (texts are no ids here)'}")

    def flags(self, name: str) -> Flags:
        """Of which entries a field that may be left out is 1 or true, others having 0 or false: bool (n,)."""
        column = self.column(name, 0)
        self._check_field(name, column, _is_flag, "0 or 1")
        return np.array([_is_flag(value) and value == 1 for value in column], np.bool_)

    def numbers(self, name: str, *, least: float = -_GREATEST) -> Floats:
        """Numbers, none of them below `least`: float64 (n,), 0 for an unfit entry."""
        column = self.column(name)

        def is_right(value: Any) -> bool:
            return _is_number(value) and value >= least

        self._check_field(name, column, is_right, "a number" if least < 0 else f"a number from {least:g}")
        return np.array([value if is_right(value) else 0.0 for value in column], np.float64)

    def boxes(self, instead: Floats | None = None) -> Floats:
        """Left, top, width and height: float64 (n, 4), 0 for an unfit entry; instead: the boxes of entries without one, which each needs else."""
        column = self.column("bbox")
        if instead is not None:
            column = [box or other for box, other in zip(column, instead.tolist(), strict=True)]
        expected = "four numbers, left, top, width and height, neither of the last two below 0,"
        self._check_field("bbox", column, _is_box, expected)
        nothing = (0.0, 0.0, 0.0, 0.0)
        return np.array([value if _is_box(value) else nothing for value in column], np.float64).reshape(-1, 4)

    def texts(self, name: str) -> list[str]:
        """Texts that are not blank, "" for an unfit entry."""
        column = self.column(name)
        self._check_field(name, column, _is_text, "a text")
        return [value.strip() if _is_text(value) else "" for value in column]

    def unique(self, name: str, values: Sequence[Any], why: str = "") -> None:
        """Say which entries have the same value in a field as one before; why: how the sentence ends."""
        if len(set(values)) == len(values):
            return
        met: set[Any] = set()
        for index, value in enumerate(values):
            if value in met and self.objects[index] and (index, name) not in self._wrong:
                message = Rule(f"'{name}' is {{}} like one before{why}", repr(value))
                self.say(index, f"duplicate-{name.replace('_', '-')}", message)
            met.add(value)

    def known(self, name: str, values: Identifiers, known: "Lookup", things: str) -> NDArray[np.int32]:
        """Where each value stands among identifiers: int32 (n,)."""
        places, ids = known.places(values), known.ids
        if not len(ids):
            return self._none_known(name, values, things)
        for index in np.flatnonzero((places < 0) & self.objects).tolist():
            if (index, name) in self._wrong:
                continue
            message = Rule(f"'{name}' is {{}}, which is none of the {len(ids)} {things}", values[index])
            expected = f"one of the {len(ids)} {things}"
            self.say(index, f"unknown-{name.removesuffix('_id')}", message, str(values[index]), expected)
        return np.maximum(places, 0)

    def _none_known(self, name: str, values: Identifiers, things: str) -> NDArray[np.int32]:
        """Say once that there is nothing that a field could name: int32 (n,), zeros."""
        first = next((i for i in np.flatnonzero(self.objects).tolist() if (i, name) not in self._wrong), None)
        if first is not None:
            self.say(
                first,
                f"unknown-{name.removesuffix('_id')}",
                Rule(f"'{name}' is {{}}, but there are no {things}", values[first]),
            )
        self.fit[:] = False
        return np.zeros(len(values), np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class Lookup:
    """Finds where numbers stand among identifiers in any order; order: the places of the identifiers, `ids`, that make them rise."""

    ids: Identifiers
    order: NDArray[np.intp]

    @classmethod
    def of(cls, ids: Identifiers) -> Self:
        """The places of identifiers, int64 (m,)."""
        return cls(ids, np.argsort(ids, kind="stable"))

    def places(self, values: Identifiers) -> NDArray[np.int32]:
        """The place of each value, -1 where it is none of the identifiers: int32 (n,).

        >>> values = np.array([7, 8])
        >>> [Lookup.of(np.array(ids, np.int64)).places(values).tolist() for ids in ([2, 7], [8, 2], [])]
        [[1, -1], [-1, 0], [-1, -1]]
        """
        if not len(self.ids):
            return np.full(len(values), -1, np.int32)
        found = np.searchsorted(self.ids, values, sorter=self.order)
        places = self.order[np.minimum(found, len(self.ids) - 1)]
        return np.where(self.ids[places] == values, places, -1).astype(np.int32)


def _form_of(lacking: Sequence[str], given: Sequence[str]) -> str | None:
    """What entries seem to be that lack some fields and have others; None where nothing is known of them."""
    found = next((form for name, form in _OTHER_FORMS.items() if name in given), None)
    if found is None and lacking == ["score"] and not {"id", "area", "iscrowd"}.isdisjoint(given):
        return "annotation in place of detections"
    pair = {"bbox": "segmentation", "segmentation": "bbox"}
    if found is None and len(lacking) == 1 and pair.get(lacking[0]) in given:
        return (
            "masks, where boxes are asked for" if lacking == ["bbox"] else "boxes, where masks are asked for"
        )
    return found


def _named(fields: Sequence[str]) -> str:
    """Names of fields as a sentence has them."""
    quoted = [f"'{shown(each, LONGEST_NAME)}'" for each in fields]
    return " and ".join(filter(None, (", ".join(quoted[:-1]), *quoted[-1:])))


def _is_identifier(value: object) -> bool:
    return isinstance(value, int | str) and not isinstance(value, bool)


def _is_whole(value: object) -> bool:
    if isinstance(value, float):
        return abs(value) <= _EXACT and value.is_integer()
    return isinstance(value, int) and not isinstance(value, bool) and _LEAST <= value <= _MOST


def _is_flag(value: object) -> bool:
    return isinstance(value, int | float) and value in (0, 1)  # True and False are ints


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _GREATEST


def _is_box(value: object) -> bool:
    if not isinstance(value, list) or len(value) != 4 or not set(map(type, value)) <= {int, float}:
        return False
    return bool(max(map(abs, value)) <= _FURTHEST and value[2] >= 0 and value[3] >= 0)


def are_sound(boxes: Floats) -> bool:
    """Whether no box is too far away, and none has a side below 0; float64 (n, 4), left, top, width and height.

    >>> are_sound(np.array([[1.0, 2, 3, 4]])), are_sound(np.array([[1.0, 2, -3, 4]]))
    (True, False)
    """
    return bool((np.abs(boxes) <= _FURTHEST).all() and (boxes[:, 2:] >= 0).all())


def are_numbers(values: Floats) -> bool:
    """Whether none is too large.

    >>> are_numbers(np.array([0.5, 1e300])), are_numbers(np.array([1e301]))
    (True, False)
    """
    return bool((np.abs(values) <= _GREATEST).all())


def as_wholes(values: Floats) -> Identifiers | None:
    """Numbers that were read as floats as int64; None where one is not whole, or so large that it may have been another one.

    >>> as_wholes(np.array([3.0, -1.0])), as_wholes(np.array([0.5])), as_wholes(np.array([2.0**53]))
    (array([ 3, -1]), None, None)
    """
    if not (np.abs(values) < _EXACT).all():
        return None
    found = values.astype(np.int64)
    return found if (found == values).all() else None


def written(value: object) -> str:
    """A value as JSON has it, shortened.

    >>> written(None), written([1, "a"])
    ('null', '[1, "a"]')
    """
    return shown(json.dumps(value, ensure_ascii=False))


def _found(value: object) -> str:
    """A value with the number of its elements, where it is a list."""
    if not isinstance(value, list):
        return written(value)
    return f"{len(value)} value{'' if len(value) == 1 else 's'}, {written(value)}"


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


@dataclass(frozen=True, slots=True, eq=False)
class CocoNumbers:
    """The identifiers of images and categories.

    images: int64 (images,), rising; categories: int64 (classes,), in the order of the classes; sizes: int64 (images, 2), width and height of the
    images in pixels, 0 where they are not known; named: none, as no description has names of files.
    """

    images: Identifiers
    categories: Identifiers
    sizes: Identifiers
    named: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, description: Description) -> Self:
        """The identifiers of a description; none where it does not come from COCO's JSON.

        >>> from heldout_scoring.data.description import Image
        >>> phase = Description("COCO", "val", ("cat",), (), (Image("42", 640, 480),), class_numbers=(17,))
        >>> CocoNumbers.of(phase).images.tolist(), CocoNumbers.of(phase).categories.tolist()
        ([42], [17])
        """
        listed = description.images if description.class_numbers else ()
        sizes = np.array([(image.width, image.height) for image in listed], np.int64).reshape(-1, 2)
        return cls(
            images=np.array([int(image.id) for image in listed], np.int64),
            categories=np.array(description.class_numbers, np.int64),
            sizes=np.where(sizes == UNKNOWN_SIDE, 0, sizes),
        )
