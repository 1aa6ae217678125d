"""Scoring by COCO's rules as a task: scores, matches, and what the bootstrap draws from."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np

from scoring.competitions import CompetitionInfo
from scoring.data.arrays import Flags, Floats, Integers, Places
from scoring.data.description import Description
from scoring.data.ground_truth import GroundTruth
from scoring.data.masks import Masks, join_masks
from scoring.data.matches import RankedPredictions
from scoring.exhibits import ALL_FIGURES, Exhibit, ScoreTable, draw_precision
from scoring.metrics.averaging import mean_of_classes_with_a_value
from scoring.metrics.coco.arrays import EVERY_SIZE, CocoDetections, CocoRules, PairIoU, box_iou
from scoring.metrics.coco.federated import annotated, most_confident_in_images, with_exemptions
from scoring.metrics.coco.tables import (
    CocoTables,
    figures_by_class,
    figures_by_frequency,
    figures_of,
    outcomes_of,
    tabulate_coco,
)
from scoring.metrics.masks.runs import mask_iou
from scoring.metrics.weighting import Runs, Weights, weighted_average_precision_at
from scoring.readers.coco_json.detections import CocoResults, take_results
from scoring.readers.coco_json.instances import CocoInstances
from scoring.scores import ClassResult, Explanation, Scores
from scoring.tasks.coco.explaining import Evidence, explain
from scoring.tasks.coco.truth import Loaded, load_boxes, notes_of
from scoring.tasks.resampling import RankingSample, count_by_class
from scoring.tasks.task import Keyed

ABSENT: Final = "no object of the class counts"
NOTHING_COUNTS: Final = "no class has an object that counts"
_ALL_FIGURES: Final = ALL_FIGURES + "; the curves are those at an IoU of {:g}"
_IN_DETAIL: Final = ("AP50", "AP75")
"""Figures that have a table of the classes besides AP."""


def columns(_info: CompetitionInfo, description: Description, _rules: CocoRules) -> tuple[str, ...]:
    """All classes: they are in one file."""
    return description.classes


def match(
    parsed: Iterator[Keyed[CocoResults]], _loaded: Loaded, _rules: CocoRules
) -> Iterator[Keyed[CocoResults]]:
    """The detections as they are: there is one file, and its classes are matched in several threads at a time."""
    return parsed


def score(matched: Iterator[Keyed[CocoResults]], loaded: Loaded, rules: CocoRules) -> Scores:
    """AP of each class, and of all; the other figures as tables, precision and recall at the lowest threshold as curves."""
    notes = notes_of(loaded, rules)
    loaded = loaded.under(rules)
    results = next((each.value for each in matched), _nothing(loaded))
    found = tabulate(loaded.instances, results, rules)
    ranked = tuple(_ranked(found.tables, found.results.detections, loaded, rules))
    scores = scores_of(found, results, loaded, rules)
    exhibits = (*scores.exhibits, *map(draw_precision, ranked))
    return replace(scores, exhibits=exhibits, matches=ranked, notes=notes)


def scores_of(found: "Tabulated", results: CocoResults, loaded: Loaded, rules: CocoRules) -> Scores:
    """All figures, without curves and matches; results: all detections, also those that do not count."""
    tables = _of_classes(found.tables, loaded.scored)
    by_class = figures_by_class(tables, rules)
    figures = figures_by_rules(tables, loaded.instances, loaded.scored, rules)
    predictions = np.bincount(results.detections.label, minlength=len(loaded.instances.classes))
    names = [loaded.instances.classes[label] for label in loaded.scored.tolist()]
    classes = tuple(
        ClassResult(
            name,
            by_class["AP"][row],
            ABSENT if by_class["AP"][row] is None else None,
            int(tables.positives[EVERY_SIZE, row]),
            int(predictions[label]),
            figures={figure: values[row] for figure, values in by_class.items()},
        )
        for row, (name, label) in enumerate(zip(names, loaded.scored.tolist(), strict=True))
    )
    measure = measure_of(results, rules)
    exhibits: tuple[Exhibit, ...] = (
        ScoreTable(measure, tuple((each.name, each.value) for each in classes)),
        ScoreTable(_ALL_FIGURES.format(rules.iou_thresholds[0]), tuple(figures.items())),
        *(
            ScoreTable(name, (*zip(names, by_class[name], strict=True), ("mean", figures[name])))
            for name in _IN_DETAIL
            if name in figures
        ),
    )
    headline = figures["AP"]
    reason = NOTHING_COUNTS if headline is None else None
    evidence = Evidence(loaded.instances, found.results, found.tables, found.iou, rules)
    explanation = None if rules.federated else partial(_explain, evidence, frozenset(names))
    return Scores(measure, headline, reason, classes, exhibits, (), explanation)


@dataclass(frozen=True, slots=True, eq=False)
class Tabulated:
    """Precision and recall of every class, the detections that counted, and the IoU of these."""

    tables: CocoTables
    results: CocoResults
    iou: PairIoU


def tabulate(truth: CocoInstances, results: CocoResults, rules: CocoRules) -> Tabulated:
    """Match and count by these rules. Raises LookupError where they ask for what LVIS' annotation has and this has not."""
    if rules.in_image is not None:
        results = take_results(results, most_confident_in_images(results.detections, rules.in_image))
    if rules.federated:
        results = _federated(truth, results)
    iou = _pair_iou(truth, results)
    tables = tabulate_coco(
        results.detections,
        truth.objects,
        iou,
        images=len(truth.images),
        classes=len(truth.classes),
        rules=rules,
    )
    return Tabulated(tables, results, iou)


