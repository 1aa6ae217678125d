"""Warnings of valid but probably unintended results, based on public facts."""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heldout_scoring import Validation, count_objects, validate
from heldout_scoring.data.description import UNKNOWN_SIDE, Description, Image, PublicCounts
from heldout_scoring.errors import Problem
from tests.scoring.archives import gz, tar, written
from tests.scoring.conftest import ReadTruth

SIDES = (320, 240)
NAMES = ("bird", "boat", "car", "cat", "cow", "dog")
IMAGES = tuple(range(100, 160))
VOC = Description("VOC2012", "test", NAMES, (), tuple(Image(f"2012_{n:06}", *SIDES) for n in IMAGES))
COCO = Description(
    "COCO",
    "test",
    NAMES,
    (),
    tuple(Image(str(n), *SIDES) for n in IMAGES),
    not_offered=(2,),
    class_numbers=(1, 2, 3, 4, 5, 6),
)
GAPS = replace(COCO, class_numbers=(1, 2, 4, 5, 7, 8))
LVIS = replace(COCO, dataset="LVIS")
Entry = dict[str, Any]


def entries(seed: int = 0) -> list[Entry]:
    """Detections of every class in every image, as a good detector returns them."""
    random = np.random.default_rng(seed)
    found = []
    for image in IMAGES:
        for label in range(len(NAMES)):
            left, top = random.uniform(0, 200), random.uniform(0, 150)
            width, height = random.uniform(5, 300 - left), random.uniform(5, 220 - top)
            box = [round(float(each), 1) for each in (left, top, width, height)]
            found.append(
                {
                    "image_id": image,
                    "category_id": label + 1,
                    "bbox": box,
                    "score": round(float(random.random()), 4),
                }
            )
    return found


def with_boxes(change: Callable[[float, float, float, float], Iterable[float]]) -> list[Entry]:
    return [each | {"bbox": [round(x, 4) for x in change(*each["bbox"])]} for each in entries()]


def with_ids(change: Callable[[int], int]) -> list[Entry]:
    return [each | {"category_id": change(each["category_id"])} for each in entries()]


def of_coco(folder: Path, found: Any, phase: Description = COCO) -> Validation:
    return validate(written(folder, json.dumps(found).encode(), "found.json"), phase)


def lines(found: list[Entry]) -> dict[str, bytes]:
    """The same detections as files of the development kit, with corners counted from 1."""
    files = {f"comp4_det_test_{name}.txt": "" for name in NAMES}
    for each in found:
        left, top, width, height = each["bbox"]
        box = (left + 1, top + 1, left + width, top + height)
        files[f"comp4_det_test_{NAMES[each['category_id'] - 1]}.txt"] += line(each, box)
    return {f"results/VOC2012/Main/{name}": text.encode() for name, text in files.items()}


def line(each: Entry, box: Iterable[float]) -> str:
    return f"2012_{each['image_id']:06} {each['score']} " + " ".join(f"{side:.4f}" for side in box) + "\n"


def as_they_are(found: list[Entry]) -> dict[str, bytes]:
    """Files whose lines contain the four numbers of the boxes unchanged."""
    texts = {
        name: "".join(line(each, each["bbox"]) for each in found if NAMES[each["category_id"] - 1] == name)
        for name in NAMES
    }
    return {f"results/VOC2012/Main/comp4_det_test_{name}.txt": text.encode() for name, text in texts.items()}


def of_voc(folder: Path, files: dict[str, bytes]) -> Validation:
    return validate(written(folder, gz(tar(files)), "found.tar.gz"), VOC)


def only(found: Iterable[Problem]) -> Problem:
    [problem] = found
    return problem


@pytest.mark.parametrize("seed", range(5))
def test_valid_results_get_no_warning(tmp_path: Path, seed: int) -> None:
    for validation in (of_coco(tmp_path, entries(seed)), of_voc(tmp_path, lines(entries(seed)))):
        assert validation.valid
        assert validation.warnings == ()


