"""Painting whole images with one class: its IoU is above 0 exactly if one of them has it."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tests.security.attackers.server import Answer, Server
from tests.security.attackers.world import CELLS, Labels


@dataclass
class Search:
    """Groups of images of which at least one has the class; the rest has not been painted yet."""

    number: int
    size: int  # of a group that has the class about half of the time
    rest: list[int]
    groups: list[list[int]] = field(default_factory=list)
    found: list[int] = field(default_factory=list)
    asked: list[int] = field(default_factory=list)

    def next_question(self, taken: set[int]) -> list[int]:
        """Half of a group known to have the class, else a new group."""
        if self.groups:
            self.asked = self.groups[-1][: len(self.groups[-1]) // 2]
        else:
            free = [image for image in self.rest if image not in taken]
            self.asked = free[: self.size]
        self.asked = [image for image in self.asked if image not in taken]
        return self.asked

    def learn(self, *, is_there: bool) -> None:
        """Split a group that has the class until it is one image."""
        asked = set(self.asked)
        if self.groups and asked:
            group = self.groups.pop()
            others = [image for image in group if image not in asked]
            self._keep(self.asked if is_there else others)
            if is_there:
                self.rest = others + self.rest
            return
        self.rest = [image for image in self.rest if image not in asked]
        if is_there:
            self._keep(self.asked)

    def _keep(self, group: list[int]) -> None:
        if len(group) == 1:
            self.found += group
        else:
            self.groups.append(group)


def attack(server: Server, random: np.random.Generator) -> Labels:
    """Guess the labels that the search found."""
    guess = np.zeros((server.world.images, server.world.classes), np.bool_)
    for each in search(server, random):
        guess[each.found, each.number] = True
    return guess


def search(server: Server, random: np.random.Generator) -> list[Search]:
    """Search all classes at once if each is shown, else one."""
    world = server.world
    order = random.permutation(world.images).tolist()
    offsets = [number * world.images // world.classes for number in range(world.classes)]
    sizes = [max(1, round(0.69 * world.images / positives)) for positives in world.positives]
    searches = [Search(n, sizes[n], order[offset:] + order[:offset]) for n, offset in enumerate(offsets)]
    if not server.visibility.classes:
        searches = searches[:1]
    nothing = _shown(server.paint(_blank(server)), searches) if server.visibility.means else np.zeros(0)
    while server.visibility.means and server.budget("masks"):
        masks, taken = _blank(server), set[int]()
        for each in searches:
            images = each.next_question(taken)
            taken |= set(images)
            masks[images] = each.number + 1
        shown = _shown(server.paint(masks), searches)
        for each, is_there in zip(searches, shown > nothing, strict=True):
            each.learn(is_there=bool(is_there))
        if server.visibility.by_ladder:
            nothing = np.maximum(nothing, shown)
    return searches


def _shown(answer: Answer, searches: list[Search]) -> NDArray[np.float64]:
    """The value of each class searched for, or the mean; the first value is the background's."""
    if answer.classes is not None:
        return np.array([answer.classes[search.number + 1] for search in searches])
    return np.full(len(searches), answer.mean or 0.0)


def _blank(server: Server) -> NDArray[np.uint8]:
    return np.zeros((server.world.images, CELLS, CELLS), np.uint8)
