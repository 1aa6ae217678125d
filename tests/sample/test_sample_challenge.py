"""The drawn challenge is repeatable and complete, and its annotation fits its pictures."""

from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from PIL import Image

from sample import ACTIONS, CLASSES, SETS, SampleChallenge, draw_challenge
from sample.annotations import Annotation, Box, Object, annotate, presence, tight_box
from sample.challenge import ALL_SETS
from sample.dice import Dice
from sample.masks import VOID, class_mask, label_colours, object_mask
from sample.paintings import Painting, paint
from sample.scenes import compose_scene
from sample.training import pack_training_set
from sample.truth import read_truth
from tests.shared import unpack

PARTS_AT_MOST = {"head": 1, "hand": 2, "foot": 2}


class Drawn(NamedTuple):
    challenge: SampleChallenge
    annotations_by_set: dict[str, tuple[Annotation, ...]]

    @property
    def every_image(self) -> list[Annotation]:
        return [one for annotations in self.annotations_by_set.values() for one in annotations]

    @property
    def every_object(self) -> list[tuple[Annotation, Object]]:
        return [(one, thing) for one in self.every_image for thing in one.objects]


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    challenge = draw_challenge(tmp_path_factory.mktemp("challenge"), images=120)
    return Drawn(challenge, {name: read_truth(challenge.tree, name).annotations for name in SETS})


def painting(number: int) -> Painting:
    dice = Dice(7, number)
    return paint(compose_scene(dice, number), dice)


def contents(tree: Path) -> dict[str, bytes]:
    return {str(path.relative_to(tree)): path.read_bytes() for path in tree.rglob("*") if path.is_file()}


def words(tree: Path, name: str) -> list[list[str]]:
    return [line.split() for line in (tree / "ImageSets" / name).read_text().splitlines()]


def indices(path: Path) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    with Image.open(path) as mask:
        assert mask.mode == "P"
        return np.asarray(mask)


def inside(box: Box, one: Annotation) -> bool:
    return 1 <= box.left <= box.right <= one.width and 1 <= box.top <= box.bottom <= one.height


@pytest.mark.sampled
def test_the_same_seed_draws_the_same_files(tmp_path: Path) -> None:
    first, second = (draw_challenge(tmp_path / name, seed=5, images=8).tree for name in ("one", "two"))

    assert contents(first) == contents(second)


def test_another_seed_draws_different_pictures(tmp_path: Path) -> None:
    first, second = (draw_challenge(tmp_path / str(seed), seed=seed, images=2).tree for seed in (5, 6))

    assert contents(first)["JPEGImages/meadow_2114.jpg"] != contents(second)["JPEGImages/meadow_2114.jpg"]


def test_a_larger_challenge_starts_with_the_pictures_of_a_smaller_one(tmp_path: Path) -> None:
    small, large = (contents(draw_challenge(tmp_path / str(n), images=n).tree) for n in (4, 10))

    assert {name: large[name] for name in small if not name.startswith("ImageSets")} == {
        name: content for name, content in small.items() if not name.startswith("ImageSets")
    }


def test_random_draws_never_change_between_versions() -> None:
    dice = Dice(2012, 1)

    assert [dice.count(1, 1000) for _ in range(4)] == [397, 638, 654, 438]
    assert dice.bell() == pytest.approx(0.5272491696453843, abs=1e-15)


def test_several_processes_draw_the_same_files(tmp_path: Path) -> None:
    alone, together = (
        draw_challenge(tmp_path / str(n), images=9, sets=ALL_SETS, processes=n).tree for n in (1, 2)
    )

    assert contents(alone) == contents(together)
    assert {path.name for path in (alone / "ImageSets" / "Layout").iterdir()} == {
        f"{each}.txt" for each in ALL_SETS
    }


def test_names_of_images_are_different_and_scattered(drawn: Drawn) -> None:
    for names in drawn.challenge.images.values():
        numbers = [int(name.rpartition("_")[2]) for name in names]

        assert len({*numbers}) == len(names)
        assert 0.3 < np.mean([number % 2 for number in numbers]) < 0.7


def test_the_training_set_has_the_folders_that_the_baseline_reads(tmp_path: Path) -> None:
    tree = draw_challenge(tmp_path, images=9, sets=ALL_SETS).tree
    pack_training_set(tree, tmp_path / "train.tar")
    unpack(tmp_path / "train.tar", tmp_path)

    images = (tmp_path / "train" / "images.txt").read_text().split()
    assert {path.stem for path in (tmp_path / "images").iterdir()} == {*images}
    assert {
        one.image for one in read_truth(tmp_path / "train" / "annotation" / "sample", "train").annotations
    } == {*images}
    assert not [path for path in (tmp_path / "train").rglob("*") if "test" in path.name or "val" in path.name]


def test_half_of_the_images_are_val_and_half_are_test(drawn: Drawn) -> None:
    val, test = (drawn.challenge.images[name] for name in ("val", "test"))

    assert len(val) == len(test) == 60
    assert not set(val) & set(test)


def test_every_listed_image_has_a_picture_an_annotation_and_masks(drawn: Drawn) -> None:
    tree = drawn.challenge.tree

    for one in drawn.every_image:
        with Image.open(tree / "JPEGImages" / f"{one.image}.jpg") as picture:
            assert picture.size == (one.width, one.height)
        for folder in ("SegmentationClass", "SegmentationObject"):
            assert (tree / folder / f"{one.image}.png").exists() == one.segmented
    assert len(list((tree / "Annotations").iterdir())) == 120


def test_a_picture_is_640_pixels_long_and_takes_about_forty_kilobytes(drawn: Drawn) -> None:
    sizes = [path.stat().st_size for path in (drawn.challenge.tree / "JPEGImages").iterdir()]

    assert {max(one.width, one.height) for one in drawn.every_image} <= {600, 640}
    assert np.mean(sizes) < 60_000


