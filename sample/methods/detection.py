"""Made-up detectors: the true boxes with the errors of real ones, which lose, confuse, repeat, misplace and invent objects."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from sample.annotations import Annotation, Box, Object
from sample.dice import Dice
from sample.methods.archives import ResultFile, text_file
from sample.methods.predicting import (
    SIMILAR,
    Predict,
    Task,
    confidence,
    falling,
    side_of,
    visibility_of,
)
from sample.shapes import CLASSES

Edges = tuple[float, float, float, float]
LARGE = 150.0  # pixels; from about this side on, size says little about how surely something is found


@dataclass(frozen=True, slots=True)
class Detector:
    """How a detector errs. Shares are of objects if nothing else is said."""

    shake: float  # deviation of an edge as a share of its side
    small: float  # side in pixels of the objects of which it misses half
    missed: float  # others that it misses, in the open
    hidden: float  # those that it misses in addition if they are occluded or cut off
    confused: float  # reported as a similar class, too, or instead
    repeated: float  # reported twice, or in parts
    invented: float  # made-up boxes an image
    doubt: float  # deviation of the confidence
    weak: Mapping[str, float] = field(
        default_factory=dict
    )  # by class, how many times as many errors it makes


@dataclass(frozen=True, slots=True)
class _Found:
    image: str
    class_name: str
    sure: float
    edges: Edges


def detecting(detector: Detector) -> Predict:
    """Return a prediction with the errors of a detector."""
    return partial(_detect, detector)


def _detect(detector: Detector, task: Task, dice: Dice) -> Iterable[ResultFile]:
    clumsy = {name: dice.between(0.8, 1.2) * task.ease * detector.weak.get(name, 1.0) for name in CLASSES}
    somewhere = [thing for one in task.truth.annotations for thing in one.objects]
    found: list[_Found] = []
    for one in task.truth.annotations:
        for thing in one.objects:
            found += _answers(detector, clumsy[thing.class_name], one, thing, dice)
        found += _inventions(detector, task.ease, one, somewhere, dice)
    for name in CLASSES:
        lines = (_line(detection) for detection in found if detection.class_name == name)
        yield text_file(f"Main/comp{task.competition}_det_{task.image_set}_{name}.txt", lines)


def _answers(
    detector: Detector, clumsy: float, one: Annotation, thing: Object, dice: Dice
) -> Iterator[_Found]:
    """Detections of one object: usually one, none if it is missed, more if it is repeated or confused."""
    side, seen = side_of(thing), visibility_of(thing)
    lost = falling(side, detector.small * clumsy) + clumsy * (
        detector.missed + detector.hidden * (1 - seen) / 0.8
    )
    is_missed, confused, repeated = dice.chance(min(0.97, lost)), dice.unit(), dice.unit()
    hand = 0.6 + 0.8 * dice.unit()  # some boxes are shaken more, and less sure for it
    size = min(1.0, side / LARGE)
    sure = 0.46 + 0.26 * size + 0.2 * seen - 0.14 * hand * min(1.5, clumsy) + detector.doubt * dice.bell()
    shake = detector.shake * clumsy * hand * (1.25 - 0.4 * size) * (1.4 - 0.4 * seen)
    edges, again = (_shaken(thing.box, shake * more, one, dice) for more in (1.0, 1.5))
    other, half = dice.pick(SIMILAR[thing.class_name]), dice.chance(0.5)
    is_confused = confused < detector.confused * clumsy * (1.6 - size)
    if is_confused:
        yield _Found(one.image, other, sure - 0.12 * dice.unit(), again)
    if is_missed or (is_confused and half):
        return
    yield _Found(one.image, thing.class_name, sure, edges)
    if repeated < detector.repeated * clumsy:
        yield _Found(
            one.image, thing.class_name, sure - 0.16 * dice.unit(), _part_of(again, one) if half else again
        )


def _shaken(box: Box, shake: float, one: Annotation, dice: Dice) -> Edges:
    wide, tall = box.right - box.left + 1, box.bottom - box.top + 1
    moves = dice.bells(4) * shake
    left, top = box.left + float(moves[0]) * wide, box.top + float(moves[1]) * tall
    right, bottom = box.right + float(moves[2]) * wide, box.bottom + float(moves[3]) * tall
    return _inside((min(left, right), min(top, bottom), max(left, right), max(top, bottom)), one)


def _part_of(edges: Edges, one: Annotation) -> Edges:
    """The upper two thirds of a box, such as a person without legs or a boat without hull."""
    left, top, right, bottom = edges
    return _inside((left, top, right, top + 0.66 * (bottom - top)), one)


def _inside(edges: Edges, one: Annotation) -> Edges:
    left, top, right, bottom = edges
    left, top = min(max(left, 1.0), one.width - 1.0), min(max(top, 1.0), one.height - 1.0)
    return left, top, max(left + 1, min(right, one.width)), max(top + 1, min(bottom, one.height))


def _inventions(
    detector: Detector, ease: float, one: Annotation, somewhere: list[Object], dice: Dice
) -> Iterator[_Found]:
    """Boxes where nothing is: what stands in some other picture, put anywhere, small ones more often."""
    wanted = detector.invented * ease
    for _ in range(int(wanted) + dice.chance(wanted % 1)):
        model = dice.pick(somewhere)
        left, top = dice.between(1, one.width * 0.85), dice.between(1, one.height * 0.85)
        share = dice.between(0.4, 1.0)
        wide, tall = share * (model.box.right - model.box.left), share * (model.box.bottom - model.box.top)
        sure = 0.3 + detector.doubt * dice.bell()
        yield _Found(one.image, model.class_name, sure, _inside((left, top, left + wide, top + tall), one))


def _line(found: _Found) -> str:
    left, top, right, bottom = found.edges
    return f"{found.image} {confidence(found.sure)} {left:.2f} {top:.2f} {right:.2f} {bottom:.2f}"
