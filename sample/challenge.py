"""The sample challenge: a small challenge with pictures of our own, drawn from one seed."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sample.annotations import Annotation, annotate
from sample.dice import Dice
from sample.kit import FOLDERS, NAME, write_annotation, write_sets
from sample.masks import class_mask, object_mask, write_mask
from sample.paintings import paint
from sample.scenes import compose_scene
from sample.shapes import ACTIONS, CLASSES

SETS = ("val", "test")


@dataclass(frozen=True, slots=True)
class SampleChallenge:
    """A drawn challenge: where its tree lies, and the images of each set."""

    tree: Path
    classes: tuple[str, ...]
    actions: tuple[str, ...]
    images: Mapping[str, tuple[str, ...]]


def draw_challenge(folder: Path, *, seed: int = 2012, images: int = 240) -> SampleChallenge:
    """Draw a challenge as a development-kit tree in `folder/sample`, half of it val and half test.

    The same seed gives the same files. Each second image of a set is segmented. An image is drawn from the
    seed and its own number alone, so a larger challenge begins with the images of a smaller one.
    """
    tree = folder / NAME
    for name in FOLDERS:
        (tree / name).mkdir(parents=True, exist_ok=True)
    by_set: dict[str, list[Annotation]] = {name: [] for name in SETS}
    for number in range(images):
        round_, turn = divmod(number, len(SETS))
        by_set[SETS[turn]].append(_draw_image(tree, seed, number, scene=round_))
    for name, annotations in by_set.items():
        write_sets(tree, name, annotations)
    names = {name: tuple(one.image for one in annotations) for name, annotations in by_set.items()}
    return SampleChallenge(tree, CLASSES, ACTIONS, names)


def _draw_image(tree: Path, seed: int, number: int, *, scene: int) -> Annotation:
    dice = Dice(seed, number)
    name = f"2012_{number + 1:06d}"
    painting = paint(compose_scene(dice, scene), dice)
    labelled = annotate(painting, name, segmented=scene % 2 == 0)
    painting.picture.save(tree / "JPEGImages" / f"{name}.jpg", quality=88, subsampling=0)
    if labelled.annotation.segmented:
        objects = object_mask(labelled)
        write_mask(objects, tree / "SegmentationObject" / f"{name}.png")
        write_mask(class_mask(labelled, objects), tree / "SegmentationClass" / f"{name}.png")
    write_annotation(tree, labelled.annotation)
    return labelled.annotation
