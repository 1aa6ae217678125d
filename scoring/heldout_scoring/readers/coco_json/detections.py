"""Detections in COCO's JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self

import numpy as np

from ...archives.plausibility import foreign_images, mostly_foreign, renumbered, renumbered_categories
from ...data.arrays import Floats, Integers
from ...data.description import MAX_FILE_PROBLEMS, Description
from ...data.label_maps import Masks, join_masks, take_masks
from ...errors import NOT_READ_ON, Problem, Problems, SubmissionError
from ...metrics.coco import CocoDetections, CocoInstances, CocoResults
from ...parallel import parallel_map
from .fields import (
    CocoNumbers,
    Entries,
    Identifiers,
    Lookup,
    are_numbers,
    are_sound,
    as_wholes,
)
from .masks import SEGMENTATION, draw_masks, read_masks
from .records import (
    BOX,
    Block,
    Form,
    JsonError,
    Source,
    columns_of,
    columns_of_mappings,
    name_of_list,
    read_records,
    read_source,
)

_NUMBERS: Final[Form] = (("image_id", float), ("category_id", float), ("score", float))
_BOXES: Final[Form] = (*_NUMBERS, ("bbox", BOX))
_MASKS: Final[Form] = (*_NUMBERS, ("bbox", BOX, ()), ("segmentation", SEGMENTATION))
_KEYPOINTS: Final = "keypoints"
UNKNOWN_CATEGORY: Final = "unknown-category"
UNKNOWN_IMAGE: Final = "unknown-image"
"""Codes of problems that many entries may have for one cause."""
Known = CocoNumbers | CocoInstances
"""Anything that knows the numbers of images and categories, and the sizes of images."""


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    image: Integers
    label: Integers
    confidence: Floats
    boxes: Floats
    area: Floats
    masks: Masks | None

    @classmethod
    def of(
        cls, image: Integers, label: Integers, score: Floats, boxes: Floats | None, masks: Masks | None
    ) -> Self:
        """With boxes, masks, or both."""
        if boxes is not None:
            return cls(image, label, score, boxes, boxes[:, 2] * boxes[:, 3], masks)
        assert masks is not None
        return cls(image, label, score, masks.boxes, masks.area.astype(np.float64), masks)


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
    own, parts = Problems(), list[_Part]()
    reader = _Detections.of(known, file, own, list_name=name_of_list(data), masks=masks)
    try:
        for block in read_records(data, _MASKS if masks else _BOXES):
            if most is not None and block.first + len(block) > most:
                message = f"the file has more than {most:,} detections; no more are read"
                own.add(Problem("too-many-detections", message, file, expected=str(most)))
                break
            parts.append(reader.read(block))
            if reader.lacking:
                break
            if own.total >= MAX_FILE_PROBLEMS:
                own.add(_stopped(own.total, f"{reader.list_name}[{reader.count}]", file))
                break
    except JsonError as error:
        own.add(Problem("bad-json", str(error), file, error.line))
    found = _joined(parts, masks=masks)
    if reader.have_keypoints and len(found.detections):
        message = f"the detections have '{_KEYPOINTS}', which are not scored; their {'masks' if masks else 'boxes'} are"
        own.note(Problem("keypoints-not-scored", message, file))
    _name_causes(own, reader, found.detections, known)
    problems.join(own)
    return found


def columns_of_coco(source: Source, description: Description) -> CocoResults:
    """Detections with boxes, images and classes as places in the description of the ground truth. Raises SubmissionError.

    >>> from heldout_scoring.data.description import Image
    >>> phase = Description("COCO", "val", ("cat",), (), (Image("42", 640, 480),), class_numbers=(17,))
    >>> found = b'[{"image_id": 42, "category_id": 17, "bbox": [15, 9, 20, 10], "score": 0.5}]'
    >>> columns_of_coco(found, phase).boxes.tolist()
    [[15.0, 9.0, 20.0, 10.0]]
    """
    problems = Problems()
    numbers = CocoNumbers.of(description)
    columns = columns_of_mappings(source, _BOXES) if isinstance(source, list) else None
    if columns is not None:
        part = _Detections.of(numbers, "", problems, list_name="", masks=False).typed(columns)
        if part is not None:
            return _joined([part], masks=False)
    file, data = read_source(source, "detections.json")  # which also names what is wrong
    found = read_coco_detections(data, numbers, file=file, problems=problems)
    if problems.listed:
        raise SubmissionError(*problems.listed)
    return found


@dataclass(slots=True)
class _Detections:
    """Reads detections, block by block.

    boxes: whether they are read; count: of the entries that were read; lacking: whether several have lacked a field from the first
    on; strange: category ids of entries whose category the phase does not have.
    """

    known: Known
    images: Lookup
    categories: Lookup
    file: str
    problems: Problems
    list_name: str
    masks: bool
    boxes: bool = True
    count: int = 0
    have_keypoints: bool = False
    lacking: bool = False
    strange: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, known: Known, file: str, problems: Problems, *, list_name: str, masks: bool) -> Self:
        """Of a phase with these images and categories."""
        lookups = Lookup.of(known.images), Lookup.of(known.categories)
        return cls(known, *lookups, file, problems, list_name, masks)

    def read(self, block: Block) -> _Part:
        """The detections of a block, without those that have a problem."""
        if self.masks and block.first == 0:
            self.boxes = _has_box(block)
        part = None
        if block.text:
            columns = columns_of(block.values, _MASKS if self.masks else _BOXES)
            part = self.typed(columns, [each.segmentation for each in block.values] if self.masks else ())
        if part is None:
            part = self._checked(block)
        self.count = block.first + len(block)
        self.have_keypoints = self.have_keypoints or block.any_has(_KEYPOINTS)
        return part

    def typed(self, columns: Mapping[str, Floats], segmentations: Sequence[Any] = ()) -> _Part | None:
        """The detections in columns of numbers; None where one is not right."""
        images, categories = as_wholes(columns["image_id"]), as_wholes(columns["category_id"])
        if images is None or categories is None or not are_numbers(columns["score"]):
            return None
        image, label = self.images.places(images), self.categories.places(categories)
        boxes, drawn = columns.get("bbox") if self.boxes else None, None
        if min(image.min(), label.min()) < 0 or (self.boxes and (boxes is None or not are_sound(boxes))):
            return None
        if self.masks:
            drawn = draw_masks(segmentations, self._sizes(image))
            if drawn is None:
                return None
        return _Part.of(image, label, columns["score"], boxes, drawn)

    def _checked(self, block: Block) -> _Part:
        """The detections of any block that have nothing wrong, and a problem for everything that is wrong with the others."""
        entries = Entries(
            block.entries, self.list_name, self.file, self.problems, block.first, self.known.named
        )
        image = entries.known("image_id", entries.wholes("image_id"), self.images, "images")
        categories = entries.wholes("category_id")
        before = entries.fit.copy()
        label = entries.known("category_id", categories, self.categories, "categories")
        self.strange.update(np.unique(categories[before & ~entries.fit]).tolist())
        score = entries.numbers("score")
        boxes = entries.boxes() if self.boxes else None
        drawn = read_masks(entries, self._sizes(image)) if self.masks else None
        self.lacking = entries.say_what_all_lack()
        fit = np.flatnonzero(entries.fit)
        return _Part.of(
            image[fit],
            label[fit],
            score[fit],
            None if boxes is None else boxes[fit],
            None if drawn is None else take_masks(drawn, fit),
        )

    def _sizes(self, image: Integers) -> Identifiers:
        """The size of each detection's image; of none where there are no images, which has been said."""
        sizes = self.known.sizes
        return sizes[image] if len(sizes) else np.zeros((len(image), 2), np.int64)


def _has_box(block: Block) -> bool:
    """Whether the first detection has a box: then pycocotools takes the area of all from their boxes."""
    first: Any = block.values[0] if block.values else None
    if block.text:
        return bool(first.bbox)
    return isinstance(first, dict) and first.get("bbox", []) != []


def _name_causes(problems: Problems, reader: _Detections, found: CocoDetections, known: Known) -> None:
    """Name the cause of unknown categories, or of unknown images, once where it is the same for all."""
    category = problems.first(UNKNOWN_CATEGORY)
    if category is not None and len(known.categories):
        given = frozenset(reader.strange | set(known.categories[np.unique(found.label)].tolist()))
        categories = sorted(known.categories.tolist())
        way = renumbered(given, categories)
        if way is not None:
            problems.replace(
                UNKNOWN_CATEGORY,
                renumbered_categories(category, way, sorted(given), categories),
            )
    image, foreign = problems.first(UNKNOWN_IMAGE), problems.count(UNKNOWN_IMAGE)
    if image is not None and mostly_foreign(foreign, reader.count):
        problems.replace(UNKNOWN_IMAGE, foreign_images(image, foreign, reader.count, len(known.images)))


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
