import dataclasses

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from heldout_scoring.data.predictions import ClassConfidences
from heldout_scoring.errors import Problem, Problems, Severity
from heldout_scoring.readers import lines
from heldout_scoring.readers.image_index import ImageIndex, Subjects
from heldout_scoring.readers.lines import LONGEST_LINE
from heldout_scoring.tasks import labels_files as confidences
from heldout_scoring.tasks.labels_files import add_repetitions, read_images, read_persons
from tests.scoring.archives import IMAGES, description

ACTING = ((IMAGES[0], 1), (IMAGES[0], 12), ("2010_000009", 2), (IMAGES[1], 1))
INDEX = ImageIndex.of(dataclasses.replace(description(), acting=ACTING))
NOBODY = ImageIndex.of(dataclasses.replace(description(), images=(), acting=()))
FILE = "comp1_cls_test_car.txt"
GOOD = b"000001 0.5\n"


def repetitions(data: bytes, subjects: Subjects) -> tuple[Problem, ...]:
    problems = Problems()
    add_repetitions(data, subjects, file=FILE, problems=problems)
    return problems.listed


def images(data: bytes, index: ImageIndex = INDEX) -> tuple[ClassConfidences, Problems]:
    problems = Problems(mistakes=Severity.NOTE)
    return read_images(data, index, file=FILE, problems=problems), problems


def persons(data: bytes, index: ImageIndex = INDEX) -> tuple[ClassConfidences, Problems]:
    problems = Problems(mistakes=Severity.NOTE)
    return read_persons(data, index, file=FILE, problems=problems), problems


def test_a_line_is_read_as_image_and_confidence() -> None:
    found, problems = images(b"000003 0.25\n000001 -7e0\n")

    assert found.subject.tolist() == [2, 0]
    assert found.subject.dtype == np.int32
    assert found.confidence.tolist() == [0.25, -7]
    assert problems.listed == problems.notes == ()


def test_a_line_is_read_as_person_and_confidence() -> None:
    found, problems = persons(b"000002 1 .5\n2010_000009 2 1\n000001 12 2.\n000001 1 +3\n")

    assert found.subject.tolist() == [3, 2, 1, 0]
    assert found.subject.dtype == np.int32
    assert found.confidence.tolist() == [0.5, 1, 2, 3]
    assert problems.listed == problems.notes == ()


@pytest.mark.parametrize(
    "data",
    [
        b"000001 0.5\n000002 1",
        b"000001\t0.5\n000002\t1\n",
        b"\n\n  000001   0.5 \n \t\n000002 1\n\n",
    ],
)
def test_blanks_and_empty_lines_are_allowed_anywhere(data: bytes) -> None:
    found, problems = images(data)

    assert found.subject.tolist() == [0, 1]
    assert problems.listed == problems.notes == ()


@pytest.mark.parametrize("data", [b"", b"\n", b" \n\t\n" * 100])
def test_a_file_without_lines_is_empty(data: bytes) -> None:
    for found, problems in (images(data), persons(data), images(data, NOBODY), persons(data, NOBODY)):
        assert len(found) == 0
        assert found.subject.dtype == np.int32
        assert found.confidence.dtype == np.float64
        assert problems.listed == ()


def test_byte_order_marks_and_unusual_line_ends_are_noted() -> None:
    found, problems = images(b"\xef\xbb\xbf000001 0.5\r\n000002 1\r\n")

    assert len(found) == 2
    assert [note.code for note in problems.notes] == ["byte-order-mark", "line-ends"]


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        (b"000009 0.5", "unknown-image", "'000009': it is not in the set VOC2012 test"),
        (b"000001.jpg 0.5", "unknown-image", "did you mean '000001'?"),
        (b"000001", "field-count", "expected 2 fields, found 1"),
        (b"000001 0.5 1 2 3 4", "field-count", "expected 2 fields, found 6"),
        (b"000001,0.5", "field-count", "not by commas"),
        (b"000001 1_0", "not-a-number", "'1_0'"),
        (b"000001 nan", "not-finite", "confidence"),
        (b"000001 1e999", "not-finite", "'1e999'"),
        (b"000001 -inf", "not-finite", "'-inf'"),
        ("000001 \uff10".encode(), "encoding", "not ASCII"),
        (b"000001 0\0", "binary", "NUL"),
        (b"000001 0." + b"3" * LONGEST_LINE, "line-too-long", "at most 1000"),
    ],
)
def test_an_invalid_line_is_reported_and_the_others_are_read(line: bytes, code: str, words: str) -> None:
    found, problems = images(GOOD + line + b"\n" + GOOD)

    [problem] = problems.listed
    assert (problem.code, problem.file, problem.line) == (code, FILE, 2)
    assert words in problem.message
    assert found.subject.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        (b"000003 1 0.5", "unknown-image", "'000003': it is not in the Action set of VOC2012 test"),
        (b"000001 99 0.5", "unknown-object", "unknown object '99' of the image '000001'"),
        (b"000001 01 0.5", "unknown-object", "'01'"),
        (b"000001 1.0 0.5", "unknown-object", "'1.0'"),
        (b"2010_000009 1 0.5", "unknown-object", "'2010_000009'"),
        (b"000001 -1 0.5", "unknown-object", "it is not in the Action set of VOC2012 test"),
        (b"000001 0.5", "field-count", "expected 3 fields, found 2"),
        (b"000001 1 high", "not-a-number", "as confidence, found 'high'"),
    ],
)
def test_an_invalid_line_about_a_person_is_reported(line: bytes, code: str, words: str) -> None:
    found, problems = persons(b"000001 1 0.5\n" + line + b"\n")

    [problem] = problems.listed
    assert (problem.code, problem.file, problem.line) == (code, FILE, 2)
    assert words in problem.message
    assert found.subject.tolist() == [0]


