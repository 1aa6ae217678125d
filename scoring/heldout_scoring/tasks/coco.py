"""Detection as COCO scores it, with boxes or with masks."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np

from ..competitions import CompetitionInfo
from ..data.annotations import BoxConvention
from ..data.arrays import Flags, Floats, Integers, Places
from ..data.description import UNKNOWN_SIDE, Description
from ..data.label_maps import InstanceMasks, Masks, join_masks, masks_of_arrays, take_masks
from ..data.matches import RankedPredictions
from ..data.predictions import Detections
from ..data.truth import GroundTruth
from ..errors import DataError, NotFoundError, Problem
from ..metrics.coco import (
    EVERY_SIZE,
    CocoDetections,
    CocoInstances,
    CocoObjects,
    CocoResults,
    CocoRules,
    PairIoU,
    Pairs,
    SidesOfEdges,
    annotated,
    arrange,
    box_iou,
    find_pairs,
    most_confident_in_images,
    take_results,
    with_exemptions,
)
from ..metrics.coco_tables import (
    CocoTables,
    count_labels,
    figures_by_class,
    figures_by_frequency,
    figures_of,
    outcomes_of,
    tabulate_coco,
)
from ..metrics.masks import mask_iou
from ..metrics.ranking import Runs, Weights, mean_of_classes_with_a_value, weighted_average_precision_at
from ..scores import ALL_FIGURES, ClassResult, Exhibit, Explanation, Scores, ScoreTable, draw_precision
from .task import (
    CROWDS_COUNT,
    NO_DIFFICULT,
    NO_NUMBER,
    Keyed,
    RankingSample,
    Task,
    are,
    count_by_class,
    notes_on_objects,
    places_of,
)


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """The objects of all classes, and the numbers of those that are scored."""

    instances: CocoInstances
    scored: Places

    def under(self, rules: CocoRules) -> "Loaded":
        """The objects that these rules know: those of LVIS leave out objects without an area, and have no crowds.

        Source: lvis 0.5.3, lvis.py, LVIS.get_ann_ids; eval.py.
        """
        if not rules.federated:
            return self
        instances, objects = self.instances, self.instances.objects
        rows = np.flatnonzero(objects.area > 0)
        crowd = np.zeros(len(rows), np.bool_)
        known = replace(
            instances,
            objects=CocoObjects(
                objects.image[rows], objects.label[rows], objects.area[rows], crowd, objects.unnumbered[rows]
            ),
            boxes=instances.boxes[rows],
            masks=None if instances.masks is None else take_masks(instances.masks, rows),
            difficult=None if instances.difficult is None else instances.difficult[rows],
        )
        return replace(self, instances=known)


def notes_of(loaded: Loaded, rules: CocoRules) -> tuple[Problem, ...]:
    """Notes on objects of the classes to score that count otherwise than one may think."""
    instances, objects = loaded.instances, loaded.instances.objects
    scored = np.isin(objects.label, loaded.scored)
    flags = {NO_DIFFICULT: instances.difficult, NO_NUMBER: objects.unnumbered}
    if rules.federated:
        flags[CROWDS_COUNT] = objects.crowd
    return notes_on_objects(
        {what: int(np.count_nonzero(which & scored)) for what, which in flags.items() if which is not None}
    )


def load_boxes(truth: GroundTruth) -> Loaded:
    """The objects with their boxes; difficult ones that are no crowd count like any other, as COCO knows no others."""
    instances = _annotated(truth) if truth.tables.coco is not None else _of_edges(truth)
    return Loaded(instances, np.arange(len(instances.classes)))


def load_masks(truth: GroundTruth) -> Loaded:
    """The objects with their masks. Raises NotFoundError for a ground truth without any."""
    if truth.tables.coco is None or not truth.tables.coco.has_masks:
        raise NotFoundError(
            "the ground truth has no masks: make it by `GroundTruth.from_masks` or `from_coco`"
        )
    instances = _annotated(truth)
    return Loaded(instances, np.arange(len(instances.classes)))


def select(loaded: Loaded, names: Sequence[str]) -> Loaded:
    """The same objects, with some classes scored."""
    scored = [label for label, name in enumerate(loaded.instances.classes) if name in names]
    return Loaded(loaded.instances, np.array(scored, np.intp))


def missing_boxes(truth: GroundTruth) -> str | None:
    """Why a ground truth cannot score boxes; None if it can."""
    if truth.tables.coco is None:
        return "the annotation does not come from COCO's JSON"
    return None if len(truth.tables.coco.image) else "no object is annotated"


def missing_masks(truth: GroundTruth) -> str | None:
    """Why a ground truth cannot score masks; None if it can."""
    if (reason := missing_boxes(truth)) is not None:
        return reason
    has_masks = truth.tables.coco is not None and truth.tables.coco.has_masks
    return None if has_masks else "no object has a segmentation"


def missing_boxes_of_lvis(truth: GroundTruth) -> str | None:
    """Why a ground truth cannot score boxes by the rules of LVIS; None if it can."""
    return missing_boxes(truth) or _missing_federation(truth)


def missing_masks_of_lvis(truth: GroundTruth) -> str | None:
    """Why a ground truth cannot score masks by the rules of LVIS; None if it can."""
    return missing_masks(truth) or _missing_federation(truth)


def _missing_federation(truth: GroundTruth) -> str | None:
    is_there = truth.tables.coco is not None and truth.tables.coco.federation is not None
    return None if is_there else "the annotation does not say which classes are absent from an image"


def _annotated(truth: GroundTruth) -> CocoInstances:
    table, lists, sizes = truth.tables.coco, truth.lists, truth.tables.sizes.astype(np.int64)
    assert table is not None
    masks = None
    if table.run_start is not None and table.run_end is not None and table.run_first is not None:
        masks = Masks(table.run_start, table.run_end, table.run_first, sizes[table.image, 1])
    return CocoInstances(
        images=np.array(list(map(int, lists.images)), np.int64)
        if lists.class_numbers
        else np.arange(len(sizes)),
        sizes=sizes,
        categories=np.array(lists.class_numbers or range(len(lists.classes)), np.int64),
        classes=lists.classes,
        objects=CocoObjects(table.image, table.label, table.area, table.crowd, table.unnumbered),
        federation=table.federation,
        boxes=table.boxes,
        masks=masks,
        difficult=_difficult(truth)[np.argsort(np.argsort(table.image, kind="stable"))],
    )


def _difficult(truth: GroundTruth) -> Flags:
    """Which objects are difficult and no crowd, in the order of the table of objects: by image."""
    objects = truth.tables.objects
    found: Flags = objects.difficult & ~objects.group_of
    return found


def _of_edges(truth: GroundTruth) -> CocoInstances:
    """The objects of the Main set, their boxes from edges, their areas from their boxes."""
    objects, lists = truth.tables.objects, truth.lists
    rows = np.flatnonzero(objects.image < lists.main)
    edges = truth.tables.convention.convert(objects.boxes[rows], BoxConvention.HALF_OPEN)
    boxes = np.concatenate([edges[:, :2], edges[:, 2:] - edges[:, :2]], axis=1)
    return CocoInstances(
        images=np.arange(lists.main),
        sizes=truth.tables.sizes[: lists.main].astype(np.int64),
        categories=np.arange(len(lists.classes)),
        classes=lists.classes,
        objects=CocoObjects(
            objects.image[rows],
            objects.name[rows].astype(np.int32),
            boxes[:, 2] * boxes[:, 3],
            objects.group_of[rows],
            np.zeros(len(rows), np.bool_),
        ),
        boxes=boxes,
        masks=None,
        difficult=_difficult(truth)[rows],
    )


def accepts_boxes(predictions: object) -> bool:
    """Whether these are detections with boxes."""
    return isinstance(predictions, Detections)


def accepts_masks(predictions: object) -> bool:
    """Whether these are detections with masks."""
    return isinstance(predictions, InstanceMasks)


def split_boxes(predictions: Detections, truth: GroundTruth) -> Iterator[Keyed[CocoResults]]:
    """All detections as one file has them, with half-open boxes.

    Raises DataError for detections in an image, or of a class, that the ground truth does not have.
    """
    lists = truth.lists
    convention = predictions.convention or truth.tables.convention
    boxes = SidesOfEdges(predictions.boxes, convention, predictions.sizes)
    detections = CocoDetections(
        places_of("image", predictions.image, predictions.images, lists.images[: lists.main]),
        places_of("class", predictions.label, predictions.classes, lists.classes),
        predictions.score,
        boxes.areas,
    )
    yield Keyed("detections", CocoResults(detections, boxes, None))


def split_masks(predictions: InstanceMasks, truth: GroundTruth) -> Iterator[Keyed[CocoResults]]:
    """All detections as one file has them, with the areas of their masks.

    Raises DataError for detections in an image, or of a class, that the ground truth does not have, and for a mask of another
    size than its image, where that is known.
    """
    lists = truth.lists
    image = places_of("image", predictions.image, predictions.images, lists.images[: lists.main])
    label = places_of("class", predictions.label, predictions.classes, lists.classes)
    found = np.array([each.shape for each in predictions.masks], np.int64).reshape(-1, 2)
    expected = truth.tables.sizes[image].astype(np.int64)[:, ::-1]
    differs = (found != expected).any(axis=1) & (expected[:, 0] != UNKNOWN_SIDE)
    for row in np.flatnonzero(differs)[:1].tolist():
        name, shape = lists.images[image[row]], tuple(expected[row].tolist())
        raise DataError(
            f"expected masks of shape {shape} in the image '{name}', found {predictions.masks[row].shape}"
        )
    masks = masks_of_arrays(predictions.masks)
    detections = CocoDetections(image, label, predictions.score, masks.area.astype(np.float64))
    yield Keyed("segmentations", CocoResults(detections, masks.boxes, masks))


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
    predictions = count_labels(results.detections.label, len(loaded.instances.classes))
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


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What was scored, and what came of it."""

    truth: CocoInstances
    results: CocoResults
    tables: CocoTables
    iou: PairIoU
    rules: CocoRules

    @property
    def most(self) -> int:
        """The detections of a class in an image that are matched at most."""
        return self.rules.max_detections[-1]


