"""The sheet that scenes are painted on: a picture, larger than in the end, and its map of regions."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from sample.colours import Colour

ZOOM = (
    2  # pixels of the finished picture to a unit, in which scenes are composed: they are about 320 units wide
)
SMOOTH = 2  # painted so many times larger, then scaled down: that is what smooths the edges
SCALE = ZOOM * SMOOTH
Point = tuple[float, float]
Regions = npt.NDArray[np.uint8]


class Canvas:
    """A picture in the making. All measures are units, from its top left corner."""

    __slots__ = ("colour", "glaze", "height", "map", "picture", "regions", "width")

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.picture = Image.new("RGB", (width * SCALE, height * SCALE))
        self.regions = Image.new("L", (width * ZOOM, height * ZOOM))
        self.colour = ImageDraw.Draw(self.picture)
        self.glaze = ImageDraw.Draw(self.picture, "RGBA")
        self.map = ImageDraw.Draw(self.regions)

    def wash(self, top: float, bottom: float, colours: tuple[Colour, Colour]) -> None:
        """Fill the rows between top and bottom from one colour to another."""
        first, last = round(top * SCALE), round(bottom * SCALE)
        share = np.linspace(0.0, 1.0, max(last - first, 1))[:, np.newaxis]
        column = np.rint((1 - share) * np.array(colours[0]) + share * np.array(colours[1])).astype(np.uint8)
        strip = Image.fromarray(column[:, np.newaxis, :])
        rows = strip.resize((self.width * SCALE, len(column)), Image.Resampling.NEAREST)
        self.picture.paste(rows, (0, first))

    def patch(self, corners: Sequence[Point], colour: Colour) -> None:
        """Fill a polygon."""
        self.colour.polygon(_scaled(corners), fill=colour)

    def band(self, left: float, top: float, right: float, bottom: float, colour: Colour) -> None:
        """Fill a rectangle."""
        self.patch([(left, top), (right, top), (right, bottom), (left, bottom)], colour)

    def streak(self, points: Sequence[Point], colour: Colour, *, width: int, cover: int = 255) -> None:
        """Draw a line; its width is in thirds of a unit, cover 0 to 255."""
        self.glaze.line(_scaled(points), fill=(*colour, cover), width=round(width * SCALE / 3), joint="curve")

    def dot(self, centre: Point, girth: float, colour: Colour, cover: int = 255) -> None:
        """Fill a circle, see-through where cover is below 255."""
        self.puff(centre, girth, girth, colour, cover)

    def puff(self, centre: Point, across: float, down: float, colour: Colour, cover: int = 255) -> None:
        """Fill an ellipse, given its half-axes."""
        (x, y), draw = centre, self.glaze if cover < 255 else self.colour
        ink = (*colour, cover) if cover < 255 else colour
        draw.ellipse(_scaled([(x - across, y - down), (x + across, y + down)]), fill=ink)

    def finished(self) -> Image.Image:
        """Return the picture in its final size, with smooth edges."""
        return self.picture.reduce(SMOOTH)

    def region_map(self) -> Regions:
        """Return uint8 (height, width): which region each pixel shows, 0 is none."""
        return np.asarray(self.regions)

    def pixels_from(self, region: int) -> int:
        """Return how many pixels show this region or a later one."""
        return int(np.count_nonzero(self.region_map() >= region))


def _scaled(points: Sequence[Point]) -> list[Point]:
    return [(round(x * SCALE), round(y * SCALE)) for x, y in points]
