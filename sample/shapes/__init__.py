"""The shapes that scenes are made of: one drawing function per class."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from sample.dice import Dice
from sample.pen import Pen
from sample.shapes.buildings import draw_house
from sample.shapes.nature import draw_bird, draw_fish, draw_tree
from sample.shapes.person import PARTS, draw_person
from sample.shapes.stances import ACTIONS, OTHER, Stance, throw_stance
from sample.shapes.toys import draw_ball, draw_kite
from sample.shapes.vehicles import draw_balloon, draw_boat, draw_car

PERSON = "person"
DRAWN: Mapping[str, Callable[[Pen, Dice], None]] = MappingProxyType(
    {
        "ball": draw_ball,
        "balloon": draw_balloon,
        "bird": draw_bird,
        "boat": draw_boat,
        "car": draw_car,
        "fish": draw_fish,
        "house": draw_house,
        "kite": draw_kite,
        "tree": draw_tree,
    }
)
CLASSES = tuple(sorted((*DRAWN, PERSON)))  # their places, from 1, are the indices of the masks

__all__ = ["ACTIONS", "CLASSES", "DRAWN", "OTHER", "PARTS", "PERSON", "Stance", "draw_person", "throw_stance"]
