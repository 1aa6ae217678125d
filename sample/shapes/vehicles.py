"""How things that carry people are drawn: car, boat, balloon. They face right."""

import math

from sample.canvas import Point
from sample.colours import BRIGHT, PAINTS, Colour, darker, lighter, mix
from sample.dice import Dice
from sample.pen import Pen

_TYRE: Colour = (38, 40, 46)
_GLASS: Colour = (178, 212, 230)
_WOOD: Colour = (150, 98, 58)


def draw_car(pen: Pen, dice: Dice) -> None:
    """Draw a car from its side: a saloon, a small car or a van; about 2.3 times as long as high."""
    paint = dice.pick(PAINTS)
    long, roof = dice.pick(_CARS)
    bonnet = dice.between(0.5, 0.58)
    body = [
        (-long, 0.2),
        (-long, 0.5),
        (-long * 0.92, bonnet),
        (long * 0.86, bonnet),
        (long, 0.44),
        (long, 0.2),
    ]
    pen.polygon([(x * long, y) for x, y in roof], paint)
    pen.polygon(body, paint)
    pen.polygon([(-long, 0.2), (-long, 0.34), (long, 0.34), (long, 0.2)], darker(paint, 0.18))
    _glass(pen, [(x * long, y) for x, y in roof], paint)
    pen.box(-long * 0.02, 0.3, 0.0, bonnet - 0.04, darker(paint, 0.3))
    pen.box(long * 0.08, bonnet - 0.1, long * 0.2, bonnet - 0.06, darker(paint, 0.4))
    pen.oval((long * 0.96, 0.42), 0.045, 0.06, (255, 244, 190))
    pen.box(-long, 0.38, -long * 0.95, 0.5, (220, 60, 50))
    for side in (-0.6, 0.62):
        pen.oval((side * long, 0.2), 0.25, 0.25, darker(paint, 0.5))
        pen.oval((side * long, 0.2), 0.2, 0.2, _TYRE)
        pen.oval((side * long, 0.2), 0.1, 0.1, (196, 200, 206))


_CARS: tuple[tuple[float, tuple[Point, ...]], ...] = (
    (1.2, ((-0.62, 0.5), (-0.42, 1.0), (0.18, 1.0), (0.5, 0.5))),
    (1.0, ((-0.95, 0.5), (-0.82, 1.0), (0.2, 1.0), (0.58, 0.5))),
    (1.25, ((-0.99, 0.4), (-0.97, 1.0), (0.48, 1.0), (0.74, 0.5))),
)


def _glass(pen: Pen, roof: list[Point], paint: Colour) -> None:
    (back, low), (top_back, high), (top_front, _), (front, _) = roof
    low, high = max(low, 0.56), high - 0.08
    lean = 0.12
    middle = (top_back + top_front) / 2
    pen.polygon(
        [(back + lean, low), (top_back + lean * 0.5, high), (middle - 0.03, high), (middle - 0.03, low)],
        _GLASS,
    )
    pen.polygon(
        [(middle + 0.03, low), (middle + 0.03, high), (top_front - lean * 0.3, high), (front - lean, low)],
        lighter(_GLASS, 0.2),
    )
    pen.shade(
        [(middle + 0.1, low), (middle + 0.2, high), (middle + 0.28, high), (middle + 0.18, low)], paint, 40
    )


def draw_boat(pen: Pen, dice: Dice) -> None:
    """Draw a sailing boat or a small steamer."""
    paint = dice.pick(PAINTS)
    if dice.chance(0.65):
        _sails(pen, dice, paint)
    else:
        _steamer(pen, dice, paint)


def _hull(pen: Pen, half: float, deck: float, paint: Colour) -> None:
    pen.polygon([(-half, deck), (half * 1.12, deck + 0.03), (half * 0.8, 0.0), (-half * 0.78, 0.0)], paint)
    pen.polygon(
        [(-half * 0.86, deck * 0.4), (half * 0.9, deck * 0.4), (half * 0.8, 0.0), (-half * 0.78, 0.0)],
        darker(paint, 0.35),
    )
    pen.polygon(
        [(-half, deck), (half * 1.12, deck + 0.03), (half * 1.1, deck - 0.02), (-half * 0.98, deck - 0.04)],
        (250, 246, 236),
    )


