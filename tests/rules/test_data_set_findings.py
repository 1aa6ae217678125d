"""What is found in a data set that is valid and perhaps not meant, each by a small set made for it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.intake.class_choices import choose
from app.intake.findings import PhasePicture, add_clues, add_findings, find_clue, labelled
from app.intake.formats.reading import CLASS_FOLDERS, COCO, AnnotatedSet
from app.intake.inspecting import hidden_finding
from app.intake.reports import HIDDEN, IMAGES, PUBLIC, ClassChoice, ClassCount
from app.intake.unpacking import SentPicture, Unpacked
from heldout_scoring import GroundTruth, Rule, read_tree
from heldout_scoring.errors import Problems
from tests.pages.data_sets import coco
from tests.shared import SHARED, unpack

CLASSES = ("cat", "dog")
BOX = (5.0, 5.0, 20.0, 20.0)


def boxes_of(
    boxes: Sequence[tuple[float, ...]], *, convention: str = "inclusive", images: Sequence[str] = ("a",)
) -> AnnotatedSet:
    """A set with a box of a cat each, in the first image of 50 x 40 pixels."""
    truth = GroundTruth.from_arrays(
        [images[0]] * len(boxes), ["cat"] * len(boxes), np.array(boxes), convention=convention, images=images,
        classes=CLASSES, sizes=np.tile((50, 40), (len(images), 1)),
    )  # fmt: skip
    return AnnotatedSet("test", COCO, "test.json", truth, {})


def labels_of(names: Sequence[str], shown: Sequence[int], *, classes: int = 2) -> AnnotatedSet:
    """A set whose images show one class each."""
    truth = GroundTruth.from_labels(
        np.eye(classes, dtype=int)[list(shown)],
        images=names,
        classes=[f"class{each}" for each in range(classes)],
    )
    return AnnotatedSet("test", "folders", "test.zip", truth, {})


def picture(name: str, content: bytes = b"", **known: Any) -> SentPicture:
    return SentPicture(Path(name), (50, 40), content or name.encode(), 1, **known)


def found(
    hidden: AnnotatedSet,
    public: AnnotatedSet | None = None,
    pictures: Mapping[str, SentPicture] | None = None,
    of_phases: Sequence[PhasePicture] = (),
) -> dict[str, list[str]]:
    """The warnings by code."""
    unpacked = Unpacked(Path(), "birds", pictures=dict(pictures or {}))
    add_findings(unpacked, {PUBLIC: [public] if public else [], HIDDEN: [hidden]}, of_phases)
    add_clues(unpacked, [hidden])
    by_code: dict[str, list[str]] = {}
    for role in (IMAGES, PUBLIC, HIDDEN):
        for each in unpacked.problems[role].warnings:
            assert role != HIDDEN or isinstance(each.message, Rule)  # which knows what it quotes
            by_code.setdefault(each.code, []).append(
                hidden_finding(each).message if role == HIDDEN else each.message
            )
    return by_code


def test_classes_without_objects_and_small_ones_are_named_with_the_rule() -> None:
    public = boxes_of([BOX])
    public = replace(public, name="val", truth=GroundTruth.from_arrays(
        ["v"], ["bird"], [BOX], convention="inclusive", classes=["bird"], images=["v"]
    ))  # fmt: skip
    spread = [(1.0 + each, 5.0, 20.0 + each, 20.0) for each in range(24)]

    small = found(boxes_of(spread), public)
    enough = found(boxes_of([*spread, BOX]))

    assert small["class-without-objects"] == ["test has no objects of bird, dog, which nobody can score then"]
    [message] = small["small-class"]
    assert "1 of 2 classes of test are so small" in message
    assert "cat (24 objects: ± 20); reckoned as 1.96 √(¼ / objects)" in message
    assert "small-class" not in enough


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [("cat", "Cat"), ("cat", "\uff43at"), ("caf\u00e9", "cafe\u0301"), ("traffic light", "TrafficLight")],
    ids=["case", "width", "composed", "blanks"],
)
def test_classes_whose_names_read_alike_are_warned_of(ours: str, theirs: str) -> None:
    def of(name: str) -> AnnotatedSet:
        truth = GroundTruth.from_labels([[1, 0]], images=["a"], classes=[name, "dog"])
        return AnnotatedSet("val", "folders", "val.zip", truth, {})

    words = "the names of 2 classes differ in case, blanks, width or composed letters alone: {}; if they are one class, give it one name in the annotation"

    public = Unpacked(Path(), "birds")
    add_findings(public, {PUBLIC: [of(ours), of(theirs)], HIDDEN: []}, ())

    assert [str(each) for each in public.problems[PUBLIC].warnings] == [
        words.format(", ".join(sorted([ours, theirs])))
    ]
    assert found(of(ours), of(theirs))["like-names"] == [words.format("…, …")]
    assert "like-names" not in found(of(ours), of(ours))


def test_names_of_what_is_no_class_are_told() -> None:
    some = labels_of(["a", "b"], [0, 1])
    renamed = replace(
        some,
        truth=GroundTruth.from_labels(
            np.eye(2, dtype=np.int8), images=("a", "b"), classes=("NaN", "__ignore__")
        ),
    )
    assert "no-class-name" not in found(some)
    assert found(renamed)["no-class-name"] == [
        "2 classes have names of what is no class, such as …: background, what is not counted, or a label that is missing; ignore it among the classes"
    ]


def test_label_images_are_counted_by_images() -> None:
    truth = GroundTruth.from_label_maps([np.array([[0, 1], [255, 0]])], classes=CLASSES, images=["a"])

    warnings = found(AnnotatedSet("test", "label images", "masks", truth, {}))

    assert warnings["class-without-objects"] == ["test has no images of dog, which nobody can score then"]
    assert "cat (1 image: ± 98)" in warnings["small-class"][0]


def test_boxes_outside_and_boxes_that_stand_twice_are_counted() -> None:
    inside = found(boxes_of([(1, 1, 50, 40), (1, 1, 51, 40), BOX]))
    wrong = found(boxes_of([(1, 1, 52, 40), BOX, BOX, (5, 5, 20, 21)]))

    assert not {"box-outside", "duplicate-box"} & inside.keys()
    assert wrong["box-outside"] == [
        "1 of 4 boxes reaches beyond its image by more than a pixel: images a; the first is object 1 of a, …"
    ]
    [twice] = wrong["duplicate-box"]
    assert twice.startswith(
        "1 of 4 boxes stands there twice, with the same class and the same numbers: images a; the first is object 3"
    )


@pytest.mark.parametrize("convention", ["inclusive", "half-open"])
def test_boxes_without_an_area_and_shares_of_the_sides_are_counted(convention: str) -> None:
    usual = found(boxes_of([BOX, (1, 1, 9, 9)], convention=convention))
    wrong = found(boxes_of([BOX, (0.25, 0.5, 0.75, 1), (7, 5, 7, 9)], convention=convention))

    assert not {"flat-box", "share-box"} & usual.keys()
    [flat], [shares] = wrong["flat-box"], wrong["share-box"]
    assert flat.startswith("1 of 3 boxes ends where it begins, so that it ")
    assert "1 of 3 boxes lies between 0 and 1, so that it seems to be shares of width and height" in shares
    assert shares.endswith("the first is object 2 of a, …")


@pytest.mark.parametrize(("area", "is_told"), [(0, True), (1, True), (100, False)])
def test_areas_that_say_nothing_are_told(area: int, *, is_told: bool) -> None:
    content = coco()
    for each in content["annotations"]:
        each["area"] = area

    messages = found(AnnotatedSet("test", COCO, "f.json", GroundTruth.from_coco(content), {}))

    assert ("no-areas" in messages) == is_told


def test_a_box_outside_is_placed_in_its_file() -> None:
    content = coco()
    content["annotations"][1]["bbox"] = [40, 5, 20, 20]

    [message] = found(AnnotatedSet("test", COCO, "f.json", GroundTruth.from_coco(content), {}))["box-outside"]

    assert "the first is annotations[1], " in message


def test_numbers_of_hidden_boxes_are_in_no_finding() -> None:
    boxes = [(0, 17.125, 52.375, 40), (0, 17.125, 52.375, 40), (5, 5, 20, 31.625)]

    messages = [each for some in found(boxes_of(boxes)).values() for each in some]

    assert len(messages) == 5
    assert not any(number in message for number in ("17.1", "52.3", "31.6") for message in messages)


@pytest.mark.parametrize(
    ("convention", "boxes", "words"),
    [
        ("inclusive", [(1, 1, 50, 40), BOX], None),
        ("inclusive", [(0, 3, 49, 39), BOX], "add 1 to all four numbers"),
        ("inclusive", [(0, 3, 50, 40), BOX], "the last numbers are edges"),
        ("half-open", [(0, 0, 50, 40), BOX], None),
        ("half-open", [(1, 1, 51, 41), BOX], "counted from 1; take 1 from left and top"),
        (
            "half-open",
            [(10, 10, 55, 50), (5, 5, 25, 25), (30, 20, 78, 60)],
            "they seem to be right and bottom",
        ),
    ],
)
def test_the_meaning_of_boxes_is_guessed_with_the_evidence(
    convention: str, boxes: list[tuple[float, ...]], words: str | None
) -> None:
    messages = found(boxes_of(boxes, convention=convention)).get("box-convention", [])

    assert len(messages) == (words is not None)
    assert all(words in each for each in messages if words)


def test_the_same_picture_in_two_sets_is_found_by_its_content() -> None:
    hidden = boxes_of([BOX], images=("a", "b", "c"))
    public = replace(boxes_of([BOX], images=("d", "e")), name="val")
    same = {"a.jpg": b"1", "d.jpg": b"1", "b.jpg": b"2", "c.jpg": b"2", "e.jpg": b"5"}
    pictures = {name: picture(name, content) for name, content in same.items()}
    of_phases = [
        PhasePicture(b"1", "train", True, "x.jpg"),
        PhasePicture(b"5", "train", True, "y.jpg"),  # both are public
        PhasePicture(b"5", "final", False, "y.jpg"),
        PhasePicture(b"2", "test", False, "b.jpg"),  # would be replaced
    ]

    messages = found(hidden, public, pictures, of_phases)["same-picture"]

    assert messages == [
        "1 image is in val (public) and in test (hidden), byte for byte: d.jpg = a.jpg",
        "1 image is in val and in the phase final of this challenge, byte for byte: e.jpg",
        "1 image is in test twice or more under different names, byte for byte: c.jpg",
        "1 image is in test and in the phase train of this challenge, byte for byte: a.jpg",
    ]


@pytest.mark.parametrize(
    ("name", "other", "is_told"),
    [
        ("train", "val", True),
        ("minitrain", "dev", True),
        ("train", "minitrain", False),
        ("val", "minival", False),
        ("trainval", "val", False),
        ("train", "trainval", False),
    ],
)
def test_an_image_of_a_public_set_that_methods_are_trained_on_is_told(
    name: str, other: str, *, is_told: bool
) -> None:
    sets = [
        replace(boxes_of([BOX], images=images), name=each)
        for each, images in ((name, ("a", "b")), (other, ("a", "c")))
    ]
    for pictures in ({each: picture(f"{each}.jpg") for each in "abc"}, {}):
        unpacked = Unpacked(Path(), "birds", pictures=pictures)

        add_findings(unpacked, {PUBLIC: sets}, ())

        codes = {each.code for role in (IMAGES, PUBLIC) for each in unpacked.problems[role].warnings}
        assert ("same-picture" in codes) == is_told


SHOWN = [0] * 30 + [1] * 30
MIXED = [int(each) for each in np.random.default_rng(3).permutation(SHOWN)]
PLAIN_NUMBERS = np.random.default_rng(4).permutation(900)[:60].tolist()
PLAIN = [f"{number:06}" for number in PLAIN_NUMBERS]


@pytest.mark.parametrize(
    ("what", "names", "shown", "known"),
    [
        ("the names", [f"{'cat' if each else 'dog'}_{n}" for n, each in enumerate(MIXED)], MIXED, {}),
        (
            "the names",
            [f"{n}-{'c' if each else 'd'}" for n, each in enumerate(MIXED)],
            MIXED,
            {},
        ),
        ("the numbers in the names", sorted(PLAIN), SHOWN, {}),
        ("the order", PLAIN, SHOWN, {}),
        ("the order", PLAIN, [0, 1] * 30, {}),
        (
            "the names",
            [f"{n:0{6 + each}}" for n, each in zip(PLAIN_NUMBERS, MIXED, strict=True)],
            MIXED,
            {},
        ),
        ("the folders", PLAIN, MIXED, {"folder": ("one", "two")}),
        ("the time stamps", PLAIN, MIXED, {"modified": (10.0, 20.0)}),
        ("the EXIF data (camera, program)", PLAIN, MIXED, {"camera": ("Canon", "Nikon")}),
        ("the EXIF dates", PLAIN, MIXED, {"taken": ("2026:01:01", "2026:02:01")}),
        ("the widths and heights", PLAIN, MIXED, {"size": ((50, 40), (40, 50))}),
        ("the file sizes", PLAIN, MIXED, {"length": (100, 200)}),
    ],
)
def test_what_predicts_the_class_is_told_with_numbers(
    what: str, names: list[str], shown: list[int], known: dict[str, tuple[Any, Any]]
) -> None:
    pictures = {
        f"{name}.jpg": replace(picture(f"{name}.jpg"), **{key: values[each] for key, values in known.items()})
        for name, each in zip(names, shown, strict=True)
    }

    messages = found(labels_of(names, shown), pictures=pictures)["predicts-class"]

    [message] = [
        each for each in messages if each.startswith(f"{what} of the images of test predict the class")
    ]
    assert message.endswith("of 60 images, by a guess in 30; it is like that for 2 of 2 classes")


def test_names_that_images_have_from_folders_of_classes_are_told() -> None:
    names = [f"{folder}_{number}" for folder in ("cat", "dog") for number in range(30)]
    hidden = labels_of(names, [int(name.startswith("dog")) for name in names])
    hidden = replace(hidden, files={name: f"{name.replace('_', '/')}.jpg" for name in names})

    [message, *_] = found(hidden)["predicts-class"]

    assert message.startswith("the names of the images of test predict the class: ")


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(5))
def test_nothing_predicts_the_class_by_chance(seed: int) -> None:
    random = np.random.default_rng(seed)
    for images, classes in ((20, 2), (60, 3), (500, 20), (2000, 2)):
        shown = random.integers(0, classes, images)
        names = [f"{each:06}" for each in random.permutation(10 * images)[:images]]
        sent = {
            f"{name}.jpg": picture(
                f"{name}.jpg", camera=str(random.integers(5)), taken=str(random.integers(9)), folder=str(random.integers(3)),
                modified=float(random.integers(1000)),
            )
            for name in names
        }  # fmt: skip

        assert "predicts-class" not in found(labels_of(names, shown.tolist(), classes=classes), pictures=sent)


def test_a_vote_is_counted_as_if_image_by_image() -> None:
    random = np.random.default_rng(1)
    shown, groups = random.integers(0, 3, 200), random.integers(0, 20, 200)
    groups[shown == 1] = groups[shown == 1] % 4 + 20
    known = labelled(labels_of([str(each) for each in range(200)], shown.tolist(), classes=3).truth)

    clue = find_clue(groups, known, ("x", "y", "z"))

    wrong = 0
    for each in range(200):
        others = [other for other in range(200) if groups[other] == groups[each] and other != each]
        vote = 2 * sum(shown[other] == 1 for other in others) > len(others)
        wrong += vote != (shown[each] == 1)
    assert clue is not None
    assert (clue.name, clue.wrong, clue.base, clue.classes) == ("y", wrong, int((shown == 1).sum()), 1)


@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.parametrize("image_set", ["test", "val"])
def test_names_and_sizes_of_voc2007_raise_no_alarm(image_set: str, tmp_path: Path) -> None:
    unpack(SHARED / "data" / "voc2007_annotations_imagesets.tar.xz", tmp_path)
    truth = read_tree(next(tmp_path.rglob("ImageSets")).parent, image_set)
    sizes = {
        f"{each.id}.jpg": replace(picture(f"{each.id}.jpg"), size=(each.width, each.height))
        for each in truth.description.images
    }

    warnings = found(AnnotatedSet(image_set, "kit", "VOC2007", truth, {}), pictures=sizes)

    assert warnings == {}


def test_a_problem_is_told_before_what_rests_on_complete_annotation() -> None:
    unpacked = Unpacked(Path(), "birds")

    add_findings(unpacked, {HIDDEN: [boxes_of([BOX])]}, (), is_whole=False)

    assert unpacked.problems[HIDDEN].warnings == ()


@pytest.mark.parametrize(("layout", "images"), [(CLASS_FOLDERS, ("a", "c")), (COCO, ("a", "b", "c"))])
def test_pictures_in_the_folder_of_an_ignored_class_are_left_out(
    layout: str, images: tuple[str, ...]
) -> None:
    truth = GroundTruth.from_labels([[1, 0], [0, 1], [1, 0]], classes=["cat", "dog"], images=["a", "b", "c"])
    folders = AnnotatedSet("test", layout, "birds", truth, {})
    choices = (ClassChoice("dog", "dog", is_ignored=True), ClassChoice("cat", "tiger"))

    chosen = choose(choices, {HIDDEN: [folders]}, Problems())

    [found] = chosen.sets[HIDDEN]
    assert (found.truth.lists.images, found.truth.lists.classes) == (images, ("tiger",))
    assert found.ignored == (ClassCount("dog", 1, 0, 0),)
    assert chosen.classes == choices


def test_classes_are_not_ignored_where_nothing_would_be_left_to_score() -> None:
    truth = GroundTruth.from_labels([[1, 0]], classes=["cat", "dog"], images=["a"])
    folders = AnnotatedSet("test", CLASS_FOLDERS, "birds", truth, {})
    problems = Problems()

    chosen = choose([ClassChoice("cat", "cat", is_ignored=True)], {HIDDEN: [folders]}, problems)

    assert chosen.sets[HIDDEN] == [folders]
    assert ["test would have no ground truth left" in each.message for each in problems.warnings] == [True]
