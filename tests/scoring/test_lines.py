import tracemalloc

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from heldout_scoring.data.predictions import ClassDetections
from heldout_scoring.errors import Problem, Problems, Severity
from heldout_scoring.readers import lines
from heldout_scoring.readers.image_index import ImageIndex
from heldout_scoring.readers.lines import LONGEST_LINE, Invalid, Row, parse_line
from heldout_scoring.tasks import detection_files
from heldout_scoring.tasks.detection_files import Reading, inverted, outside, read_detections, read_in_blocks
from tests.scoring.archives import description

INDEX = ImageIndex.of(description())
FILE = "comp3_det_test_car.txt"
GOOD = b"000001 0.5 10 20 110 220\n"


def read(data: bytes) -> tuple[ClassDetections, Problems]:
    problems = Problems(mistakes=Severity.NOTE)
    return read_detections(data, INDEX, file=FILE, problems=problems), problems


def read_strictly(data: bytes) -> tuple[list[ClassDetections], Problems]:
    problems = Problems()
    return list(read_in_blocks(data, Reading(INDEX, FILE, problems))), problems


def exactly(data: bytes) -> tuple[ClassDetections, Problems]:
    problems = Problems(mistakes=Severity.NOTE)
    found, _ = detection_files._read_exactly(data, Reading(INDEX, FILE, problems), first=1)
    return found, problems


def test_a_line_is_read_as_image_confidence_and_box() -> None:
    found, problems = read(b"000003 0.25 1.5 2 3e2 +400.\n000001 -7 -1 0 .5 1E-3\n")

    assert found.image.tolist() == [2, 0]
    assert found.image.dtype == np.int32
    assert found.confidence.tolist() == [0.25, -7]
    assert found.boxes.tolist() == [[1.5, 2, 300, 400], [-1, 0, 0.5, 0.001]]
    assert found.boxes.flags.f_contiguous
    assert problems.listed == problems.notes == ()


@pytest.mark.parametrize(
    "data",
    [
        GOOD * 2,
        GOOD * 2 + b"\n",
        (GOOD * 2)[:-1],
        (GOOD * 2).replace(b" ", b"\t"),
        (GOOD * 2).replace(b" ", b"   "),
        (GOOD * 2).replace(b"\n", b" \t\n"),
        b"\n\n" + GOOD + b" \n\t\n\n" + GOOD,
        b"  " + GOOD + b"\t " + GOOD,
    ],
)
def test_blanks_and_empty_lines_are_allowed_anywhere(data: bytes) -> None:
    found, problems = read(data)

    assert found.boxes.tolist() == [[10, 20, 110, 220]] * 2
    assert problems.listed == problems.notes == ()


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"\xef\xbb\xbf" + GOOD, "byte-order-mark"),
        (GOOD.replace(b"\n", b"\r\n"), "line-ends"),
        (GOOD.replace(b"\n", b"\r"), "line-ends"),
    ],
)
def test_byte_order_marks_and_unusual_line_ends_are_noted(data: bytes, code: str) -> None:
    found, problems = read(data)

    assert len(found) == 1
    assert problems.listed == ()
    assert [note.code for note in problems.notes] == [code]


@pytest.mark.parametrize("data", [b"", b"\n", b" \n\t\n" * 1000])
def test_a_file_without_lines_is_empty(data: bytes) -> None:
    found, problems = read(data)

    assert len(found) == 0
    assert found.boxes.shape == (0, 4)
    assert problems.listed == ()


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        (b"000009 0.5 1 2 3 4", "unknown-image", "'000009'"),
        (b"000001.jpg 0.5 1 2 3 4", "unknown-image", "did you mean '000001'?"),
        (b'"000001" 0.5 1 2 3 4', "unknown-image", "did you mean '000001'?"),
        (b"../../etc/passwd 0.5 1 2 3 4", "unknown-image", "VOC2012 test"),
        (b"000001 0.5 1 2 3", "field-count", "expected 6 fields, found 5"),
        (b"000001 0.5 1 2 3 4 7", "field-count", "expected 6 fields, found 7"),
        (b"000001,0.5,1,2,3,4", "field-count", "not by commas"),
        (b"# my results", "field-count", "found 3"),
        (b"000001 1_0 1 2 3 4", "not-a-number", "'1_0'"),
        (b"000001 0x1p-3 1 2 3 4", "not-a-number", "confidence"),
        (b"000001 1.0d-3 1 2 3 4", "not-a-number", "confidence"),
        (b"000001 0,5 1 2 3 4", "not-a-number", "confidence"),
        (b"000001 . 1 2 3 4", "not-a-number", "confidence"),
        (b"000001 0.5 1 2 e5 4", "not-a-number", "right"),
        (b"000001 nan(12) 1 2 3 4", "not-a-number", "confidence"),
        (b"000001 nan 1 2 3 4", "not-finite", "confidence"),
        (b"000001 -Infinity 1 2 3 4", "not-finite", "confidence"),
        (b"000001 0.5 1 2 3 inf", "not-finite", "bottom"),
        (b"000001 1e999 1 2 3 4", "not-finite", "'1e999'"),
        (b"000001 0.5 -1e308 2 3 4", "coordinate-range", "-1e+308"),
        (b"000001 0.5 1 2 1000001 4", "coordinate-range", "1e+06"),
        ("000001 \uff10.\uff15 1 2 3 4".encode(), "encoding", "not ASCII"),
        ("000001\u00a00.5 1 2 3 4".encode(), "encoding", "not ASCII"),
        (b"00\xe90001 0.5 1 2 3 4", "encoding", r"\xe9"),
        (b"000001 0.5\0 1 2 3 4", "binary", "NUL"),
        (b"000001\x0b0.5 1 2 3 4", "control-character", r"\x0b"),
        (b"x\x01 0.5 1 2 3 4", "control-character", r"\x01"),
        (b"x^ 0.5 1 2 3 4", "unknown-image", "'x^'"),
        (b"000001 0." + b"3" * LONGEST_LINE + b" 1 2 3 4", "line-too-long", "at most 1000"),
        (b"A" * 50_000 + b" 0.5 1 2 3 4", "line-too-long", "50012"),
    ],
)
def test_an_invalid_line_is_reported_and_the_others_are_read(line: bytes, code: str, words: str) -> None:
    found, problems = read(GOOD * 4 + line + b"\n" + GOOD)

    [problem] = problems.listed
    assert (problem.code, problem.file, problem.line) == (code, FILE, 5)
    assert words in problem.message
    assert len(problem.message) < 200
    assert problem.message.isprintable()
    assert len(found) == 5


