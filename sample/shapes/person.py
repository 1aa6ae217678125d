"""How a person is drawn, with head, hands and feet as parts."""

from dataclasses import dataclass

from sample.colours import HAIRS, PAINTS, SKINS, Colour, darker, lighter
from sample.dice import Dice
from sample.pen import Pen
from sample.shapes.stances import Limb, Stance, limbs

PARTS = ("head", "hand", "foot")
_HEAD = (0.0, 0.865)


@dataclass(frozen=True, slots=True)
class Clothes:
    """The colours a person goes in."""

    shirt: Colour
    trousers: Colour
    shoes: Colour
    skin: Colour
    hair: Colour
    skirt: bool
    long_hair: bool
    cap: bool


def draw_person(pen: Pen, dice: Dice, stance: Stance) -> None:
    """Draw a person from behind to before: far limbs, body, head, near arm, what is held."""
    clothes = _dress(dice)
    pose = limbs(stance, dice)
    (far_arm, near_arm), (far_leg, near_leg) = pose.arms, pose.legs
    _arm(pen, far_arm, clothes, darker(clothes.shirt, 0.2))
    _leg(pen, far_leg, clothes, darker(clothes.trousers, 0.18), stance)
    _leg(pen, near_leg, clothes, clothes.trousers, stance)
    if "reading" in stance.actions and stance.view == "Rear":
        _book(pen, dice, stance)
    _body(pen, clothes, stance)
    with pen.part("head"):
        _head(pen, clothes, stance)
    if "reading" in stance.actions and stance.view != "Rear":
        _book(pen, dice, stance)
    _arm(pen, near_arm, clothes, clothes.shirt if stance.sideways else darker(clothes.shirt, 0.08))
    if "phoning" in stance.actions:
        pen.polygon([(0.085, 0.79), (0.115, 0.78), (0.15, 0.9), (0.12, 0.91)], (28, 30, 38))


def _dress(dice: Dice) -> Clothes:
    return Clothes(
        shirt=dice.pick(PAINTS),
        trousers=dice.pick(((52, 66, 104), (72, 76, 86), (122, 92, 66), (60, 98, 110), (150, 60, 70))),
        shoes=dice.pick(((50, 40, 40), (236, 236, 236), (170, 60, 50), (92, 62, 44))),
        skin=dice.pick(SKINS),
        hair=dice.pick(HAIRS),
        skirt=dice.chance(0.3),
        long_hair=dice.chance(0.4),
        cap=dice.chance(0.2),
    )


def _arm(pen: Pen, arm: Limb, clothes: Clothes, sleeve: Colour) -> None:
    pen.stroke(arm, 0.062, sleeve)
    with pen.part("hand"):
        pen.oval(arm[2], 0.04, 0.042, clothes.skin)


def _leg(pen: Pen, leg: Limb, clothes: Clothes, cloth: Colour, stance: Stance) -> None:
    hip, knee, foot = leg
    if clothes.skirt:
        pen.stroke(leg, 0.056, darker(clothes.skin, 0.05))
    else:
        pen.stroke([hip, knee], 0.088, cloth)
        pen.stroke([knee, foot], 0.072, cloth)
    toe = 0.035 if stance.sideways else (0.012 if foot[0] > 0 else -0.012)
    with pen.part("foot"):
        pen.oval((foot[0] + toe, foot[1] - 0.004), 0.066 if stance.sideways else 0.05, 0.034, clothes.shoes)