SLOW = (pytest.mark.slow, pytest.mark.sampled)


@pytest.mark.sampled
@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "image_set"),
    [
        pytest.param("yolo2_e150", "test", marks=SLOW),
        pytest.param("darknet_hli", "test", marks=SLOW),
        pytest.param("yolov1_choasup", "test", marks=SLOW),
        ("dllab", "val"),
        pytest.param("cls_from_yolo2_e150", "test", marks=SLOW),
    ],
)
def test_results_of_real_methods_get_no_warning(
    shared: Path, real_truth: ReadTruth, tmp_path: Path, name: str, image_set: str
) -> None:
    truth = real_truth("voc2007_annotations_imagesets.tar.xz", "VOC2007", image_set)
    counts = tuple((each.name, each.objects) for each in count_objects(truth).rows)
    phase = replace(truth.description, public_counts=PublicCounts(image_set, counts))

    assert validate(shared / "results" / f"{name}.tar.xz", phase).warnings == ()


@pytest.mark.shared
@pytest.mark.slow
def test_real_results_without_confidences_get_a_warning(shared: Path, real_truth: ReadTruth) -> None:
    phase = real_truth("voc2012_annotations_imagesets.tar.xz", "VOC2012", "val").description

    warning = only(validate(shared / "results" / "cos429.tar.xz", phase).warnings)

    assert warning.message.startswith(
        "comp3: 5 of 8 classes have a single confidence for all predictions, such as "
    )


def test_corners_in_place_of_width_and_height_get_a_warning(tmp_path: Path) -> None:
    corners = with_boxes(lambda left, top, width, height: (left, top, left + width, top + height))

    validation = of_coco(tmp_path, corners)

    warning = only(validation.warnings)
    assert validation.valid
    assert (warning.code, warning.file) == ("box-form", "found.json")
    assert warning.message.startswith("comp1: ")
    assert (
        "boxes (246 of 360) reach far beyond their image. Did you write left, top, right, bottom?"
        in warning.message
    )
    assert "which is 320 wide and 240 high" in warning.message
    example = json.loads(warning.text or "")
    assert any({**each, **example} == each for each in corners)
    assert (
        example["bbox"][0] + example["bbox"][2] > SIDES[0]
        or example["bbox"][1] + example["bbox"][3] > SIDES[1]
    )


def test_corners_get_no_warning_if_image_sizes_are_unknown(tmp_path: Path) -> None:
    corners = with_boxes(lambda left, top, width, height: (left, top, left + width, top + height))
    unknown = replace(COCO, images=tuple(Image(each.id, UNKNOWN_SIDE, UNKNOWN_SIDE) for each in COCO.images))

    assert of_coco(tmp_path, corners, unknown).warnings == ()


def test_width_and_height_in_place_of_corners_are_one_problem(tmp_path: Path) -> None:
    files = as_they_are(with_boxes(lambda left, top, width, height: (left + 1, top + 1, width, height)))

    validation = of_voc(tmp_path, files)

    problem = only(validation.problems)
    assert (problem.code, validation.warnings, validation.unlisted) == ("box-form", (), {})
    assert problem.message == (
        "comp4: most boxes (280 of 360) have right < left or bottom < top. Did you write left, top, width, height? "
        "Expected: left, top, right, bottom"
    )
    assert problem.file is not None
    assert problem.line is not None
    text = files[f"results/VOC2012/Main/{problem.file}"].decode().splitlines()
    assert problem.text == text[problem.line - 1]


