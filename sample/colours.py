"""The colours of the drawn world, and how light changes them."""

from dataclasses import dataclass

Colour = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Palette:
    """The light of one hour: its sky, land and water, and what it does to the colour of things."""

    sky: tuple[Colour, Colour]  # at the top, at the horizon
    hills: tuple[Colour, Colour]  # far, near
    ground: tuple[Colour, Colour]  # at the horizon, at the bottom
    water: tuple[Colour, Colour]
    disc: Colour  # sun or moon
    cloud: Colour
    tint: Colour
    strength: float  # share of the tint in every colour
    night: bool = False
    snow: bool = False


NOON = Palette(
    sky=((74, 152, 226), (205, 231, 250)),
    hills=((150, 186, 205), (116, 172, 138)),
    ground=((152, 200, 104), (92, 158, 70)),
    water=((120, 190, 220), (28, 110, 168)),
    disc=(255, 244, 190),
    cloud=(255, 255, 255),
    tint=(255, 250, 230),
    strength=0.03,
)
MORNING = Palette(
    sky=((128, 178, 226), (255, 226, 196)),
    hills=((196, 186, 206), (142, 166, 156)),
    ground=((186, 200, 130), (112, 152, 88)),
    water=((232, 206, 192), (70, 132, 170)),
    disc=(255, 236, 176),
    cloud=(255, 244, 236),
    tint=(255, 214, 170),
    strength=0.12,
)
DUSK = Palette(
    sky=((72, 62, 128), (255, 162, 110)),
    hills=((146, 96, 132), (104, 74, 116)),
    ground=((150, 110, 100), (82, 72, 92)),
    water=((240, 150, 120), (66, 62, 120)),
    disc=(255, 214, 120),
    cloud=(255, 190, 160),
    tint=(120, 60, 110),
    strength=0.22,
)
NIGHT = Palette(
    sky=((14, 20, 52), (66, 84, 138)),
    hills=((48, 62, 106), (36, 50, 84)),
    ground=((46, 68, 82), (24, 40, 54)),
    water=((62, 84, 134), (14, 28, 66)),
    disc=(246, 240, 214),
    cloud=(84, 100, 150),
    tint=(22, 34, 84),
    strength=0.42,
    night=True,
)
WINTER = Palette(
    sky=((132, 166, 200), (232, 240, 246)),
    hills=((196, 212, 226), (176, 196, 214)),
    ground=((244, 248, 252), (206, 220, 234)),
    water=((176, 200, 214), (74, 116, 146)),
    disc=(255, 250, 226),
    cloud=(250, 252, 255),
    tint=(200, 216, 236),
    strength=0.12,
    snow=True,
)
AUTUMN = Palette(
    sky=((112, 162, 204), (246, 232, 206)),
    hills=((186, 160, 150), (170, 128, 88)),
    ground=((206, 182, 102), (146, 120, 60)),
    water=((190, 200, 196), (62, 106, 128)),
    disc=(255, 238, 180),
    cloud=(255, 248, 238),
    tint=(240, 190, 120),
    strength=0.10,
)
PALETTES = (NOON, NOON, NOON, MORNING, MORNING, DUSK, NIGHT, WINTER, AUTUMN, AUTUMN)

PAINTS: tuple[Colour, ...] = (
    (214, 64, 58),
    (238, 140, 52),
    (244, 200, 66),
    (84, 168, 92),
    (46, 156, 164),
    (62, 114, 196),
    (128, 88, 176),
    (226, 112, 150),
    (240, 240, 236),
    (92, 100, 112),
)
BRIGHT = PAINTS[:8]
SKINS: tuple[Colour, ...] = ((250, 214, 184), (236, 188, 150), (206, 150, 108), (158, 104, 70), (110, 72, 50))
HAIRS: tuple[Colour, ...] = (
    (44, 34, 32),
    (92, 58, 36),
    (150, 92, 44),
    (222, 180, 96),
    (176, 72, 40),
    (190, 190, 196),
)


def mix(one: Colour, other: Colour, share: float) -> Colour:
    """Return one with that share of other in it.

    >>> mix((0, 0, 0), (200, 100, 50), 0.5)
    (100, 50, 25)
    """
    keep = 1.0 - share
    return (
        round(one[0] * keep + other[0] * share),
        round(one[1] * keep + other[1] * share),
        round(one[2] * keep + other[2] * share),
    )


def darker(colour: Colour, share: float = 0.2) -> Colour:
    """Return the colour in shade."""
    return mix(colour, (20, 24, 48), share)


def lighter(colour: Colour, share: float = 0.25) -> Colour:
    """Return the colour in light."""
    return mix(colour, (255, 255, 255), share)
