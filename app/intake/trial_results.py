"""Made-up results of a ground truth, and their scores: empty, random, and nearly right. They exist in a child process only.

What is nearly right is nearly the ground truth, so that predictions are neither written anywhere nor named in an error.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import heldout_scoring
from app.intake.reports import without_words
from heldout_scoring import (
    Box,
    Confidences,
    Detections,
    GroundTruth,
    InstanceMasks,
    LabelMaps,
    Layout,
    Layouts,
    Part,
)
from heldout_scoring.evaluation import Predictions, is_scorable, missing_truth, task_of
from heldout_scoring.stored import to_plain

EMPTY, RANDOM, JITTERED = KINDS = ("empty", "random", "jittered")
BOXES: Final = 3  # random ones in each image
# of a box's side, and of the confidence in right and wrong, by which nearly right ones differ
SHIFT: Final = 0.05
PIXELS: Final = 2  # by which nearly right masks are shifted
USUAL: Final = 400  # width and height where they are not known
MOST_PIXELS: Final = 1 << 29  # of all masks together, which are held in memory

Random = np.random.Generator


@dataclass(frozen=True, slots=True)
class TrialClass:
    """The score of a class in [0, 1]; None with a reason."""

    name: str
    value: float | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class TrialResult:
    """The scores of a made-up result: kind is empty, random or jittered; mean is the headline, None with a reason."""

    kind: str
    mean: float | None
    reason: str | None
    classes: tuple[TrialClass, ...]


@dataclass(frozen=True, slots=True)
class TrialTask:
    """The scores of a task's made-up results. problem: why there are none."""

    task: str
    title: str
    competitions: tuple[int, ...]
    measure: str = ""
    results: tuple[TrialResult, ...] = ()
    problem: str = ""


class UnsupportedTrialError(Exception):
    """No result is made up for this task; the message says why."""


def score_trials(truth_file: Path, protocol: str, seed: int) -> bytes:
    """Return the scores of made-up results for every task that the ground truth can score, as JSON of `TrialTask`s."""
    with without_words():
        truth = GroundTruth.open(truth_file)
        return json.dumps([to_plain(each) for each in trials_of_truth(truth, protocol, seed)]).encode()


def trials_of_truth(truth: GroundTruth, protocol: str, seed: int) -> Iterator[TrialTask]:
    """Make up and score results for every task that the ground truth can score."""
    missing = missing_truth(truth)
    by_task: dict[str, list[heldout_scoring.CompetitionInfo]] = {}
    for info in heldout_scoring.competitions(truth.lists.dataset):
        if info.number not in missing and is_scorable(info):
            by_task.setdefault(info.task, []).append(info)
    for task, infos in by_task.items():
        numbers = tuple(info.number for info in infos)
        try:
            yield _tried(truth, task, protocol, seed, TrialTask(task, infos[0].title, numbers))
        except UnsupportedTrialError as error:
            yield TrialTask(task, infos[0].title, numbers, problem=str(error))


def _tried(truth: GroundTruth, task: str, protocol: str, seed: int, base: TrialTask) -> TrialTask:
    make = MAKERS.get(task)
    if make is None:
        raise UnsupportedTrialError("no result is made up for this task")
    measure, results = "", []
    for kind in KINDS:
        result = heldout_scoring.evaluate(
            make(truth, kind, np.random.default_rng(seed)), truth, protocol=protocol
        )
        measure = result.measure
        classes = tuple(TrialClass(each.name, each.value, each.reason) for each in result.classes)
        results.append(TrialResult(kind, result.headline, result.headline_reason, classes))
    return TrialTask(base.task, base.title, base.competitions, measure, tuple(results))


def _boxes(truth: GroundTruth, kind: str, random: Random) -> Detections:
    """No box; three anywhere in each image; or every annotated one, moved a little."""
    lists, tables = truth.lists, truth.tables
    if kind == JITTERED:
        rows = tables.objects.image < lists.main
        image, label = tables.objects.image[rows], tables.objects.name[rows].astype(np.int64)
        boxes = _moved(tables.objects.boxes[rows], random)
    else:
        count = BOXES if kind == RANDOM else 0
        image = np.repeat(np.arange(lists.main), count)
        label = random.integers(0, max(len(lists.classes), 1), len(image))
        boxes = _anywhere(truth, image, random)
    return Detections.from_arrays(
        image, label, random.uniform(size=len(image)), boxes, images=lists.images[: lists.main], classes=lists.classes,
        convention=tables.convention,
    )  # fmt: skip


def _moved(boxes: NDArray[np.float64], random: Random) -> NDArray[np.float64]:
    """Boxes whose edges are moved by a small share of their sides."""
    sides = np.maximum(boxes[:, 2:] - boxes[:, :2], 1)
    edges = boxes + random.normal(0, SHIFT, boxes.shape) * np.hstack([sides, sides])
    return np.hstack([np.minimum(edges[:, :2], edges[:, 2:]), np.maximum(edges[:, :2], edges[:, 2:])])


def _anywhere(truth: GroundTruth, image: NDArray[Any], random: Random) -> NDArray[np.float64]:
    """A box anywhere in each of these images."""
    sides = np.where(truth.tables.has_size[:, None], truth.tables.sizes, USUAL)[image]
    corners = np.sort(random.uniform(size=(2, len(image), 2)), axis=0) * sides
    return np.hstack([corners[0] + 1, corners[1] + 1])


