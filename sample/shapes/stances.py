"""What people do, and where that puts their hands and feet."""

from dataclasses import dataclass

from sample.canvas import Point
from sample.dice import Dice

ACTIONS = ("jumping", "phoning", "reading", "walking", "waving")
OTHER = "other"
Limb = tuple[Point, Point, Point]  # shoulder, elbow, hand; or hip, knee, foot


@dataclass(frozen=True, slots=True)
class Stance:
    """What a person does (nothing of it: just stands) and which side is seen."""

    actions: frozenset[str]
    view: str  # "Frontal", "Rear", "Left" or "Right"

    @property
    def sideways(self) -> bool:
        """Whether the person is seen from the side."""
        return self.view in ("Left", "Right")


@dataclass(frozen=True, slots=True)
class Limbs:
    """The limbs of a person, the far one of each pair first."""

    arms: tuple[Limb, Limb]
    legs: tuple[Limb, Limb]


def throw_stance(dice: Dice) -> Stance:
    """Return what some person does; phoning and waving go together with walking now and then."""
    main = dice.unit()
    actions: set[str] = set()
    for limit, action in (
        (0.14, "jumping"),
        (0.3, "phoning"),
        (0.45, "reading"),
        (0.66, "walking"),
        (0.82, "waving"),
    ):
        if main < limit:
            actions.add(action)
            break
    if actions & {"phoning", "waving"} and dice.chance(0.25):
        actions.add("walking")
    if "walking" in actions:
        view = dice.pick(("Left", "Right", "Left", "Right", "Frontal"))
    else:
        view = dice.pick(("Frontal", "Frontal", "Frontal", "Left", "Right", "Rear"))
    return Stance(frozenset(actions), view)


def limbs(stance: Stance, dice: Dice) -> Limbs:
    """Return where arms and legs go, in the measure of a person of height 1 who faces right."""
    return Limbs(_arms(stance, dice), _legs(stance, dice))


def _arms(stance: Stance, dice: Dice) -> tuple[Limb, Limb]:
    wide = 0.055 if stance.sideways else 0.105
    far, near = (-wide, 0.69), (wide, 0.69)
    sway = dice.between(-0.02, 0.02)
    left: Limb = (far, (-wide - 0.05, 0.57), (-wide - 0.06 + sway, 0.44))
    right: Limb = (near, (wide + 0.05, 0.57), (wide + 0.06 + sway, 0.44))
    if "walking" in stance.actions:
        left, right = (far, (-0.15, 0.56), (-0.19 + sway, 0.46)), (near, (0.13, 0.56), (0.2 + sway, 0.49))
    if "jumping" in stance.actions:
        left, right = (far, (-0.2, 0.77), (-0.24 + sway, 0.93)), (near, (0.2, 0.77), (0.24 + sway, 0.93))
    if "reading" in stance.actions:
        left, right = (far, (-wide - 0.03, 0.55), (0.02, 0.56)), (near, (wide + 0.08, 0.54), (0.17, 0.56))
    if "phoning" in stance.actions:
        right = (near, (wide + 0.13, 0.63), (0.125, 0.82))
    if "waving" in stance.actions:
        right = (near, (0.21, 0.76), (0.25 + 2 * sway, 0.94))
    return left, right


def _legs(stance: Stance, dice: Dice) -> tuple[Limb, Limb]:
    far, near = (-0.045, 0.42), (0.045, 0.42)
    if "jumping" in stance.actions:
        return (far, (-0.15, 0.27), (-0.2, 0.12)), (near, (0.16, 0.29), (0.12, 0.13))
    if "walking" in stance.actions:
        stride = dice.between(0.12, 0.17)
        return (far, (-0.05, 0.23), (-stride - 0.03, 0.045)), (near, (0.1, 0.24), (stride, 0.03))
    return (far, (-0.05, 0.22), (-0.06, 0.03)), (near, (0.05, 0.22), (0.06, 0.03))
