"""Boosting by majority: in a random order with a high value, the images at the front are probably positive."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heldout_scoring.metrics.ranking import average_precision
from tests.security.attackers.server import Answer, Server
from tests.security.attackers.world import Labels

REHEARSALS = 200


@dataclass(frozen=True)
class Rehearsed:
    """The value of random orders, its variance, and how it changes when an image moves from the middle to the front."""

    mean: float
    variance: float
    shift: float


def attack(server: Server, random: np.random.Generator) -> Labels:
    """Add up, for each image and class, how much more likely each value is if the image is positive."""
    world = server.world
    shares = world.positives / world.images
    odds = np.tile(np.log(shares / (1 - shares)), (world.images, 1))
    rehearsed = [_rehearse(world.images, int(positives), random) for positives in world.positives]
    last = None
    while server.visibility.means and server.budget("images"):
        lists = [random.permutation(world.images) for _ in range(world.classes)]
        answer = server.rank_images(lists)
        is_told = answer.bounds is not None or not server.visibility.by_ladder
        if answer.mean != last or is_told:  # a ladder's old value reveals nothing
            mean = _mean_of(answer, by_ladder=server.visibility.by_ladder)
            for number, strength in enumerate(_strengths(answer, mean, rehearsed)):
                place = np.argsort(lists[number]) / world.images
                odds[:, number] += strength * (0.5 - place)
        last = answer.mean
    return odds > 0


def _strengths(answer: Answer, mean: float, rehearsed: list[Rehearsed]) -> list[float]:
    """For each class, what the answer adds to the log odds of an image at the front."""
    if answer.classes is not None:
        values = answer.classes.tolist()
        return [
            each.shift * (value - each.mean) / each.variance
            for each, value in zip(rehearsed, values, strict=True)
        ]
    parts = len(rehearsed)
    surprise = mean - sum(each.mean for each in rehearsed) / parts
    variance = sum(each.variance for each in rehearsed) / parts**2
    return [each.shift / parts * surprise / variance for each in rehearsed]


def _mean_of(answer: Answer, *, by_ladder: bool) -> float:
    """The mean as it is shown; for a ladder, the middle of its interval, and more if its group letters differ from others'."""
    if by_ladder and answer.bounds is not None:
        return float(answer.bounds[-1].mean()) + 0.01 * bool(answer.better)
    return answer.mean or 0.0


def _rehearse(images: int, positives: int, random: np.random.Generator) -> Rehearsed:
    """Values of random orders on simulated labels."""
    values, fronts = np.empty(REHEARSALS), np.empty(REHEARSALS)
    for rehearsal in range(REHEARSALS):
        outcomes: NDArray[np.int8] = np.zeros(images, np.int8)
        places = random.choice(images, positives, replace=False)
        outcomes[places] = 1
        values[rehearsal] = average_precision(outcomes, positives)
        fronts[rehearsal] = 0.5 - places.mean() / images
    shift = float(np.cov(values, fronts)[0, 1]) / float(fronts.var()) / positives
    return Rehearsed(float(values.mean()), float(values.var()), shift)
