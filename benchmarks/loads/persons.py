"""Two thousand made-up persons: what they do, where their parts are, and what a middling method makes of both."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from benchmarks.loads.archives import Results, prepare
from benchmarks.loads.scene import DATASET, IMAGE_SET, Scene, truth_of
from heldout_scoring import Box, GroundTruth, Layout, Part, layouts_to_xml
from heldout_scoring.data.annotations import PARTS, ActionLabels, Parts
from heldout_scoring.data.arrays import Floats, Integers, Labels

ACTION: Final = 10
LAYOUT: Final = 8
PERSONS: Final = 2_000
ACTIONS: Final = (
    "jumping",
    "phoning",
    "playinginstrument",
    "reading",
    "ridingbike",
    "ridinghorse",
    "running",
    "takingphoto",
    "usingcomputer",
    "walking",
)


@dataclass(frozen=True, slots=True, eq=False)
class LayoutPersons:
    """The first persons of a scene, an object each: owner int32 (n,), number int32 (n,), from 1 in its image.

    labels: int8 (actions, n); parts: float64 (n, kinds, 4), one of each kind, inside the person.
    """

    scene: Scene
    owner: Integers
    number: Integers
    labels: Labels
    parts: Floats

    @property
    def names(self) -> tuple[tuple[str, int], ...]:
        """Image and number of each."""
        images = (self.scene.ids[place] for place in self.scene.image[self.owner].tolist())
        return tuple(zip(images, self.number.tolist(), strict=True))


def draw_people(scene: Scene) -> LayoutPersons:
    """The same scene always gives the same persons; its objects are taken for persons, whatever they are."""
    random = np.random.default_rng([9, len(scene.ids)])
    owner = np.arange(min(PERSONS, len(scene.image)), dtype=np.int32)
    number = owner - np.searchsorted(scene.image, scene.image[owner]).astype(np.int32) + 1
    labels = np.full((len(ACTIONS), len(owner)), -1, np.int8)
    labels[random.integers(0, len(ACTIONS), len(owner)), np.arange(len(owner))] = 1
    labels[random.random(labels.shape) < 0.02] = 0
    boxes = scene.boxes[owner][:, None, :]
    inside = np.sort(random.random((len(owner), len(PARTS), 2, 2)), axis=2).reshape(len(owner), len(PARTS), 4)
    corner, edges = np.tile(boxes[..., :2], 2), np.tile(boxes[..., 2:] - boxes[..., :2], 2)
    return LayoutPersons(scene, owner, number, labels, corner + inside * edges)


def truth_of_people(people: LayoutPersons) -> GroundTruth:
    """What they do and where their parts are, as a ground truth."""
    truth, kinds = truth_of(people.scene), len(PARTS)
    action, person = np.indices(people.labels.shape)
    acts = ActionLabels(action.ravel().astype(np.int8), people.owner[person.ravel()], people.labels.ravel())
    kind = np.tile(np.arange(kinds, dtype=np.int8), len(people.owner))
    parts = Parts(np.repeat(people.owner, kinds), kind, people.parts.reshape(-1, 4))
    lists = replace(truth.lists, actions=ACTIONS, persons=people.names, acting=people.names)
    return GroundTruth.of(lists, replace(truth.tables, acts=acts, parts=parts))


def save_people(people: LayoutPersons, path: Path) -> None:
    """Write what programs without our library need: the labels by action, the parts by kind, and the names in lines."""
    names = [f"{image} {number}" for image, number in people.names]
    np.savez(
        path,
        names=np.array(names),
        actions=np.array(ACTIONS),
        labels=people.labels,
        kinds=np.array(PARTS),
        parts=people.parts,
    )


def write_actions(place: Path, people: LayoutPersons) -> Results:
    """A confidence for each person in each of ten files."""
    return prepare(place, f"action-{len(people.owner)}", partial(_write_actions, people=people))


def _write_actions(folder: Path, people: LayoutPersons) -> None:
    action = folder / "results" / DATASET / "Action"
    action.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(10)
    images, numbers = zip(*people.names, strict=True)
    for name, labels in zip(ACTIONS, people.labels, strict=True):
        confidence = np.round(1 / (1 + np.exp(-random.normal(labels * 1.3 - 1, 1))), 6)
        table = pl.DataFrame({"image": images, "object": numbers, "confidence": confidence})
        table.write_csv(
            action / f"comp{ACTION}_action_{IMAGE_SET}_{name}.txt", separator=" ", include_header=False
        )


def write_layouts(place: Path, people: LayoutPersons) -> Results:
    """A layout for each person, in one file."""
    return prepare(place, f"layout-{len(people.owner)}", partial(_write_layouts, people=people))


def _write_layouts(folder: Path, people: LayoutPersons) -> None:
    layout = folder / "results" / DATASET / "Layout"
    layout.mkdir(parents=True, exist_ok=True)
    (layout / f"comp{LAYOUT}_layout_{IMAGE_SET}.xml").write_bytes(layouts_to_xml(_layouts(people)))


def _layouts(people: LayoutPersons) -> Iterator[Layout]:
    random = np.random.default_rng(8)
    shaken = np.round(people.parts + random.normal(0, 4, people.parts.shape), 1)
    shaken[..., 2:] = np.maximum(shaken[..., 2:], shaken[..., :2] + 1)
    confidence = np.round(random.random(len(people.owner)), 6)
    for (image, number), sure, boxes in zip(people.names, confidence.tolist(), shaken.tolist(), strict=True):
        parts = tuple(Part(kind, Box(*box)) for kind, box in zip(PARTS, boxes, strict=True))
        yield Layout(image, sure, parts, number)