def tabulate(truth: CocoInstances, results: CocoResults, rules: CocoRules) -> Tabulated:
    """Match and count by these rules. Raises NotFoundError where they ask for what LVIS' annotation has and this has not."""
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
        raise NotFoundError(
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
        return box_iou(results.sides, truth.boxes, crowd)
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
    rows, begin = matched.by_class, matched.begin.tolist()
    for label in loaded.scored.tolist():
        part = slice(begin[label], begin[label + 1])
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


def explain(evidence: Evidence) -> tuple[Explanation, ...]:
    """The reasons of each class, at the lowest threshold of the rules and in objects of every size, in the order of the classes.

    >>> from heldout_scoring.evaluation import evaluate_coco
    >>> truth = b'''{"images": [{"id": 1}], "categories": [{"id": 1, "name": "cat"}], "annotations":
    ...   [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 50, 40], "area": 2000, "iscrowd": 1}]}'''
    >>> evaluate_coco(b"[]", truth).explain()[0].message
    '1 annotated crowd is ignored: crowds need not be found'
    """
    reasons = [
        (label, Explanation(code, evidence.truth.classes[label], count, f"{are(count, noun)} {what}"))
        for code, noun, what, counts in _counted(evidence)
        for label, count in enumerate(counts.tolist())
        if count
    ]
    return tuple(reason for _, reason in sorted(reasons, key=lambda each: each[0]))


_Count = tuple[str, str, str, Places]
"""A code, what is counted, what is said of it, and how many of each class: int64 (classes,)."""


def _counted(evidence: Evidence) -> Iterator[_Count]:
    matched = _Matched.of(evidence)
    yield from _of_objects(evidence, matched)
    yield from _of_detections(evidence, matched)
    for most in evidence.rules.max_detections:
        what = f"beyond the {most} of a class in an image, so that AR{most} cannot be 1"
        yield "cap", "object", what, _beyond(evidence, most)


def _of_objects(evidence: Evidence, matched: "_Matched") -> Iterator[_Count]:
    objects, first = evidence.truth.objects, f"the first {evidence.most}"
    for code, noun, what, which in (
        ("crowd", "annotated crowd", "ignored: crowds need not be found", objects.crowd),
        ("difficult", "object", NO_DIFFICULT, _difficult_objects(evidence)),
        ("area", "object", "without an area, so that nothing can match", _without_area(evidence)),
        (
            "area",
            "object",
            "of another range of sizes by annotated area than by box or mask",
            _of_other_size(evidence),
        ),
        ("cap", "object", f"overlapped only by detections beyond {first}", matched.capped),
        ("id", "object", NO_NUMBER, objects.unnumbered),
        ("missed", "object", "matched by no detection", ~objects.crowd & ~matched.found),
    ):
        yield code, noun, what, np.bincount(objects.label[which], minlength=len(evidence.truth.classes))


def _of_detections(evidence: Evidence, matched: "_Matched") -> Iterator[_Count]:
    detections, most = evidence.results.detections, evidence.most
    for code, what, which in (
        ("crowd", "ignored: matched to a crowd alone", matched.in_crowd),
        ("cap", f"beyond the {most} of a class in an image that count", ~matched.kept),
        ("tie", "matched to the last of several objects of the same IoU", matched.tied),
        (
            "tie",
            "of a confidence that true and false positives have in common",
            _undecided(detections, matched.right),
        ),
        ("wrong", "matched to no object", matched.kept & ~matched.any),
    ):
        counts = np.bincount(detections.label[which], minlength=len(evidence.truth.classes))
        yield code, "detection", what, counts


@dataclass(frozen=True, slots=True, eq=False)
class _Matched:
    """Of each detection, bool (n,): kept, among those that count; any, right, in_crowd: what it matched; tied: between
    objects of one IoU. Of each object, bool (m,): found; capped: only by detections that do not count.
    """

    kept: Flags
    any: Flags
    right: Flags
    in_crowd: Flags
    tied: Flags
    found: Flags
    capped: Flags

    @classmethod
    def of(cls, evidence: Evidence) -> "_Matched":
        objects, found_matches = evidence.truth.objects, evidence.tables.matched()
        by_class = found_matches.by_class
        kept, matched, right, in_crowd, tied = np.zeros((5, len(evidence.results.detections)), np.bool_)
        kept[by_class] = True
        found = np.zeros(len(objects.image), np.bool_)
        for matches in found_matches.matches:
            first = matches.threshold == 0
            rows, things = by_class[matches.detection[first]], matches.object[first]
            matched[rows], found[things] = True, True
            right[rows] = ~(objects.crowd | objects.unnumbered)[things]
            in_crowd[rows] = objects.crowd[things]
        pairs, rows = _every_pair(evidence)
        tied[rows[_ties(pairs)]] = True
        overlapped = np.zeros(len(objects.image), np.bool_)
        overlapped[pairs.object[~kept[rows[pairs.detection]]]] = True
        return cls(kept, matched, right, in_crowd, tied & kept, found, overlapped & ~found & ~objects.crowd)


def _every_pair(evidence: Evidence) -> tuple[Pairs, Places]:
    """All pairs that reach the lowest threshold, also of detections that do not count, and the detection of each place in them."""
    images = len(evidence.truth.images)
    count, objects = len(evidence.results.detections), evidence.truth.objects
    arranged = arrange(evidence.results.detections, np.arange(count), images, count + 1)
    every = np.arange(len(objects.image))
    lowest = float(evidence.rules.iou_thresholds[0])
    return find_pairs(arranged, objects, every, images, evidence.iou, lowest), arranged.rows


def _ties(pairs: Pairs) -> Places:
    """Places of detections with two objects of the same, largest IoU."""
    order = np.lexsort((-pairs.iou, pairs.detection))
    detection, iou = pairs.detection[order], pairs.iou[order]
    begins = np.flatnonzero(np.diff(detection, prepend=-1))
    begins = begins[begins + 1 < len(detection)]
    equal = (detection[begins] == detection[begins + 1]) & (iou[begins] == iou[begins + 1])
    found: Places = detection[begins[equal]]
    return found


def _difficult_objects(evidence: Evidence) -> Flags:
    flags = evidence.truth.difficult
    return (
        np.zeros(len(evidence.truth.objects.image), np.bool_)
        if flags is None
        else flags & ~evidence.truth.objects.crowd
    )


def _without_area(evidence: Evidence) -> Flags:
    found: Flags = (_area(evidence) == 0) & ~evidence.truth.objects.crowd
    return found


def _area(evidence: Evidence) -> Floats:
    truth = evidence.truth
    if truth.masks is not None:
        return truth.masks.area.astype(np.float64)
    found: Floats = truth.boxes[:, 2] * truth.boxes[:, 3]
    return found


def _of_other_size(evidence: Evidence) -> Flags:
    limits = sorted(low for _, low, _ in evidence.rules.areas[2:])
    annotated, drawn = (
        np.searchsorted(limits, area) for area in (evidence.truth.objects.area, _area(evidence))
    )
    found: Flags = (annotated != drawn) & ~evidence.truth.objects.crowd
    return found


def _beyond(evidence: Evidence, most: int) -> Places:
    """Objects of each class that are more than the detections that count in their image."""
    objects, images = evidence.truth.objects, len(evidence.truth.images)
    group = (objects.label.astype(np.int64) * images + objects.image)[~objects.crowd]
    groups, counts = np.unique(group, return_counts=True)
    beyond = np.maximum(counts - most, 0)
    found = np.zeros(len(evidence.truth.classes), np.int64)
    np.add.at(found, groups // max(images, 1), beyond)
    return found


def _undecided(detections: CocoDetections, right: Flags) -> Flags:
    """Detections of a class with equal confidences, of which some are true positives and some are not."""
    order = np.lexsort((detections.confidence, detections.label))
    label, confidence = detections.label[order], detections.confidence[order]
    begins = np.ones(len(order), np.bool_)
    begins[1:] = (label[1:] != label[:-1]) | (confidence[1:] != confidence[:-1])
    group = np.cumsum(begins) - 1
    count = np.bincount(group)
    hits = np.bincount(group, weights=right[order])
    mixed = (hits > 0) & (hits < count)
    found = np.zeros(len(order), np.bool_)
    found[order] = mixed[group]
    return found


COCO_DETECTION: Final = Task(
    name="coco-detection",
    title="Detection, boxes",
    accepts=accepts_boxes,
    split=split_boxes,
    missing_truth=missing_boxes,
    load=load_boxes,
    match=match,
    score=score,
    resample=resample,
    files="heldout_scoring.tasks.coco_files:BOXES",
    columns=columns,
    select=select,
)
"""How boxes are scored by COCO's rules, all classes in one file."""


COCO_SEGMENTATION: Final = replace(
    COCO_DETECTION,
    name="coco-segmentation",
    title="Instance segmentation, masks",
    accepts=accepts_masks,
    split=split_masks,
    missing_truth=missing_masks,
    load=load_masks,
    files="heldout_scoring.tasks.coco_files:MASKS",
)
"""How masks are scored by COCO's rules, all classes in one file."""


LVIS_DETECTION: Final = replace(COCO_DETECTION, name="lvis-detection", missing_truth=missing_boxes_of_lvis)
"""How boxes are scored where not every class is annotated in every image."""


LVIS_SEGMENTATION: Final = replace(
    COCO_SEGMENTATION, name="lvis-segmentation", missing_truth=missing_masks_of_lvis
)
"""How masks are scored where not every class is annotated in every image."""
