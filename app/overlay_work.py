"""The work of child processes that draw annotation and predictions for pages: an entry for each picture of a phase.

An entry is compressed JSON of what is drawn over a picture, in pixels from its upper left corner; label images are PNG in the
colours of the development kits, the background transparent. `names` are the images in the order of the entries.
"""

import io
import json
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np

from app.packs import pack
from scoring.analysis.examples import (
    Examples,
    examples_of_detections,
    examples_of_ranking,
    examples_of_segmentation,
)
from scoring.analysis.hard_images import (
    HardImages,
    find_hard_images,
    find_hard_images_of_segmentation,
    labels_of_persons,
)
from scoring.analysis.ranked_detections import RankedDetections, read_ranked_detections
from scoring.competitions import competition_of
from scoring.data.arrays import Bytes, Floats, Labels
from scoring.data.boxes import BoxConvention, convert_boxes
from scoring.data.ground_truth import GroundTruth
from scoring.data.matches import ImageCounts, RankedPredictions
from scoring.data.tables import PARTS
from scoring.errors import Problems
from scoring.intake.result_files import competition_files
from scoring.protocols import TASKS, protocol_of
from scoring.readers.image_index import ImageIndex
from scoring.readers.voc.label_images import LABEL_COLOURS
from scoring.saved_matches import open_matches
from scoring.tasks.detection.task import DETECTION

MAX_PREDICTIONS: Final = 100  # of one image
EXAMPLES: Final = 12
HARD_LISTS: Final = ("easiest", "hardest", "confusing")

Entry = dict[str, Any]
Entries = dict[str, Entry]  # by image
Images = dict[str, bytes]  # label images by image


def truth_entries(truth_file: Path, names: Sequence[str]) -> bytes:
    """A pack of two packs: the objects of each image with their parts and actions, and its label image."""
    truth = GroundTruth.open(truth_file)
    lists, tables = truth.lists, truth.tables
    objects = tables.objects
    boxes = _edges(objects.boxes, tables.convention)
    parts, acts = defaultdict[int, list[Any]](list), defaultdict[int, list[str]](list)
    columns = zip(
        tables.parts.owner.tolist(),
        tables.parts.kind.tolist(),
        _edges(tables.parts.boxes, tables.convention),
        strict=True,
    )
    for owner, kind, box in columns:
        parts[owner].append([PARTS[kind], box])
    for action, owner, label in zip(
        tables.acts.action.tolist(), tables.acts.owner.tolist(), tables.acts.label.tolist(), strict=True
    ):
        if label > 0:
            acts[owner].append(lists.actions[action])
    entries: Entries = {name: {"objects": []} for name in lists.images}
    for row, (image, name) in enumerate(zip(objects.image.tolist(), objects.name.tolist(), strict=True)):
        listed = entries[lists.images[image]]["objects"]
        listed.append(
            {
                "number": len(listed) + 1,
                "name": lists.classes[name],
                "box": boxes[row],
                "difficult": bool(objects.difficult[row]),
                "parts": parts[row],
                "actions": acts[row],
            }
        )
    masks: Images = {}
    for place, name in enumerate(lists.segmentation):
        masks[name] = _label_image(tables.masks[place])
    return _packed(entries, masks, names)


def run_entries(
    archive: Path, truth_file: Path, statistics: Path, competition: int, protocol: str, names: Sequence[str]
) -> bytes:
    """A pack of three: the predictions of each image, its label image, and JSON of the examples of each class."""
    truth = GroundTruth.open(truth_file)
    task = competition_of(truth.lists.dataset, competition).task
    _, matches = open_matches(statistics)
    entries: Entries = {}
    masks: Images = {}
    if isinstance(matches, ImageCounts):
        masks = _predicted_label_images(archive, truth, competition)
        examples: Iterable[Examples] = examples_of_segmentation(matches, count=EXAMPLES)
        listed = truth.lists.segmentation
    elif task == "detection":
        found = list(read_ranked_detections(archive, truth, competition, matches))
        entries = _detections(truth, found)
        rules = protocol_of(protocol).rules_of(DETECTION)
        examples = [examples_of_detections(each, truth, rules, count=EXAMPLES) for each in found]
        listed = truth.lists.images
    else:
        entries = _by_task(task, archive, truth, competition, matches)
        examples = [examples_of_ranking(each, count=EXAMPLES) for each in matches]
        listed = truth.lists.images
    return _packed(entries, masks, names, _examples(examples, listed))


def hard_images(truth_file: Path, statistics: Sequence[Path]) -> bytes:
    """JSON of the easiest, hardest and most confusing images of each class over several runs of one competition."""
    truth = GroundTruth.open(truth_file)
    listed: list[Entry] = []
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
            listed.append(_hard(found, truth.lists.images, dict.fromkeys(HARD_LISTS, "rank")))
    if pixels:
        of_pixels = find_hard_images_of_segmentation(pixels, count=EXAMPLES)
        kinds = dict(zip(HARD_LISTS, ("iou", "iou", "share"), strict=True))
        listed += [_hard(each, truth.lists.segmentation, kinds) for each in of_pixels]
    return json.dumps(listed).encode()


def _labels(truth: GroundTruth, ranking: RankedPredictions) -> Labels | None:
    """In which images the class is, 1, in which it is not, -1, and which do not count, 0; none for parts of persons."""
    name, lists = ranking.class_name, truth.lists
    if name in lists.actions:
        return labels_of_persons(ranking, len(lists.images))
    if not lists.main or name not in lists.classes:
        return None
    labels: Labels = truth.tables.labels[lists.classes.index(name)]
    return labels


