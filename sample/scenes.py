"""What a scene holds, and where."""

from dataclasses import dataclass, replace

from sample.backdrops import Setting
from sample.colours import PALETTES
from sample.dice import Dice
from sample.pen import Spot
from sample.shapes import PERSON, Stance, throw_stance

_SIZES = ((320, 240), (320, 240), (320, 240), (320, 214), (240, 320), (300, 240))
_KINDS = (
    "meadow",
    "people",
    "town",
    "shore",
    "meadow",
    "lake",
    "people",
    "town",
    "shore",
    "meadow",
    "people",
)
_DIRECTED = ("car", "boat", "fish", "bird")  # those that have a left and a right


@dataclass(frozen=True, slots=True)
class Thing:
    """One thing of a scene; what stands lower is nearer and is painted later."""

    class_name: str
    spot: Spot
    depth: float
    view: str
    stance: Stance | None = None
    ground: float | None = None  # row of its shadow


@dataclass(frozen=True, slots=True)
class Scene:
    """A setting and its things, farthest first."""

    setting: Setting
    things: tuple[Thing, ...]


def compose_scene(dice: Dice, turn: int) -> Scene:
    """Return a scene with one to about a dozen things; kinds of scenes take turns."""
    kind = _KINDS[turn % len(_KINDS)]
    width, height = dice.pick(_SIZES)
    horizon = dice.between(*_HORIZONS[kind]) * height
    near = {"town": dice.between(0.62, 0.72) * height, "shore": dice.between(0.66, 0.8) * height}.get(
        kind, horizon
    )
    setting = Setting(
        "meadow" if kind == "people" else kind, dice.pick(PALETTES), width, height, horizon, near
    )
    placing = _Placing(setting, dice, zoom=dice.between(0.7, 1.3))
    _FURNISH[kind](placing)
    placing.sky()
    return Scene(setting, tuple(sorted(placing.things, key=lambda thing: thing.depth)))


_HORIZONS = {
    "meadow": (0.4, 0.58),
    "people": (0.34, 0.5),
    "town": (0.42, 0.52),
    "shore": (0.34, 0.46),
    "lake": (0.3, 0.44),
}


class _Placing:
    """Puts things into a setting one after another, and avoids hiding those already there."""

    def __init__(self, setting: Setting, dice: Dice, *, zoom: float) -> None:
        self.setting, self.dice, self.zoom = setting, dice, zoom
        self.things: list[Thing] = []

    def some(self, class_name: str, low: int, high: int, depths: tuple[float, float]) -> None:
        """Put low to high of them on the ground, between two depths (0 the horizon, 1 the lower border)."""
        for _ in range(self.dice.count(low, high)):
            self.stand(class_name, self.dice.between(*depths))

    def stand(self, class_name: str, depth: float) -> None:
        """Put one thing on the ground, at a free place if three throws find one."""
        setting, dice = self.setting, self.dice
        row = setting.horizon + 2 + depth * (setting.height - setting.horizon)
        size = (
            _TALL[class_name] * setting.height * (0.22 + 0.78 * depth) * self.zoom * dice.between(0.85, 1.15)
        )
        thing = self._thing(class_name, Spot(0.0, row, size))
        for _ in range(4):
            x = dice.between(-0.02, 1.02) * setting.width
            thing = replace(thing, spot=replace(thing.spot, x=x))
            if not any(_crowded(thing, other) for other in self.things):
                break
        self.things.append(thing)

    def hover(self, class_name: str, rows: tuple[float, float], sizes: tuple[float, float]) -> None:
        """Put one thing into the air or the water: rows in units, sizes as shares of the height."""
        setting, dice = self.setting, self.dice
        size = dice.between(*sizes) * setting.height
        tilt = {"kite": 0.5, "bird": 0.25, "fish": 0.15}.get(class_name, 0.0)
        spot = Spot(
            dice.between(0.0, 1.0) * setting.width, dice.between(*rows), size, tilt=dice.between(-tilt, tilt)
        )
        self.things.append(replace(self._thing(class_name, spot), depth=spot.y - 1000.0, ground=None))

    def sky(self) -> None:
        """Put kites, birds and now and then a balloon into the sky."""
        dice, horizon = self.dice, self.setting.horizon
        for class_name, share, rows, sizes in (
            ("balloon", 0.13, (0.55, 0.85), (0.08, 0.4)),
            ("kite", 0.3, (0.35, 0.8), (0.1, 0.24)),
            ("bird", 0.34, (0.1, 0.8), (0.035, 0.1)),
            ("bird", 0.24, (0.1, 0.8), (0.026, 0.08)),
        ):
            if dice.chance(share):
                self.hover(class_name, (rows[0] * horizon, rows[1] * horizon), sizes)

    def _thing(self, class_name: str, spot: Spot) -> Thing:
        dice = self.dice
        mirrored = dice.chance(0.5)
        stance = throw_stance(dice) if class_name == PERSON else None
        view = "Frontal" if class_name == "house" else "Unspecified"
        if class_name in _DIRECTED:
            view = "Left" if mirrored else "Right"
        if stance is not None:
            view = stance.view
            mirrored = view == "Left" or (not stance.sideways and mirrored)
            if "jumping" in stance.actions:
                raised = replace(spot, y=spot.y - spot.size * dice.between(0.08, 0.2), mirrored=mirrored)
                return Thing(class_name, raised, spot.y, view, stance, spot.y)
        return Thing(class_name, replace(spot, mirrored=mirrored), spot.y, view, stance, spot.y)