ORDERS: dict[str, Callable[[float, float, float, float, float], tuple[float, ...]]] = {
    "left, top, right, bottom, confidence": lambda sure, x, y, x2, y2: (x, y, x2, y2, sure),
    "left, top, width, height, confidence": lambda sure, x, y, x2, y2: (x, y, x2 - x, y2 - y, sure),
    "left, top, width, height": lambda sure, x, y, x2, y2: (sure, x, y, x2 - x, y2 - y),
    "centre x, centre y, width, height": lambda sure, x, y, x2, y2: (
        sure,
        (x + x2) / 2,
        (y + y2) / 2,
        x2 - x,
        y2 - y,
    ),
    "left, right, top, bottom": lambda sure, x, y, x2, y2: (sure, x, x2, y, y2),
    "right, bottom, left, top": lambda sure, x, y, x2, y2: (sure, x2, y2, x, y),
    "right, top, left, bottom": lambda sure, x, y, x2, y2: (sure, x2, y, x, y2),
    "left, bottom, right, top (or is y counted upwards)": lambda sure, x, y, x2, y2: (
        sure,
        x,
        241 - y,
        x2,
        241 - y2,
    ),
    "top, left, bottom, right": lambda sure, x, y, x2, y2: (sure, y, x, y2, x2),
}


def in_order(form: str, found: list[Entry], names: Iterable[str] = NAMES) -> dict[str, bytes]:
    """Files of the development kit whose lines have the numbers in another order."""
    files = lines(found)
    for place in [place for place in files if any(place.endswith(f"_{name}.txt") for name in names)]:
        rows = [row.split() for row in files[place].decode().splitlines()]
        files[place] = "".join(
            " ".join([image, *(f"{number:.4f}" for number in ORDERS[form](*map(float, numbers)))]) + "\n"
            for image, *numbers in rows
        ).encode()
    return files


@pytest.mark.parametrize("form", ORDERS)
def test_boxes_in_another_order_are_one_sentence_that_asks_for_it(tmp_path: Path, form: str) -> None:
    files = in_order(form, entries())

    found = of_voc(tmp_path, files)

    about = only(found.problems or found.warnings)
    expected = "confidence, left, top, right, bottom" if "confidence" in form else "left, top, right, bottom"
    assert re.match(r"comp4: (most|many) boxes \(\d+ of 360\) (have|reach)", about.message)
    assert about.message.endswith(f"Did you write {form}? Expected: {expected}")
    assert (about.code, about.found, about.expected) == ("box-form", form, expected)
    assert about.line is not None
    assert about.text == files[f"results/VOC2012/Main/{about.file}"].decode().splitlines()[about.line - 1]


def test_a_folder_counts_each_box_once_and_says_what_its_archive_says(tmp_path: Path) -> None:
    files = as_they_are(with_boxes(lambda *box: box))
    (tmp_path / "work").mkdir()
    for name, content in files.items():
        written(tmp_path / "work", content, name.rpartition("/")[2])

    assert validate(tmp_path / "work", VOC).problems == of_voc(tmp_path, files).problems


