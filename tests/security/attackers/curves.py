"""Decoding curves: recall rises exactly at the positives."""

import numpy as np

from tests.security.attackers.server import Server
from tests.security.attackers.world import Labels


def attack(server: Server, random: np.random.Generator) -> Labels:
    """Send one complete list for each class and read every image's label from its curve."""
    world = server.world
    lists = [random.permutation(world.images) for _ in range(world.classes)]
    guess = np.zeros((world.images, world.classes), np.bool_)
    for number, curve in enumerate(server.rank_images(lists).curves):
        recall = np.array(curve.recall, np.float64)
        guess[lists[number][: len(recall)], number] = np.diff(recall, prepend=0.0) > 0
    return guess