# height of a thing at the lower border, as a share of the picture's height
_TALL = {"ball": 0.11, "boat": 0.5, "car": 0.24, "house": 0.62, "tree": 0.72, PERSON: 0.46}
_WIDE = {"ball": 1.0, "boat": 1.1, "car": 2.3, "house": 1.1, "tree": 0.6, PERSON: 0.4}


def _crowded(thing: Thing, other: Thing) -> bool:
    """Whether two things that stand hide much of each other."""
    if other.ground is None:
        return False
    reach = (_WIDE[thing.class_name] * thing.spot.size + _WIDE[other.class_name] * other.spot.size) / 2
    return abs(thing.spot.x - other.spot.x) < 0.62 * reach


def _furnish_meadow(place: _Placing) -> None:
    place.some("house", 0, 2, (0.05, 0.4))
    place.some("tree", 1, 4, (0.02, 0.7))
    place.some(PERSON, 0, 3, (0.06, 0.95))
    place.some("ball", 0, 1, (0.2, 0.95))
    place.some("car", 0, 1, (0.3, 0.8))


def _furnish_people(place: _Placing) -> None:
    place.zoom = place.dice.between(1.2, 1.6)
    place.some("tree", 0, 2, (0.02, 0.3))
    place.some("house", 0, 1, (0.02, 0.15))
    place.some(PERSON, 1, 3, (0.5, 1.1))
    place.some("ball", 0, 2, (0.5, 0.98))


def _furnish_town(place: _Placing) -> None:
    setting = place.setting
    deep = setting.height - setting.horizon
    kerb, road = (setting.near - setting.horizon - 6) / deep, 0.2 * setting.height / deep
    place.some("house", 1, 3, (kerb * 0.5, kerb * 0.9))
    place.some("tree", 0, 2, (kerb * 0.3, kerb))
    place.some("car", 1, 2, (kerb + 0.06, kerb + road * 0.55))
    place.some("car", 0, 1, (kerb + road * 0.75, kerb + road))
    place.some(PERSON, 0, 3, (kerb + road + 0.12, 1.05))


def _furnish_shore(place: _Placing) -> None:
    setting = place.setting
    edge = (setting.near - setting.horizon) / (setting.height - setting.horizon)
    place.some("boat", 1, 3, (0.02, edge * 0.85))
    place.some(PERSON, 0, 3, (edge + 0.15, 1.05))
    place.some("ball", 0, 2, (edge + 0.15, 0.98))
    if place.dice.chance(0.25):
        place.some("house", 1, 1, (edge + 0.06, edge + 0.12))
    if place.dice.chance(0.12):
        place.hover("fish", (setting.horizon + 12, setting.near - 8), (0.04, 0.08))


def _furnish_lake(place: _Placing) -> None:
    setting = place.setting
    for _ in range(place.dice.count(0, 2)):
        place.hover("boat", (setting.near + 3, setting.near + 6), (0.18, 0.34))
    for _ in range(place.dice.count(2, 5)):
        place.hover("fish", (setting.near + 24, setting.height - 22), (0.05, 0.13))


_FURNISH = {
    "meadow": _furnish_meadow,
    "people": _furnish_people,
    "town": _furnish_town,
    "shore": _furnish_shore,
    "lake": _furnish_lake,
}
