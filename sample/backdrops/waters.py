"""Open water: the sea before a beach, a lake cut open."""

import math

from sample.backdrops.land import draw_ridge
from sample.backdrops.settings import Setting
from sample.canvas import Canvas
from sample.colours import Colour, darker, lighter, mix
from sample.dice import Dice

_WHITE: Colour = (255, 255, 255)
_WEEDS: tuple[Colour, ...] = ((70, 150, 90), (110, 160, 70), (150, 80, 110))


def draw_shore(canvas: Canvas, setting: Setting, dice: Dice) -> None:
    """Draw the sea down to `near`, then the beach."""
    _far_side(canvas, setting, dice)
    canvas.wash(setting.horizon, setting.height, setting.palette.water)
    for _ in range(34):
        depth = dice.unit()
        x, y = (
            dice.between(0, setting.width),
            setting.horizon + 2 + depth * (setting.near - setting.horizon - 4),
        )
        canvas.streak([(x, y), (x + 3 + 16 * depth, y)], _WHITE, width=3, cover=90)
    sand, turn = setting.lit((240, 218, 168)), dice.between(0, 6.3)
    edge = [(setting.width * k / 40, setting.near + 3.5 * math.sin(turn + 0.35 * k)) for k in range(41)]
    for rise, colour in (
        (4.0, lighter(setting.palette.water[0], 0.6)),
        (0.0, darker(sand, 0.1)),
        (-4.0, sand),
    ):
        canvas.patch([*((x, y - rise) for x, y in edge), *_corners(setting)], colour)
    for _ in range(30):
        grain = dice.between(0, setting.width), dice.between(setting.near + 8, setting.height)
        canvas.dot(grain, 0.7, dice.pick((darker(sand, 0.15), lighter(sand, 0.4))))


def draw_lake(canvas: Canvas, setting: Setting, dice: Dice) -> None:
    """Draw a lake cut open at `near`: what swims is seen below its surface."""
    _far_side(canvas, setting, dice)
    shallow, deep = setting.palette.water
    abyss = mix(deep, (8, 40, 86), 0.45)
    canvas.wash(setting.near, setting.height, (mix(deep, shallow, 0.55), abyss))
    for drop, cover in ((0.0, 190), (3.0, 60)):
        y = setting.near + drop
        canvas.streak([(0, y), (setting.width, y)], _WHITE, width=4, cover=cover)
    turn = dice.between(0, 6.3)
    bed = [(setting.width * k / 24, setting.height - 9 - 5 * math.sin(turn + 0.5 * k)) for k in range(25)]
    canvas.patch([*bed, *_corners(setting)], setting.lit(mix((214, 190, 140), abyss, 0.35)))
    for _ in range(dice.count(4, 9)):
        _weed(canvas, setting, dice, abyss)
    for _ in range(dice.count(6, 16)):
        bubble = dice.between(0, setting.width), dice.between(setting.near + 8, setting.height - 12)
        canvas.dot(bubble, dice.between(0.8, 2.2), _WHITE, 70)


def _far_side(canvas: Canvas, setting: Setting, dice: Dice) -> None:
    if dice.chance(0.6):
        draw_ridge(canvas, setting, dice, setting.palette.hills[0], 0.1)


def _corners(setting: Setting) -> tuple[tuple[float, float], tuple[float, float]]:
    return (setting.width, setting.height), (0, setting.height)


def _weed(canvas: Canvas, setting: Setting, dice: Dice, abyss: Colour) -> None:
    x, tall, turn = dice.between(0, setting.width), dice.between(14, 40), dice.between(0, 6.3)
    line = [(x + 3 * math.sin(turn + k * 0.9), setting.height - 6 - tall * k / 8) for k in range(9)]
    canvas.streak(line, mix(dice.pick(_WEEDS), abyss, 0.25), width=6)
