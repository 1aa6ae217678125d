"""Evaluation of COCO's JSON: from two files to a result."""

import hashlib
import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from scoring.data.arrays import Places
from scoring.data.masks import join_masks
from scoring.errors import Problems, SubmissionError
from scoring.metrics.coco.arrays import COCO_RULES, LVIS_RULES, CocoRules, PairIoU, box_iou
from scoring.metrics.coco.federated import annotated, most_confident_in_images, with_exemptions
from scoring.metrics.coco.tables import (
    CocoTables,
    figures_by_class,
    figures_by_frequency,
    figures_of,
    tabulate_coco,
)
from scoring.metrics.masks.runs import mask_iou
from scoring.readers.coco_json.detections import CocoResults, read_coco_detections, take_results
from scoring.readers.coco_json.instances import CocoInstances, read_instances
from scoring.readers.coco_json.to_data import Source, read_source
from scoring.tasks.coco.explaining import Evidence
from scoring.tasks.coco.results import CocoClass, CocoResult

PROTOCOL: Final = "coco"
RULES: Final[Mapping[str, CocoRules]] = {PROTOCOL: COCO_RULES, "lvis": LVIS_RULES}
"""The rules of each protocol that scores COCO's JSON."""
SCORER: Final = "1"
"""The version of this evaluation: another one may give other numbers for the same files."""

ABSENT: Final = "no object of the class counts"


def evaluate_coco(
    truth: Source,
    results: Source,
    *,
    masks: bool = False,
    protocol: str = PROTOCOL,
) -> CocoResult:
    """Score detections in COCO's JSON as the official evaluator does; with `masks` their segmentations.

    truth: `images`, `categories` and `annotations`; results: a list of `image_id`, `category_id`, `score` and `bbox` or
    `segmentation`, or an object with such a list as `annotations`; both as the path of a file, its content, or what a JSON
    parser makes of it. Figures equal those of pycocotools 2.0.11 to 1e-12;
    what it calls -1 is None. protocol: "coco", or "lvis" for annotation of LVIS, whose figures are those of lvis 0.5.3.
    Raises SubmissionError with every problem of the first file that has one, PathError where there is no file, LookupError
    for "lvis" and other annotation, and for an unknown protocol.

    >>> truth = b'''{"images": [{"id": 1}], "categories": [{"id": 1, "name": "cat"}], "annotations":
    ...   [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 50, 40], "area": 2000, "iscrowd": 0}]}'''
    >>> found = b'[{"image_id": 1, "category_id": 1, "bbox": [0, 0, 50, 30], "score": 0.9}]'
    >>> result = evaluate_coco(truth, found)
    >>> round(result.figures["AP"], 6), round(result["cat"].figures["AP75"], 6), result["cat"].positives
    (0.6, 1.0, 1)
    """
    if protocol not in RULES:
        raise LookupError(
            f"COCO's JSON is scored by {' or '.join(RULES)}, not by {protocol!r}; other protocols: scoring.evaluate"
        )
    name, annotation = read_source(truth, "instances.json")
    file, content = read_source(results, "detections.json")
    instances = read_instances(annotation, file=name, masks=masks)
    problems = Problems()
    with ThreadPoolExecutor(1) as pool:
        hashed = pool.submit(hashlib.sha256, content)
        found = read_coco_detections(content, instances, file=file, problems=problems, masks=masks)
    if problems.listed:
        raise SubmissionError(*problems.listed)
    return score_coco(instances, found, hashed.result().hexdigest(), protocol)


def score_coco(
    truth: CocoInstances, results: CocoResults, digest: str, protocol: str = PROTOCOL
) -> CocoResult:
    """Score detections that have been read; digest: sha256 of their file, in hexadecimal, for the receipt.

    >>> truth = read_instances(b'{"images": [], "categories": [{"id": 1, "name": "cat"}], "annotations": []}')
    >>> found = read_coco_detections(b"[]", truth, file="detections.json", problems=Problems())
    >>> score_coco(truth, found, digest="")["cat"].reason
    'no object of the class counts'
    """
    detections, rules = results.detections, RULES[protocol]
    found = tabulate(truth, results, rules)
    tables = found.tables
    by_class = figures_by_class(tables, rules)
    predictions = np.bincount(detections.label, minlength=len(truth.classes))
    classes = tuple(
        CocoClass(
            name,
            value=by_class["AP"][label],
            reason=ABSENT if by_class["AP"][label] is None else None,
            positives=int(tables.positives[0, label]),
            predictions=int(predictions[label]),
            figures={figure: values[label] for figure, values in by_class.items()},
        )
        for label, name in enumerate(truth.classes)
    )
    return CocoResult(
        protocol=protocol,
        measure=measure_of(results, rules),
        figures=figures_by_rules(tables, truth, np.arange(len(truth.classes)), rules),
        classes=classes,
        receipt=_receipt(truth.fingerprint, digest, _kind_of(results), protocol),
        evidence=Evidence(truth, found.results, tables, found.iou),
    )


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
    return f"Average precision of {_kind_of(results)}, IoU {low:.2f}:{high:.2f}"


def _kind_of(results: CocoResults) -> str:
    return "boxes" if results.masks is None else "masks"


def _pair_iou(truth: CocoInstances, results: CocoResults) -> PairIoU:
    """IoU of masks where there are some, and else of boxes."""
    crowd = truth.objects.crowd
    if truth.masks is None or results.masks is None:
        return box_iou(results.boxes, truth.boxes, crowd)
    masks, first = join_masks([results.masks, truth.masks]), len(results.masks)
    return lambda detections, objects: mask_iou(masks, detections, objects + first, crowd[objects])


def _receipt(truth: str, results: str, kind: str, protocol: str) -> str:
    rules = RULES[protocol]
    said = {
        "results": results,
        "truth": truth,
        "protocol": f"{protocol}: {kind}, IoU {rules.iou_thresholds.tolist()}, areas {rules.areas}, "
        f"{rules.max_detections} detections, {len(rules.recalls)} recalls",
        "scorer": SCORER,
    }
    return hashlib.sha256(json.dumps(said, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