def test_every_person_is_unknown_without_an_action_set() -> None:
    _, problems = persons(b"000001 1 0.5\n", NOBODY)

    assert [problem.code for problem in problems.listed] == ["unknown-image"]


def test_lines_that_repeat_an_image_are_counted_in_one_note() -> None:
    found, problems = images(GOOD * 3 + b"000002 1\n" * 2)

    assert len(found) == 5
    [note] = problems.notes
    assert str(note) == f"{FILE}: 3 lines with the image of another one; of several lines the last counts"


def test_each_repetition_is_reported_with_its_line_and_the_first_line() -> None:
    data = b"\r\n000002 1\r\nwrong\r\n000001 0.5\r\n\r\n000002 1\r\n000002 0\r\n"

    said = repetitions(data, INDEX.main)

    assert [str(each) for each in said] == [
        f"{FILE}:6: a duplicate: the image '000002' is already on line 2",
        f"{FILE}:7: a duplicate: the image '000002' is already on line 2",
    ]


def test_a_repeated_person_is_reported_with_image_and_object() -> None:
    [said] = repetitions(b"000001 12 1\n000001  12 2", INDEX.acting)

    assert said.message == "a duplicate: the person '000001 12' is already on line 1"


def test_repetitions_are_not_searched_in_utf_16_text() -> None:
    assert repetitions("000001 1\n".encode("utf-16"), INDEX.main) == ()


WORDS = st.sampled_from(["000001", "000002", "000009", "2010_000009", "1", "12", "2", "01", "+1", "1.0", ""])
PIECES = st.one_of(
    WORDS,
    st.sampled_from(["0.5", "-3.5", ".5", "1e999", "nan", "1_0", "1e", '"1"', "null", "0e99999999999"]),
    st.floats().map(str),
    st.text(alphabet="0123456789.eE+-_", min_size=1, max_size=12),
)
BLANKS = st.sampled_from([" ", " ", " ", " ", "\t", "  ", "\x0b", "\u00a0", ",", "\0"])
ENDS = st.sampled_from(["\n", "\n", "\n", "\n\n", " \n", ""])


@st.composite
def rows(draw: st.DrawFn) -> str:
    count = draw(st.sampled_from([2, 2, 3, 3, 3, 1, 4]))
    text = draw(st.sampled_from(["000001", "000002", "000001", "000009", " 000001", ""]))
    for _ in range(count - 1):
        text += draw(BLANKS) + draw(PIECES)
    return text + draw(ENDS)


@given(st.lists(rows(), max_size=6), st.sampled_from([INDEX.main, INDEX.acting]))
@example(["000001 0.5\n", "000001\n"], INDEX.main)
@example(["000001 0.5 \n"], INDEX.main)
@example(["000001 1 0.5\n", "000001 1 0.5 1"], INDEX.acting)
@example(["000002 12 0.5\n"], INDEX.acting)
def test_the_fast_reader_accepts_nothing_that_the_exact_one_refuses(texts: list[str], whom: Subjects) -> None:
    block = "".join(texts).encode()
    problems = Problems(mistakes=Severity.NOTE)

    fast = confidences._read_fast(block, whom)
    slow, wrong = confidences._read_exactly(block, first=1, subjects=whom, file=FILE, problems=problems)

    assert wrong == len(problems.listed)
    if fast is not None:
        assert problems.listed == ()
        assert fast.subject.tolist() == slow.subject.tolist()
        assert fast.confidence.tobytes() == slow.confidence.tobytes()


@pytest.mark.parametrize("whom", [INDEX.main, INDEX.acting])
def test_the_fast_reader_reads_valid_files(whom: Subjects) -> None:
    data = b"".join(b" ".join(name) + b" 0.25\n" for name in whom.places)

    fast = confidences._read_fast(data, whom)

    assert fast is not None
    assert fast.subject.tolist() == list(range(len(whom)))


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_read_or_refused(data: bytes) -> None:
    for found, problems in (images(data), persons(data)):
        assert bool(len(found)) <= (b"0" in data)
        assert all(problem.message.isprintable() for problem in problems.listed + problems.notes)


def test_files_of_many_blocks_are_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "BLOCK", 30)

    found, problems = images(b"000001 1\n000002 2\n000003 3\n" * 3 + b"wrong\n000001 4\n")

    assert found.confidence.tolist() == [1, 2, 3] * 3 + [4]
    assert [problem.line for problem in problems.listed] == [10]


@given(st.permutations([(image, number) for image in range(5) for number in (1, 2, 11, 70000)]))
def test_every_listed_person_is_found_in_any_order(order: list[tuple[int, int]]) -> None:
    chosen = tuple((f"image{image}", number) for image, number in order[:12])
    index = ImageIndex.of(dataclasses.replace(description(), acting=chosen))
    data = "".join(f"{image} {number} 1\n" for image, number in chosen).encode()

    found, problems = persons(data, index)

    assert found.subject.tolist() == list(range(12))
    assert problems.listed == ()
    for image, number in order[12:]:
        assert confidences._read_fast(f"image{image} {number} 1\n".encode(), index.acting) is None
