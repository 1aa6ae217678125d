"""Probing with single boxes: a large box hits large objects, and its rank reveals which."""

from typing import Final

import numpy as np

from tests.security.attackers.patterns import Block, Seen, Tail, decode, orders
from tests.security.attackers.ranks import Class, classes_of, guess_of
from tests.security.attackers.server import Server
from tests.security.attackers.world import SIDE, Labels

PROBE: Final = (0.1 * SIDE, 0.1 * SIDE, 0.9 * SIDE, 0.9 * SIDE)
HITS: Final = 0.3  # share of objects that overlap the probe by half, from the statistics of the training set
BLOCK: Final = Block(24, 3, 0, 6)
NOTHING_BEHIND: Final = Tail((0.0,) * (BLOCK.most + 1), 0.0)  # boxes that are not sent are not ranked


def attack(server: Server, random: np.random.Generator) -> Labels:
    """Probe images that have not been probed yet."""
    known = classes_of(server.world, random)
    ask(server, known)
    return guess_of(server.world, known)


def ask(server: Server, known: list[Class]) -> None:
    """Send a box in each image of a block in three orders, for all classes if each is shown, else for one."""
    active = known if server.visibility.classes else sorted(known, key=lambda one: one.positives)[:1]
    scale = 1 if server.visibility.classes else server.world.classes
    while server.visibility.means and server.budget("boxes") >= BLOCK.times:
        active = [one for one in active if len(one.fresh) >= BLOCK.size]
        asked = [one.fresh[: BLOCK.size] for one in active]
        if not active:
            break
        answers = [
            _send(server, active, [[images[place] for place in order] for images in asked])
            for order in orders(BLOCK)
        ]
        for number, (one, images) in enumerate(zip(active, asked, strict=True)):
            shown = [answer[number] for answer in answers]
            prior = min(max(one.prior * HITS, 0.001), 0.9)
            decoded = decode(
                BLOCK, shown, positives=one.positives, prior=prior, behind=NOTHING_BEHIND, scale=1 / scale
            )
            one.learn(images, decoded)
            one.fresh = one.fresh[BLOCK.size :]


def _send(server: Server, active: list[Class], lists: list[list[int]]) -> list[Seen]:
    """What is shown for each active class, or the mean if only that is shown."""
    image = np.concatenate([np.array(each, np.int64) for each in lists])
    label = np.repeat([one.number for one in active], [len(each) for each in lists])
    answer = server.find_boxes(image, label, np.tile(PROBE, (len(image), 1)))
    if answer.classes is not None:
        widths = (
            [None] * server.world.classes if answer.bounds is None else np.ptp(answer.bounds, axis=1).tolist()
        )
        return [Seen(float(answer.classes[one.number]), widths[one.number]) for one in active]
    return [Seen(-1.0 if answer.mean is None else answer.mean)] * len(active)