def _hard(found: HardImages, images: Sequence[str], kinds: Mapping[str, str]) -> Entry:
    """The lists of a class; kinds: what the images of each are chosen by."""
    return {
        "class_name": found.class_name,
        **{
            name: [{"image": images[each.image], kind: each.value} for each in getattr(found, name)]
            for name, kind in kinds.items()
        },
    }


def _examples(examples: Iterable[Examples], images: Sequence[str]) -> bytes:
    plain = [asdict(each) for each in examples]
    for each in plain:
        for sort in ("true_positives", "near_misses", "false_positives", "missed"):
            for example in each[sort]:
                example["image"] = images[example["image"]]
    return json.dumps(plain).encode()


def _detections(truth: GroundTruth, found: Sequence[RankedDetections]) -> Entries:
    """The most confident detections of each image over all classes, best first."""
    entries: Entries = {name: {"boxes": []} for name in truth.lists.images}
    if not found:
        return entries
    image = np.concatenate([each.ranked.image for each in found])
    confidence = np.concatenate([each.ranked.confidence for each in found])
    outcomes = np.concatenate([each.ranked.outcomes for each in found])
    label = np.repeat(np.arange(len(found)), [len(each.ranked.image) for each in found])
    boxes = np.concatenate(
        [convert_boxes(each.boxes, each.convention, BoxConvention.HALF_OPEN) for each in found]
    )
    order = np.lexsort((-confidence, image))
    first = np.searchsorted(image[order], image[order])
    kept = order[np.arange(len(order)) - first < MAX_PREDICTIONS]
    for row in kept.tolist():
        entries[truth.lists.images[image[row]]]["boxes"].append(
            [
                found[label[row]].ranked.class_name,
                float(confidence[row]),
                _rounded(boxes[row]),
                int(outcomes[row]),
            ]
        )
    return entries


def _by_task(
    task: str, archive: Path, truth: GroundTruth, competition: int, matches: Sequence[RankedPredictions]
) -> Entries:
    if task == "classification":
        return _classification(truth, matches)
    entries: Entries = {name: {} for name in truth.lists.images}
    if task in ("action", "layout"):
        index, problems = ImageIndex.of(truth.description), Problems()
        for file in competition_files(archive, truth.description, competition, problems=problems):
            parsed = TASKS[task].read(file.read(), index, file=file.name, problems=problems)
            if task == "action":
                _add_actions(entries, truth, file.key, parsed)
            else:
                _add_layouts(entries, truth, parsed)
    return entries


def _classification(truth: GroundTruth, matches: Sequence[RankedPredictions]) -> Entries:
    entries: Entries = {name: {"classes": []} for name in truth.lists.images}
    for ranked in matches:
        columns = zip(
            ranked.image.tolist(), ranked.confidence.tolist(), ranked.outcomes.tolist(), strict=True
        )
        for image, confidence, outcome in columns:
            if np.isfinite(confidence):
                entries[truth.lists.images[image]]["classes"].append([ranked.class_name, confidence, outcome])
    for entry in entries.values():
        entry["classes"].sort(key=lambda each: -each[1])
        del entry["classes"][MAX_PREDICTIONS:]
    return entries


def _add_actions(entries: Entries, truth: GroundTruth, action: str, parsed: Any) -> None:
    for person, confidence in zip(parsed.subject.tolist(), parsed.confidence.tolist(), strict=True):
        image, number = truth.lists.acting[person]
        entries[image].setdefault("actions", []).append([number, action, confidence])


def _add_layouts(entries: Entries, truth: GroundTruth, parsed: Any) -> None:
    boxes = _edges(parsed.parts, BoxConvention.INCLUSIVE)
    kinds, first = parsed.kind.tolist(), parsed.first.tolist()
    columns = zip(parsed.person.tolist(), parsed.confidence.tolist(), first, first[1:], strict=False)
    for person, confidence, start, end in columns:
        if person < 0:  # not in the Layout set
            continue
        image, number = truth.lists.persons[person]
        parts = [[PARTS[kinds[row]], boxes[row]] for row in range(start, end)]
        entries[image].setdefault("layouts", []).append([number, confidence, parts])


def _predicted_label_images(archive: Path, truth: GroundTruth, competition: int) -> Images:
    index, problems, task = ImageIndex.of(truth.description), Problems(), TASKS["segmentation"]
    found = {}
    for file in competition_files(archive, truth.description, competition, problems=problems):
        parsed = task.read(file.read(), index, file=file.name, problems=problems)
        if parsed is not None:
            found[parsed.image] = _label_image(parsed.labels)
    return found


def _label_image(labels: Bytes) -> bytes:
    from PIL import Image  # noqa: PLC0415 - only where there are label images

    image = Image.fromarray(labels, "P")
    image.putpalette(LABEL_COLOURS)
    written = io.BytesIO()
    image.save(written, "PNG", transparency=b"\0" + b"\xff" * 255)
    return written.getvalue()


def _packed(entries: Entries, masks: Images, names: Sequence[str], *further: bytes) -> bytes:
    written = (
        zlib.compress(
            json.dumps({"image": name, "labels": name in masks, **entries.get(name, {})}).encode(), 1
        )
        for name in names
    )
    return pack([pack(written), pack(masks.get(name, b"") for name in names), *further])


def _edges(boxes: Floats, convention: BoxConvention) -> list[list[float]]:
    return [_rounded(box) for box in convert_boxes(boxes, convention, BoxConvention.HALF_OPEN)]


def _rounded(box: Floats) -> list[float]:
    return [round(edge, 1) for edge in box.tolist()]
