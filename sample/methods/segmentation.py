"""Made-up methods for segmentation: the true objects with coarse outlines, moved, some left out or mistaken."""

import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from PIL import Image, ImageDraw

from sample.annotations import Annotation, Box, Object
from sample.canvas import Regions
from sample.dice import Dice
from sample.masks import VOID, write_mask
from sample.methods.archives import ResultFile
from sample.methods.predicting import SIMILAR, Predict, Task, falling, side_of, visibility_of
from sample.shapes import CLASSES

Corners = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Smudge:
    """How masks are disturbed: outlines in blocks of pixels, moves as a share of the side, shares of objects."""

    block: int
    shake: float
    small: float  # side in pixels of the objects of which half are missed
    missed: float  # others that are missed, more of those that are hidden
    confused: float  # labelled as a similar class
    invented: float  # blots an image
    weak: Mapping[str, float] = field(default_factory=dict)  # by class, how many times as many errors


def segmenting(smudge: Smudge) -> Predict:
    """Return a prediction with these errors."""
    return partial(_segment, smudge)


def _segment(smudge: Smudge, task: Task, dice: Dice) -> Iterator[ResultFile]:
    folder = f"Segmentation/comp{task.competition}_{task.image_set}_cls"
    for one in task.truth.segmented:
        shown = _without_void(task.truth.objects_shown(one.image))
        labels = _smudged(smudge, task.ease, one, shown, dice)
        file = io.BytesIO()
        write_mask(labels, file)
        yield ResultFile(f"{folder}/{one.image}.png", file.getvalue())


def _without_void(shown: Regions) -> Image.Image:
    """Grow the objects over the void lines between them; wide void, where objects are difficult, stays empty."""
    grown = np.where(shown == VOID, np.uint8(0), shown)
    for _ in range(2):  # half of the width of a line
        framed = np.pad(grown, 1)
        beside = (framed[1:-1, :-2], framed[1:-1, 2:], framed[:-2, 1:-1], framed[2:, 1:-1])
        grown = np.where((shown == VOID) & (grown == 0), np.maximum.reduce(beside), grown)
    return Image.fromarray(grown)


def _smudged(smudge: Smudge, ease: float, one: Annotation, shown: Image.Image, dice: Dice) -> Regions:
    labels = Image.new("L", (one.width, one.height))
    for number, thing in enumerate(one.objects, 1):
        clumsy = ease * smudge.weak.get(thing.class_name, 1.0)
        mistaken, missed = dice.chance(smudge.confused * clumsy), dice.chance(_lost(smudge, clumsy, thing))
        other = dice.pick(SIMILAR[thing.class_name])
        name = other if mistaken else thing.class_name
        place, blot = _blot(smudge, ease, thing.box, partial(_cut, shown, number), dice)
        if not missed:
            labels.paste(CLASSES.index(name) + 1, place, blot)
    brush = ImageDraw.Draw(labels)
    for _ in range(2):
        x, y = dice.between(0, one.width), dice.between(0, one.height)
        across, down = dice.between(10, 50), dice.between(10, 50)
        name = dice.pick(CLASSES)
        if dice.chance(smudge.invented * ease / 2):
            corners = (round(x - across), round(y - down), round(x + across), round(y + down))
            brush.ellipse(corners, fill=CLASSES.index(name) + 1)
    return np.asarray(labels)


def _lost(smudge: Smudge, clumsy: float, thing: Object) -> float:
    return min(
        0.97,
        falling(side_of(thing), smudge.small * clumsy) + smudge.missed * clumsy * (2 - visibility_of(thing)),
    )


def _blot(
    smudge: Smudge, ease: float, box: Box, cut: Callable[[Corners], Image.Image], dice: Dice
) -> tuple[Corners, Image.Image]:
    """Return where to paste an object and its outline redrawn in blocks, thicker or thinner, moved a little."""
    margin = smudge.block
    left, top, right, bottom = (
        box.left - 1 - margin,
        box.top - 1 - margin,
        box.right + margin,
        box.bottom + margin,
    )
    mask = cut((left, top, right, bottom))
    block = max(1.0, smudge.block * ease * dice.between(0.6, 1.4))
    blocks = max(1, round(mask.width / block)), max(1, round(mask.height / block))
    coarse = mask.resize(blocks, Image.Resampling.BOX).resize(mask.size, Image.Resampling.BILINEAR)
    outline = Image.fromarray(np.asarray(coarse) > 120 + 30 * dice.bell())
    across, down = (float(move) * smudge.shake * ease for move in dice.bells(2))
    x, y = round(across * (box.right - box.left + 1)), round(down * (box.bottom - box.top + 1))
    return (left + x, top + y, right + x, bottom + y), outline


def _cut(shown: Image.Image, number: int, corners: Corners) -> Image.Image:
    """Return the mask, 0 or 255, of one object between these corners, which may lie outside the picture."""
    return Image.fromarray(np.where(np.asarray(shown.crop(corners)) == number, np.uint8(255), np.uint8(0)))
