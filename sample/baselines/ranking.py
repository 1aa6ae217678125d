"""Baselines for classification and for actions: the true label, and noise on its confidence."""

from collections.abc import Iterable
from functools import partial

from sample.annotations import Annotation, presence
from sample.baselines.archives import ResultFile, text_file
from sample.baselines.levels import Family, Level, Task, confidence, description_of
from sample.dice import Dice
from sample.shapes import ACTIONS, CLASSES


def _classify(noise: float, task: Task, dice: Dice) -> Iterable[ResultFile]:
    annotations = task.truth.annotations
    for name in CLASSES:
        spread = noise * task.ease * dice.between(0.75, 1.25)
        shakes = dice.bells(len(annotations))
        lines = (
            f"{one.image} {confidence(_sureness(one, name) + spread * float(shake))}"
            for one, shake in zip(annotations, shakes, strict=True)
        )
        yield text_file(f"Main/comp{task.competition}_cls_{task.image_set}_{name}.txt", lines)


def _sureness(annotation: Annotation, class_name: str) -> float:
    """From 0.3 for none of the class to 0.7 for a large one of it."""
    if presence(annotation, class_name) < 0:
        return 0.3
    sizes = [
        (thing.box.right - thing.box.left + 1) * (thing.box.bottom - thing.box.top + 1)
        for thing in annotation.objects
        if thing.class_name == class_name
    ]
    share = max(sizes) / (annotation.width * annotation.height)
    return 0.5 + 0.2 * min(1.0, 12 * share)


def _name_actions(noise: float, task: Task, dice: Dice) -> Iterable[ResultFile]:
    acting = task.truth.acting
    for action in ACTIONS:
        spread = noise * task.ease * dice.between(0.75, 1.25)
        lines = []
        for (one, number), shake in zip(acting, dice.bells(len(acting)), strict=True):
            done = action in (one.objects[number - 1].actions or ())
            lines.append(
                f"{one.image} {number} {confidence((0.62 if done else 0.34) + spread * float(shake))}"
            )
        yield text_file(f"Action/comp{task.competition}_action_{task.image_set}_{action}.txt", lines)


def _noise_level(size: str, noise: float) -> Level:
    what = (
        f"each image is scored by whether the class is present and how large it is, with {size} noise "
        f"(deviation {noise:g} on a scale from 0 to 1)."
    )
    return Level(f"True classes with {size} noise", description_of(what), partial(_classify, noise))


def _doubt_level(size: str, noise: float) -> Level:
    what = (
        f"each person is scored by whether they perform the action, with {size} noise "
        f"(deviation {noise:g} on a scale from 0 to 1)."
    )
    return Level(f"True actions with {size} noise", description_of(what), partial(_name_actions, noise))


CLASSIFICATION = Family(
    "Noise",
    (1, 2),
    (_noise_level("small", 0.13), _noise_level("medium", 0.22), _noise_level("large", 0.42)),
)
ACTION = Family(
    "Doubt",
    (9, 10),
    (_doubt_level("small", 0.14), _doubt_level("medium", 0.24), _doubt_level("large", 0.45)),
)