def _body(pen: Pen, clothes: Clothes, stance: Stance) -> None:
    shoulder, hip = (0.085, 0.075) if stance.sideways else (0.125, 0.092)
    shirt = clothes.shirt
    pen.box(-0.03, 0.7, 0.03, 0.79, darker(clothes.skin, 0.12))
    pen.polygon([(-shoulder, 0.7), (shoulder, 0.7), (hip, 0.4), (-hip, 0.4)], shirt)
    pen.oval((0.0, 0.695), shoulder, 0.048, shirt)
    if clothes.skirt:
        pen.polygon([(-hip, 0.46), (hip, 0.46), (hip + 0.07, 0.24), (-hip - 0.07, 0.24)], clothes.trousers)
    else:
        pen.box(-hip, 0.39, hip, 0.44, clothes.trousers)
    pen.box(-hip, 0.44, hip, 0.46, darker(clothes.trousers, 0.4))
    pen.shade([(shoulder * 0.4, 0.73), (shoulder, 0.7), (hip, 0.4), (hip * 0.4, 0.4)], (20, 20, 50), 28)


def _head(pen: Pen, clothes: Clothes, stance: Stance) -> None:
    x, y = _HEAD
    hair = clothes.hair
    if clothes.long_hair:
        for strand in (-0.06, 0.06) if not stance.sideways else (-0.06, -0.04):
            pen.oval((x + strand, y - 0.04), 0.05, 0.1, darker(hair, 0.15))
    if stance.view == "Rear":
        pen.oval((x, y), 0.098, 0.11, hair)
    else:
        pen.oval((x, y), 0.092, 0.105, clothes.skin)
        fringe = [
            (-0.094, 0.0),
            (-0.09, 0.06),
            (-0.05, 0.105),
            (0.0, 0.118),
            (0.05, 0.105),
            (0.09, 0.06),
            (0.094, 0.02),
        ]
        brow = (
            [(0.05, 0.06), (-0.04, 0.052)]
            if not stance.sideways
            else [(0.06, 0.06), (-0.02, 0.04), (-0.05, -0.05)]
        )
        pen.polygon([(x + dx, y + dy) for dx, dy in (*fringe, *brow)], hair)
        _face(pen, clothes, stance)
    if clothes.cap:
        brim = 0.17 if stance.sideways else 0.11
        pen.polygon(
            [
                (x - 0.1, y + 0.04),
                (x - 0.085, y + 0.1),
                (x, y + 0.13),
                (x + 0.085, y + 0.1),
                (x + 0.1, y + 0.04),
            ],
            clothes.shirt,
        )
        pen.box(x - 0.1, y + 0.035, x + brim, y + 0.055, darker(clothes.shirt, 0.3))


def _face(pen: Pen, clothes: Clothes, stance: Stance) -> None:
    x, y = _HEAD
    eyes = (0.045,) if stance.sideways else (-0.035, 0.035)
    for place in eyes:
        pen.oval((x + place, y + 0.008), 0.013, 0.017, (36, 30, 36))
    mouth = darker(clothes.skin, 0.45)
    if stance.sideways:
        pen.oval((x + 0.092, y - 0.018), 0.018, 0.016, clothes.skin)
        pen.stroke([(x + 0.04, y - 0.055), (x + 0.066, y - 0.05)], 0.012, mouth)
    else:
        pen.stroke([(x - 0.028, y - 0.045), (x, y - 0.056), (x + 0.028, y - 0.045)], 0.012, mouth)
        pen.oval((x, y - 0.015), 0.012, 0.012, darker(clothes.skin, 0.14))


def _book(pen: Pen, dice: Dice, stance: Stance) -> None:
    cover = dice.pick(PAINTS[:8])
    lean = 0.05 if stance.sideways else 0.0
    pen.polygon([(-0.01, 0.56), (0.095, 0.54), (0.095 + lean, 0.66), (-0.01 + lean, 0.68)], cover)
    pen.polygon([(0.095, 0.54), (0.2, 0.56), (0.2 + lean, 0.68), (0.095 + lean, 0.66)], lighter(cover, 0.2))
    pen.polygon(
        [(0.0, 0.672), (0.095, 0.655), (0.19, 0.672), (0.19, 0.69), (0.095, 0.67), (0.0, 0.69)],
        (250, 248, 240),
    )
