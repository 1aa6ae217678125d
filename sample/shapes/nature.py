"""How living things other than people are drawn: tree, bird, fish. Animals face right."""

from sample.colours import BRIGHT, Colour, darker, lighter
from sample.dice import Dice
from sample.pen import Pen

_LEAVES: tuple[Colour, ...] = ((70, 140, 66), (96, 160, 70), (52, 118, 72), (120, 168, 76), (88, 148, 104))
_AUTUMN_LEAVES: tuple[Colour, ...] = ((222, 138, 48), (200, 88, 46), (226, 178, 64), (168, 72, 50))
_NEEDLES: tuple[Colour, ...] = ((38, 96, 76), (48, 112, 84), (30, 84, 70))
_BARK: Colour = (112, 78, 54)


def draw_tree(pen: Pen, dice: Dice) -> None:
    """Draw a broad-leaved tree, a poplar or a fir."""
    kind = dice.unit()
    if kind < 0.5:
        _broad(pen, dice)
    elif kind < 0.65:
        _poplar(pen, dice)
    else:
        _fir(pen, dice)


def _leaf(dice: Dice) -> Colour:
    return dice.pick(_AUTUMN_LEAVES if dice.chance(0.2) else _LEAVES)


def _broad(pen: Pen, dice: Dice) -> None:
    leaf, wide = _leaf(dice), dice.between(0.24, 0.33)
    pen.polygon([(-0.06, 0.0), (0.06, 0.0), (0.035, 0.5), (-0.035, 0.5)], _BARK)
    pen.stroke([(0.0, 0.3), (0.12, 0.46)], 0.03, _BARK)
    pen.polygon([(0.015, 0.0), (0.06, 0.0), (0.035, 0.5), (0.01, 0.5)], darker(_BARK, 0.25))
    for x, y, girth in (
        (0.62, 0.5, 0.62),
        (-0.62, 0.5, 0.62),
        (0.0, 0.54, 0.85),
        (0.3, 0.78, 0.7),
        (-0.28, 0.76, 0.7),
    ):
        pen.oval((x * wide, y), girth * wide, girth * wide * 0.82, darker(leaf, 0.14))
    for x, y, girth in ((-0.5, 0.55, 0.5), (0.05, 0.62, 0.72), (-0.2, 0.8, 0.5)):
        pen.oval((x * wide, y), girth * wide, girth * wide * 0.78, leaf)
    for x, y, girth in ((-0.48, 0.62, 0.22), (-0.1, 0.84, 0.26), (0.2, 0.68, 0.18)):
        pen.oval((x * wide, y), girth * wide, girth * wide * 0.6, lighter(leaf, 0.2))


def _poplar(pen: Pen, dice: Dice) -> None:
    leaf, wide = _leaf(dice), dice.between(0.12, 0.16)
    pen.box(-0.03, 0.0, 0.03, 0.25, _BARK)
    pen.oval((0.0, 0.58), wide, 0.42, darker(leaf, 0.14))
    pen.oval((-wide * 0.2, 0.6), wide * 0.72, 0.36, leaf)
    pen.oval((-wide * 0.35, 0.68), wide * 0.3, 0.2, lighter(leaf, 0.18))


def _fir(pen: Pen, dice: Dice) -> None:
    needle, wide = dice.pick(_NEEDLES), dice.between(0.24, 0.32)
    snowy = dice.chance(0.2)
    pen.box(-0.035, 0.0, 0.035, 0.2, darker(_BARK, 0.2))
    for foot, top, share in ((0.12, 0.52, 1.0), (0.34, 0.76, 0.78), (0.58, 1.0, 0.55)):
        half = wide * share
        pen.polygon([(-half, foot), (half, foot), (0.0, top)], needle)
        pen.polygon([(half * 0.15, foot), (half, foot), (0.0, top)], darker(needle, 0.2))
        if snowy:
            rise = (top - foot) * 0.55
            pen.polygon(
                [
                    (-half * 0.45, foot + rise),
                    (0.0, foot + rise - 0.05),
                    (half * 0.45, foot + rise),
                    (0.0, top),
                ],
                (246, 250, 255),
            )


def draw_bird(pen: Pen, dice: Dice) -> None:
    """Draw a bird on the wing."""
    coat = dice.pick((*BRIGHT, (246, 246, 244), (74, 78, 90), (120, 90, 70)))
    belly = lighter(coat, 0.45)
    tip = dice.pick((0.5, 0.34, 0.16))
    pen.polygon([(-0.02, 0.05), (0.3, 0.1), (0.02, tip + 0.42), (-0.14, tip + 0.5)], darker(coat, 0.35))
    pen.polygon([(-0.42, 0.0), (-0.88, 0.16), (-0.84, -0.02), (-0.9, -0.16)], darker(coat, 0.25))
    pen.oval((0.0, 0.0), 0.5, 0.23, coat)
    pen.oval((0.04, -0.08), 0.38, 0.14, belly)
    pen.polygon([(0.7, 0.2), (0.95, 0.1), (0.7, 0.06)], (244, 168, 48))
    pen.oval((0.53, 0.14), 0.23, 0.22, coat)
    pen.polygon([(-0.24, 0.04), (0.2, 0.06), (-0.12, tip + 0.3), (-0.42, tip + 0.44)], darker(coat, 0.12))
    pen.oval((0.6, 0.19), 0.055, 0.055, (255, 255, 255))
    pen.oval((0.615, 0.19), 0.035, 0.035, (24, 24, 30))


def draw_fish(pen: Pen, dice: Dice) -> None:
    """Draw a fish from its side."""
    scales, stripe = dice.pick(BRIGHT), dice.pick(((252, 246, 230), (40, 50, 70), (250, 200, 80)))
    tall = dice.between(0.36, 0.5)
    fin = darker(scales, 0.2)
    pen.polygon([(-0.6, 0.0), (-1.0, 0.36), (-0.9, 0.0), (-1.0, -0.36)], fin)
    pen.polygon([(-0.35, tall * 0.7), (-0.1, tall + 0.2), (0.2, tall + 0.12), (0.3, tall * 0.7)], fin)
    pen.polygon([(-0.15, -tall * 0.8), (-0.1, -tall - 0.16), (0.14, -tall * 0.8)], fin)
    pen.oval((0.0, 0.0), 0.7, tall, scales)
    pen.oval((0.02, -tall * 0.35), 0.52, tall * 0.5, lighter(scales, 0.35))
    pen.oval((-0.24, 0.02), 0.09, tall * 0.84, stripe)
    pen.oval((0.1, 0.02), 0.09, tall * 0.9, stripe)
    pen.polygon([(-0.02, 0.02), (-0.24, -0.14), (-0.2, 0.1)], fin)
    pen.oval((0.44, 0.1), 0.1, 0.1, (255, 255, 255))
    pen.oval((0.47, 0.1), 0.055, 0.055, (24, 24, 34))
    pen.polygon([(0.7, -0.05), (0.56, -0.08), (0.6, -0.14)], darker(scales, 0.5))