def test_boxes_that_are_right_in_no_order_keep_their_lines_and_values(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    text = "".join(
        f"2012_{image:06} 0.{n} {left:.0f} {top:.0f} {left - 9:.0f} {top - 400 * (n % 2):.0f}\n"
        for n, image in enumerate(IMAGES)
        for left, top in [random.uniform(50, 200, 2)]
    )

    found = of_voc(tmp_path, {"results/VOC2012/Main/comp4_det_test_cat.txt": text.encode()})

    assert {each.code for each in found.problems} == {"inverted-box"}
    assert [each.line for each in found.problems] == list(range(1, 21))
    assert found.unlisted == {"inverted-box": 40}
    assert all(each.message.startswith("the box is inverted: right (xmax) is ") for each in found.problems)


@pytest.mark.parametrize(
    "form", ["right, bottom, left, top", "left, top, width, height", "right, top, left, bottom"]
)
def test_the_form_stands_for_all_lines_of_a_file_that_is_not_read_to_its_end(
    tmp_path: Path, form: str
) -> None:
    [(name, content)] = [each for each in in_order(form, entries()).items() if "_cat." in each[0]]

    problem = only(of_voc(tmp_path, {name: content * 30}).problems)

    assert (problem.code, problem.found) == ("box-form", form)
    assert " of 1,800) have " in problem.message


def test_a_file_that_has_other_problems_too_says_where_reading_stopped(tmp_path: Path) -> None:
    [(name, content)] = [
        each for each in in_order("right, bottom, left, top", entries()).items() if "_cat." in each[0]
    ]

    found = of_voc(tmp_path, {name: content * 30 + b"", "comp4_det_test_dog.txt": b"x\n" + content * 30})

    assert {(each.code, each.file) for each in found.problems} == {
        ("box-form", "comp4_det_test_cat.txt"),
        ("field-count", "comp4_det_test_dog.txt"),
        ("file-not-read-on", "comp4_det_test_dog.txt"),
    }


def test_other_causes_stand_for_all_entries_of_a_file_that_is_not_read_to_its_end(tmp_path: Path) -> None:
    renumbered = with_ids(lambda number: number - 1) * 20
    elsewhere = [each | {"image_id": each["image_id"] + 1000} for each in entries()] * 4
    in_text = as_they_are([each | {"bbox": [10, 10, 90, 90]} for each in elsewhere[:1]])
    [(name, line)] = [each for each in in_text.items() if each[1]]

    assert only(of_coco(tmp_path, renumbered).problems).code == "renumbered-categories"
    assert only(of_coco(tmp_path, elsewhere).problems).code == "other-images"
    assert only(of_voc(tmp_path, {name: line * 1_500}).problems).code == "other-images"


def test_one_file_in_another_order_is_named_among_right_ones(tmp_path: Path) -> None:
    found = of_voc(tmp_path, in_order("left, top, width, height", entries(), ["cat"]))

    assert [(each.code, each.file) for each in found.problems] == [("box-form", "comp4_det_test_cat.txt")]
    assert " of 60) have " in found.problems[0].message


def test_each_competition_has_a_sentence_of_its_own(tmp_path: Path) -> None:
    files = in_order("left, top, width, height", entries())
    both = files | {name.replace("comp4", "comp3"): content for name, content in files.items()}

    found = of_voc(tmp_path, both)

    assert [each.message[:5] for each in found.problems] == ["comp3", "comp4"]


@pytest.mark.parametrize(
    "change",
    [
        lambda left, top, width, height: (2 * left, 2 * top, 2 * width, 2 * height),
        lambda left, top, width, height: (1.6 * left, 1.6 * top, 1.6 * width, 1.6 * height),
        lambda left, top, width, height: (640 / 320 * left, top, 640 / 320 * width, height),
        lambda left, top, width, height: (left + 200, top, width, height),
        lambda left, top, width, height: (left - 200, top - 200, width, height),
    ],
)
def test_boxes_far_outside_their_images_get_a_warning(
    tmp_path: Path, change: Callable[[float, float, float, float], Iterable[float]]
) -> None:
    boxes = with_boxes(change)

    for found in (of_coco(tmp_path, boxes), of_voc(tmp_path, lines(boxes))):
        warning = only(found.warnings)
        assert (found.valid, warning.code, found.notes) == (True, "far-boxes", ())
        assert (
            " of 360) reach far beyond their image. Are they in pixels of a resized image?" in warning.message
        )
        assert (warning.expected or "") in warning.message
        assert warning.text


@pytest.mark.parametrize("scale", [(0.5, 0.5), (0.6, 0.6), (0.625, 0.5), (0.25, 0.3)])
def test_boxes_in_pixels_of_a_smaller_image_get_a_warning(tmp_path: Path, scale: tuple[float, float]) -> None:
    across, down = scale
    boxes = with_boxes(
        lambda left, top, width, height: (across * left, down * top, across * width, down * height)
    )

    for found in (of_coco(tmp_path, boxes), of_voc(tmp_path, lines(boxes))):
        warning = only(found.warnings)
        assert (found.valid, warning.code) == (True, "corner-boxes")
        assert warning.message.endswith(
            "end within the left 67% and the upper 67% of their image. Are they in pixels of a smaller image? "
            "Expected: pixels of the image itself"
        )


CENTRED: dict[str, Callable[[float, float, float, float], Iterable[float]]] = {
    "in the middle": lambda left, top, width, height: (
        100 + 0.3 * left,
        80 + 0.3 * top,
        0.3 * width,
        0.3 * height,
    ),
    "in a row": lambda left, top, width, height: (left, 0.3 * top, width, 0.3 * height),
    "at the bottom": lambda left, top, width, height: (
        0.5 * left,
        120 + 0.5 * top,
        0.5 * width,
        0.5 * height,
    ),
    "in a half": lambda left, top, width, height: (0.5 * left, top, 0.5 * width, height),
    "three quarters": lambda left, top, width, height: (0.8 * left, 0.8 * top, 0.8 * width, 0.8 * height),
}


@pytest.mark.parametrize("where", CENTRED)
def test_boxes_in_another_part_of_their_images_get_no_warning(tmp_path: Path, where: str) -> None:
    boxes = with_boxes(CENTRED[where])

    assert (of_coco(tmp_path, boxes).warnings, of_voc(tmp_path, lines(boxes)).warnings) == ((), ())


def test_a_few_boxes_in_a_corner_get_no_warning(tmp_path: Path) -> None:
    halves = with_boxes(lambda left, top, width, height: (left / 2, top / 2, width / 2, height / 2))

    assert "corner-boxes" not in {each.code for each in of_coco(tmp_path, halves[:99]).warnings}
    assert "corner-boxes" not in {each.code for each in of_coco(tmp_path, halves[:110]).warnings}


def test_boxes_a_little_outside_their_images_stay_a_note(tmp_path: Path) -> None:
    boxes = with_boxes(lambda left, top, width, height: (left - 5, top - 5, width + 10, height + 10))

    for found in (of_coco(tmp_path, boxes), of_voc(tmp_path, lines(boxes))):
        assert ([each.code for each in found.notes], found.warnings) == (["box-outside"], ())


def test_a_few_inverted_boxes_are_reported_one_by_one(tmp_path: Path) -> None:
    found = entries()
    files = lines(found)
    name = "results/VOC2012/Main/comp4_det_test_cat.txt"
    files[name] += f"2012_{IMAGES[0]:06} 0.5 100 100 50 50\n".encode() * 2

    validation = of_voc(tmp_path, files)

    assert [each.code for each in validation.problems] == ["inverted-box"] * 2


def test_boxes_as_shares_of_the_image_sides_get_a_warning(tmp_path: Path) -> None:
    shares = with_boxes(lambda left, top, width, height: (left / 320, top / 240, width / 320, height / 240))
    corners = with_boxes(
        lambda left, top, width, height: (left / 320, top / 240, (left + width) / 320, (top + height) / 240)
    )

    validations = of_coco(tmp_path, shares), of_voc(tmp_path, as_they_are(corners))
    warnings = [only(each.warnings) for each in validations]

    assert [each.code for each in warnings] == ["normalised-boxes"] * 2
    assert all("of 360 boxes is larger than 0." in each.message for each in warnings)
    assert not any(note.code == "box-outside" for each in validations for note in each.notes)
    assert (warnings[1].file, warnings[1].line) == ("comp4_det_test_bird.txt", 1)
    assert warnings[1].text is not None
    assert warnings[1].text.startswith("2012_000100 0.")


@pytest.mark.parametrize(
    ("phase", "change", "way", "given", "expected"),
    [
        (COCO, lambda number: number - 1, "from 0", "0 to 5", "1 to 6"),
        (GAPS, lambda number: number, "from 1 without gaps", "1 to 6", "1 to 8 with gaps"),
        (GAPS, lambda number: number - 1, "from 0", "0 to 5", "1 to 8 with gaps"),
        (
            replace(COCO, class_numbers=(0, 1, 2, 3, 4, 5)),
            lambda number: number,
            "from 1 without gaps",
            "1 to 6",
            "0 to 5",
        ),
        (
            GAPS,
            lambda number: (0, 1, 3, 4, 6, 7)[number - 1],
            "from one less",
            "0 to 7 with gaps",
            "1 to 8 with gaps",
        ),
    ],
)
def test_renumbered_categories_are_one_problem_with_their_cause(
    tmp_path: Path, phase: Description, change: Callable[[int], int], way: str, given: str, expected: str
) -> None:
    problem = only(of_coco(tmp_path, with_ids(change), phase).problems)

    assert (problem.code, problem.found, problem.expected) == ("renumbered-categories", given, expected)
    assert (
        f"category ids are {given}, as if they were counted {way}; the 6 categories have the ids {expected}"
        in problem.message
    )
    assert "The first: [" in problem.message
    assert "(image 100)" in problem.message


def test_other_unknown_categories_are_reported_one_by_one(tmp_path: Path) -> None:
    found = entries()
    found[3]["category_id"] = found[9]["category_id"] = 77

    assert [each.code for each in of_coco(tmp_path, found).problems] == ["unknown-category"] * 2


def test_a_highest_category_without_detections_gets_a_warning(tmp_path: Path) -> None:
    shifted = [
        each | {"category_id": each["category_id"] - 1} for each in entries() if each["category_id"] > 1
    ]

    warning = only(of_coco(tmp_path, shifted).warnings)
    several = [each for each in shifted if each["category_id"] != 2]

    assert warning.code == "shifted-categories"
    assert warning.message == (
        "comp1: the highest category id, 6 ('dog'), has no detection, while all 5 others have, such as 1 ('bird') with 60: "
        "are ids counted from 0?"
    )
    assert of_coco(tmp_path, several).warnings == ()


def test_results_for_another_image_set_are_refused_in_one_sentence(tmp_path: Path) -> None:
    elsewhere = [each | {"image_id": each["image_id"] + 1000} for each in entries()]
    text = as_they_are([each | {"bbox": [10, 10, 90, 90]} for each in elsewhere])

    in_json, in_text = only(of_coco(tmp_path, elsewhere).problems), only(of_voc(tmp_path, text).problems)

    start = "360 of the 360 predictions that were read are in images that are none of the 60 of this image set: are they for another one?"
    assert in_json.message.startswith(f"{start} The first: [0] (image 1100): 'image_id' is 1100")
    assert in_text.message.startswith(f"{start} The first: unknown image '2012_001100'")
    assert (in_json.code, in_text.code) == ("other-images", "other-images")
    assert (in_text.file, in_text.line) == ("comp4_det_test_bird.txt", 1)


def test_a_few_unknown_images_are_reported_one_by_one(tmp_path: Path) -> None:
    found = entries()
    for each in found[:20]:
        each["image_id"] = 7

    assert {each.code for each in of_coco(tmp_path, found).problems} == {"unknown-image"}


def test_images_without_predictions_are_counted(tmp_path: Path) -> None:
    some = [each for each in entries() if each["image_id"] < 130]
    cars = [each for each in some if each["category_id"] == 3]

    warnings = [only(of_coco(tmp_path, some).warnings), only(of_voc(tmp_path, lines(some)).warnings)]

    assert [each.message.partition(": ")[2] for each in warnings] == [
        "30 of 60 images have no prediction of any class"
    ] * 2
    assert "images-without-predictions" not in {each.code for each in of_coco(tmp_path, cars).warnings}


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("phase", "kept", "of", "example"),
    [(COCO, 100, "1 pair of an image and a class", "image 100, cow"), (LVIS, 300, "1 image", "image 100")],
)
def test_predictions_beyond_those_that_count_get_a_warning(
    tmp_path: Path, phase: Description, kept: int, of: str, example: str
) -> None:
    base = [each for each in entries() if (each["image_id"], each["category_id"]) != (100, 5)]
    rest = 0 if phase is COCO else len(NAMES) - 1
    many = [entries()[4] | {"score": n / 1000} for n in range(kept - rest)]

    assert of_coco(tmp_path, base + many, phase).warnings == ()
    warning = only(of_coco(tmp_path, base + many + many[:1], phase).warnings)

    assert warning.message == (
        f"comp1: more than {kept} predictions in {of}, up to {kept + 1} ({example}); only the {kept} most confident ones count"
    )


