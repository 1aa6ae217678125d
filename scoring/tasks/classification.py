"""Classification: does the image show such an object? One confidence for each image, one file for each class."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from scoring.answers import RankedAnswers
from scoring.formats.confidences import read_images
from scoring.measures.labels import Labelled, with_difficult
from scoring.protocols import LabelRules
from scoring.tasks.labelled import Reasons, in_order, judge, scores_of
from scoring.tasks.outcome import table_with_difficult
from scoring.tasks.task import Entered, Scores, Task
from scoring.truth.ground_truth import GroundTruth

_REASONS: Final = Reasons("there is no such object in the set", "there is such an object in every image")


def load(truth: GroundTruth) -> Mapping[str, Labelled]:
    """The labels of each class for the images of the Main set."""
    main = truth.lists.main
    images = np.arange(main, dtype=np.int32)
    labels = zip(truth.lists.classes, truth.tables.labels, strict=True)
    return {name: Labelled(main, images, images, label) for name, label in labels}


def score(
    judged: Iterator[Entered[RankedAnswers]], known: Mapping[str, Labelled], rules: LabelRules
) -> Scores:
    """The scores of each class; beside them those that there would be if difficult objects counted, too."""
    ranked = in_order(judged, known)
    scores = scores_of(ranked, known, rules, _REASONS)
    values = {name: rules.measure.of(with_difficult(each)) for name, each in ranked.items()}
    beside = table_with_difficult(rules.measure.name, tuple(known), values, rules.average)
    return replace(scores, exhibits=(*scores.exhibits, beside))


CLASSIFICATION: Final = Task(read_images, load, judge, score)
