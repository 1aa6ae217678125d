import dataclasses
import random

import pytest

from heldout_scoring.data.predictions import ClassConfidences
from heldout_scoring.errors import Problem, Problems, Severity
from heldout_scoring.readers.image_index import ImageIndex
from heldout_scoring.tasks.labels_files import (
    read_images,
    read_images_together,
    read_persons,
    read_persons_together,
)
from tests.scoring.archives import IMAGES, description

INDEX = ImageIndex.of(dataclasses.replace(description(), acting=((IMAGES[0], 1), (IMAGES[0], 12))))
GOOD = b"000001 0.5\n000003 -1\n"
UNUSUAL = [
    b"",
    b"\n",
    b"000001 0.5",
    b"000001 0.5\r\n",
    b"\xef\xbb\xbf000001 0.5\n",
    b"000001\t0.5\n",
    b"000001  0.5 \n\n000002 1\n",
    b"000001 0.5\n\n",
    b"000009 0.5\n",
    b"000001 nan\n",
    b"000001\n",
    b"000001 0.5 1\n",
    b"\x1f\x8b 1\n",
]

Read = list[tuple[list[int], list[float]]]


def as_lists(found: ClassConfidences) -> tuple[list[int], list[float]]:
    return found.subject.tolist(), found.confidence.tolist()


def names(contents: list[bytes]) -> list[str]:
    return [f"comp1_cls_test_class{number}.txt" for number in range(len(contents))]


def together(contents: list[bytes], index: ImageIndex = INDEX) -> tuple[Read, tuple[Problem, ...]] | None:
    problems = Problems(mistakes=Severity.NOTE)
    found = read_images_together(contents, index, files=names(contents), problems=problems)
    return None if found is None else (list(map(as_lists, found)), problems.notes)


def one_by_one(contents: list[bytes]) -> tuple[Read, tuple[Problem, ...], tuple[Problem, ...]]:
    problems = Problems(mistakes=Severity.NOTE)
    found = [
        as_lists(read_images(data, INDEX, file=name, problems=problems))
        for name, data in zip(names(contents), contents, strict=True)
    ]
    return found, problems.notes, problems.listed


def test_files_read_together_equal_files_read_one_by_one() -> None:
    contents = [GOOD, b"000001 1e3\n", b"000002 1\n000002 2\n", GOOD]

    assert together(contents) == one_by_one(contents)[:2]
    assert [note.file for note in one_by_one(contents)[1]] == ["comp1_cls_test_class2.txt"]


def test_persons_read_together_equal_persons_read_one_by_one() -> None:
    contents, problems = [b"000001 12 0.5\n", b"000001 1 2\n000001 12 3\n"], Problems()

    found = read_persons_together(contents, INDEX, files=names(contents), problems=problems)

    assert found is not None
    assert list(map(as_lists, found)) == [
        as_lists(read_persons(data, INDEX, file="", problems=problems)) for data in contents
    ]


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("unusual", UNUSUAL)
def test_unusual_files_are_left_to_the_reader_of_single_files(unusual: bytes, place: int) -> None:
    contents = [GOOD, GOOD]
    contents.insert(place, unusual)

    assert together(contents) is None or together(contents) == one_by_one(contents)[:2]
    if one_by_one(contents)[2]:
        assert together(contents) is None


@pytest.mark.sampled
def test_randomly_changed_files_are_read_as_they_are_one_by_one() -> None:
    dice = random.Random(2007)
    for _ in range(300):
        data = bytearray(GOOD)
        place = dice.randrange(len(data))
        data[place : place + dice.randrange(2)] = bytes([dice.choice(b"0123456789.+-e \n\r\tx")])
        contents = [GOOD, bytes(data), GOOD]
        found, (read, notes, problems) = together(contents), one_by_one(contents)

        assert found is None or (found == (read, notes) and not problems), contents


def test_single_or_long_files_are_not_read_together() -> None:
    assert together([GOOD]) is None
    assert together([GOOD, GOOD], dataclasses.replace(INDEX, max_lines=1)) is None
    assert together([GOOD, GOOD], dataclasses.replace(INDEX, max_lines=2)) is not None
