"""The sky: stars, sun or moon, clouds."""

from sample.backdrops.settings import Setting
from sample.canvas import Canvas
from sample.colours import mix
from sample.dice import Dice


def draw_sky(canvas: Canvas, setting: Setting, dice: Dice) -> None:
    """Draw the sky down to the horizon."""
    canvas.wash(0.0, setting.horizon + 1, setting.palette.sky)
    if setting.palette.night:
        for _ in range(26):
            star = dice.between(0, setting.width), dice.between(0, setting.horizon)
            canvas.dot(star, dice.between(0.4, 0.9), (255, 255, 240), 220)
    if dice.chance(0.5):
        _sun(canvas, setting, dice)
    for _ in range(dice.count(0, 4)):
        _cloud(canvas, setting, dice)


def _sun(canvas: Canvas, setting: Setting, dice: Dice) -> None:
    """Draw the sun, or the moon, in its haze."""
    centre = dice.between(0.1, 0.9) * setting.width, dice.between(0.15, 0.6) * setting.horizon
    girth = dice.between(9, 15)
    for halo, cover in ((3.4, 16), (2.4, 24), (1.6, 40), (1.0, 255)):
        canvas.dot(centre, girth * halo, setting.palette.disc, cover)


def _cloud(canvas: Canvas, setting: Setting, dice: Dice) -> None:
    x, y = dice.between(0, setting.width), dice.between(0.06, 0.62) * setting.horizon
    girth = dice.between(7, 15)
    colour = mix(setting.palette.cloud, setting.palette.sky[0], dice.between(0.05, 0.3))
    for place in (-1.4, -0.6, 0.25, 1.0, 1.6):
        size = dice.between(0.55, 1.0) * girth
        canvas.puff((x + place * girth, y + dice.between(-0.3, 0.1) * girth), size, 0.62 * size, colour)
    canvas.band(x - 1.7 * girth, y, x + 1.9 * girth, y + 0.6 * girth, colour)
    for end in (-1.7, 1.9):
        canvas.dot((x + end * girth, y + 0.3 * girth), 0.3 * girth, colour)
