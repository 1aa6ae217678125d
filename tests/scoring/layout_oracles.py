"""A naive implementation of the kits' rules for person layout, person by person and box by box."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.scoring.oracles import Corners, iou

PARTS = ("head", "hand", "foot")
LEAST = 0.5

Key = tuple[str, int]


@dataclass(frozen=True)
class Limb:
    """A body part: its kind and its box."""

    name: str
    box: Corners


@dataclass(frozen=True)
class Given:
    """A layout in a result file."""

    image: str
    confidence: float
    parts: tuple[Limb, ...]
    number: int | None = None
    box: Corners | None = None


@dataclass(frozen=True)
class Person:
    """An annotated person."""

    box: Corners
    parts: tuple[Limb, ...] = ()
    difficult: bool = False


def sorted_by_confidence(given: Sequence[Given]) -> list[Given]:
    return sorted(given, key=lambda layout: -layout.confidence)


def outcomes_of_parts(given: Sequence[Given], people: Mapping[Key, Person]) -> dict[str, list[int]]:
    """The ranked outcomes by kind of part, as in 2010 to 2012."""
    said: dict[str, list[int]] = {name: [] for name in PARTS}
    seen = set()
    for layout in sorted_by_confidence(given):
        key = (layout.image, layout.number or 0)
        if key not in people or key in seen:
            continue
        seen.add(key)
        taken = set()
        for limb in layout.parts:
            most, best = -float("inf"), None
            for place, there in enumerate(people[key].parts):
                if there.name == limb.name and iou(limb.box, there.box) > most:
                    most, best = iou(limb.box, there.box), place
            is_matched = most >= LEAST and best not in taken
            said[limb.name].append(int(is_matched))
            if is_matched:
                taken.add(best)
    return said


def fits(parts: Sequence[Limb], there: Sequence[Limb], *, quirk: bool) -> bool:
    """Whether a layout has the parts of the person, as in 2007 and 2008; the kits' programs never match a single part."""
    if not there or (quirk and len(there) == 1):
        return False
    if sorted(limb.name for limb in parts) != sorted(limb.name for limb in there):
        return False
    for name in PARTS:
        predictions = [limb.box for limb in parts if limb.name == name]
        truths = [limb.box for limb in there if limb.name == name]
        if not all(any(iou(prediction, truth) >= LEAST for prediction in predictions) for truth in truths):
            return False
        matching = sum(any(iou(prediction, truth) >= LEAST for truth in truths) for prediction in predictions)
        if matching < len(truths):
            return False
    return True


def outcomes_of_2008(
    given: Sequence[Given], people: Mapping[Key, Person], *, corrected: bool = False
) -> list[int]:
    found, said = set(), []
    for layout in sorted_by_confidence(given) if corrected else given:
        key = (layout.image, layout.number or 0)
        if key not in people:
            said.append(-1)
        elif key not in found and fits(layout.parts, people[key].parts, quirk=not corrected):
            said.append(1)
            found.add(key)
        else:
            said.append(0)
    return said


def outcomes_of_2007(
    given: Sequence[Given], people: Mapping[str, Sequence[Person]], *, corrected: bool = False
) -> list[int]:
    taken, said = set(), []
    for layout in sorted_by_confidence(given):
        assert layout.box
        most, best = -float("inf"), -1
        for place, person in enumerate(people[layout.image]):
            if iou(layout.box, person.box) > most:
                most, best = iou(layout.box, person.box), place
        key = (layout.image, best)
        if most < LEAST or key in taken:
            said.append(0)
            continue
        taken.add(key)
        said.append(int(fits(layout.parts, people[layout.image][best].parts, quirk=not corrected)))
    return said


def positives_of_2007(people: Mapping[str, Sequence[Person]]) -> int:
    return sum(bool(person.parts) and not person.difficult for image in people.values() for person in image)
