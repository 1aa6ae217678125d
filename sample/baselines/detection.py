"""Baselines for detection: the true boxes, shaken, some left out, some made up."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from sample.annotations import Annotation, Box, Object
from sample.baselines.archives import ResultFile, text_file
from sample.baselines.levels import Family, Level, Task, confidence, description_of
from sample.dice import Dice
from sample.shapes import CLASSES

Edges = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Jitter:
    """How boxes are disturbed: the deviation of an edge as a share of its side, the rest as shares of objects."""

    shake: float
    missed: float
    confused: float
    repeated: float
    invented: float  # made-up boxes an image
    doubt: float  # deviation of the confidence


@dataclass(frozen=True, slots=True)
class _Found:
    image: str
    class_name: str
    sure: float
    edges: Edges


def _detect(jitter: Jitter, task: Task, dice: Dice) -> Iterable[ResultFile]:
    clumsy = {name: dice.between(0.7, 1.3) * task.ease for name in CLASSES}
    somewhere = [thing for one in task.truth.annotations for thing in one.objects]
    found: list[_Found] = []
    for one in task.truth.annotations:
        for thing in one.objects:
            found += _answers(jitter, clumsy[thing.class_name], one, thing, dice)
        found += _inventions(jitter, task.ease, one, somewhere, dice)
    for name in CLASSES:
        lines = (_line(detection) for detection in found if detection.class_name == name)
        yield text_file(f"Main/comp{task.competition}_det_{task.image_set}_{name}.txt", lines)


def _answers(jitter: Jitter, clumsy: float, one: Annotation, thing: Object, dice: Dice) -> Iterator[_Found]:
    """Detections of one object: usually one, none when missed, more when repeated or confused."""
    ease = _ease(thing)
    missed = dice.chance(min(0.95, jitter.missed * clumsy * (1.7 - ease)))
    hand = 0.6 + 0.8 * dice.unit()  # some boxes are shaken more, and less sure for it
    sure = 0.42 + 0.3 * ease - 0.12 * hand + jitter.doubt * dice.bell()
    edges = _shaken(thing.box, jitter.shake * clumsy * hand, one, dice)
    again = _shaken(thing.box, 1.6 * jitter.shake * clumsy, one, dice)
    repeated, confused, other = dice.chance(jitter.repeated * clumsy), dice.unit(), dice.pick(CLASSES)
    if missed:
        return
    yield _Found(one.image, thing.class_name, sure, edges)
    if repeated:
        yield _Found(one.image, thing.class_name, sure - 0.15 * dice.unit(), again)
    if confused < jitter.confused * clumsy and other != thing.class_name:
        yield _Found(one.image, other, sure - 0.1 * dice.unit(), again)


def _ease(thing: Object) -> float:
    """How easily an object is found, 0.1 to 1: large ones in the open are, small and hidden ones are not."""
    box = thing.box
    side = min(1.0, math.sqrt((box.right - box.left + 1) * (box.bottom - box.top + 1)) / 70)
    return max(0.1, side - 0.25 * thing.occluded - 0.15 * thing.truncated - 0.3 * thing.difficult)


def _shaken(box: Box, shake: float, one: Annotation, dice: Dice) -> Edges:
    wide, tall = box.right - box.left + 1, box.bottom - box.top + 1
    moves = dice.bells(4) * shake
    left, top = box.left + float(moves[0]) * wide, box.top + float(moves[1]) * tall
    right, bottom = box.right + float(moves[2]) * wide, box.bottom + float(moves[3]) * tall
    return _inside((min(left, right), min(top, bottom), max(left, right), max(top, bottom)), one)


def _inside(edges: Edges, one: Annotation) -> Edges:
    left, top, right, bottom = edges
    left, top = min(max(left, 1.0), one.width - 1.0), min(max(top, 1.0), one.height - 1.0)
    return left, top, max(left + 1, min(right, one.width)), max(top + 1, min(bottom, one.height))


def _inventions(
    jitter: Jitter, ease: float, one: Annotation, somewhere: list[Object], dice: Dice
) -> Iterator[_Found]:
    """Boxes where nothing is: what stands in some other picture, put anywhere."""
    wanted = jitter.invented * ease
    for _ in range(int(wanted) + dice.chance(wanted % 1)):
        model = dice.pick(somewhere)
        left, top = dice.between(1, one.width * 0.85), dice.between(1, one.height * 0.85)
        wide, tall = model.box.right - model.box.left, model.box.bottom - model.box.top
        sure = 0.28 + jitter.doubt * dice.bell()
        yield _Found(one.image, model.class_name, sure, _inside((left, top, left + wide, top + tall), one))


def _line(found: _Found) -> str:
    left, top, right, bottom = found.edges
    return f"{found.image} {confidence(found.sure)} {left:.2f} {top:.2f} {right:.2f} {bottom:.2f}"


def _level(size: str, jitter: Jitter) -> Level:
    invented = (
        f"{jitter.invented:g} random {'box is' if jitter.invented == 1 else 'boxes are'} added per image"
    )
    what = (
        f"box edges are shifted by about {jitter.shake:.0%} of the side; about {jitter.missed:.0%} of the objects are "
        f"missed, small and occluded ones more often; {jitter.repeated:.0%} are detected twice and "
        f"{jitter.confused:.0%} also as another class; {invented}."
    )
    return Level(f"True boxes, {size} jitter", description_of(what), partial(_detect, jitter))


DETECTION = Family(
    "Jitter",
    (3, 4),
    (
        _level("small", Jitter(0.06, 0.1, 0.04, 0.05, 0.4, 0.08)),
        _level("medium", Jitter(0.1, 0.22, 0.1, 0.1, 1.0, 0.13)),
        _level("large", Jitter(0.15, 0.34, 0.2, 0.2, 2.0, 0.2)),
    ),
)