def test_every_image_shows_something(drawn: Drawn) -> None:
    assert all(one.objects for one in drawn.every_image)


def test_every_box_lies_within_its_picture(drawn: Drawn) -> None:
    for one, thing in drawn.every_object:
        assert inside(thing.box, one)
        assert all(inside(part.box, one) for part in thing.parts or ())


def test_every_box_fits_the_visible_pixels_tightly() -> None:
    for number in range(20):
        labelled = annotate(painting(number), "one", segmented=True)

        for index, thing in enumerate(labelled.annotation.objects, 1):
            assert thing.box == tight_box(labelled.shown == index)


def test_truncated_objects_touch_a_border_unless_covered_there(drawn: Drawn) -> None:
    cut = [(one, thing.box) for one, thing in drawn.every_object if thing.truncated]
    ends = [
        box.left == 1 or box.top == 1 or box.right == one.width or box.bottom == one.height
        for one, box in cut
    ]

    assert np.mean(ends) > 0.9


def test_region_numbers_leave_room_in_a_byte() -> None:
    assert max(int(painting(number).regions.max()) for number in range(22)) < 200


def test_each_class_is_in_some_images_of_each_set_but_not_in_all(drawn: Drawn) -> None:
    for annotations in drawn.annotations_by_set.values():
        for name in CLASSES:
            labels = Counter(presence(one, name) for one in annotations)
            assert labels[1] >= 4
            assert labels[-1] >= 10


def test_some_but_not_most_objects_are_difficult_occluded_or_truncated(drawn: Drawn) -> None:
    things = [thing for _, thing in drawn.every_object]

    for flagged in ("difficult", "occluded", "truncated"):
        assert 0.02 < np.mean([getattr(thing, flagged) for thing in things]) < 0.35


def test_label_files_agree_with_the_annotation(drawn: Drawn) -> None:
    for image_set, annotations in drawn.annotations_by_set.items():
        for name in CLASSES:
            assert words(drawn.challenge.tree, f"Main/{name}_{image_set}.txt") == [
                [one.image, str(presence(one, name))] for one in annotations
            ]


def test_the_layout_set_lists_persons_with_one_head_and_at_most_two_hands_and_feet(drawn: Drawn) -> None:
    images = {one.image: one for one in drawn.every_image}
    listed = [line for name in SETS for line in words(drawn.challenge.tree, f"Layout/{name}.txt")]

    assert len(listed) > 60
    for image, number in listed:
        person = images[image].objects[int(number) - 1]
        names = Counter(part.name for part in person.parts or ())
        assert person.class_name == "person"
        assert not person.difficult
        assert names["head"] == 1
        assert all(count <= PARTS_AT_MOST[name] for name, count in names.items())


def test_action_files_label_every_person_of_the_action_set(drawn: Drawn) -> None:
    images = {one.image: one for one in drawn.every_image}
    for image_set in SETS:
        acting = {image for [image] in words(drawn.challenge.tree, f"Action/{image_set}.txt")}
        for action in ACTIONS:
            lines = words(drawn.challenge.tree, f"Action/{action}_{image_set}.txt")
            assert {image for image, _, _ in lines} == acting
            assert sum(label == "1" for _, _, label in lines) >= 4
            for image, number, label in lines:
                person = images[image].objects[int(number) - 1]
                assert person.actions is not None
                assert (action in person.actions) == (label == "1")


def test_masks_contain_the_numbers_of_objects_and_their_classes(drawn: Drawn) -> None:
    tree = drawn.challenge.tree
    for one in [one for one in drawn.every_image if one.segmented]:
        objects = indices(tree / "SegmentationObject" / f"{one.image}.png")
        classes = indices(tree / "SegmentationClass" / f"{one.image}.png")
        expected = {0: 0, VOID: VOID}
        expected |= {
            number: CLASSES.index(thing.class_name) + 1
            for number, thing in enumerate(one.objects, 1)
            if not thing.difficult
        }
        assert objects.shape == (one.height, one.width)
        pairs = np.unique(objects.astype(np.int64) * 256 + classes).tolist()
        assert all(expected[pair // 256] == pair % 256 for pair in pairs)


def test_a_mask_never_leaves_the_box_of_its_object(drawn: Drawn) -> None:
    for one in [one for one in drawn.every_image if one.segmented]:
        objects = indices(drawn.challenge.tree / "SegmentationObject" / f"{one.image}.png")
        for number, thing in enumerate(one.objects, 1):
            if (objects == number).any():
                mask, box = tight_box(objects == number), thing.box
                assert box.left <= mask.left
                assert box.top <= mask.top
                assert mask.right <= box.right
                assert mask.bottom <= box.bottom


def test_objects_are_separated_by_void() -> None:
    labelled = annotate(painting(4), "one", segmented=True)
    objects = object_mask(labelled)

    for one, other in ((objects[:, 1:], objects[:, :-1]), (objects[1:], objects[:-1])):
        differ = one != other
        assert ((one == VOID) | (other == VOID))[differ].all()
    assert set(np.unique(class_mask(labelled, objects))) <= {*range(len(CLASSES) + 1), VOID}


@pytest.mark.parametrize(
    ("label", "colour"),
    [(0, (0, 0, 0)), (1, (128, 0, 0)), (15, (192, 128, 128)), (20, (0, 64, 128)), (255, (224, 224, 192))],
)
def test_masks_use_the_palette_of_the_kits(label: int, colour: tuple[int, int, int]) -> None:
    assert tuple(label_colours()[3 * label : 3 * label + 3]) == colour
