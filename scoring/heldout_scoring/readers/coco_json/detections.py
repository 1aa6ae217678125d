"""Detections in COCO's JSON."""

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from ...archives.plausibility import foreign_images, mostly_foreign, renumbered, renumbered_categories
from ...data.arrays import Floats, Integers, Places
from ...data.description import MAX_FILE_PROBLEMS
from ...data.label_maps import Masks, join_masks, take_masks
from ...errors import NOT_READ_ON, Problem, Problems
from ...metrics.coco import CocoDetections
from ...parallel import parallel_map
from .fields import CocoNumbers, Entries, are_sound, numbers_of
from .instances import CocoInstances
from .masks import read_masks
from .records import JsonError, Records, Table, name_of_list, read_records

_KEYPOINTS: Final = "keypoints"
UNKNOWN_CATEGORY: Final = "unknown-category"
UNKNOWN_IMAGE: Final = "unknown-image"
"""Codes of problems that many entries may have for one cause."""
Known = CocoNumbers | CocoInstances
"""Anything that knows the numbers of images and categories, and the sizes of images."""


@dataclass(frozen=True, slots=True, eq=False)
class CocoResults:
    """Detections in the order of the file; boxes: float64 (n, 4), left, top, width, height; masks: None for boxes."""

    detections: CocoDetections
    boxes: Floats
    masks: Masks | None


