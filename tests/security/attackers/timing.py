"""Timing: a run takes longer the more it finds, so a short list that takes long is full of positives."""

import numpy as np

from tests.security.attackers.ranks import Class, classes_of, guess_of
from tests.security.attackers.server import Server
from tests.security.attackers.world import Labels

BLOCK = 8


def attack(server: Server, random: np.random.Generator) -> Labels:
    """Guess that a block is positive if its run is shown to take longer than most."""
    known = classes_of(server.world, random)
    asked: list[tuple[Class, list[int]]] = []
    seconds: list[float] = []
    while server.budget("images"):
        one = known[len(asked) % len(known)]
        images, one.fresh = one.fresh[:BLOCK], one.fresh[BLOCK:]
        lists = [np.array(images if each is one else [], np.int64) for each in known]
        asked.append((one, images))
        seconds.append(server.rank_images(lists).seconds)
    typical = float(np.median(seconds))
    for (one, images), took in zip(asked, seconds, strict=True):
        if (
            took > 2 * typical and took > 0 and np.unique(seconds).size > 2
        ):  # times in minutes do not distinguish lists
            one.found += images
    return guess_of(server.world, known)
