"""What is annotated in each image, as digests that are the same however the annotation was written."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from heldout_scoring import BoxConvention, GroundTruth
from heldout_scoring.data.label_maps import VOID
from heldout_scoring.stored import to_plain

DECIMALS: Final = 3  # of a pixel; what converting between formats changes lies behind them
Codes = NDArray[np.uint64]
Fact = tuple[str, bytes]  # of an image: its name, and something that is annotated in it


@dataclass(frozen=True, slots=True)
class LabelDigests:
    """The annotation of a set image by image: sha256 in hexadecimal, sorted.

    images: of each image, from its name and what is annotated in it; annotated: of those in which anything is, from the size, too.
    """

    images: tuple[str, ...]
    annotated: tuple[str, ...]


def digests(truth: Path) -> bytes:
    """The digests of annotation in a file, as JSON of `LabelDigests`."""
    return json.dumps(to_plain(label_digests(GroundTruth.open(truth)))).encode()


def label_digests(truth: GroundTruth) -> LabelDigests:
    """The digests of annotation.

    Two annotations have the same if their images have the same names, and in each image the same objects with the same classes,
    boxes (to 0.001 pixels), flags, masks, parts and actions, the same labels and the same label image. The order of images, classes
    and objects, the names of data set and image set, areas, numbers of classes and the convention of boxes make no difference.

    >>> from heldout_scoring import Annotation, truth_of_boxes
    >>> images = {"a": Annotation(50, 40, ()), "b": Annotation(50, 40, ())}
    >>> one, other = (
    ...     truth_of_boxes(dict(some), dataset=name, image_set=name, classes=["cat"])
    ...     for name, some in (("own", images.items()), ("copy", reversed(images.items())))
    ... )
    >>> label_digests(one) == label_digests(other), len(label_digests(one).images)
    (True, 2)
    """
    facts: defaultdict[str, list[bytes]] = defaultdict(list)
    for image, fact in _facts(truth):
        facts[image].append(fact)
    sizes = dict(zip(truth.lists.segmentation, truth.tables.masks.sizes.tolist(), strict=False))
    sizes |= dict(zip(truth.lists.images, truth.tables.sizes.tolist(), strict=True))
    images, annotated = [], []
    for image, size in sizes.items():
        digest = hashlib.sha256(_joined([image.encode(), *sorted(facts[image])]))
        images.append(digest.hexdigest())
        if facts[image]:
            digest.update(np.array(size, "<i8").tobytes())
            annotated.append(digest.hexdigest())
    return LabelDigests(tuple(sorted(images)), tuple(sorted(annotated)))


def _joined(parts: Sequence[bytes]) -> bytes:
    """Parts in one, each behind its length, so that no other parts give the same."""
    return b"".join(len(part).to_bytes(8, "little") + part for part in parts)


def _facts(truth: GroundTruth) -> Iterator[Fact]:
    lists, tables = truth.lists, truth.tables
    codes = _codes(lists.classes)
    images = lists.images
    objects = [_joined(parts) for parts in _objects(truth, codes)]
    owners = [images[place] for place in tables.objects.image.tolist()]
    yield from zip(owners, objects, strict=True)
    parts = tables.parts
    boxes = _boxes(parts.boxes, tables.convention)
    for row, (owner, kind) in enumerate(zip(parts.owner.tolist(), parts.kind.tolist(), strict=True)):
        yield owners[owner], _joined([b"part", objects[owner], bytes([kind]), boxes[row].tobytes()])
    acts = tables.acts
    actions = [name.encode() for name in lists.actions]
    for action, owner, label in zip(
        acts.action.tolist(), acts.owner.tolist(), acts.label.tolist(), strict=True
    ):
        yield owners[owner], _joined([b"action", objects[owner], actions[action], b"%d" % label])
    for label in (0, 1):
        for of_class, place in np.argwhere(tables.labels == label).tolist():
            yield images[place], _joined([b"label", codes[of_class].tobytes(), b"%d" % label])
    yield from _of_pairs(b"verified", tables.verified, images, codes)
    yield from _of_label_images(truth, codes)
    yield from _of_coco(truth, codes)


def _codes(names: Sequence[str]) -> Codes:
    """A number for each class that its name decides."""
    digests = (hashlib.sha256(name.encode()).digest()[:8] for name in names)
    return np.array([int.from_bytes(each, "little") for each in digests], "<u8")


def _boxes(boxes: NDArray[np.float64], convention: BoxConvention) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):
        rounded = np.round(convention.convert(boxes, BoxConvention.HALF_OPEN), DECIMALS)
    return np.ascontiguousarray(rounded + 0.0, "<f8")  # no negative zeros


def _objects(truth: GroundTruth, codes: Codes) -> Iterator[list[bytes]]:
    """What each object is: class, box, flags."""
    objects = truth.tables.objects
    boxes = _boxes(objects.boxes, truth.tables.convention)
    flags = np.column_stack([objects.difficult, objects.truncated, objects.occluded, objects.group_of])
    for row, name in enumerate(objects.name.tolist()):
        yield [b"object", codes[name].tobytes(), boxes[row].tobytes(), flags[row].tobytes()]


def _of_pairs(
    what: bytes, pairs: NDArray[np.int32] | None, images: Sequence[str], codes: Codes
) -> Iterator[Fact]:
    for place, of_class in () if pairs is None else pairs.tolist():
        yield images[place], _joined([what, codes[of_class].tobytes()])


def _of_label_images(truth: GroundTruth, codes: Codes) -> Iterator[Fact]:
    """The label images that have anything besides the background."""
    names, masks = truth.lists.segmentation, truth.tables.masks
    label_codes, named = np.zeros(VOID + 1, "<u8"), codes[: VOID - 1]
    label_codes[1 : len(named) + 1] = named
    label_codes[VOID] = 1
    for row, (first, last) in enumerate(
        zip(masks.first[:-1].tolist(), masks.first[1:].tolist(), strict=True)
    ):
        labels, lengths = masks.labels[first:last], masks.lengths[first:last]
        if labels.any():
            size = masks.sizes[row].astype("<i8").tobytes()
            yield (
                names[row],
                _joined([b"pixels", size, label_codes[labels].tobytes(), lengths.astype("<i8").tobytes()]),
            )


def _of_coco(truth: GroundTruth, codes: Codes) -> Iterator[Fact]:
    """What COCO's annotation has besides the objects: masks, and what LVIS knows of classes in images."""
    table, images = truth.tables.coco, truth.lists.images
    if table is None:
        return
    if table.run_first is not None and table.run_start is not None and table.run_end is not None:
        firsts = table.run_first.tolist()
        for row, (place, label) in enumerate(zip(table.image.tolist(), table.label.tolist(), strict=True)):
            runs = [each[firsts[row] : firsts[row + 1]] for each in (table.run_start, table.run_end)]
            drawn = [each.astype("<i8").tobytes() for each in runs]
            yield images[place], _joined([b"mask", codes[label].tobytes(), *drawn])
    yield from _of_pairs(b"negative", table.negative, images, codes)
    yield from _of_pairs(b"inexhaustive", table.inexhaustive, images, codes)