def take_results(results: CocoResults, rows: Places) -> CocoResults:
    """These detections, in this order; rows: intp (k,)."""
    found = results.detections
    return CocoResults(
        CocoDetections(found.image[rows], found.label[rows], found.confidence[rows], found.area[rows]),
        results.boxes[rows],
        None if results.masks is None else take_masks(results.masks, rows),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    image: Integers
    label: Integers
    confidence: Floats
    boxes: Floats
    area: Floats
    masks: Masks | None = None


@dataclass(frozen=True, slots=True)
class _Kind:
    """What is read of each detection."""

    boxes: bool
    masks: bool


def read_coco_detections(
    data: bytes,
    known: Known,
    *,
    file: str,
    problems: Problems,
    masks: bool = False,
    most: int | None = None,
) -> CocoResults:
    """Read a list of `image_id`, `category_id`, `score` and `bbox` or `segmentation`, or an object with such a list as
    `annotations`; other fields are not looked at.

    The area of a detection is that of its box, and of its mask where it has no box, as in pycocotools. Whatever is wrong
    becomes a problem that names the entry, and only valid entries are returned. known: the images and categories that there
    are; most: detections that a file may have. Nothing is read after these, or after a thousand problems.

    >>> from heldout_scoring.readers.coco_json.instances import read_instances
    >>> truth = read_instances(b'{"images": [{"id": 3}], "categories": [{"id": 1, "name": "cat"}], "annotations": []}')
    >>> text = b'[{"image_id": 3, "category_id": 1, "bbox": [0, 0, 4, 2], "score": 0.5}]'
    >>> read_coco_detections(text, truth, file="detections.json", problems=Problems()).detections.area.tolist()
    [8.0]
    """
    parts: list[_Part] = []
    kind = _Kind(boxes=True, masks=masks)
    name = name_of_list(data)
    own, ids = Problems(), _Seen()
    try:
        for block in read_records(data):
            if most is not None and block.first + len(block) > most:
                message = f"the file has more than {most:,} detections; no more are read"
                own.add(Problem("too-many-detections", message, file, expected=str(most)))
                break
            part = _read_table(block, known) if isinstance(block, Table) and not masks else None
            if part is None:
                rows = block.rows() if isinstance(block, Table) else block
                if masks and block.first == 0:
                    kind = _Kind(boxes=_has_box(rows), masks=True)
                entries = Entries(rows.values, name, file, own, rows.first, named=known.named)
                part = _read_entries(entries, known, kind, ids)
                ids.lacking = entries.say_what_all_lack()
            parts.append(part)
            ids.read = block.first + len(block)
            ids.have_keypoints = ids.have_keypoints or _has_keypoints(block)
            if ids.lacking:
                break
            if own.total >= MAX_FILE_PROBLEMS:
                own.add(_stopped(own.total, f"{name}[{ids.read}]", file))
                break
    except JsonError as error:
        own.add(Problem("bad-json", str(error), file, error.line))
    found = _joined(parts, masks=masks)
    if ids.have_keypoints and len(found.detections):
        message = f"the detections have '{_KEYPOINTS}', which are not scored; their {'masks' if masks else 'boxes'} are"
        own.note(Problem("keypoints-not-scored", message, file))
    _name_causes(own, ids, found.detections, known)
    problems.join(own)
    return found


@dataclass(slots=True)
class _Seen:
    """What was seen of the entries so far.

    read: how many there were; lacking: whether several have lacked a field from the first on; strange: category ids of entries whose
    category the phase does not have.
    """

    read: int = 0
    have_keypoints: bool = False
    lacking: bool = False
    strange: set[int] = field(default_factory=set)


def _name_causes(problems: Problems, ids: _Seen, found: CocoDetections, known: Known) -> None:
    """Name the cause of unknown categories, or of unknown images, once where it is the same for all."""
    category = problems.first(UNKNOWN_CATEGORY)
    if category is not None and len(known.categories):
        given = frozenset(ids.strange | set(known.categories[np.unique(found.label)].tolist()))
        categories = sorted(known.categories.tolist())
        way = renumbered(given, categories)
        if way is not None:
            problems.replace(
                UNKNOWN_CATEGORY,
                renumbered_categories(category, way, sorted(given), categories),
            )
    image, foreign = problems.first(UNKNOWN_IMAGE), problems.count(UNKNOWN_IMAGE)
    if image is not None and mostly_foreign(foreign, ids.read):
        problems.replace(UNKNOWN_IMAGE, foreign_images(image, foreign, ids.read, len(known.images)))


def _stopped(wrong: int, place: str, file: str) -> Problem:
    message = f"stopped after {wrong:,} problems in this file; entries from {place} on were not read"
    return Problem(NOT_READ_ON, message, file)


def _joined(parts: list[_Part], *, masks: bool) -> CocoResults:
    def joined(column: tuple[str, Any]) -> Any:
        name, empty = column
        return np.concatenate([empty, *(getattr(part, name) for part in parts)])

    columns = (
        ("boxes", np.empty((0, 4))),
        ("confidence", np.empty(0)),
        ("area", np.empty(0)),
        ("image", np.empty(0, np.int32)),
        ("label", np.empty(0, np.int32)),
    )
    boxes, confidence, area, image, label = parallel_map(joined, columns)
    found = join_masks([part.masks for part in parts if part.masks is not None]) if masks else None
    return CocoResults(CocoDetections(image, label, confidence, area), boxes, found)


def _read_table(table: Table, known: Known) -> _Part | None:
    """The detections of a table; None where one is not right."""
    columns = table.columns
    if not {"image_id", "category_id", "score", "bbox"} <= columns.keys():
        return None
    boxes, score = columns["bbox"], columns["score"]
    if not are_sound(boxes) or any(columns[name].ndim > 1 for name in ("image_id", "category_id", "score")):
        return None
    image, label = (
        numbers_of(columns[name], ids)
        for name, ids in (("image_id", known.images), ("category_id", known.categories))
    )
    right = (image >= 0).all() and (label >= 0).all() and (np.abs(score) <= 1e300).all()
    return _Part(image, label, score, boxes, boxes[:, 2] * boxes[:, 3]) if right else None


def _has_keypoints(block: Table | Records) -> bool:
    if isinstance(block, Table):
        return _KEYPOINTS in block.columns
    return any(isinstance(entry, dict) and bool(entry.get(_KEYPOINTS)) for entry in block.values)


def _has_box(records: Records) -> bool:
    """Whether the first detection has a box: then pycocotools takes the area of all from their boxes."""
    first = records.values[0] if records.values else None
    return isinstance(first, dict) and first.get("bbox", []) != []


def _read_entries(entries: Entries, known: Known, kind: _Kind, ids: _Seen) -> _Part:
    image = entries.known("image_id", entries.wholes("image_id"), known.images, "images")
    categories = entries.wholes("category_id")
    before = entries.fit.copy()
    label = entries.known("category_id", categories, known.categories, "categories")
    ids.strange.update(np.unique(categories[before & ~entries.fit]).tolist())
    score = entries.numbers("score")
    boxes = entries.boxes() if kind.boxes else np.zeros((len(image), 4))
    area = boxes[:, 2] * boxes[:, 3]
    found = None
    if kind.masks:
        sizes = known.sizes[image] if len(known.sizes) else np.zeros((len(image), 2), np.int64)
        found = read_masks(entries, sizes)
        if not kind.boxes:
            boxes, area = found.boxes, found.area.astype(np.float64)
    if entries.fit.all():
        return _Part(image, label, score, boxes, area, found)
    fit = np.flatnonzero(entries.fit)
    kept = None if found is None else take_masks(found, fit)
    return _Part(image[fit], label[fit], score[fit], boxes[fit], area[fit], kept)
