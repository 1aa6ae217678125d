"""Results of made-up methods: the truth, disturbed by errors like those of real ones."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sample.dice import Dice
from sample.methods.archives import pack
from sample.methods.predicting import OTHER_DATA_EASE, Task
from sample.methods.teams import METHODS, Method
from sample.truth import Truth, read_truth


@dataclass(frozen=True, slots=True)
class MadeUpResult:
    """The archive with a method's results for one competition of an image set."""

    method: Method
    competition: int
    image_set: str
    archive: Path


def results_in(folder: Path, image_set: str, methods: Iterable[Method] = METHODS) -> tuple[MadeUpResult, ...]:
    """Return the results for an image set whose archives `draw_results` writes into a folder, in the order of submission."""
    return tuple(
        MadeUpResult(method, number, image_set, folder / f"{method.name}_comp{number}_{image_set}.tar.gz")
        for method in methods
        for number in method.competitions
    )


def draw_results(
    tree: Path, folder: Path, *, image_set: str, seed: int = 2012, methods: Iterable[Method] = METHODS
) -> tuple[MadeUpResult, ...]:
    """Write the results of methods for an image set of a drawn tree into a folder. The same tree and seed give the same files."""
    folder.mkdir(parents=True, exist_ok=True)
    truth = read_truth(tree, image_set)
    results = results_in(folder, image_set, methods)
    for each in results:
        draw_result(truth, each, seed)
    return results


def draw_result(truth: Truth, result: MadeUpResult, seed: int = 2012) -> None:
    """Write the archive of a result."""
    given = result.competition - (result.competition - 1) % 2
    # both competitions of a task throw the same dice, so that only the ease tells them apart
    dice = Dice(seed, given, *result.method.name.encode(), *truth.image_set.encode())
    task = Task(truth, result.competition, 1.0 if result.competition == given else OTHER_DATA_EASE)
    pack(result.method.predicts[given](task, dice), result.archive)
