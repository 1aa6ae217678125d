"""How a house is drawn."""

from sample.colours import Colour, darker, lighter
from sample.dice import Dice
from sample.pen import Pen

_WALLS: tuple[Colour, ...] = (
    (246, 232, 208),
    (232, 196, 160),
    (214, 120, 100),
    (200, 216, 226),
    (250, 246, 240),
    (238, 208, 120),
    (172, 196, 168),
)
_ROOFS: tuple[Colour, ...] = ((178, 74, 58), (112, 78, 66), (84, 96, 116), (146, 60, 64), (70, 110, 104))
_GLASS: Colour = (150, 196, 222)
_LAMPLIGHT: Colour = (255, 226, 130)


def draw_house(pen: Pen, dice: Dice) -> None:
    """Draw a house from the front: walls, roof, chimney, door and windows."""
    half = dice.between(0.36, 0.62)
    eaves = dice.between(0.5, 0.64)
    wall, roof = dice.pick(_WALLS), dice.pick(_ROOFS)
    pen.box(half * 0.4, eaves, half * 0.62, 1.0, darker(roof, 0.3))
    pen.box(half * 0.36, 0.95, half * 0.66, 1.0, darker(roof, 0.45))
    pen.box(-half, 0.0, half, eaves, wall)
    pen.box(half * 0.55, 0.0, half, eaves, darker(wall, 0.1))
    pen.box(-half, 0.0, half, 0.05, darker(wall, 0.35))
    _roof(pen, dice, half, eaves, roof)
    _front(pen, dice, half, eaves, wall)


def _roof(pen: Pen, dice: Dice, half: float, eaves: float, roof: Colour) -> None:
    over = half + 0.06
    ridge = 0.0 if dice.chance(0.5) else half * 0.55  # gable or hip
    pen.polygon([(-over, eaves), (over, eaves), (ridge, 0.92), (-ridge, 0.92)], roof)
    pen.polygon([(over * 0.45, eaves), (over, eaves), (ridge, 0.92)], darker(roof, 0.16))
    pen.box(-over, eaves - 0.03, over, eaves + 0.012, darker(roof, 0.35))
    if ridge == 0.0:
        pen.oval((0.0, eaves + 0.14), 0.055, 0.055, lighter(roof, 0.6))
        pen.oval((0.0, eaves + 0.14), 0.038, 0.038, _GLASS)


def _front(pen: Pen, dice: Dice, half: float, eaves: float, wall: Colour) -> None:
    glass = dice.pick((_GLASS, _GLASS, _LAMPLIGHT))
    door = dice.pick(((120, 72, 48), (58, 104, 96), (164, 60, 56), (70, 88, 132)))
    seat = dice.pick((-0.5, 0.0, 0.5)) * half
    tall = min(0.32, eaves * 0.56)
    pen.box(seat - 0.085, 0.0, seat + 0.085, tall + 0.02, lighter(wall, 0.5))
    pen.box(seat - 0.065, 0.0, seat + 0.065, tall, door)
    pen.oval((seat + 0.04, tall * 0.48), 0.012, 0.012, (240, 214, 120))
    for place in (-0.66, 0.0, 0.66):
        middle = place * half
        if abs(middle - seat) > 0.2:
            _window(pen, middle, eaves * 0.52, glass, wall)


def _window(pen: Pen, middle: float, height: float, glass: Colour, wall: Colour) -> None:
    frame = lighter(wall, 0.65)
    pen.box(middle - 0.085, height - 0.1, middle + 0.085, height + 0.1, frame)
    pen.box(middle - 0.066, height - 0.08, middle + 0.066, height + 0.08, glass)
    if glass == _LAMPLIGHT:
        pane = [(middle - 0.066, height - 0.08), (middle + 0.066, height - 0.08)]
        pen.shade([*pane, (middle + 0.066, height + 0.08), (middle - 0.066, height + 0.08)], glass, 255)
    pen.box(middle - 0.008, height - 0.08, middle + 0.008, height + 0.08, frame)
    pen.box(middle - 0.066, height - 0.008, middle + 0.066, height + 0.008, frame)
    pen.box(middle - 0.1, height - 0.12, middle + 0.1, height - 0.095, darker(wall, 0.3))
