"""Baselines for segmentation: the true objects with coarse outlines, moved, some left out or mistaken."""

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from PIL import Image, ImageDraw

from sample.annotations import Annotation, Box, Object
from sample.baselines.archives import ResultFile
from sample.baselines.levels import Family, Level, Task, description_of
from sample.canvas import Regions
from sample.dice import Dice
from sample.masks import VOID, write_mask
from sample.shapes import CLASSES

Corners = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Smudge:
    """How masks are disturbed: outlines in blocks of pixels, moves as a share of the side, shares of objects."""

    block: int
    shake: float
    missed: float
    confused: float
    invented: float  # blots an image


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
    framed = np.pad(np.where(shown == VOID, np.uint8(0), shown), 1)
    beside = (framed[1:-1, :-2], framed[1:-1, 2:], framed[:-2, 1:-1], framed[2:, 1:-1])
    return Image.fromarray(np.where(shown == VOID, np.maximum.reduce(beside), shown))


def _smudged(smudge: Smudge, ease: float, one: Annotation, shown: Image.Image, dice: Dice) -> Regions:
    labels = Image.new("L", (one.width, one.height))
    for number, thing in enumerate(one.objects, 1):
        mistaken, missed = (
            dice.chance(smudge.confused * ease),
            dice.chance(smudge.missed * ease * _hardness(thing)),
        )
        name = dice.pick(CLASSES) if mistaken else thing.class_name
        place, blot = _blot(smudge, ease, thing.box, partial(_cut, shown, number), dice)
        if not missed:
            labels.paste(CLASSES.index(name) + 1, place, blot)
    brush = ImageDraw.Draw(labels)
    for _ in range(2):
        x, y = dice.between(0, one.width), dice.between(0, one.height)
        across, down = dice.between(6, 28), dice.between(6, 28)
        name = dice.pick(CLASSES)
        if dice.chance(smudge.invented * ease / 2):
            corners = (round(x - across), round(y - down), round(x + across), round(y + down))
            brush.ellipse(corners, fill=CLASSES.index(name) + 1)
    return np.asarray(labels)


def _hardness(thing: Object) -> float:
    side = max(thing.box.right - thing.box.left, thing.box.bottom - thing.box.top)
    return 1.5 if side < 40 or thing.occluded else 0.8


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


def _level(size: str, smudge: Smudge) -> Level:
    what = (
        f"outlines are redrawn in blocks of about {smudge.block} pixels and shifted by about {smudge.shake:.0%} of the "
        f"object's side; about {smudge.missed:.0%} of the objects are missed and {smudge.confused:.0%} labelled as "
        f"another class; {smudge.invented:g} random blobs are added per image."
    )
    return Level(f"True masks, {size} smudge", description_of(what), partial(_segment, smudge))


SEGMENTATION = Family(
    "Smudge",
    (5, 6),
    (
        _level("small", Smudge(3, 0.015, 0.04, 0.02, 0.1)),
        _level("medium", Smudge(7, 0.05, 0.12, 0.07, 0.3)),
        _level("large", Smudge(13, 0.1, 0.25, 0.16, 0.8)),
    ),
)
