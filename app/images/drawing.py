"""Draw overlays for images and find notable images, in child processes.

Boxes are left, top, right, bottom in pixels from the upper left corner of the image. Label images are PNG in the colours of the
development kits with a transparent background. `names` are the images of a phase in order.
"""

import io
import json
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from app.images.hard_images import (
    HardImages,
    find_hard_images,
    find_hard_images_of_segmentation,
    labels_of_persons,
)
from app.images.packs import pack
from heldout_scoring import (
    PARTS,
    BoxConvention,
    GroundTruth,
    ImageCounts,
    RankedPredictions,
    competition_of,
    open_matches,
    protocol_of,
)
from heldout_scoring.analysis import (
    Examples,
    RankedDetections,
    count_at_best_f1,
    examples_of_detections,
    examples_of_ranking,
    examples_of_segmentation,
    read_ranked_detections,
)
from heldout_scoring.data.label_maps import LABEL_COLOURS
from heldout_scoring.evaluation import read_predictions

MAX_PREDICTIONS: Final = 100  # per image
EXAMPLES: Final = 12  # images per list
Kinds = tuple[str | None, ...]
NO_KINDS: Final[Kinds] = (None, None, None, None)
KINDS_OF_PIXELS: Final[Kinds] = ("IoU", None, "share of pixels", "IoU")  # what the values are, by list

Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class PersonPart:
    """A part of a person."""

    kind: str
    box: Box


@dataclass(frozen=True, slots=True)
class DrawnObject:
    """An annotated object. number: its index in the annotation, from 1."""

    number: int
    name: str
    box: Box
    is_difficult: bool
    parts: tuple[PersonPart, ...] = ()
    actions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DrawnPrediction:
    """A prediction.

    box: None for a prediction of the whole image; outcome: 1 for a true positive, 0 for a false positive, -1 if ignored, None for
    actions and layouts; number: for actions and layouts, the number of the person, whose annotated box is used; is_counted:
    whether it counts in comparisons, which take predictions up to the highest F1 of their class.
    """

    name: str
    confidence: float
    box: Box | None
    outcome: int | None = None
    number: int | None = None
    parts: tuple[PersonPart, ...] = ()
    is_counted: bool = True


@dataclass(frozen=True, slots=True)
class Overlay:
    """What is drawn over an image: annotated objects, or the predictions of a run, best first."""

    image: str
    has_labels: bool  # there is also a label image
    objects: tuple[DrawnObject, ...] = ()
    predictions: tuple[DrawnPrediction, ...] = ()


@dataclass(frozen=True, slots=True)
class ExampleView:
    """A notable prediction or missed object, see `heldout_scoring.analysis.images.Example`; or an easy or hard image.

    kind: the kind of error, or the meaning of the value if it is not a confidence.
    """

    image: str
    rank: int | None
    value: float | None
    box: Box | None
    iou: float | None
    kind: str | None


@dataclass(frozen=True, slots=True)
class ClassImages:
    """The notable images of a class.

    lists: for a run, true positives, near misses, false positives and missed objects; for a board, the easiest, hardest and most
    confusing images.
    """

    class_name: str
    lists: tuple[tuple[ExampleView, ...], ...]


_OVERLAY: Final = TypeAdapter(Overlay)
_IMAGES: Final = TypeAdapter(tuple[ClassImages, ...])

Objects = Mapping[str, Sequence[DrawnObject]]  # by image
Predictions = defaultdict[str, list[DrawnPrediction]]
LabelImages = dict[str, bytes]


def read_overlay(part: bytes, name: str) -> Overlay | None:
    """Read an overlay from a part of a pack. None if it belongs to another image, because the images have changed since.

    >>> read_overlay(zlib.compress(b'{"image": "a", "has_labels": false}'), "a"), read_overlay(b"", "a")
    (Overlay(image='a', has_labels=False, objects=(), predictions=()), None)
    """
    if not part:
        return None
    overlay = _OVERLAY.validate_json(zlib.decompress(part))
    return overlay if overlay.image == name else None


def read_class_images(content: bytes) -> tuple[ClassImages, ...]:
    """Read the notable images of each class from JSON."""
    return _IMAGES.validate_json(content)


def draw_truth(truth_file: Path, names: Sequence[str]) -> bytes:
    """Make a pack with the annotation and the label image of each image."""
    truth = GroundTruth.open(truth_file)
    objects = _objects(truth)
    masks = {
        name: _label_image(truth.tables.masks[place]) for place, name in enumerate(truth.lists.segmentation)
    }
    return _packed(
        (Overlay(name, name in masks, objects=tuple(objects.get(name, ()))) for name in names), masks
    )


