"""Files of detections in COCO's JSON: read and checked."""

import hashlib
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from ..archives.opening import is_archive
from ..archives.plausibility import (
    SIDES,
    Crowd,
    Example,
    Signs,
    count_corners,
    count_forms,
    far_beyond,
    highest_is_missing,
)
from ..archives.results import ResultFile, competition_files, no_results
from ..competitions import competition_of
from ..data.arrays import Integers
from ..data.description import MAX_FILE_PROBLEMS, UNLIMITED, Description
from ..data.truth import GroundTruth
from ..errors import Problem, Problems, SubmissionError, as_path, plural, shown
from ..metrics.coco import (
    COCO_RULES,
    LVIS_RULES,
    CocoDetections,
    CocoInstances,
    CocoResults,
    take_results,
)
from ..readers.coco_json.detections import read_coco_detections
from ..readers.coco_json.instances import read_instances, tables_of_instances
from ..readers.coco_json.records import Source, read_source
from ..readers.image_index import ImageIndex
from .detection_files import remark_on_boxes
from .files import Checked, Inspection, ReadFile, TaskFiles, digest_of, one_for_each_image


def read_boxes(data: bytes, images: ImageIndex, /, *, file: str, problems: Problems) -> CocoResults:
    """Read detections with boxes.

    >>> from heldout_scoring.data.description import Description, Image
    >>> images = ImageIndex.of(Description("COCO", "val", ("cat",), (), (Image("3", 9, 9),), class_numbers=(7,)))
    >>> found = b'[{"image_id": 3, "category_id": 7, "bbox": [0, 0, 4, 2], "score": 0.5}]'
    >>> read_boxes(found, images, file="detections.json", problems=Problems()).boxes.tolist()
    [[0.0, 0.0, 4.0, 2.0]]
    """
    return read_coco_detections(data, images.numbers, file=file, problems=problems, most=images.max_lines)


def read_segmentations(data: bytes, images: ImageIndex, /, *, file: str, problems: Problems) -> CocoResults:
    """Read detections with masks; where the first one has a box, the area of all is that of their boxes.

    >>> from heldout_scoring.data.description import Description, Image
    >>> images = ImageIndex.of(Description("COCO", "val", ("cat",), (), (Image("3", 2, 2),), class_numbers=(7,)))
    >>> whole = b'"segmentation": {"size": [2, 2], "counts": [0, 4]}'
    >>> found = b'[{"image_id": 3, "category_id": 7, "score": 0.5, ' + whole + b"}]"
    >>> read_segmentations(found, images, file="segmentations.json", problems=Problems()).detections.area.tolist()
    [4.0]
    """
    return read_coco_detections(
        data, images.numbers, file=file, problems=problems, masks=True, most=images.max_lines
    )


def check_boxes(file: ResultFile, checked: Checked, inspection: Inspection) -> None:
    """Check and count detections with boxes."""
    found = _check(read_boxes, file, checked, inspection)
    _look_at_boxes(found, file, checked.signs, inspection)
    sizes = inspection.images.numbers.sizes[found.detections.image]
    left, top, width, height = found.boxes.T
    beyond = (left < 0) | (top < 0) | (left + width > sizes[:, 0]) | (top + height > sizes[:, 1])
    checked.outside += int((beyond & (sizes > 0).all(axis=1)).sum())


def check_segmentations(file: ResultFile, checked: Checked, inspection: Inspection) -> None:
    """Check and count detections with masks."""
    _check(read_segmentations, file, checked, inspection)


def _check(
    read: ReadFile[CocoResults], file: ResultFile, checked: Checked, inspection: Inspection
) -> CocoResults:
    before = inspection.problems.total
    found = read(file.read(), inspection.images, file=file.name, problems=inspection.problems)
    checked.lines += len(found.detections)
    _check_counts(found.detections, file, checked, inspection)
    _look_at_ids(found.detections, checked, inspection)
    checked.digests[file.key] = _digest(found)
    _add_lists(found.detections, checked, inspection.images.description.classes)
    if not len(found.detections) and inspection.problems.total == before:
        inspection.problems.note(Problem("empty-file", "no detection: the list is empty", file.name))
    return found


def _check_counts(found: CocoDetections, file: ResultFile, checked: Checked, inspection: Inspection) -> None:
    """Check how many detections of a class an image has."""
    description = inspection.images.description
    pairs = found.label.astype(np.int64) * len(description.images) + found.image
    pair, count = np.unique(pairs, return_counts=True)
    is_lvis = checked.info.task.startswith("lvis")
    checked.signs.crowd = _crowd_of(pair, count, inspection, federated=is_lvis)
    crowded = np.flatnonzero(count > inspection.max_boxes)[:MAX_FILE_PROBLEMS]
    label, image = np.divmod(pair[crowded], len(description.images))
    places = zip(image.tolist(), label.tolist(), count[crowded].tolist(), strict=True)
    counts = {(description.images[i].id, description.classes[c]): n for i, c, n in places}
    inspection.check_boxes(counts, file.name)


def _look_at_boxes(found: CocoResults, file: ResultFile, signs: Signs, inspection: Inspection) -> None:
    """Count what is said for another form of boxes."""
    sizes, boxes = inspection.images.numbers.sizes[found.detections.image], found.boxes
    corners = np.concatenate([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]], axis=1)
    far = far_beyond(corners, sizes)
    count_corners(signs, corners, sizes)
    signs.boxes, signs.far = len(boxes), int(np.count_nonzero(far))
    signs.largest = float(np.abs(boxes).max(initial=0))
    if signs.reach_far:
        signs.suspects, signs.wrong = len(boxes), signs.far
        signs.forms = count_forms(boxes, sizes, but=SIDES)
    if signs.reach_far or signs.are_shares:
        row = int(np.argmax(far))
        detections, numbers = found.detections, inspection.images.numbers
        image, category = (
            int(numbers.images[detections.image[row]]),
            int(numbers.categories[detections.label[row]]),
        )
        entry = {"image_id": image, "category_id": category, "bbox": boxes[row].tolist()}
        text = json.dumps(entry | {"score": float(detections.confidence[row])})
        width, height = sizes[row].tolist()
        place = f"a box in the image {image}" + (
            f", which is {width} wide and {height} high" if width else ""
        )
        signs.example = Example(file.name, None, shown(text), place)


