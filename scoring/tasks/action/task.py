"""Action classification: how rankings of persons are scored, and the functions of the task."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from scoring.data.arrays import Integers
from scoring.data.description import Description
from scoring.data.ground_truth import GroundTruth
from scoring.data.matches import RankedPredictions
from scoring.metrics.labels import ClassLabels
from scoring.scores import Scores
from scoring.tasks.ranking.arrays import accepts_persons, split_persons
from scoring.tasks.ranking.checks import check_persons, remark_on_persons
from scoring.tasks.ranking.reader import read_persons, read_persons_together
from scoring.tasks.ranking.rules import LabelRules
from scoring.tasks.ranking.scoring import Reasons, in_order, match, sample_of_labels, scores_of
from scoring.tasks.resampling import RankingSample, only_images
from scoring.tasks.task import Keyed, Task

_REASONS: Final = Reasons("nobody in the set does it", "everybody in the set does it")


def load(truth: GroundTruth) -> Mapping[str, ClassLabels]:
    """The labels of each action for the persons in its own label file, in the order of that file.

    Source: VOC2012 development kit, VOCevalaction.m. There a prediction for a person in other actions' files only is an
    error; here it is ignored, because participants get one list of persons and not one for each action.
    """
    acts, image = truth.tables.acts, truth.tables.objects.image
    place = np.empty(len(image), np.int32)
    owners = _owners(truth)
    place[owners] = np.arange(len(owners))
    known = {}
    for number, action in enumerate(truth.lists.actions):
        rows = acts.action == number
        owner = acts.owner[rows]
        known[action] = ClassLabels(len(owners), place[owner], image[owner], acts.label[rows])
    return known


def missing_truth(truth: GroundTruth) -> str | None:
    """Why a ground truth cannot score action classification; None if it can."""
    if not truth.lists.acting:
        return "there is no Action set"
    return None if len(truth.tables.acts.label) else "no person of the Action set is annotated with an action"


def _owners(truth: GroundTruth) -> Integers:
    """The objects that the Action set's pairs of image and number refer to: int32 (persons,)."""
    lists = truth.lists
    places = dict(zip(lists.images, range(len(lists.images)), strict=True))
    image = np.array([places[name] for name, _ in lists.acting], np.int32)
    number = np.array([number for _, number in lists.acting], np.int32)
    return np.searchsorted(truth.tables.objects.image, image).astype(np.int32) + number - 1


def score(
    matched: Iterator[Keyed[RankedPredictions]], known: Mapping[str, ClassLabels], rules: LabelRules
) -> Scores:
    """The scores of each action."""
    return scores_of(in_order(matched, known), known, rules, _REASONS)


def resample(rankings: Sequence[RankedPredictions], truth: GroundTruth, rules: LabelRules) -> RankingSample:
    """The ranked persons, drawn by the images of the Action set."""
    sample = sample_of_labels(rankings, truth.lists.images, rules)
    return only_images(sample, truth, [image for image, _ in truth.lists.acting])


def one_for_each_person_and_action(description: Description) -> int:
    """As many predictions as there are pairs of a person and an action."""
    return len(description.acting) * len(description.actions)


ACTION: Final = Task(
    name="action",
    title="Action classification",
    read=read_persons,
    read_together=read_persons_together,
    check_file=check_persons,
    check_all=remark_on_persons,
    accepts=accepts_persons,
    split=split_persons,
    missing_truth=missing_truth,
    load=load,
    match=match,
    score=score,
    resample=resample,
    fewest_lines=one_for_each_person_and_action,
)
