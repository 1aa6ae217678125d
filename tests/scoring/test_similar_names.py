import time
from pathlib import Path

import pytest

from heldout_scoring import Description, Image, validate
from heldout_scoring.competitions import classes_of
from heldout_scoring.errors import MAX_COMPARED, similar_name, similar_word
from tests.scoring.archives import gz, tar, written

PHASE = Description(
    "VOC2007", "test", classes_of("VOC2007"), (), tuple(Image(f"{n:06d}", 500, 375) for n in range(1, 5000))
)

SALT = "0c2f7a1e-9d1b-4a0f-8a53-444455556666"


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        (b"2008_000008", b"2008_000008"),
        (b"2008-000008", b"2008_000008"),
        (b"2008_8", b"2008_000008"),
        (b"a_1", b"A_1"),
        (b"2008_000010", None),
        (b"", None),
        (b"b1", None),
    ],
)
def test_names_that_differ_in_case_zeros_or_punctuation_are_found(name: bytes, meant: bytes | None) -> None:
    known = frozenset({b"2008_000008", b"2008_000009", b"A_1", b"b_1", b"B-1"})

    assert similar_name(name, known) == meant


def test_an_ambiguous_name_gets_no_suggestion() -> None:
    assert similar_name(b"B 1", frozenset({b"b_1", b"B-1"})) is None


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("motorcycle", "motorbike"),
        ("Car", "car"),
        ("airplane", "aeroplane"),
        ("tv", "tvmonitor"),
        ("couch", "sofa"),
        ("potted_plant", "pottedplant"),
        ("zebra", None),
        ("people", "person"),
        ("car.txt", "car"),
        ("car_det", "car"),
        ("01_car", "car"),
        ("car (1)", "car"),
        ("cars", "car"),
        ("caf", None),
        ("car_cat", None),
        ("humans", None),
    ],
)
def test_a_misspelled_class_is_suggested(word: str, meant: str | None) -> None:
    assert similar_word(word, classes_of("VOC2012")) == meant


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("Main/comp3_det_test_motorcycle.txt", "did you mean 'motorbike'?"),
        ("Main/comp3_det_test_Car.txt", "did you mean 'car'?"),
        ("Main/comp3-det-test-car.txt", "did you mean 'comp3_det_test_car.txt'?"),
        ("Main/comp3_det_test_car.txt.txt", "did you mean 'car'?"),
        ("Main/comp3_det_test_car_det.txt", "did you mean 'car'?"),
        ("Main/comp3_det_test_people.txt", "did you mean 'person'?"),
        ("Main/comp4-44503_det_test_car.txt", "did you mean 'comp4_det_test_car.txt'?"),
        (f"Main/comp4_{SALT}_det_test_car.txt", "did you mean 'comp4_det_test_car.txt'?"),
        (f"Main/comp1_{SALT}_cls_test_people.txt", "did you mean 'comp1_cls_test_person.txt'?"),
        ("Main/comp3_det_car_test.txt", "expected 'test'; did you mean 'comp3_det_test_car.txt'?"),
        ("Layout/comp6_layout_test_person.xml.xml", "did you mean 'comp6_layout_test_person.xml'?"),
        ("Main/comp3_det_val_car.txt", "a result for the image set 'val'; expected 'test'"),
    ],
)
def test_a_near_miss_in_a_file_name_is_explained(tmp_path: Path, file: str, words: str) -> None:
    archive = written(tmp_path, gz(tar({f"results/VOC2007/{file}": b""})), "results.tar.gz")

    assert any(words in problem.message for problem in validate(archive, PHASE).problems)


@pytest.mark.parametrize("word", ["det_humans", "zebra", "caf"])
def test_a_name_that_is_near_nothing_gets_no_suggestion(tmp_path: Path, word: str) -> None:
    files = {
        f"results/VOC2007/Main/comp3_{SALT}_det_test_{word}.txt": b"",
        f"Main/comp3_det_test_{word}.txt": b"",
    }

    found = validate(written(tmp_path, gz(tar(files)), "results.tar.gz"), PHASE)

    assert "did you mean" not in str(found.problems)


def test_an_image_of_another_number_is_never_near() -> None:
    assert similar_word("2008_000010", ["2008_000001", "2009_000022"]) is None
    assert similar_word("2008_000001.png.png", ["2008_000001", "2008_000002"]) == "2008_000001"


def test_an_image_written_without_leading_zeros_is_found(tmp_path: Path) -> None:
    archive = written(
        tmp_path,
        gz(tar({"results/VOC2007/Main/comp3_det_test_car.txt": b"8 0.5 1 2 \x1b[31m\n8 0.5 1 2 3 4\n"})),
        "results.tar.gz",
    )

    control, unknown = validate(archive, PHASE).problems

    assert unknown.message.endswith("; did you mean '000008'?")
    assert unknown.text == "8 0.5 1 2 3 4"
    assert control.text == r"8 0.5 1 2 \x1b[31m"


@pytest.mark.sampled
def test_suggestions_for_many_unknown_names_take_little_time(tmp_path: Path) -> None:
    files = {f"results/VOC2007/Main/comp3_det_test_{n}.txt": b"" for n in range(10_000)}
    lines = b"".join(b"%d 0.5 1 2 3 4\n" % n for n in range(10_000, 110_000))
    archive = written(
        tmp_path, gz(tar(files | {"results/VOC2007/Main/comp3_det_test_car.txt": lines})), "results.tar.gz"
    )

    start = time.process_time()
    validation = validate(archive, PHASE)

    assert len(validation.problems) == 501  # 500 names, and what is the matter with the lines
    assert validation.unlisted == {"unknown-class": 9_500}
    assert time.process_time() - start < 10


def test_among_very_many_words_only_spelling_variants_are_suggested() -> None:
    many = [f"class {number:05d}" for number in range(MAX_COMPARED + 1)]

    assert similar_word("Class_17", many) == "class 00017"
    assert similar_word("clas 00017", many) is None
