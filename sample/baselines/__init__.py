"""Baseline results, made by disturbing the truth: three for each of the ten competitions."""

from dataclasses import dataclass
from pathlib import Path

from sample.baselines.archives import pack
from sample.baselines.detection import DETECTION
from sample.baselines.layout import LAYOUT
from sample.baselines.levels import LETTERS, OTHER_DATA_EASE, Family, Task
from sample.baselines.ranking import ACTION, CLASSIFICATION
from sample.baselines.segmentation import SEGMENTATION
from sample.dice import Dice
from sample.truth import Truth, read_truth

FAMILIES = (CLASSIFICATION, DETECTION, SEGMENTATION, LAYOUT, ACTION)


@dataclass(frozen=True, slots=True)
class Baseline:
    """One baseline's results for one competition; its name is the same in both competitions of a task."""

    name: str
    title: str
    description: str
    competition: int
    archive: Path


def draw_baselines(tree: Path, folder: Path, *, image_set: str, seed: int = 2012) -> tuple[Baseline, ...]:
    """Write thirty result archives for an image set of a drawn tree into a folder.

    They are in the order of competitions, the best of each first. The same tree and seed give the same files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    truth = read_truth(tree, image_set)
    return tuple(
        _draw(truth, folder, family, competition, seed, size)
        for family in FAMILIES
        for competition in family.competitions
        for size in range(len(LETTERS))
    )


def _draw(truth: Truth, folder: Path, family: Family, competition: int, seed: int, size: int) -> Baseline:
    level, given, _ = family.levels[size], *family.competitions
    name = f"{family.name}-{LETTERS[size]}"
    archive = folder / f"{name}_comp{competition}_{truth.image_set}.tar.gz"
    # both competitions of a task throw the same dice, so that only the ease tells them apart
    dice = Dice(seed, given, size, *truth.image_set.encode())
    task = Task(truth, competition, 1.0 if competition == given else OTHER_DATA_EASE)
    pack(level.predict(task, dice), archive)
    return Baseline(name, level.title, level.description, competition, archive)