def figures_by_rules(
    tables: CocoTables, truth: CocoInstances, labels: Places, rules: CocoRules
) -> Mapping[str, float | None]:
    """All figures of some classes, by frequency where the rules are those of LVIS; labels: intp (classes,) of the tables."""
    figures = figures_of(tables, rules)
    if truth.federation is None or not rules.federated:
        return figures
    return {**figures, **figures_by_frequency(tables, truth.federation.frequency[labels])}


def _federated(truth: CocoInstances, results: CocoResults) -> CocoResults:
    if truth.federation is None:
        raise LookupError(
            "the annotation does not say which classes are absent from an image: LVIS' JSON does in 'neg_category_ids',"
            " which GroundTruth.from_coco reads, from a file or as a mapping"
        )
    counted = annotated(results.detections, truth.objects, truth.federation)
    results = take_results(results, np.flatnonzero(counted))
    return replace(results, detections=with_exemptions(results.detections, truth.federation))


def measure_of(results: CocoResults, rules: CocoRules) -> str:
    """What is measured, in words."""
    low, high = rules.iou_thresholds[[0, -1]]
    return f"Average precision of {kind_of(results)}, IoU {low:.2f}:{high:.2f}"


def kind_of(results: CocoResults) -> str:
    """What was detected, in a word."""
    return "boxes" if results.masks is None else "masks"


def _pair_iou(truth: CocoInstances, results: CocoResults) -> PairIoU:
    """IoU of masks where there are some, and else of boxes."""
    crowd = truth.objects.crowd
    if truth.masks is None or results.masks is None:
        return box_iou(results.boxes, truth.boxes, crowd)
    masks = join_masks([results.masks, truth.masks])
    return partial(
        _mask_iou_of_pairs, masks, len(results.masks), crowd
    )  # no closure, which could not be pickled


def _mask_iou_of_pairs(masks: Masks, first: int, crowd: Flags, detections: Places, objects: Places) -> Floats:
    """first: where the objects begin among the masks."""
    return mask_iou(masks, detections, objects + first, crowd[objects])


def _explain(evidence: Evidence, names: frozenset[str]) -> tuple[Explanation, ...]:
    return tuple(each for each in explain(evidence) if each.class_name in names)


def _nothing(loaded: Loaded) -> CocoResults:
    none = np.empty(0, np.int32)
    masks = None if loaded.instances.masks is None else join_masks([])
    return CocoResults(CocoDetections(none, none, np.empty(0), np.empty(0)), np.empty((0, 4)), masks)


def _of_classes(tables: CocoTables, labels: Places) -> CocoTables:
    if len(labels) == tables.positives.shape[1]:
        return tables  # all of them
    return replace(
        tables,
        precision=np.take(tables.precision, labels, axis=2),
        recall=np.take(tables.recall, labels, axis=3),
        positives=np.take(tables.positives, labels, axis=1),
    )


def _ranked(
    tables: CocoTables, detections: CocoDetections, loaded: Loaded, rules: CocoRules
) -> Iterator[RankedPredictions]:
    """The detections of each class that is scored, matched at every threshold."""
    matched = tables.matched()
    outcomes = outcomes_of(matched, detections, loaded.instances.objects, rules)
    rows = matched.arranged.by_class
    first = np.searchsorted(matched.arranged.label, np.arange(len(loaded.instances.classes) + 1)).tolist()
    for label in loaded.scored.tolist():
        part = slice(first[label], first[label + 1])
        yield RankedPredictions(
            loaded.instances.classes[label],
            int(tables.positives[EVERY_SIZE, label]),
            detections.image[rows[part]],
            detections.confidence[rows[part]],
            np.ascontiguousarray(outcomes[part, 0]),
            outcomes[part, 1:],
        )


def resample(rankings: Sequence[RankedPredictions], truth: GroundTruth, rules: CocoRules) -> RankingSample:
    """The ranked detections at each threshold, drawn by image; the headline is the mean of the classes drawn."""
    objects = load_boxes(truth).under(rules).instances.objects
    _, low, high = rules.areas[EVERY_SIZE]
    counts = ~objects.crowd & (objects.area >= low) & (objects.area <= high)
    labels = {name: label for label, name in enumerate(truth.lists.classes)}
    images = truth.lists.main
    positives = (objects.image[counts & (objects.label == labels[each.class_name])] for each in rankings)
    return RankingSample(
        [part for each in rankings for part in _by_threshold(each)],
        count_by_class(positives, len(rankings), images),
        partial(_weighted, rules.recalls),
        mean_of_classes_with_a_value,
        truth.lists.images[:images],
        together=len(rules.iou_thresholds),
    )


def _by_threshold(ranking: RankedPredictions) -> Iterator[RankedPredictions]:
    yield ranking
    for outcomes in () if ranking.further is None else ranking.further.T:
        yield replace(ranking, outcomes=outcomes)


def _weighted(
    recalls: Floats, ranking: RankedPredictions, positives: Integers
) -> Callable[[Weights], Floats]:
    runs = Runs.of(ranking.image, ranking.outcomes, positives)
    return lambda weights: weighted_average_precision_at(runs.steps(weights), recalls)
