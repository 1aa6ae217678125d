"""Everything that the sample of `make run` consists of, drawn in as many processes as there are processors."""

import multiprocessing
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from pathlib import Path

from sample.challenge import ALL_SETS, draw_challenge
from sample.kit import NAME
from sample.methods import MadeUpResult, draw_result, results_in
from sample.methods.teams import TRYING
from sample.training import IMAGE_SET, pack_training_set
from sample.truth import Truth, read_truth

IMAGES = 360
RESULTS = "results"  # what the folder has besides the tree
TRAINING = f"{NAME}-train.tar"


def draw_everything(folder: Path) -> None:
    """Draw the tree, say so in a line, and draw the archives of results and the training set."""
    processes = os.cpu_count() or 1
    tree = draw_challenge(folder, images=IMAGES, sets=ALL_SETS, processes=processes).tree
    sys.stdout.write("drawn\n")
    sys.stdout.flush()
    results = folder / RESULTS
    results.mkdir(exist_ok=True)
    wanted = [
        *results_in(results, "val", (TRYING,)),
        *(
            each
            for image_set in ALL_SETS
            if image_set != IMAGE_SET
            for each in results_in(results, image_set)
        ),
    ]
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        for _ in pool.map(partial(_draw, tree), wanted):
            pass
    pack_training_set(tree, folder / TRAINING)


def _draw(tree: Path, result: MadeUpResult) -> None:
    draw_result(_truth(tree, result.image_set), result)


@cache
def _truth(tree: Path, image_set: str) -> Truth:
    return read_truth(tree, image_set)
