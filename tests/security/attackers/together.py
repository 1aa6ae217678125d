"""Three tasks at once: what painting found and excluded is used when solving for ranks and sending boxes."""

import numpy as np

from tests.security.attackers import boxes, painting, ranks
from tests.security.attackers.ranks import classes_of, guess_of
from tests.security.attackers.server import Server
from tests.security.attackers.world import Labels


def attack(server: Server, random: np.random.Generator) -> Labels:
    """Use the separate quotas of segmentation, classification and detection on the same images."""
    known = classes_of(server.world, random)
    for search in painting.search(server, random):
        one = known[search.number]
        one.found, one.sure = list(search.found), list(search.found)
        one.fresh = [*(image for group in search.groups for image in group), *search.rest]
    ranks.ask(server, known)
    boxes.ask(server, known)
    return guess_of(server.world, known)
