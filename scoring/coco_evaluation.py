"""Evaluation of COCO's JSON: from two files to a result."""

import hashlib
import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Final

import numpy as np

from scoring.data.checking import assert_is
from scoring.errors import Problem, Problems, SubmissionError
from scoring.metrics.coco.arrays import COCO_RULES, LVIS_RULES, CocoRules
from scoring.readers.coco_json.detections import CocoResults, read_coco_detections
from scoring.readers.coco_json.instances import CocoInstances, read_instances
from scoring.readers.coco_json.to_data import Source, read_source
from scoring.results import Result
from scoring.tasks.coco.results_source import read_results_source
from scoring.tasks.coco.scoring import kind_of, scores_of, tabulate
from scoring.tasks.coco.truth import Loaded, notes_of

PROTOCOL: Final = "coco"
RULES: Final[Mapping[str, CocoRules]] = {PROTOCOL: COCO_RULES, "lvis": LVIS_RULES}
"""The rules of each protocol that scores COCO's JSON."""
SCORER: Final = "1"
"""The version of this evaluation: another one may give other numbers for the same files."""


def evaluate_coco(
    truth: Source,
    results: Source,
    *,
    masks: bool = False,
    protocol: str = PROTOCOL,
) -> Result:
    """Score detections in COCO's JSON as the official evaluator does; with `masks` their segmentations.

    truth: `images`, `categories` and `annotations`; results: a list of `image_id`, `category_id`, `score` and `bbox` or
    `segmentation`, or an object with such a list as `annotations`; both as the path of a file, its content, or what a JSON
    parser makes of it; results also as a compressed file or an archive with one such file. Figures equal those of pycocotools 2.0.11 to 1e-12;
    what it calls -1 is None. The result has no curves and no matches: `evaluate` keeps these. protocol: "coco", or "lvis" for annotation of LVIS, whose figures are those of lvis 0.5.3.
    Raises SubmissionError with every problem of the first file that has one, or where the two seem to be swapped, PathError where there is no file, LookupError
    for "lvis" and other annotation, and for an unknown protocol, DataError for `masks` that is no truth value.

    >>> truth = b'''{"images": [{"id": 1}], "categories": [{"id": 1, "name": "cat"}], "annotations":
    ...   [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 50, 40], "area": 2000, "iscrowd": 0}]}'''
    >>> found = b'[{"image_id": 1, "category_id": 1, "bbox": [0, 0, 50, 30], "score": 0.9}]'
    >>> result = evaluate_coco(truth, found)
    >>> round(result.figures["AP"], 6), round(result["cat"].figures["AP75"], 6), result["cat"].ap == result.headline
    (0.6, 1.0, True)
    """
    assert_is(masks, bool, "as 'masks': True for masks, False for boxes")
    if protocol not in RULES:
        raise LookupError(
            f"COCO's JSON is scored by {' or '.join(RULES)}, not by {protocol!r}; other protocols: scoring.evaluate"
        )
    name, annotation = read_source(truth, "instances.json")
    file, content = read_results_source(results, masks=masks)
    try:
        with ThreadPoolExecutor(1) as pool:
            hashed = pool.submit(hashlib.sha256, content)
            instances = read_instances(annotation, file=name, masks=masks)
            found, notes = _read_results(content, instances, file=file, masks=masks)
    except SubmissionError as error:
        if not _seem_swapped(annotation, content):
            raise
        message = (
            "the two files seem to be swapped: the annotation comes first, then the results; "
            f"'{name}' reads as results, '{file}' as annotation"
        )
        raise SubmissionError(Problem("swapped-files", message), *error.problems) from None
    result = score_coco(instances, found, hashed.result().hexdigest(), protocol)
    return replace(result, notes=(*notes, *result.notes))


def _read_results(
    content: bytes, truth: CocoInstances, *, file: str, masks: bool
) -> tuple[CocoResults, tuple[Problem, ...]]:
    """The detections, and notes on them."""
    problems = Problems()
    found = read_coco_detections(content, truth, file=file, problems=problems, masks=masks)
    if problems.listed:
        raise SubmissionError(*problems.listed)
    return found, problems.notes


def _seem_swapped(annotation: bytes, results: bytes) -> bool:
    """Whether only the results list images, or only the annotation has scores."""
    images, score = b'"images"', b'"score"'
    return (images in results and images not in annotation) or (score in annotation and score not in results)


def score_coco(truth: CocoInstances, results: CocoResults, digest: str, protocol: str = PROTOCOL) -> Result:
    """Score detections that have been read; digest: sha256 of their file, in hexadecimal, for the receipt.

    >>> truth = read_instances(b'{"images": [], "categories": [{"id": 1, "name": "cat"}], "annotations": []}')
    >>> found = read_coco_detections(b"[]", truth, file="detections.json", problems=Problems())
    >>> score_coco(truth, found, digest="").classes[0].reason
    'no object of the class counts'
    """
    rules = RULES[protocol]
    annotated = Loaded(truth, np.arange(len(truth.classes)))
    loaded = annotated.under(rules)
    scores = scores_of(tabulate(loaded.instances, results, rules), results, loaded, rules)
    return Result(
        competition=None,
        task=f"{protocol}-{'detection' if results.masks is None else 'segmentation'}",
        protocol=protocol,
        measure=scores.measure,
        headline=scores.headline,
        headline_reason=scores.headline_reason,
        classes=scores.classes,
        exhibits=scores.exhibits,
        scorer=SCORER,
        truth=truth.fingerprint,
        receipt=_receipt(truth.fingerprint, digest, kind_of(results), protocol),
        notes=notes_of(annotated, rules),
        details=scores.details,
        rules=rules,
    )


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
