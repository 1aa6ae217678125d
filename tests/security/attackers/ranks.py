"""Solving for ranks: the average precisions of several orders of a few images reveal which are positive."""

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tests.security.attackers.patterns import Decoded, Seen, Tail, best_block, decode, orders, tail
from tests.security.attackers.server import Answer, Server
from tests.security.attackers.world import Labels, World

Images = NDArray[np.int64]
Questions = Generator[list[int], Seen, None]
"""Yields the images to rank first and receives what is shown then."""

SURE: Final = 0.98  # probability above which an image counts as a known positive


@dataclass
class Class:
    """What is known about a class; fresh: images not tried yet; shift: what the tail adds beyond the expected."""

    number: int
    positives: int
    fresh: list[int]
    found: list[int] = field(default_factory=list)
    sure: list[int] = field(default_factory=list)
    shift: float | None = None

    @property
    def prior(self) -> float:
        """The probability of an image that has not been tried yet."""
        share = (self.positives - len(self.found)) / max(1, len(self.fresh))
        return min(max(share, 0.001), 0.9)

    def learn(self, images: list[int], decoded: Decoded) -> None:
        """Accept images that are more likely positive than not."""
        pairs = list(zip(images, decoded.probabilities.tolist(), strict=True))
        self.found += [image for image, each in pairs if each > 0.5]
        self.sure += [image for image, each in pairs if each > SURE]
        if decoded.shift is not None:
            self.shift = (self.shift or 0.0) + decoded.shift


def classes_of(world: World, random: np.random.Generator) -> list[Class]:
    """Every class with its images in random order."""
    return [
        Class(number, int(world.positives[number]), random.permutation(world.images).tolist())
        for number in range(world.classes)
    ]


def guess_of(world: World, known: list[Class]) -> Labels:
    """The labels known so far."""
    guess = np.zeros((world.images, world.classes), np.bool_)
    for each in known:
        guess[each.found, each.number] = True
    return guess


def questions(one: Class, images: int, budget: int, scale: float = 1.0) -> Questions:
    """Try one block after another; scale: the share of the class in the shown value."""
    while budget and one.fresh:
        deviation = (0.003 if one.shift is not None else 0.015) * scale
        block = best_block(len(one.sure), one.prior, budget)
        prior, asked = one.prior, one.fresh[: block.size]
        one.fresh = one.fresh[block.size :]
        if len(asked) < block.size:
            return
        ahead = one.sure[: block.known]
        seen: list[Seen] = []
        for order in orders(block):
            value = yield [*ahead, *(asked[place] for place in order)]
            seen.append(value)
        budget -= block.times
        behind = tail(images, one.positives, block)
        expected = tuple(scale * (each + (one.shift or 0.0)) for each in behind.expected)
        sure = Tail(expected, min(behind.deviation * scale, deviation))
        decoded = decode(block, seen, positives=one.positives, prior=prior, behind=sure, scale=scale)
        shift = None if decoded.shift is None else decoded.shift / scale
        one.learn(asked, Decoded(decoded.probabilities, shift))


def attack(server: Server, random: np.random.Generator) -> Labels:
    """Try images in random order."""
    known = classes_of(server.world, random)
    ask(server, known)
    return guess_of(server.world, known)


def ask(server: Server, known: list[Class]) -> None:
    """Try all classes at once if each is shown; if only the mean is shown, one after the other, the rarest first."""
    budget = server.budget("images")
    if server.visibility.means and server.visibility.classes:
        _ask(server, known, [questions(one, server.world.images, budget) for one in known])
    elif server.visibility.means:
        _ask_mean(server, sorted(known, key=lambda one: one.positives))


def _ask(server: Server, known: list[Class], asking: list[Questions]) -> None:
    lists = [next(each, []) for each in asking]
    while server.budget("images"):
        answer = server.rank_images([_complete(server, each) for each in lists])
        lists = [_next(each, _value(answer, one)) for each, one in zip(asking, known, strict=True)]


def _value(answer: Answer, one: Class) -> Seen:
    """The value of a class; its interval depends too much on the images behind the block to be useful."""
    return Seen(0.0 if answer.classes is None else float(answer.classes[one.number]))


def _ask_mean(server: Server, known: list[Class]) -> None:
    """Keep all other lists empty, so that the mean moves with one class; the first result is the baseline.

    A ladder repeats its old value if a result is not a step; those values reveal nothing and are skipped.
    """
    classes = server.world.classes
    empty: list[list[int]] = [[] for _ in range(classes)]
    account = None if server.setting.accounts == 1 else 0
    start = server.rank_images([_complete(server, each) for each in empty], account=account).mean or 0.0
    asking = questions(known[0], server.world.images, server.budget("images"), 1 / classes)
    ahead, last = next(asking), start
    usual = _usual(server.world.images, known[0].positives)
    while server.budget("images"):
        empty[known[0].number] = ahead
        answer = server.rank_images([_complete(server, each) for each in empty])
        mean = answer.mean or 0.0
        moved = mean != last or not server.visibility.by_ladder
        last = mean
        ahead = _next(asking, Seen(mean - start + usual / classes if moved else -1.0))  # nothing fits -1


def _usual(images: int, positives: int) -> float:
    """Approximate average precision of a random order."""
    return positives / images * (1 + 2 / positives)


def _next(asking: Questions, shown: Seen) -> list[int]:
    try:
        return asking.send(shown)
    except StopIteration:
        return []


def _complete(server: Server, first: list[int]) -> Images:
    """The images, and if only complete results count the others, in the order a server gives to images left out."""
    if not server.setting.only_complete:
        return np.array(first, np.int64)
    rest = np.setdiff1d(np.arange(server.world.images), first)
    return np.concatenate([np.array(first, np.int64), rest])
