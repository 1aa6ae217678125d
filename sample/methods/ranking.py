"""Made-up classifiers and recognisers of actions: the true label, doubt, and what is taken for something similar."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType

from sample.annotations import Annotation, presence
from sample.dice import Dice
from sample.methods.archives import ResultFile, text_file
from sample.methods.predicting import SIMILAR, Predict, Task, confidence, falling, side_of
from sample.shapes import ACTIONS, CLASSES

# what a person who does one of these seems to do as well
SIMILAR_ACTIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "jumping": ("walking",),
        "phoning": ("waving",),
        "reading": ("phoning",),
        "walking": ("jumping",),
        "waving": ("phoning", "jumping"),
    }
)


@dataclass(frozen=True, slots=True)
class Classifier:
    """How a classifier errs."""

    doubt: float  # deviation of the confidence, on a scale from 0 to 1
    similar: float  # share of the confidence of a class that similar ones get
    small: float = 40.0  # side in pixels of the largest object of a class at which it is half as sure
    weak: Mapping[str, float] = field(default_factory=dict)  # by class, how many times as much doubt


def classifying(classifier: Classifier) -> Predict:
    """Return a prediction with the errors of a classifier."""
    return partial(_classify, classifier)


def _classify(classifier: Classifier, task: Task, dice: Dice) -> Iterable[ResultFile]:
    annotations = task.truth.annotations
    shown = [{name: _shown(classifier, one, name) for name in CLASSES} for one in annotations]
    for name in CLASSES:
        spread = classifier.doubt * task.ease * dice.between(0.8, 1.2) * classifier.weak.get(name, 1.0)
        similar = classifier.similar * task.ease
        lines = []
        for one, here, bell in zip(annotations, shown, dice.bells(len(annotations)), strict=True):
            looks = max(
                here[name], *(similar * here[other] for other in CLASSES if name in SIMILAR[other]), 0.0
            )
            lines.append(f"{one.image} {confidence(0.3 + 0.4 * looks + spread * float(bell))}")
        yield text_file(f"Main/comp{task.competition}_cls_{task.image_set}_{name}.txt", lines)


def _shown(classifier: Classifier, one: Annotation, class_name: str) -> float:
    """From 0 for none of the class to 1 for a large one of it."""
    if presence(one, class_name) < 0:
        return 0.0
    largest = max(side_of(thing) for thing in one.objects if thing.class_name == class_name)
    return 1.0 - falling(largest, classifier.small)


def naming_actions(classifier: Classifier) -> Predict:
    """Return a prediction of actions with the errors of a classifier."""
    return partial(_name_actions, classifier)


def _name_actions(classifier: Classifier, task: Task, dice: Dice) -> Iterable[ResultFile]:
    acting = task.truth.acting
    for action in ACTIONS:
        spread = classifier.doubt * task.ease * dice.between(0.8, 1.2) * classifier.weak.get(action, 1.0)
        lines = []
        for (one, number), bell in zip(acting, dice.bells(len(acting)), strict=True):
            person = one.objects[number - 1]
            done = person.actions or frozenset()
            taken_for = any(action in SIMILAR_ACTIONS[other] for other in done)
            looks = 1.0 if action in done else classifier.similar * task.ease * taken_for
            looks *= 1.0 - 0.5 * falling(side_of(person), classifier.small)
            lines.append(f"{one.image} {number} {confidence(0.34 + 0.28 * looks + spread * float(bell))}")
        yield text_file(f"Action/comp{task.competition}_action_{task.image_set}_{action}.txt", lines)
