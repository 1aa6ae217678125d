"""The boxes or classes of one image as an organiser corrects them, and what is wrong with a correction."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

MOST_BOXES: Final = 1000  # of an image
MOST_CLASSES: Final = 1000  # of an image
FLAGS: Final = ("difficult", "truncated", "occluded", "group_of")
SIDES: Final = ("left", "top", "right", "bottom")
FURTHEST: Final = 1e9  # pixels from the corner of an image
ClassName = Annotated[str, Field(min_length=1, max_length=300)]


class EditedBox(BaseModel):
    """A box of an image, in pixels as its annotation counts them. number: that of the object in the image, from 1; None: a new one."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    number: Annotated[int | None, Field(ge=1, le=10**6)] = None
    class_name: ClassName
    left: FiniteFloat
    top: FiniteFloat
    right: FiniteFloat
    bottom: FiniteFloat
    difficult: bool = False
    truncated: bool = False
    occluded: bool = False
    group_of: bool = False

    @property
    def corners(self) -> tuple[float, float, float, float]:
        """Left, top, right and bottom."""
        return self.left, self.top, self.right, self.bottom


class EditedClass(BaseModel):
    """A class that an image shows; difficult: which does not count."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    class_name: ClassName
    difficult: bool = False


class ImageLabels(BaseModel):
    """All labels of an image after a correction: boxes that are left out are removed.

    classes: None where they follow from the boxes, and else all that the image shows.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    boxes: Annotated[tuple[EditedBox, ...], Field(max_length=MOST_BOXES)] = ()
    classes: Annotated[tuple[EditedClass, ...] | None, Field(max_length=MOST_CLASSES)] = None


@dataclass(frozen=True, slots=True)
class ImageScene:
    """An image with its labels in a version, for the organiser who asked.

    width, height: None if they are unknown; convention: of the boxes, `inclusive` or `half-open`; labels: in the version; flags: those
    that objects can have; fixed: objects that results name by their numbers; absent: classes that the annotation says are not in the
    image; stated: the only classes that it says anything of, None for all; beside: what is annotated, too, and only a new data set
    corrects; has_boxes: whether the annotation has any; has_masks: whether boxes follow from the masks of objects; edit: the correction
    that the organiser saved before, by its id, with `edited` its labels; problem: why there is nothing to show.
    """

    image: str
    width: int | None
    height: int | None
    convention: str = "inclusive"
    labels: ImageLabels = field(default_factory=ImageLabels)
    flags: tuple[str, ...] = ()
    fixed: tuple[int, ...] = ()
    absent: tuple[str, ...] = ()
    stated: tuple[str, ...] | None = None
    beside: tuple[str, ...] = ()
    has_boxes: bool = True
    has_masks: bool = False
    edit: str = ""
    edited: ImageLabels | None = None
    has_picture: bool = False
    problem: str = ""

    @property
    def shown(self) -> ImageLabels:
        """The labels to go on with: those that the organiser saved last, or those of the version."""
        return self.edited or self.labels

    @property
    def first(self) -> int:
        """The number of the first pixel, or of the edge before it."""
        return 1 if self.convention == "inclusive" else 0

    @property
    def canvas(self) -> tuple[float, float]:
        """Width and height to draw on: of the image or, if they are unknown, of all boxes."""
        corners = [box.corners for box in self.shown.boxes]
        return (
            self.width or max([100.0, *(each[2] for each in corners)]),
            self.height or max([100.0, *(each[3] for each in corners)]),
        )

    def as_plain(self) -> dict[str, Any]:
        """The scene as JSON stores it."""
        plain = {name: getattr(self, name) for name in self.__slots__}
        edited = self.edited.model_dump() if self.edited else None
        return plain | {"labels": self.labels.model_dump(), "edited": edited}

    @classmethod
    def of_plain(cls, plain: Mapping[str, Any]) -> "ImageScene":
        """The scene that `as_plain` returned."""
        lists = {name: tuple(plain[name]) for name in ("flags", "fixed", "absent", "beside")}
        stated = None if plain["stated"] is None else tuple(plain["stated"])
        edited = ImageLabels.model_validate(plain["edited"]) if plain["edited"] else None
        labels = ImageLabels.model_validate(plain["labels"])
        return cls(**{**plain, **lists, "stated": stated, "labels": labels, "edited": edited})


