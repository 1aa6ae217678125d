"""Layouts of persons, and the set that says which persons are laid out."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import cached_property
from html import escape
from typing import Any, Final, Self

import numpy as np

from ..errors import DataError, plural
from .annotations import PARTS, Box, Part
from .arrays import Floats, Integers, Labels, Places, as_boxes, as_floats, as_named, assert_lengths
from .description import UNKNOWN_SIDE, Description, Image
from .predictions import as_persons

WHOLE_IMAGE: Final = 0
"""The object number in a Layout set that lists images only, as that of 2007 does."""

PERSON: Final = "person"
"""The class of those who are laid out."""


@dataclass(frozen=True, eq=False)
class LayoutSet:
    """The persons of a Layout set, looked up by name; built once for all files.

    where: the set, for messages; places: where in the description an image and object stand; boxed: the set lists images
    only, and a result says with a box whom it means.
    """

    description: Description
    where: str
    places: Mapping[tuple[str, int], int]
    boxed: bool

    @classmethod
    def of(cls, description: Description) -> Self:
        """The Layout set of a description.

        >>> LayoutSet.of(Description("VOC2012", "val", (), (), (), persons=(("2008_000008", 2),))).places
        {('2008_000008', 2): 0}
        """
        return cls(
            description=description,
            where=f"the Layout set of {description.dataset} {description.image_set}",
            places=dict(zip(description.persons, range(len(description.persons)), strict=True)),
            boxed=any(number == WHOLE_IMAGE for _, number in description.persons),
        )

    @cached_property
    def images(self) -> Mapping[bytes, Image]:
        """The images that a result may name, with their sizes."""
        sizes = {image.id: image for image in self.description.images + self.description.further}
        listed = (image for image, _ in self.description.persons)
        named = listed if self.boxed else (*sizes, *listed)
        return {name.encode(): sizes.get(name, Image(name, UNKNOWN_SIDE, UNKNOWN_SIDE)) for name in named}


UNLISTED: Final = -1
"""Stands for a person who is not in the Layout set."""


SIDES: Final = ("xmin", "ymin", "xmax", "ymax")
"""What files call the left, top, right and bottom of a box."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The layout of one person.

    object: the number of the person among the objects of the image, from 1; None where `box` is given instead, for image
    sets that list images and not persons, as in 2007.
    """

    image: str
    confidence: float
    parts: tuple[Part, ...]
    object: int | None = None
    box: Box | None = None


@dataclass(frozen=True, slots=True, eq=False)
class LayoutTable:
    """The layouts of a result file, in its order.

    person: int32 (n,), place in Description.persons, or UNLISTED; confidence: float64 (n,), finite; boxes: float64 (n, 4),
    of the persons, NaN where they have a number instead; first: int64 (n + 1,), where the parts of a layout begin and those
    of the one before end; kind: int8 (m,), into PARTS; parts: float64 (m, 4). Boxes are left, top, right, bottom in
    pixels as given, finite, possibly outside the image or inverted.
    """

    person: Integers
    confidence: Floats
    boxes: Floats
    first: Places
    kind: Labels
    parts: Floats

    def __len__(self) -> int:
        """The number of layouts."""
        return len(self.person)


@dataclass(frozen=True, slots=True, eq=False)
class Layouts:
    """Layouts of persons in images, in the order in which they were given, which decides ties.

    image: int32 (n,), into images; person: int32 (n,), which object of the image is meant, counted from 1, or 0 where a box
    says it; boxes: float64 (n, 4), of these persons, NaN where a number says it; score: float64 (n,), finite; owner: int32
    (m,), rising, which layout a part belongs to; kind: int8 (m,), into PARTS; parts: float64 (m, 4). Boxes are left, top, right,
    bottom in pixels that belong to them.
    """

    image: Integers
    person: Integers
    boxes: Floats
    score: Floats
    owner: Integers
    kind: Labels
    parts: Floats
    images: tuple[str, ...]

    def __repr__(self) -> str:
        """How many there are."""
        return f"Layouts({len(self)} in {plural(len(self.images), 'image')})"

    def __len__(self) -> int:
        """The number of layouts."""
        return len(self.image)

    @classmethod
    def from_arrays(
        cls,
        image: Any,
        person: Any,
        score: Any,
        *,
        owner: Any,
        kind: Any,
        parts: Any,
        images: Sequence[str] | None = None,
    ) -> Self:
        """Layouts of numbered persons from three columns (n,), and their parts from three more (m,).

        image: names (n,), or whole numbers (n,): indices into `images`; person: whole numbers from 1; score: numbers; owner: the row
        of the layout that a part belongs to, from 0; kind: "head", "hand" or "foot", or their numbers from 0; parts: numbers
        (m, 4). Raises DataError for anything else.

        >>> found = Layouts.from_arrays(["a"], [1], [0.9], owner=[0], kind=["head"], parts=[[1, 1, 9, 9]])
        >>> found.kind.tolist()
        [0]
        """
        named, persons, scores = (
            as_named("image", image, images),
            as_persons(person),
            as_floats("score", score),
        )
        count = assert_lengths(image=named.place, person=persons, score=scores)
        kinds, corners, owners = (
            as_named("kind", kind, PARTS),
            as_boxes("parts", parts),
            as_floats("owner", owner),
        )
        assert_lengths(owner=owners, kind=kinds.place, parts=corners)
        if not (np.isin(owners, np.arange(count)).all()):
            raise DataError(f"expected rows of layouts, 0 to {count - 1}, in 'owner'")
        order = np.argsort(owners, kind="stable")
        return cls(
            named.place,
            persons,
            np.full((count, 4), np.nan),
            scores,
            owners[order].astype(np.int32),
            kinds.place[order].astype(np.int8),
            corners[order],
            named.names,
        )

    @classmethod
    def from_list(cls, layouts: Iterable[Layout]) -> Self:
        """Layouts from values, each of a person with a number or with a box. Raises DataError for one with both or neither.

        >>> head = Part("head", Box(1, 1, 9, 9))
        >>> Layouts.from_list([Layout("a", 0.9, (head,), object=1)]).person.tolist()
        [1]
        """
        listed = list(layouts)
        for each in listed:
            if (each.object is None) == (each.box is None):
                raise DataError(f"expected a layout of '{each.image}' to have either an object or a box")
        parts = [(owner, part) for owner, each in enumerate(listed) for part in each.parts]
        found = cls.from_arrays(
            [each.image for each in listed],
            [each.object or 1 for each in listed],
            [each.confidence for each in listed],
            owner=[owner for owner, _ in parts],
            kind=[part.name for _, part in parts],
            parts=[astuple(part.box) for _, part in parts],
        )
        boxed = np.array([each.object is None for each in listed], np.bool_)
        found.person[boxed] = 0
        found.boxes[boxed] = as_boxes("box", [astuple(each.box) for each in listed if each.box is not None])
        return found


def layouts_to_xml(layouts: Iterable[Layout]) -> bytes:
    """The content of a result file with these layouts, in the format of the development kits; numbers keep every bit.

    >>> from heldout_scoring import Box, Part
    >>> hand = Part("hand", Box(10, 20, 30.5, 40))
    >>> layouts_to_xml([Layout("2008_000008", 0.5, (hand,), object=2)]).split()[2:5]
    [b'<image>2008_000008</image>', b'<object>2</object>', b'<confidence>0.5</confidence>']
    """
    lines = (f"\t{line}\n" for layout in layouts for line in _layout(layout))
    return "".join(["<results>\n", *lines, "</results>\n"]).encode()


def _layout(layout: Layout) -> Iterator[str]:
    yield "<layout>"
    yield f"\t<image>{escape(layout.image, quote=False)}</image>"
    if layout.object is not None:
        yield f"\t<object>{layout.object}</object>"
    yield f"\t<confidence>{_number(layout.confidence)}</confidence>"
    if layout.box is not None:
        yield from _box(layout.box)
    for part in layout.parts:
        yield "\t<part>"
        yield f"\t\t<class>{escape(part.name, quote=False)}</class>"
        yield from (f"\t{line}" for line in _box(part.box))
        yield "\t</part>"
    yield "</layout>"


def _box(box: Box) -> Iterator[str]:
    yield "\t<bndbox>"
    edges = (box.left, box.top, box.right, box.bottom)
    yield from (f"\t\t<{side}>{_number(edge)}</{side}>" for side, edge in zip(SIDES, edges, strict=True))
    yield "\t</bndbox>"


def _number(value: float) -> str:
    return np.format_float_positional(value, trim="-")
