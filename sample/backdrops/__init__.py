"""What lies behind all things of a scene. None of it is annotated."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from sample.backdrops.land import draw_meadow, draw_town
from sample.backdrops.settings import Setting
from sample.backdrops.sky import draw_sky
from sample.backdrops.waters import draw_lake, draw_shore
from sample.canvas import Canvas
from sample.dice import Dice

_PLACES: Mapping[str, Callable[[Canvas, Setting, Dice], None]] = MappingProxyType(
    {"meadow": draw_meadow, "town": draw_town, "shore": draw_shore, "lake": draw_lake}
)

__all__ = ["Setting", "draw_backdrop"]


def draw_backdrop(canvas: Canvas, setting: Setting, dice: Dice) -> None:
    """Draw the sky, then the land or water before it."""
    draw_sky(canvas, setting, dice)
    _PLACES[setting.kind](canvas, setting, dice)