def test_every_invalid_line_is_counted() -> None:
    _, problems = read(b"000009 0.5 1 2 3 4\n" * 900 + b"000001 nan 1 2 3 4\n")

    assert len(problems.listed) == 21
    assert problems.listed[-1].line == 901
    assert problems.unlisted == {"unknown-image": 880}


def test_utf_16_text_is_one_problem() -> None:
    found, problems = read(GOOD.decode().encode("utf-16"))

    assert len(found) == 0
    assert [problem.code for problem in problems.listed] == ["encoding"]


@pytest.mark.parametrize(
    "box",
    [
        "10 10 10 10",
        "1.25 2.5 100.75 99.125",
        "-5 -5 100 100",
        "1 1 99999 99999",
        "1 396.4 80 375.0",
        "500 1 499 9",
        "1 1 -17 20",
    ],
)
def test_a_box_may_be_one_pixel_or_lie_outside_the_image(box: str) -> None:
    blocks, problems = read_strictly(f"000001 0.5 {box}\n".encode())

    assert sum(map(len, blocks)) == 1
    assert problems.listed == ()


@pytest.mark.parametrize(
    "box",
    [
        "100 100 10 10",
        "11 11 10 10",
        "100 10 50 200",
        "10 100 200 50",
        "600 1 10 9",
        "9 1 -5 9",
    ],
)
def test_an_inverted_box_is_a_problem_unless_it_was_accepted_before(box: str) -> None:
    data = GOOD * 4 + f"000001 0.5 {box}\n".encode()

    blocks, problems = read_strictly(data)
    kept, kit = read(data)

    [problem] = problems.listed
    assert (problem.code, problem.line) == ("inverted-box", 5)
    assert inverted(kept, INDEX).tolist() == [False] * 4 + [True]
    assert kit.listed == ()
    assert blocks[0].boxes.tolist() == kept.boxes.tolist()[:4]


def test_boxes_outside_their_image_are_counted() -> None:
    boxes = ["1 1 500 375", "0.5 1 500 375", "1 0 500 375", "1 1 500.5 375", "1 1 500 376", "501 1 500 9"]

    found, _ = read("".join(f"000001 0.5 {box}\n" for box in boxes).encode())

    assert outside(found, INDEX).tolist() == [False, True, True, True, True, True]
    assert not inverted(found, INDEX).any()


def test_a_file_is_read_in_blocks_that_end_at_a_line_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "BLOCK", 60)
    data = (
        GOOD * 7 + b"000001 nan 1 2 3 4\n" + GOOD + b" " * 80 + GOOD + b"000001 nan" + b" " * 80 + b"1 2 3 4"
    )

    found, problems = read(data)

    assert len(found) == 9
    assert [problem.line for problem in problems.listed] == [8, 11]


def test_lines_around_invalid_ones_keep_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "BLOCK", 60)
    good = [b"00000%d 0.%d 10 20 110 220\n" % (1 + each % 3, each) for each in range(10)]

    found, problems = read(b"".join([*good[:5], b"wrong\n", b"\n", b"\t000001  x 1 2 3 4\n", *good[5:]]))

    assert found.confidence.tolist() == [each / 10 for each in range(10)]
    assert [problem.line for problem in problems.listed] == [6, 8]


