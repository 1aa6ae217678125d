"""Made-up methods for person layout: the true parts, moved, some left out, some made up."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from sample.annotations import Box, Object
from sample.dice import Dice
from sample.methods.archives import ResultFile, text_file
from sample.methods.predicting import Predict, Task, confidence
from sample.shapes import PARTS

Edges = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Wobble:
    """How layouts are disturbed: moves as a share of the part's side, the rest as shares of parts or persons."""

    shake: float
    lost: float  # parts left out
    invented: float  # parts made up, a person
    skipped: float  # persons left out
    doubt: float


def laying_out(wobble: Wobble) -> Predict:
    """Return a prediction with these errors."""
    return partial(_lay_out, wobble)


def _lay_out(wobble: Wobble, task: Task, dice: Dice) -> Iterable[ResultFile]:
    lines = ["<results>"]
    for one, number in task.truth.layouts:
        clumsy = task.ease * (0.5 + dice.unit())
        sure = 0.8 - 0.4 * clumsy + wobble.doubt * dice.bell()
        parts = list(_parts(wobble, clumsy, one.objects[number - 1], dice))
        if dice.chance(wobble.skipped * task.ease) or not parts:
            continue
        lines += ["\t<layout>", f"\t\t<image>{one.image}</image>", f"\t\t<object>{number}</object>"]
        lines += [f"\t\t<confidence>{confidence(sure)}</confidence>", *parts, "\t</layout>"]
    lines.append("</results>")
    return [text_file(f"Layout/comp{task.competition}_layout_{task.image_set}.xml", lines)]


def _parts(wobble: Wobble, clumsy: float, person: Object, dice: Dice) -> Iterator[str]:
    for part in person.parts or ():
        edges = _moved(part.box, wobble.shake * clumsy, dice)
        if not dice.chance(wobble.lost * clumsy):
            yield _part(part.name, edges)
    if dice.chance(wobble.invented * clumsy):
        yield _part(dice.pick(PARTS), _anywhere(person.box, dice))


def _moved(box: Box, shake: float, dice: Dice) -> Edges:
    """The box shifted as a whole and resized, as one who looks at it roughly would place it."""
    wide, tall = box.right - box.left + 1, box.bottom - box.top + 1
    across, down, wider, taller = (float(move) * shake for move in dice.bells(4))
    grow_x, grow_y = max(-0.4, wider) * wide / 2, max(-0.4, taller) * tall / 2
    left, right = box.left + across * wide - grow_x, box.right + across * wide + grow_x
    top, bottom = box.top + down * tall - grow_y, box.bottom + down * tall + grow_y
    return round(left), round(top), max(round(left), round(right)), max(round(top), round(bottom))


def _anywhere(box: Box, dice: Dice) -> Edges:
    side = max(3, (box.bottom - box.top) // 9)
    left, top = dice.count(box.left, box.right), dice.count(box.top, box.bottom)
    return left, top, left + side, top + side


def _part(name: str, edges: Edges) -> str:
    named = zip(("xmin", "ymin", "xmax", "ymax"), edges, strict=True)
    corners = "".join(f"<{edge}>{value}</{edge}>" for edge, value in named)
    return f"\t\t<part><class>{name}</class><bndbox>{corners}</bndbox></part>"
