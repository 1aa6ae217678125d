"""Evaluation of COCO's JSON: from two files to a result."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import numpy as np

from .archives.opening import is_archive
from .archives.results import competition_files, no_results
from .competitions import competition_of
from .data.description import UNLIMITED, Description
from .data.truth import GroundTruth
from .errors import DataError, NotFoundError, Problem, Problems, SubmissionError, as_path
from .evaluation import evaluate_parsed
from .protocols import Protocol, protocol_of
from .readers.coco_json.detections import CocoResults, read_coco_detections
from .readers.coco_json.instances import CocoInstances, read_instances, tables_of_instances
from .readers.coco_json.records import Source, read_source
from .results import Result
from .tasks.task import Keyed

_BOXES, _MASKS = 1, 2  # the numbers of the competitions
_ANY: Final = Description("COCO", "", (), (), (), limits=UNLIMITED)


def read_results_source(source: Source, *, masks: bool) -> tuple[str, bytes]:
    """The name and the content of a JSON file of results, given as in `read_source`, compressed, or in a zip or tar archive.

    masks: which file of an archive is meant, if it has one with boxes and one with masks. Raises PathError for a file that cannot
    be read, SubmissionError for an archive without such a file or with several.

    >>> read_results_source([{"image_id": 1}], masks=False)
    ('detections.json', b'[{"image_id": 1}]')
    """
    if not isinstance(source, Path | str) or (isinstance(source, str) and source.lstrip()[:1] in ("[", "{")):
        return read_source(source, "detections.json")
    path = as_path(source)
    if not is_archive(path):
        return read_source(path, "detections.json")
    number = _MASKS if masks else _BOXES
    problems = Problems()
    found = [(file.name, file.read()) for file in competition_files(path, _ANY, number, problems=problems)]
    if not found and not problems.listed:
        problems.add(no_results([competition_of(_ANY.dataset, number)], _ANY))
    if problems.listed:
        raise SubmissionError(*problems.listed)
    return found[0]


PROTOCOL: Final = "coco"
NAMES: Final = (PROTOCOL, "lvis")
"""The protocols that score COCO's JSON."""


def evaluate_coco(
    predictions: Source,
    truth: Source,
    *,
    masks: bool = False,
    protocol: str | Protocol = PROTOCOL,
) -> Result:
    """Score detections in COCO's JSON as the official evaluator does; with `masks` their segmentations.

    predictions: a list of `image_id`, `category_id`, `score` and `bbox` or `segmentation`, or an object with such a list as
    `annotations`; truth: `images`, `categories` and `annotations`; both as the path of a file, its content, or what a JSON
    parser makes of it; predictions also as a compressed file or an archive with one such file. Figures equal those of pycocotools 2.0.11 to 1e-12;
    what it calls -1 is None. The result is the same as that of `evaluate` with `GroundTruth.from_coco`, which for boxes leaves out the masks. protocol: "coco", `coco` with other rules, or "lvis" for annotation of LVIS, whose figures are those of lvis 0.5.3.
    Raises SubmissionError with every problem of the first file that has one, or where the two seem to be swapped, PathError where there is no file, NotFoundError
    for "lvis" and other annotation, and for an unknown protocol, DataError for `masks` that is no truth value.

    >>> truth = b'''{"images": [{"id": 1}], "categories": [{"id": 1, "name": "cat"}], "annotations":
    ...   [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 50, 40], "area": 2000, "iscrowd": 0}]}'''
    >>> found = b'[{"image_id": 1, "category_id": 1, "bbox": [0, 0, 50, 30], "score": 0.9}]'
    >>> result = evaluate_coco(found, truth)
    >>> round(result.figures["AP"], 6), round(result["cat"].figures["AP75"], 6), result["cat"].ap == result.headline
    (0.6, 1.0, True)
    """
    if not isinstance(masks, bool | np.bool_):
        raise DataError(f"expected True for masks or False for boxes as 'masks', found {masks!r}")
    masks = bool(masks)
    row = protocol_of(protocol)
    names = [f"{name}-{'segmentation' if masks else 'detection'}" for name in NAMES]
    task = next((each.task for each in row.tasks if each.task.name in names), None)
    if task is None:
        raise NotFoundError(
            f"COCO's JSON is scored by {' or '.join(NAMES)}, not by {row.name!r}; other protocols: heldout_scoring.evaluate"
        )
    name, annotation = read_source(truth, "instances.json")
    file, content = read_results_source(predictions, masks=masks)
    try:
        with ThreadPoolExecutor(1) as pool:
            hashed = pool.submit(hashlib.sha256, content)
            instances = read_instances(annotation, file=name, masks=masks)
            found, notes = _read_results(content, instances, file=file, masks=masks)
    except SubmissionError as error:
        if not _seem_swapped(annotation, content):
            raise
        message = (
            f"the two files seem to be swapped: '{file}' is given as results and reads as annotation, "
            f"'{name}' is given as annotation and reads as results"
        )
        raise SubmissionError(Problem("swapped-files", message), *error.problems) from None
    annotated = GroundTruth.of(*tables_of_instances(instances))
    digest = hashed.result().hexdigest()
    return evaluate_parsed(Keyed("detections", found), annotated, task, row, digest, notes)


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
