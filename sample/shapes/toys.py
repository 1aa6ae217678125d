"""How things to play with are drawn: ball, kite."""

import math

from sample.colours import BRIGHT, Colour, darker
from sample.dice import Dice
from sample.pen import Pen

_WHITE: Colour = (250, 248, 240)


def draw_ball(pen: Pen, dice: Dice) -> None:
    """Draw a beach ball, a football or a striped ball."""
    kind, paint = dice.unit(), dice.pick(BRIGHT)
    turn = dice.between(0.0, math.pi)
    if kind < 0.45:
        _beach(pen, dice, turn)
    elif kind < 0.7:
        _football(pen, turn)
    else:
        pen.oval((0.0, 0.5), 0.5, 0.5, paint)
        pen.polygon(_band(turn, 0.16), _WHITE)
    pen.shade(_crescent(), (20, 20, 50), 60)
    pen.gleam((-0.18, 0.7), 0.13, 0.1, 130)


def _at(angle: float, reach: float) -> tuple[float, float]:
    return reach * math.cos(angle), 0.5 + reach * math.sin(angle)


def _beach(pen: Pen, dice: Dice, turn: float) -> None:
    colours = (dice.pick(BRIGHT[:3]), _WHITE, dice.pick(BRIGHT[3:6]), _WHITE, dice.pick(BRIGHT[6:]), _WHITE)
    pen.oval((0.0, 0.5), 0.5, 0.5, _WHITE)
    for wedge, colour in enumerate(colours):
        start = turn + wedge * math.pi / 3
        rim = [_at(start + k * math.pi / 24, 0.5) for k in range(9)]
        pen.polygon([_at(turn, 0.12), *rim], colour)
    pen.oval(_at(turn, 0.12), 0.07, 0.07, _WHITE)


def _football(pen: Pen, turn: float) -> None:
    pen.oval((0.0, 0.5), 0.5, 0.5, _WHITE)
    ink = (44, 46, 56)
    pen.polygon([_at(turn + k * 2 * math.pi / 5, 0.18) for k in range(5)], ink)
    for k in range(5):
        angle = turn + k * 2 * math.pi / 5
        pen.stroke([_at(angle, 0.18), _at(angle, 0.36)], 0.03, ink)
        pen.polygon(
            [_at(angle - 0.3, 0.49), _at(angle - 0.2, 0.36), _at(angle + 0.2, 0.36), _at(angle + 0.3, 0.49)],
            ink,
        )


def _band(turn: float, half: float) -> list[tuple[float, float]]:
    return [_at(turn + sign * half + side, 0.49) for side in (0.0, math.pi) for sign in (-2, 2)]


def _crescent() -> list[tuple[float, float]]:
    rim = [_at(-2.4 + k * 0.3, 0.5) for k in range(11)]
    return rim + [(0.86 * x - 0.06, 0.5 + 0.86 * (y - 0.5) + 0.07) for x, y in reversed(rim)]


def draw_kite(pen: Pen, dice: Dice) -> None:
    """Draw a diamond kite with a tail of bows; its string leaves downwards and belongs to no thing."""
    one, other = dice.pick(BRIGHT), dice.pick((_WHITE, *BRIGHT))
    cross = 0.62
    pen.thread([(0.0, cross), (-0.5, -0.8), (-1.3, -2.2), (-1.8, -3.4)], (120, 120, 130))
    tail = [(0.0, 0.02), (0.1, -0.14), (-0.02, -0.3), (0.12, -0.48)]
    pen.stroke(tail, 0.03, darker(one, 0.3))
    for x, y in tail[1:]:
        pen.polygon(
            [(x - 0.1, y + 0.06), (x - 0.1, y - 0.06), (x + 0.1, y + 0.06), (x + 0.1, y - 0.06)], other
        )
    top, bottom, left, right = (0.0, 1.0), (0.0, 0.0), (-0.36, cross), (0.36, cross)
    middle = (0.0, cross)
    for corners, colour in (
        ((top, left, middle), one),
        ((top, right, middle), other),
        ((bottom, left, middle), darker(other, 0.12)),
        ((bottom, right, middle), darker(one, 0.12)),
    ):
        pen.polygon(corners, colour)
    pen.stroke([top, bottom], 0.02, darker(one, 0.45))
    pen.stroke([left, right], 0.02, darker(one, 0.45))
