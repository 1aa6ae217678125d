"""Painting a scene, and knowing what of each thing is seen."""

import math
from dataclasses import dataclass

from PIL import Image

from sample.backdrops import Setting, draw_backdrop
from sample.canvas import Canvas, Regions
from sample.colours import Colour, mix
from sample.dice import Dice
from sample.pen import Pen, Spot
from sample.scenes import Scene, Thing
from sample.shapes import DRAWN, draw_person


@dataclass(frozen=True, slots=True)
class Painted:
    """A thing as painted: the region numbers of it and of its parts, and its pixels before others hid it."""

    thing: Thing
    region: int
    parts: dict[int, str]
    extent: tuple[float, float, float, float]
    pixels: int


@dataclass(frozen=True, slots=True)
class Painting:
    """A finished picture, uint8 (height, width) region numbers, and its things, farthest first."""

    picture: Image.Image
    regions: Regions
    things: tuple[Painted, ...]


def paint(scene: Scene, dice: Dice) -> Painting:
    """Paint a scene, the farthest thing first."""
    setting = scene.setting
    canvas = Canvas(setting.width, setting.height)
    draw_backdrop(canvas, setting, dice)
    things: list[Painted] = []
    region = 1
    for thing in scene.things:
        pen = _paint_thing(canvas, setting, thing, region, dice)
        pixels = canvas.pixels_from(region)
        things.append(Painted(thing, region, pen.parts, pen.extent, pixels))
        region = pen.next_region
    return Painting(canvas.finished(), canvas.region_map(), tuple(things))


def _paint_thing(canvas: Canvas, setting: Setting, thing: Thing, region: int, dice: Dice) -> Pen:
    palette, spot = setting.palette, thing.spot
    far = max(0.0, 1 - spot.size / (0.25 * setting.height)) * 0.35 if thing.ground is not None else 0.0
    tint = mix(palette.tint, palette.sky[1], far), palette.strength + (1 - palette.strength) * far
    if thing.ground is not None:
        _shadow(canvas, setting, thing, tint)
    pen = Pen(canvas, spot, region, tint)
    if thing.stance is None:
        DRAWN[thing.class_name](pen, dice)
    else:
        draw_person(pen, dice, thing.stance)
    return pen


def _shadow(canvas: Canvas, setting: Setting, thing: Thing, tint: tuple[Colour, float]) -> None:
    """Lay a soft shadow, or a reflection on water, under a thing that stands."""
    half = {"car": 1.3, "house": 0.62, "boat": 0.5, "ball": 0.5, "tree": 0.3}.get(thing.class_name, 0.2)
    foot = Spot(thing.spot.x, thing.ground or 0.0, thing.spot.size)
    pen = Pen(canvas, foot, 0, tint)
    if thing.class_name == "boat":
        pen.shade([(-half, 0.02), (half, 0.02), (half * 0.6, -0.18), (-half * 0.6, -0.18)], (20, 40, 80), 50)
        return
    cover = 30 if setting.palette.night else 46
    for share in (1.0, 0.8):
        ring = [(half * share * 1.08 * x, 0.1 * half * share * y) for x, y in _RING]
        pen.shade(ring, (16, 24, 48), cover)


_RING = [(math.cos(math.pi * k / 12), math.sin(math.pi * k / 12)) for k in range(24)]
