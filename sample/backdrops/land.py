"""Dry land: hills, a meadow with its path, a road through a town."""

import math

from sample.backdrops.settings import Setting
from sample.canvas import Canvas
from sample.colours import Colour, darker, lighter, mix
from sample.dice import Dice

_PETALS: tuple[Colour, ...] = ((255, 240, 140), (250, 250, 250), (240, 140, 160))


def draw_ridge(canvas: Canvas, setting: Setting, dice: Dice, colour: Colour, rise: float) -> None:
    """Draw hills along the horizon, up to `rise` of its height."""
    first, second, turn = dice.between(0.8, 1.8), dice.between(2.2, 4.5), dice.between(0, 6.3)
    foot, line = setting.horizon + 2, []
    for k in range(49):
        t = 2 * math.pi * k / 48
        wave = 0.55 + 0.3 * math.sin(turn + first * t) + 0.15 * math.sin(2 * turn + second * t)
        line.append((setting.width * k / 48, foot - rise * setting.horizon * wave))
    canvas.patch([(0.0, foot), *line, (setting.width, foot)], colour)


def draw_meadow(canvas: Canvas, setting: Setting, dice: Dice) -> None:
    """Draw grass with flowers, and a path in half of all meadows."""
    _ground(canvas, setting, dice)
    if dice.chance(0.5):
        _path(canvas, setting, dice)
    top, bottom = setting.palette.ground
    blossom = 0.0 if setting.palette.snow else 0.25
    for _ in range(dice.count(30, 60)):
        depth = dice.unit() ** 0.7
        x, y = (
            dice.between(0, setting.width),
            setting.horizon + 3 + depth * (setting.height - setting.horizon),
        )
        tall = 1 + 3.5 * depth
        grass = mix(darker(mix(top, bottom, depth), 0.12), lighter(top, 0.2), dice.unit())
        canvas.streak([(x, y), (x + dice.between(-1.5, 1.5), y - tall)], grass, width=2)
        if depth > 0.4 and dice.chance(blossom):
            canvas.dot((x, y - tall), 0.5 + 0.9 * depth, setting.lit(dice.pick(_PETALS)))


def draw_town(canvas: Canvas, setting: Setting, dice: Dice) -> None:
    """Draw a road with its kerbs from left to right."""
    _ground(canvas, setting, dice)
    top, bottom = setting.near, setting.near + 0.2 * setting.height
    road = setting.lit((108, 112, 122))
    canvas.band(0, top - 7, setting.width, bottom + 8, setting.lit((214, 208, 198)))
    canvas.band(0, top, setting.width, bottom, road)
    start, dash, middle = dice.between(-20, 0), 14, (top + bottom) / 2
    for k in range(setting.width // (2 * dash) + 2):
        left = start + 2 * dash * k
        canvas.band(left, middle - 1, left + dash, middle + 1, lighter(road, 0.7))


def _ground(canvas: Canvas, setting: Setting, dice: Dice) -> None:
    far, near = setting.palette.hills
    draw_ridge(canvas, setting, dice, far, 0.22)
    draw_ridge(canvas, setting, dice, near, 0.1)
    canvas.wash(setting.horizon, setting.height, setting.palette.ground)


def _path(canvas: Canvas, setting: Setting, dice: Dice) -> None:
    """A path that comes towards us and grows wider."""
    far, near = dice.between(0.2, 0.8), dice.between(0.1, 0.9)
    left, right = [], []
    for k in range(13):
        t = k / 12
        middle = (far + (near - far) * t + 0.06 * math.sin(3.2 * t)) * setting.width
        y = setting.horizon + 1 + t * (setting.height - setting.horizon)
        left.append((middle - 1 - 26 * t * t, y))
        right.append((middle + 1 + 26 * t * t, y))
    sand = setting.lit(mix(setting.palette.ground[0], (236, 214, 166), 0.6))
    canvas.patch(left + right[::-1], sand)