def test_only_malformed_lines_take_the_slow_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    matched = list[bytes]()

    def watched(line: bytes, images: ImageIndex) -> Row | Invalid | None:
        matched.append(line)
        return parse_line(line, images)

    monkeypatch.setattr("heldout_scoring.tasks.detection_files.parse_line", watched)
    wrong = [
        b"000009 0.5 1 2 3 4",
        b"000001 0.5 1 2 3",
        b"000001 x 1 2 3 4",
        b"000001 nan 1 2 3 4",
        b"\xff",
        b"1" * 1001,
    ]

    read(b"".join(GOOD * 50 + line + b"\n\n" for line in wrong))

    assert matched == wrong


def test_reading_stops_after_too_many_invalid_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MAX_FILE_PROBLEMS", 30)

    found, problems = read(GOOD + b"wrong\n" * 29 + GOOD * 2 + b"wrong\n" + GOOD * 100 + b"wrong\n")

    assert len(found) == 3
    assert problems.unlisted == {"field-count": 10}
    assert problems.listed[-1] == Problem(
        "file-not-read-on",
        "stopped after 30 problems in this file; the lines after line 33 were not read",
        FILE,
    )


def test_a_file_with_more_lines_than_the_limit_is_not_read() -> None:
    short, images = Problems(), ImageIndex.of(description(), max_lines=3)

    found = [read_detections(GOOD * lines, images, file=FILE, problems=short) for lines in (3, 4)]

    assert list(map(len, found)) == [3, 0]
    assert [problem.code for problem in short.listed] == ["too-many-lines"]
    assert len(read(GOOD * 4)[0]) == 4  # without a limit


def test_compressed_content_is_never_unpacked() -> None:
    import gzip
    import zlib

    for packed in (gzip.compress(GOOD), zlib.compress(GOOD, 1), zlib.compress(GOOD, 9)):
        found, problems = read(packed)
        assert len(found) == 0
        assert problems.listed


PIECES = st.one_of(
    st.sampled_from(
        ["000001", "000002", "000009", "0.5", "1", "-3.5", ".5", "5.", "+1e3", "1e999", "nan", "inf"]
    ),
    st.sampled_from(
        ["1_0", "0x1p3", "\uff10", "1e", "-", ".", "1e-999", "0e99999999999", '"1"', "null", "true", ""]
    ),
    st.floats().map(str),
    st.text(alphabet="0123456789.eE+-_", min_size=1, max_size=12),
)
BLANKS = st.sampled_from([" ", " ", " ", " ", "\t", "  ", "\x0b", "\u00a0", ",", "\0"])
ENDS = st.sampled_from(["\n", "\n", "\n", "\n\n", " \n", "\t\n", ""])


@st.composite
def rows(draw: st.DrawFn) -> str:
    count = draw(st.sampled_from([6, 6, 6, 6, 5, 7, 1]))
    text = draw(st.sampled_from(["000001", "000002", "000002", "000009", " 000001", ""]))
    for _ in range(count - 1):
        text += draw(BLANKS) + draw(PIECES)
    return text + draw(ENDS)


@given(st.lists(rows(), max_size=6))
@example(["000001 0.5 1 2 3 4\n", "000001 0.5 1 2 3\n"])
@example(["000001 0.5 1 2 3 \t4\n"])
@example(["000001 0 1 2 3 4\n", "000002 1 1 2 3 4"])
def test_the_fast_reader_accepts_nothing_that_the_exact_one_refuses(texts: list[str]) -> None:
    block = "".join(texts).encode()

    fast = detection_files._read_fast(block, Reading(INDEX, FILE, Problems()))
    slow, problems = exactly(block)

    if fast is not None:
        assert problems.listed == ()
        assert fast.image.tolist() == slow.image.tolist()
        assert fast.confidence.tobytes() == slow.confidence.tobytes()
        assert fast.boxes.tobytes() == slow.boxes.tobytes()


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_read_or_refused(data: bytes) -> None:
    found, problems = read(data)

    assert bool(len(found)) <= (b"00000" in data)
    assert all(problem.message.isprintable() for problem in problems.listed + problems.notes)


@given(
    st.lists(
        st.tuples(*[st.floats(-1100, 1100, width=16)] * 4),
        min_size=1,
        max_size=5,
    )
)
def test_both_readers_agree_about_inverted_boxes(boxes: list[tuple[float, float, float, float]]) -> None:
    data = "".join(f"000002 0.5 {' '.join(map(repr, box))}\n" for box in boxes).encode()

    _, strict = read_strictly(data)
    found, _ = read(data)

    assert [problem.line for problem in strict.listed] == (
        np.flatnonzero(inverted(found, INDEX)) + 1
    ).tolist()


def test_reading_needs_memory_for_a_few_blocks_only() -> None:
    data = b"000001 0.512345 100.5 200.5 300.5 300.5\n" * 400_000

    tracemalloc.start()
    blocks = sum(len(found) for found in read_in_blocks(data, Reading(INDEX, FILE, Problems())))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert blocks == 400_000
    assert peak < 4 * lines.BLOCK


@pytest.mark.parametrize("behind", [b"", GOOD * 3])
def test_a_line_may_be_long_up_to_a_limit(behind: bytes) -> None:
    longest = b"000001 0.5" + b"0" * 980 + b" 1 2 3 4\n"

    assert len(read(longest + behind)[0]) == 1 + len(behind) // len(GOOD)