def problems_of(
    labels: ImageLabels, classes: Collection[str], scene: ImageScene | None = None
) -> dict[str, str]:
    """What is wrong with a correction, by the field of its form; "" is for what no single field is to blame for.

    The sentences quote nothing. classes: all that there are; scene: the image in the version that is corrected, without which some
    cannot be found. Boxes that stay as they are may be as odd as the annotation has them.
    """
    found: dict[str, list[str]] = {}

    def say(field: str, message: str) -> None:
        found.setdefault(field, []).append(message)

    for row, box in enumerate(labels.boxes, 1):
        for side, message in _problems_of_box(box, classes, scene):
            say(f"box-{row}-{side}", message)
    for row in _repeated([box.number for box in labels.boxes]):
        say(f"box-{row}-number", "two boxes cannot be the same object")
    if scene is not None:
        for message in _problems_of_numbers(labels, scene):
            say("", message)
    for row, each in enumerate(labels.classes or (), 1):
        if each.class_name not in classes:
            say(f"class-{row}-class", _unknown(classes))
    for row in _repeated([each.class_name for each in labels.classes or ()]):
        say(f"class-{row}-class", "stands twice")
    return {field: "; ".join(messages) for field, messages in found.items()}


def _problems_of_box(
    box: EditedBox, classes: Collection[str], scene: ImageScene | None
) -> Iterator[tuple[str, str]]:
    before = {each.number: each for each in scene.labels.boxes} if scene else {}
    old = before.get(box.number) if box.number else None
    if box.class_name not in classes:
        yield "class", _unknown(classes)
    elif scene is not None and (old is None or old.class_name != box.class_name):
        yield from _problems_of_class(box, scene)
    if old is not None and old.corners == box.corners:
        return
    yield from _problems_of_distance(box)
    is_edge = scene is not None and scene.convention != "inclusive"
    for end, begin in (("right", "left"), ("bottom", "top")):
        one, other = getattr(box, begin), getattr(box, end)
        if other < one or (is_edge and other == one):
            yield end, f"must be {'beyond' if is_edge else 'at or beyond'} the {begin}"
    if scene is None:
        return
    if box.number is not None and old is None:
        yield "number", "there is no such object in this version"
    if scene.has_masks:
        yield "left", "its box follows from its mask, which only a new data set corrects"
    for side, length in (("left", scene.width), ("top", scene.height)):
        if getattr(box, side) < scene.first:
            yield side, f"begins before the image, whose first is {scene.first}"
        end = "right" if side == "left" else "bottom"
        if length is not None and getattr(box, end) > length:
            yield end, f"reaches beyond the image, which ends at {length}"


def _problems_of_distance(box: EditedBox) -> Iterator[tuple[str, str]]:
    """Boxes without end have no area."""
    for side in SIDES:
        if abs(getattr(box, side)) > FURTHEST:
            yield side, f"must lie within {FURTHEST:,.0f} pixels"


def _problems_of_class(box: EditedBox, scene: ImageScene) -> Iterator[tuple[str, str]]:
    if box.number in scene.fixed:
        yield "class", "cannot change, because results name this object by its number"
    if box.class_name in scene.absent:
        yield (
            "class",
            "the annotation says that this class is not in the image; correct that with a new data set",
        )
    if scene.stated is not None and box.class_name not in scene.stated:
        yield "class", "no image-level label speaks of this class here; correct that with a new data set"


def _problems_of_numbers(labels: ImageLabels, scene: ImageScene) -> Iterator[str]:
    left = {box.number for box in labels.boxes}
    gone = [box.number for box in scene.labels.boxes if box.number not in left]
    if scene.fixed and any(number is not None and number <= max(scene.fixed) for number in gone):
        yield "an object cannot be removed if results name it, or one after it, by its number"
    if labels.classes is not None and scene.labels.classes is None:
        yield "the classes of this image follow from its boxes"
    if labels.boxes and not scene.has_boxes:
        yield "this annotation has classes of images, and no boxes; send boxes as a new data set"


def _repeated(values: Sequence[Any]) -> Iterator[int]:
    """Yield the places, from 1, of values that stood before."""
    seen: Counter[Any] = Counter()
    for place, value in enumerate(values, 1):
        if value is not None and seen[value]:
            yield place
        seen[value] += 1


def _unknown(classes: Collection[str]) -> str:
    return f"is none of the {len(classes)} classes" if len(classes) > 1 else "is not the only class"