def _look_at_ids(found: CocoDetections, checked: Checked, inspection: Inspection) -> None:
    """Note the images with detections, and whether category ids seem to be counted from one less."""
    numbers, description = inspection.images.numbers, inspection.images.description
    checked.signs.seen = np.bincount(found.image, minlength=len(description.images)) > 0
    ids = numbers.categories.tolist()
    if not ids:
        return
    counts = np.bincount(found.label, minlength=len(ids)).tolist()
    names = dict(sorted(zip(ids, description.classes, strict=True)))
    shifted = highest_is_missing(dict(zip(ids, counts, strict=True)), checked.info.name, names)
    if shifted is not None:
        inspection.problems.warn(shifted)


def _crowd_of(pair: Integers, count: Integers, inspection: Inspection, *, federated: bool) -> Crowd | None:
    """Where an image has more detections than COCO's rules count of a class in it, or LVIS's of all classes; None for nowhere.

    pair: int64 (k,), the place of the image plus that of the class times the number of images; count: (k,), detections of each.
    """
    images, classes = inspection.images.images, inspection.images.description.classes
    rules, noun, of = COCO_RULES, "pair", " of an image and a class"
    if federated:
        rules, noun, of = LVIS_RULES, "image", ""
        count = np.bincount(pair % max(len(images), 1), count, len(images)).astype(np.int64)
    kept = rules.max_detections[-1]
    over = int(np.count_nonzero(count > kept))
    if not over:
        return None
    most = int(count.argmax())
    label, image = (None, most) if federated else divmod(int(pair[most]), len(images))
    example = f"image {images[image].id}" + ("" if label is None else f", {classes[label]}")
    return Crowd(plural(over, noun) + of, kept, int(count[most]), example)


def _digest(found: CocoResults) -> str:
    ordered = take_results(found, np.lexsort((-found.detections.confidence, found.detections.image)))
    masks = () if ordered.masks is None else (ordered.masks.first, ordered.masks.start, ordered.masks.end)
    detections = ordered.detections
    return digest_of(
        detections.image, detections.label, detections.confidence, detections.area, ordered.boxes, *masks
    )


def _add_lists(found: CocoDetections, checked: Checked, classes: Sequence[str]) -> None:
    """Note the classes whose detections all have one confidence, and those with a single detection."""
    counts = np.bincount(found.label, minlength=len(classes))
    lowest, highest = np.full(len(classes), np.inf), np.full(len(classes), -np.inf)
    np.minimum.at(lowest, found.label, found.confidence)
    np.maximum.at(highest, found.label, found.confidence)
    checked.signs.counts |= {
        name: count for name, count in zip(classes, counts.tolist(), strict=True) if count
    }
    for label in np.flatnonzero((counts > 1) & (lowest == highest)).tolist():
        checked.constant.add(classes[label])
        checked.signs.constant[classes[label]] = int(counts[label]), float(lowest[label])
    checked.partial |= {classes[label] for label in np.flatnonzero(counts == 1).tolist()}


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
    number = 2 if masks else 1
    problems = Problems()
    found = [(file.name, file.read()) for file in competition_files(path, _ANY, number, problems=problems)]
    if not found and not problems.listed:
        problems.add(no_results([competition_of(_ANY.dataset, number)], _ANY))
    if problems.listed:
        raise SubmissionError(*problems.listed)
    return found[0]


@dataclass(frozen=True, slots=True, eq=False)
class CocoPair:
    """Results and annotation, read from two files; digest: the SHA-256 of the results' content; notes: on the results."""

    results: CocoResults
    truth: GroundTruth
    digest: str
    notes: tuple[Problem, ...]


def read_coco(results: Source, truth: Source, *, masks: bool) -> CocoPair:
    """Read results and annotation, given as in `evaluate_coco`, whose errors it raises.

    >>> truth = {"images": [{"id": 1}], "categories": [{"id": 1, "name": "cat"}], "annotations": []}
    >>> read_coco([], truth, masks=False).truth.lists.classes
    ('cat',)
    """
    name, annotation = read_source(truth, "instances.json")
    file, content = read_results_source(results, masks=masks)
    try:
        with ThreadPoolExecutor(1) as pool:
            hashed = pool.submit(hashlib.sha256, content)
            instances = read_instances(annotation, file=name, masks=masks)
            found, notes = _read_coco_results(content, instances, file=file, masks=masks)
    except SubmissionError as error:
        if not _seem_swapped(annotation, content):
            raise
        message = (
            f"the two files seem to be swapped: '{file}' is given as results and reads as annotation, "
            f"'{name}' is given as annotation and reads as results"
        )
        raise SubmissionError(Problem("swapped-files", message), *error.problems) from None
    annotated = GroundTruth.of(*tables_of_instances(instances))
    return CocoPair(found, annotated, hashed.result().hexdigest(), notes)


def _read_coco_results(
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


BOXES: Final = TaskFiles(read_boxes, check_boxes, check_all=remark_on_boxes, fewest_lines=one_for_each_image)


MASKS: Final = TaskFiles(read_segmentations, check_segmentations, fewest_lines=one_for_each_image)