def _objects(truth: GroundTruth) -> Objects:
    lists, tables = truth.lists, truth.tables
    objects = tables.objects
    boxes = _edges(objects.boxes, tables.convention)
    parts, actions = defaultdict[int, list[PersonPart]](list), defaultdict[int, list[str]](list)
    columns = zip(
        tables.parts.owner.tolist(),
        tables.parts.kind.tolist(),
        _edges(tables.parts.boxes, tables.convention),
        strict=True,
    )
    for owner, kind, box in columns:
        parts[owner].append(PersonPart(PARTS[kind], box))
    for action, owner, label in zip(
        tables.acts.action.tolist(), tables.acts.owner.tolist(), tables.acts.label.tolist(), strict=True
    ):
        if label > 0:
            actions[owner].append(lists.actions[action])
    by_image = defaultdict[str, list[DrawnObject]](list)
    for row, (image, name) in enumerate(zip(objects.image.tolist(), objects.name.tolist(), strict=True)):
        listed = by_image[lists.images[image]]
        listed.append(
            DrawnObject(
                len(listed) + 1,
                lists.classes[name],
                boxes[row],
                bool(objects.difficult[row]),
                tuple(parts[row]),
                tuple(actions[row]),
            )
        )
    return by_image


def draw_run(
    archive: Path, truth_file: Path, statistics: Path, competition: int, protocol: str, names: Sequence[str]
) -> bytes:
    """Make a pack of two: a pack with the predictions and label image of each image, and JSON with the examples of each class."""
    truth = GroundTruth.open(truth_file)
    task = competition_of(truth.lists.dataset, competition).task
    _, matches = open_matches(statistics)
    predictions, masks = Predictions(list), LabelImages()
    images, kinds = truth.lists.images, NO_KINDS
    if isinstance(matches, ImageCounts):
        masks = _predicted_label_images(archive, truth, competition)
        examples = list(examples_of_segmentation(matches, count=EXAMPLES))
        images, kinds = truth.lists.segmentation, KINDS_OF_PIXELS
    elif task == "detection":
        found = list(read_ranked_detections(archive, truth, competition, matches))
        predictions = _detections(truth, found)
        rules = protocol_of(protocol).rules_of(task)
        examples = [examples_of_detections(each, truth, rules, count=EXAMPLES) for each in found]
    else:
        predictions = _by_task(task, archive, truth, competition, matches)
        examples = [examples_of_ranking(each, count=EXAMPLES) for each in matches]
    overlays = (
        Overlay(
            name,
            name in masks,
            predictions=tuple(sorted(predictions.get(name, ()), key=_by_confidence)),
        )
        for name in names
    )
    listed = tuple(ClassImages(each.class_name, _views(each, images, kinds)) for each in examples)
    return pack([_packed(overlays, masks), _json(_IMAGES, listed)])


def _views(found: Examples, images: Sequence[str], kinds: Kinds) -> tuple[tuple[ExampleView, ...], ...]:
    lists = (found.true_positives, found.near_misses, found.false_positives, found.missed)
    return tuple(
        tuple(
            ExampleView(images[each.image], each.rank, each.value, each.box, each.iou, kind or each.kind)
            for each in examples
        )
        for examples, kind in zip(lists, kinds, strict=True)
    )


def hard_images(truth_file: Path, statistics: Sequence[Path]) -> bytes:
    """Find the easiest, hardest and most confusing images of each class over several runs of a competition, as JSON."""
    truth = GroundTruth.open(truth_file)
    listed: list[ClassImages] = []
    by_class = defaultdict[str, list[RankedPredictions]](list)
    pixels: list[ImageCounts] = []
    for file in statistics:
        _, matches = open_matches(file)
        if isinstance(matches, ImageCounts):
            pixels.append(matches)
        else:
            for ranked in matches:
                by_class[ranked.class_name].append(ranked)
    for rankings in by_class.values():
        labels = _labels(truth, rankings[0])
        if labels is not None:
            found = find_hard_images(rankings, labels, count=EXAMPLES)
            listed.append(_hard(found, truth.lists.images, ("median rank",) * 3))
    if pixels:
        kinds = ("median IoU", "median IoU", "median share of pixels")
        of_pixels = find_hard_images_of_segmentation(pixels, count=EXAMPLES)
        listed += [_hard(each, truth.lists.segmentation, kinds) for each in of_pixels]
    return _json(_IMAGES, tuple(listed))


def _labels(truth: GroundTruth, ranking: RankedPredictions) -> NDArray[np.int8] | None:
    """Label each image: 1 if it has the class, -1 if not, 0 if it does not count. None for parts of persons."""
    name, lists = ranking.class_name, truth.lists
    if name in lists.actions:
        return labels_of_persons(ranking, len(lists.images))
    if not lists.main or name not in lists.classes:
        return None
    labels: NDArray[np.int8] = truth.tables.labels[lists.classes.index(name)]
    return labels


def _hard(found: HardImages, images: Sequence[str], kinds: Sequence[str]) -> ClassImages:
    """Build the lists of a class. kinds: the value that each list is sorted by."""
    lists = (found.easiest, found.hardest, found.confusing)
    return ClassImages(
        found.class_name,
        tuple(
            tuple(
                ExampleView(images[each.image], None, each.value, None, None, kind) for each in images_of_list
            )
            for images_of_list, kind in zip(lists, kinds, strict=True)
        ),
    )