def _sails(pen: Pen, dice: Dice, paint: Colour) -> None:
    half = dice.between(0.34, 0.46)
    sail = dice.pick(((252, 250, 242), (252, 250, 242), lighter(paint, 0.2), (226, 112, 84)))
    pen.box(-0.012, 0.14, 0.018, 1.0, _WOOD)
    pen.polygon([(0.03, 0.2), (0.03, 0.95), (half * 0.98, 0.24)], sail)
    pen.polygon([(-0.02, 0.2), (-0.02, 0.86), (-half * 0.85, 0.22)], darker(sail, 0.12))
    pen.polygon([(0.03, 0.42), (0.03, 0.52), (half * 0.6, 0.42), (half * 0.7, 0.36)], mix(sail, paint, 0.7))
    pen.polygon([(0.0, 1.0), (0.0, 0.94), (-0.12, 0.97)], (214, 64, 58))
    _hull(pen, half, 0.17, paint)


def _steamer(pen: Pen, dice: Dice, paint: Colour) -> None:
    half = dice.between(0.85, 1.05)
    pen.box(-half * 0.6, 0.3, half * 0.4, 0.58, (250, 248, 240))
    pen.box(-half * 0.3, 0.58, half * 0.2, 0.74, (236, 236, 230))
    for place in (-0.48, -0.27, -0.06, 0.15):
        pen.oval((place * half, 0.46), 0.06, 0.06, (96, 150, 190))
    pen.box(half * 0.02, 0.62, half * 0.16, 0.7, (96, 150, 190))
    pen.box(-half * 0.22, 0.72, -half * 0.06, 1.0, darker(paint, 0.1))
    pen.box(-half * 0.22, 0.86, -half * 0.06, 0.93, (250, 248, 240))
    _hull(pen, half, 0.32, paint)


def draw_balloon(pen: Pen, dice: Dice) -> None:
    """Draw a hot-air balloon with coloured gores and a basket."""
    one, other = dice.pick(BRIGHT), dice.pick(((252, 246, 230), *BRIGHT))
    pen.polygon([(-0.14, 0.3), (0.14, 0.3), (0.06, 0.13), (-0.06, 0.13)], darker(_WOOD, 0.55))
    gores = 7
    for gore in range(gores):
        left, right = -1 + 2 * gore / gores, -1 + 2 * (gore + 1) / gores
        colour = one if gore % 2 else other
        shadow = 0.05 + 0.22 * gore / gores
        pen.polygon(_gore(left, right), darker(colour, shadow))
    pen.polygon([(-0.13, 0.29), (0.13, 0.29), (0.11, 0.25), (-0.11, 0.25)], darker(one, 0.3))
    pen.gleam((-0.14, 0.78), 0.08, 0.12, 60)
    pen.box(-0.075, 0.0, 0.075, 0.13, _WOOD)
    pen.box(-0.085, 0.11, 0.085, 0.14, lighter(_WOOD, 0.25))
    pen.box(-0.075, 0.05, 0.075, 0.065, darker(_WOOD, 0.3))


def _gore(left: float, right: float) -> list[Point]:
    """One strip of the envelope; left and right are places on the equator in [-1, 1]."""
    heights = [k / 12 for k in range(13)]
    down = [(left * _girth(h), 0.27 + 0.73 * h) for h in heights]
    return down + [(right * _girth(h), 0.27 + 0.73 * h) for h in reversed(heights)]


def _girth(height: float) -> float:
    round_part = math.sqrt(max(0.0, 1 - ((height - 0.56) / 0.44) ** 2)) if height > 0.56 else 1.0
    taper = 1.0 if height > 0.56 else 0.34 + 0.66 * math.sin(math.pi / 2 * height / 0.56)
    return 0.36 * round_part * taper