def test_a_single_confidence_gets_a_warning(tmp_path: Path) -> None:
    found = [each | ({"score": 0.5} if each["category_id"] in (2, 4) else {}) for each in entries()]

    messages = {
        only(each.warnings).message.partition(": ")[2]
        for each in (of_coco(tmp_path, found), of_voc(tmp_path, lines(found)))
    }

    assert messages == {
        "2 of 6 classes have a single confidence for all predictions, such as boat: 0.5 for all 60, also cat; results are ranked by it"
    }


def test_very_few_predictions_get_no_warning(tmp_path: Path) -> None:
    few = [each | {"bbox": [0.1, 0.1, 0.5, 0.5], "score": 0.5} for each in entries()[:9]]

    assert of_coco(tmp_path, few).warnings == ()


def test_warnings_are_in_reports_but_not_in_older_ones(tmp_path: Path) -> None:
    validation = of_coco(tmp_path, [each | {"score": 0.5} for each in entries()])
    plain = validation.as_json()

    assert Validation.from_json(json.loads(json.dumps(plain))) == validation
    assert [each["code"] for each in plain["warnings"]] == ["constant-confidence"]
    del plain["warnings"]
    assert Validation.from_json(plain).warnings == ()


TRAINVAL = PublicCounts("trainval", tuple(zip(NAMES, (100, 120, 500, 90, 80, 2000), strict=True)))


