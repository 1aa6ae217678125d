"""Classification: how rankings of images are scored, and the functions of the task."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from scoring.data.ground_truth import GroundTruth
from scoring.data.matches import RankedPredictions
from scoring.metrics.labels import ClassLabels, with_difficult
from scoring.scores import Scores
from scoring.tasks.outcome import table_with_difficult
from scoring.tasks.ranking.arrays import accepts_images, split_images
from scoring.tasks.ranking.checks import check_images, remark_on_images
from scoring.tasks.ranking.reader import read_images, read_images_together
from scoring.tasks.ranking.rules import LabelRules
from scoring.tasks.ranking.scoring import Reasons, in_order, match, sample_of_labels, scores_of
from scoring.tasks.resampling import RankingSample
from scoring.tasks.task import Keyed, Task

_REASONS: Final = Reasons("there is no such object in the set", "there is such an object in every image")


def load(truth: GroundTruth) -> Mapping[str, ClassLabels]:
    """The labels of each class for the images of the Main set."""
    main = truth.lists.main
    images = np.arange(main, dtype=np.int32)
    labels = zip(truth.lists.classes, truth.tables.labels, strict=True)
    return {name: ClassLabels(main, images, images, label) for name, label in labels}


def missing_truth(truth: GroundTruth) -> str | None:
    """Why a ground truth cannot score classification; None if it can."""
    if not truth.lists.main:
        return "the Main set lists no image"
    has_object = (truth.tables.labels == 1).any()
    return None if has_object else "no object is annotated in the images of the Main set"


def score(
    matched: Iterator[Keyed[RankedPredictions]], known: Mapping[str, ClassLabels], rules: LabelRules
) -> Scores:
    """The scores of each class, and a table of those with difficult objects included."""
    ranked = in_order(matched, known)
    scores = scores_of(ranked, known, rules, _REASONS)
    values = {name: rules.measure.of(with_difficult(each)) for name, each in ranked.items()}
    second = table_with_difficult(rules.measure.name, tuple(known), values, rules.average)
    return replace(scores, exhibits=(*scores.exhibits, second))


def resample(rankings: Sequence[RankedPredictions], truth: GroundTruth, rules: LabelRules) -> RankingSample:
    """The ranked images of the Main set."""
    return sample_of_labels(rankings, truth.lists.images[: truth.lists.main], rules)


CLASSIFICATION: Final = Task(
    name="classification",
    title="Classification",
    read=read_images,
    read_together=read_images_together,
    check_file=check_images,
    check_all=remark_on_images,
    accepts=accepts_images,
    split=split_images,
    missing_truth=missing_truth,
    load=load,
    match=match,
    score=score,
    resample=resample,
)
