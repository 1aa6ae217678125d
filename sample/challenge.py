"""The sample challenge: a small challenge with pictures of our own, drawn from one seed."""

import multiprocessing
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sample.annotations import Annotation, annotate
from sample.dice import Dice
from sample.kit import FOLDERS, NAME, write_annotation, write_sets
from sample.masks import class_mask, object_mask, write_mask
from sample.paintings import paint
from sample.scenes import compose_scene
from sample.shapes import ACTIONS, CLASSES

SETS = ("val", "test")
ALL_SETS = ("train", "pilot", *SETS)
SHARE = 8  # pictures that a process draws at a time


@dataclass(frozen=True, slots=True)
class SampleChallenge:
    """A drawn challenge: where its tree lies, and the images of each set."""

    tree: Path
    classes: tuple[str, ...]
    actions: tuple[str, ...]
    images: Mapping[str, tuple[str, ...]]


def draw_challenge(
    folder: Path,
    *,
    seed: int = 2012,
    images: int = 240,
    sets: tuple[str, ...] = SETS,
    processes: int = 1,
) -> SampleChallenge:
    """Draw a challenge as a development-kit tree in `folder/sample`; its image sets take turns with the images.

    The same seed gives the same files, in however many processes. Each second image of a set is segmented. An image is drawn from
    the seed and its own number alone, so a larger challenge begins with the images of a smaller one.
    """
    tree = folder / NAME
    for name in FOLDERS:
        (tree / name).mkdir(parents=True, exist_ok=True)
    by_set: dict[str, list[Annotation]] = {name: [] for name in sets}
    for number, annotation in enumerate(
        _drawn(partial(_draw_image, tree, seed, len(sets)), images, processes)
    ):
        by_set[sets[number % len(sets)]].append(annotation)
    for name, annotations in by_set.items():
        write_sets(tree, name, annotations)
    names = {name: tuple(one.image for one in annotations) for name, annotations in by_set.items()}
    return SampleChallenge(tree, CLASSES, ACTIONS, names)


def _drawn(draw: "partial[Annotation]", images: int, processes: int) -> Iterator[Annotation]:
    """Draw images, in the order of their numbers."""
    if processes == 1:
        yield from map(draw, range(images))
        return
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(draw, range(images), chunksize=SHARE)


def _draw_image(tree: Path, seed: int, sets: int, number: int) -> Annotation:
    dice, scene = Dice(seed, number), number // sets
    composed = compose_scene(dice, scene)
    name = image_name(composed.setting.kind, number)
    painting = paint(composed, dice)
    labelled = annotate(painting, name, segmented=scene % 2 == 0)
    painting.picture.save(tree / "JPEGImages" / f"{name}.jpg", quality=86, subsampling=0)
    if labelled.annotation.segmented:
        objects = object_mask(labelled)
        write_mask(objects, tree / "SegmentationObject" / f"{name}.png")
        write_mask(class_mask(labelled, objects), tree / "SegmentationClass" / f"{name}.png")
    write_annotation(tree, labelled.annotation)
    return labelled.annotation


def image_name(kind: str, number: int) -> str:
    """Return the name of an image, which tells its place and nothing about its set: the numbers of each are scattered.

    >>> image_name("shore", 0), image_name("shore", 2)
    ('shore_2114', 'shore_4487')
    """
    return f"{kind}_{(2114 + 6173 * number) % 9973:04d}"
