"""Drawing a thing twice: as colours on the picture, and as its number on a map of regions."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise

from sample.canvas import SCALE, SMOOTH, Canvas, Point
from sample.colours import Colour, mix

_CIRCLES = {
    corners: [
        (math.cos(2 * math.pi * k / corners), math.sin(2 * math.pi * k / corners)) for k in range(corners)
    ]
    for corners in (12, 20, 36, 64)
}


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a thing stands: the foot of its middle and its height in units."""

    x: float
    y: float
    size: float
    mirrored: bool = False
    tilt: float = 0.0  # radians, counter-clockwise


class Pen:
    """Draws one thing in its own measure: x to the right of its middle, y up from its foot, height about 1.

    Everything but `shade` also goes onto the map of regions, under `region` or, inside `part`, under a number
    of its own. `parts` maps those numbers to names and `extent` is the left, top, right and bottom drawn so
    far, in pixels of the finished picture, also beyond its border.
    """

    __slots__ = ("_canvas", "_number", "_spot", "_tint", "extent", "next_region", "parts", "region")

    def __init__(self, canvas: Canvas, spot: Spot, region: int, tint: tuple[Colour, float]) -> None:
        self._canvas, self._spot, self._tint = canvas, spot, tint
        self.region = self._number = region
        self.next_region = region + 1
        self.parts: dict[int, str] = {}
        self.extent = (math.inf, math.inf, -math.inf, -math.inf)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Number what is drawn inside as a part of the thing."""
        self._number, self.next_region = self.next_region, self.next_region + 1
        self.parts[self._number] = name
        yield
        self._number = self.region

    def polygon(self, points: Sequence[Point], colour: Colour) -> None:
        """Fill a polygon."""
        corners = self._placed(points)
        across, down = [x for x, _ in corners], [y for _, y in corners]
        left, top, right, bottom = self.extent
        self.extent = (
            min(left, min(across) / SMOOTH),
            min(top, min(down) / SMOOTH),
            max(right, max(across) / SMOOTH),
            max(bottom, max(down) / SMOOTH),
        )
        self._canvas.colour.polygon(corners, fill=mix(colour, *self._tint))
        self._canvas.map.polygon([(x / SMOOTH, y / SMOOTH) for x, y in corners], fill=self._number)

    def box(self, left: float, bottom: float, right: float, top: float, colour: Colour) -> None:
        """Fill a rectangle."""
        self.polygon([(left, bottom), (right, bottom), (right, top), (left, top)], colour)

    def oval(self, centre: Point, across: float, up: float, colour: Colour) -> None:
        """Fill an ellipse, given its half-axes."""
        self.polygon(self._round(centre, across, up), colour)

    def stroke(self, points: Sequence[Point], width: float, colour: Colour) -> None:
        """Draw a line with round joints and ends."""
        half = width / 2
        for (x0, y0), (x1, y1) in pairwise(points):
            length = math.hypot(x1 - x0, y1 - y0) or 1.0
            dx, dy = half * (y0 - y1) / length, half * (x1 - x0) / length
            self.polygon(
                [(x0 + dx, y0 + dy), (x1 + dx, y1 + dy), (x1 - dx, y1 - dy), (x0 - dx, y0 - dy)], colour
            )
        for point in points:
            self.oval(point, half, half, colour)

    def shade(self, points: Sequence[Point], colour: Colour, cover: int) -> None:
        """Lay a see-through colour (cover 0 to 255) over the picture alone: shadows, gleams."""
        self._canvas.glaze.polygon(self._placed(points), fill=(*colour, cover))

    def gleam(self, centre: Point, across: float, up: float, cover: int = 70) -> None:
        """Lay a white see-through ellipse over the picture alone."""
        self.shade(self._round(centre, across, up), (255, 255, 255), cover)

    def thread(self, points: Sequence[Point], colour: Colour) -> None:
        """Draw a hair line on the picture alone: a string belongs to no thing."""
        self._canvas.colour.line(self._placed(points), fill=mix(colour, *self._tint), width=3)

    def _round(self, centre: Point, across: float, up: float) -> list[Point]:
        reach = max(across, up) * self._spot.size
        corners = 12 if reach < 3 else 20 if reach < 9 else 36 if reach < 30 else 64
        return [(centre[0] + across * c, centre[1] + up * s) for c, s in _CIRCLES[corners]]

    def _placed(self, points: Sequence[Point]) -> list[tuple[int, int]]:
        spot = self._spot
        cos, sin = math.cos(spot.tilt) * spot.size * SCALE, math.sin(spot.tilt) * spot.size * SCALE
        hand = -1.0 if spot.mirrored else 1.0
        x0, y0 = spot.x * SCALE, spot.y * SCALE
        return [(round(x0 + hand * (x * cos - y * sin)), round(y0 - (x * sin + y * cos))) for x, y in points]
