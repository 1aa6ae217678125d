"""Where a scene plays."""

from dataclasses import dataclass

from sample.colours import Colour, Palette, mix


@dataclass(frozen=True, slots=True)
class Setting:
    """A place and its light. Heights are units from the top of the picture."""

    kind: str  # "meadow", "town", "shore" or "lake"
    palette: Palette
    width: int
    height: int
    horizon: float
    near: float  # where the road, the beach or the deep water begins

    def lit(self, colour: Colour) -> Colour:
        """Return a colour as it looks in this light."""
        return mix(colour, self.palette.tint, self.palette.strength)