def in_shares(order: tuple[int, ...]) -> list[Entry]:
    """Ten times as many predictions of each class as a tenth of the objects that the class in this place has."""
    found, numbers = entries(), [objects // 10 for _, objects in TRAINVAL.objects]
    return [
        {**found[place % len(found)], "category_id": label + 1}
        for label, other in enumerate(order)
        for place in range(numbers[other])
    ]


@pytest.mark.parametrize(
    ("found", "warned"),
    [
        (in_shares((0, 1, 2, 3, 4, 5)), False),
        (in_shares((5, 0, 1, 2, 3, 4)), True),
        (entries(), False),  # all classes equally often, as dense detectors do
        ([each for each in in_shares((5, 0, 1, 2, 3, 4)) if each["category_id"] < 4], False),  # few classes
    ],
)
def test_classes_with_other_shares_than_in_a_public_image_set_get_a_warning(
    tmp_path: Path, found: list[Entry], *, warned: bool
) -> None:
    coco, voc = replace(COCO, public_counts=TRAINVAL), replace(VOC, public_counts=TRAINVAL)
    archive = written(tmp_path, gz(tar(lines(found))), "found.tar.gz")

    messages = [
        [each.message.partition(": ")[2] for each in validation.warnings if each.code == "class-shares"]
        for validation in (of_coco(tmp_path, found, coco), validate(archive, voc))
    ]

    said = (
        "the shares of the classes are far from those in trainval, whose annotation is public: 'dog' has 3% of the 289 predictions "
        "and 69% of the 2,890 objects there; 80% of the predictions would have to be of another class. "
        "Are the classes in another order?"
    )
    assert messages == [[said] * warned] * 2
    assert "class-shares" not in {each.code for each in of_coco(tmp_path, found).warnings}
