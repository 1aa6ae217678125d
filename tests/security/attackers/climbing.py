"""Climbing a ladder: each account looks for positives of one of the rarest classes and keeps those that raised its mean in front."""

import numpy as np

from tests.security.attackers.ranks import Class, classes_of, guess_of
from tests.security.attackers.server import Server
from tests.security.attackers.world import Labels

FEWEST = 3  # images added at once while no positive is known; each known one allows two more


class Ladder:
    """What one account sees when it sends a list for one class and empty lists for the others."""

    def __init__(self, server: Server, number: int, account: int) -> None:
        self.server, self.number, self.account = server, number, account
        self.shown = -1.0

    @property
    def is_open(self) -> bool:
        """Whether the quota allows another result."""
        return self.server.left["images"][self.account] > 0

    def rises(self, ahead: list[int]) -> bool:
        """Whether the shown mean rises with these images in front."""
        lists = [np.zeros(0, np.int64)] * self.server.world.classes
        lists[self.number] = self._complete(ahead)
        mean = self.server.rank_images(lists, account=self.account).mean or 0.0
        rose, self.shown = mean > self.shown, mean
        return rose

    def _complete(self, ahead: list[int]) -> "np.typing.NDArray[np.int64]":
        first = np.array(ahead, np.int64)
        if not self.server.setting.only_complete:
            return first
        return np.concatenate([first, np.setdiff1d(np.arange(self.server.world.images), first)])


def attack(server: Server, random: np.random.Generator) -> Labels:
    """Attack one class per account, the rarest first, because there a hit moves the mean most."""
    known = sorted(classes_of(server.world, random), key=lambda one: one.positives)
    for account in range(server.setting.accounts if server.visibility.means else 0):
        one = known[account % len(known)]
        ladder = Ladder(server, one.number, account)
        ladder.rises([])
        while ladder.is_open and one.fresh:
            _ask(ladder, one)
    return guess_of(server.world, known)


def _ask(ladder: Ladder, one: Class) -> None:
    """Put new images behind the known positives; if the mean rises, find the image that raised it by bisection."""
    size = FEWEST + 2 * len(one.sure)
    suspects, one.fresh = one.fresh[:size], one.fresh[size:]
    if not ladder.rises([*one.sure, *suspects]):
        return
    others: list[int] = []
    while len(suspects) > 1 and ladder.is_open:
        half = len(suspects) // 2
        front, back = suspects[:half], suspects[half:]
        if ladder.rises([*one.sure, *back, *front, *others]):
            front, back = back, front
        suspects, others = front, [*back, *others]
    if len(suspects) == 1:
        one.found += suspects
        one.sure += suspects