def _layouts(truth: GroundTruth, kind: str, random: Random) -> Layouts:
    """No layout; a head, a hand and a foot anywhere for each person; or every annotated part, moved a little."""
    persons, lists = task_of(Layouts.from_list([])).load(truth).people, truth.lists
    line = np.repeat(np.arange(len(persons.image)), persons.persons.count)
    image = persons.image[line]
    if kind == JITTERED:
        boxes, owner, kinds = _moved(persons.persons.boxes, random), persons.owner, persons.kind
        parts = _moved(persons.parts, random)
    else:
        count = len(image) if kind == RANDOM else 0
        boxes = _anywhere(truth, image, random)
        owner, kinds = (
            np.repeat(np.arange(count), len(heldout_scoring.PARTS)),
            np.tile(np.arange(len(heldout_scoring.PARTS), dtype=np.int8), count),
        )
        parts = _anywhere(truth, image[owner], random)
    first = np.searchsorted(owner, np.arange(len(image) + 1)).tolist()
    made = []
    for row, person in enumerate(line.tolist()):
        own = slice(first[row], first[row + 1])
        found = tuple(
            Part(heldout_scoring.PARTS[part], Box(*box))
            for part, box in zip(kinds[own].tolist(), parts[own].tolist(), strict=True)
        )
        named = {"box": Box(*boxes[row].tolist())} if persons.boxed else {"object": lists.persons[person][1]}
        if found:
            made.append(Layout(lists.images[image[row]], float(random.uniform()), found, **named))
    return Layouts.from_list(made)


def _confidences(right: NDArray[Any], kind: str, random: Random) -> NDArray[np.float64]:
    """The same confidence everywhere; any; or a high one where it is right, with a few mistakes."""
    if kind == EMPTY:
        return np.zeros(right.shape)
    noise = random.uniform(size=right.shape)
    return noise if kind == RANDOM else right + noise * (1 + SHIFT)


def _labels(truth: GroundTruth, kind: str, random: Random) -> Confidences:
    lists = truth.lists
    scores = _confidences(truth.tables.labels.T == 1, kind, random)
    return Confidences.from_matrix(scores, images=lists.images[: lists.main], classes=lists.classes)


def _actions(truth: GroundTruth, kind: str, random: Random) -> Confidences:
    lists, acts = truth.lists, truth.tables.acts
    starts = np.searchsorted(truth.tables.objects.image, np.arange(len(lists.images)))
    places = {name: int(start) for name, start in zip(lists.images, starts, strict=True)}
    owner = {places[image] + number - 1: row for row, (image, number) in enumerate(lists.acting)}
    right = np.zeros((len(lists.acting), len(lists.actions)), np.bool_)
    for action, object_, label in zip(
        acts.action.tolist(), acts.owner.tolist(), acts.label.tolist(), strict=True
    ):
        right[owner[object_], action] = label == 1
    return Confidences.from_matrix(
        _confidences(right, kind, random), images=[image for image, _ in lists.acting], classes=lists.actions,
        person=[number for _, number in lists.acting],
    )  # fmt: skip


def _label_maps(truth: GroundTruth, kind: str, random: Random) -> LabelMaps:
    """Background alone; any class in each pixel; or the annotation, shifted by two pixels."""
    lists, masks, most = truth.lists, truth.tables.masks, len(truth.lists.classes)
    if int(np.prod(masks.sizes.astype(np.int64), axis=1).sum()) > MOST_PIXELS:
        raise UnsupportedTrialError("the label images are too large to be made up in memory")
    maps = []
    for place, (width, height) in enumerate(masks.sizes.tolist()):
        if kind == JITTERED:
            right = np.roll(masks[place], PIXELS, axis=(0, 1))
            maps.append(np.where(right > most, 0, right))
        else:
            highest = most if kind == RANDOM else 0
            maps.append(random.integers(0, highest, (height, width), np.uint8, endpoint=True))
    return LabelMaps.from_arrays(maps, images=lists.segmentation)


def _instance_masks(truth: GroundTruth, kind: str, random: Random) -> InstanceMasks:
    """No mask; the random boxes, filled; or every annotated one, shifted by two pixels."""
    lists, table = truth.lists, truth.tables.coco
    if table is None or table.run_start is None or table.run_end is None or table.run_first is None:
        raise UnsupportedTrialError("the annotation has no masks")
    sizes = truth.tables.sizes.astype(np.int64)
    found = _boxes(truth, RANDOM if kind == RANDOM else EMPTY, random)
    image, label = (table.image, table.label) if kind == JITTERED else (found.image, found.label)
    if not truth.tables.has_size[image].all() or int(np.prod(sizes[image], axis=1).sum()) > MOST_PIXELS:
        raise UnsupportedTrialError(
            "the masks are too large to be made up in memory, or the sizes of images are unknown"
        )
    drawn = []
    for row, (width, height) in enumerate(sizes[image].tolist()):
        mask = np.zeros((height, width), np.bool_)
        if kind == JITTERED:
            runs = slice(table.run_first[row], table.run_first[row + 1])
            columns = np.zeros(height * width + 1, np.int8)
            columns[table.run_start[runs]] += 1
            columns[table.run_end[runs]] -= 1
            mask = np.roll(np.cumsum(columns[:-1]).reshape(width, height).T > 0, PIXELS, axis=(0, 1))
        else:
            left, top, right, bottom = found.boxes[row].astype(int).tolist()
            mask[top : bottom + 1, left : right + 1] = True
        drawn.append(mask)
    return InstanceMasks.from_arrays(
        image, label, random.uniform(size=len(image)), drawn, images=lists.images, classes=lists.classes
    )


Make = Callable[[GroundTruth, str, Random], Predictions]
MAKERS: Final[Mapping[str, Make]] = {
    "classification": _labels,
    "detection": _boxes,
    "segmentation": _label_maps,
    "action": _actions,
    "layout": _layouts,
    "coco-detection": _boxes,
    "lvis-detection": _boxes,
    "coco-segmentation": _instance_masks,
    "lvis-segmentation": _instance_masks,
}