def _detections(truth: GroundTruth, found: Sequence[RankedDetections]) -> Predictions:
    """Select the most confident detections of each image over all classes."""
    predictions = Predictions(list)
    if not found:
        return predictions
    image = np.concatenate([each.ranked.image for each in found])
    confidence = np.concatenate([each.ranked.confidence for each in found])
    outcomes = np.concatenate([each.ranked.outcomes for each in found])
    counted = np.concatenate([_counted(each.ranked) for each in found])
    label = np.repeat(np.arange(len(found)), [len(each.ranked.image) for each in found])
    boxes = np.concatenate([each.convention.convert(each.boxes, BoxConvention.HALF_OPEN) for each in found])
    order = np.lexsort((-confidence, image))
    first = np.searchsorted(image[order], image[order])
    kept = order[np.arange(len(order)) - first < MAX_PREDICTIONS]
    for row in kept.tolist():
        predictions[truth.lists.images[image[row]]].append(
            DrawnPrediction(
                found[label[row]].ranked.class_name,
                float(confidence[row]),
                _rounded(boxes[row]),
                int(outcomes[row]),
                is_counted=bool(counted[row]),
            )
        )
    return predictions


def _counted(ranked: RankedPredictions) -> NDArray[np.bool_]:
    return np.arange(len(ranked.image)) < count_at_best_f1(ranked)


def _by_task(
    task: str, archive: Path, truth: GroundTruth, competition: int, matches: Sequence[RankedPredictions]
) -> Predictions:
    if task == "classification":
        return _classification(truth, matches)
    predictions = Predictions(list)
    persons = {
        (image, each.number): each.box for image, objects in _objects(truth).items() for each in objects
    }
    if task in ("action", "layout"):
        for each in read_predictions(archive, truth.description, competition):
            found = _actions(truth, each.key, each.value) if task == "action" else _layouts(truth, each.value)
            for (image, number), name, confidence, parts in found:
                box = persons.get((image, number))
                predictions[image].append(DrawnPrediction(name, confidence, box, None, number, parts))
    return predictions


def _classification(truth: GroundTruth, matches: Sequence[RankedPredictions]) -> Predictions:
    predictions = Predictions(list)
    for ranked in matches:
        columns = zip(
            ranked.image.tolist(),
            ranked.confidence.tolist(),
            ranked.outcomes.tolist(),
            _counted(ranked).tolist(),
            strict=True,
        )
        for image, confidence, outcome, is_counted in columns:
            if np.isfinite(confidence):
                predictions[truth.lists.images[image]].append(
                    DrawnPrediction(ranked.class_name, confidence, None, outcome, is_counted=is_counted)
                )
    for each in predictions.values():
        each.sort(key=_by_confidence)
        del each[MAX_PREDICTIONS:]
    return predictions


# image and number, name, confidence, parts
OfPerson = tuple[tuple[str, int], str, float, tuple[PersonPart, ...]]


def _actions(truth: GroundTruth, action: str, parsed: Any) -> Iterator[OfPerson]:
    for person, confidence in zip(parsed.subject.tolist(), parsed.confidence.tolist(), strict=True):
        yield truth.lists.acting[person], action, confidence, ()


def _layouts(truth: GroundTruth, parsed: Any) -> Iterator[OfPerson]:
    boxes = _edges(parsed.parts, BoxConvention.INCLUSIVE)
    kinds, first = parsed.kind.tolist(), parsed.first.tolist()
    columns = zip(parsed.person.tolist(), parsed.confidence.tolist(), first, first[1:], strict=False)
    for person, confidence, start, end in columns:
        if person >= 0:  # in the Layout set
            parts = tuple(PersonPart(PARTS[kinds[row]], boxes[row]) for row in range(start, end))
            yield truth.lists.persons[person], "person", confidence, parts


def _predicted_label_images(archive: Path, truth: GroundTruth, competition: int) -> LabelImages:
    files = read_predictions(archive, truth.description, competition)
    return {each.value.image: _label_image(each.value.labels) for each in files if each.value is not None}


def _label_image(labels: NDArray[np.uint8]) -> bytes:
    from PIL import Image  # noqa: PLC0415 - needed only for label images

    image = Image.fromarray(labels, "P")
    image.putpalette(LABEL_COLOURS)
    output = io.BytesIO()
    image.save(output, "PNG", transparency=b"\0" + b"\xff" * 255)
    return output.getvalue()


def _packed(overlays: Iterable[Overlay], masks: LabelImages) -> bytes:
    """Make a pack with two parts for each image: its overlay as compressed JSON, and its label image."""
    return pack(
        part
        for each in overlays
        for part in (zlib.compress(_json(_OVERLAY, each), 1), masks.get(each.image, b""))
    )


def _json(adapter: TypeAdapter[Any], value: object) -> bytes:
    return json.dumps(adapter.dump_python(value)).encode()


def _by_confidence(prediction: DrawnPrediction) -> float:
    return -prediction.confidence


def _edges(boxes: NDArray[np.float64], convention: BoxConvention) -> list[Box]:
    return [_rounded(box) for box in convention.convert(boxes, BoxConvention.HALF_OPEN)]


def _rounded(box: NDArray[np.float64]) -> Box:
    left, top, right, bottom = (round(edge, 1) for edge in box.tolist())
    return left, top, right, bottom
