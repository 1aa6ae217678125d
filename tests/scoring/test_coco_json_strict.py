import json
import random

import pytest

from heldout_scoring.readers.coco_json.records import JsonError, Table, read_records

GOOD = b'{"image_id": 126, "category_id": 18, "bbox": [1.5, 2, 30, 4], "score": 0.25}'
CHARACTERS = b'0123456789.+-eE[]{},:" _ab/\n'
CHANGES = [
    (b": 126", b":1 26"),
    (b"[1.5, 2,", b"[1.5,2 ,"),
    (b": [1.5", b": 1[.5"),
    (b": [1.5", b": 1.5["),
    (b'"image_id": 126', b'"imag_id": 1e2'),
    (b"score", b"scor"),
    (b"score", b"scoree"),
    (b"score", b"scor.e"),
    (b"0.25}", b"0.25}5"),
    (b'{"im', b'5{"im'),
    *(
        (b"0.25", number)
        for number in (
            b"05",
            b".5",
            b"+5",
            b"5.",
            b"-.5",
            b"00",
            b"-01",
            b"1-5",
            b"- 5",
            b"1.e5",
            b"1e",
            b"1/5",
        )
    ),
    *((b"0.25", number) for number in (b"1e5", b"1E+5", b"-0", b"-0.5", b"0e05", b"1e-05", b"10", b"0.0")),
]


def entries(text: bytes) -> list[object] | None:
    """The entries that the reader finds in a list; None if it is not JSON."""
    try:
        blocks = [block.rows() if isinstance(block, Table) else block for block in read_records(text)]
    except JsonError:
        return None
    return [value for block in blocks for value in block.values]


def entries_as_python_reads_them(text: bytes) -> list[object] | None:
    try:
        return list(json.loads(text))
    except ValueError:
        return None


def between_good_ones(record: bytes) -> bytes:
    return b"[" + b", ".join([GOOD, record, GOOD]) + b"]"


@pytest.mark.parametrize(("before", "after"), CHANGES)
def test_invalid_json_is_refused_by_the_fast_reader_too(before: bytes, after: bytes) -> None:
    text = between_good_ones(GOOD.replace(before, after, 1))

    assert entries(text) == entries_as_python_reads_them(text)


def test_randomly_changed_records_are_read_as_python_reads_them() -> None:
    dice = random.Random(2012)
    for _ in range(3_000):
        record = bytearray(GOOD)
        for _ in range(dice.choice((1, 1, 2))):
            place = dice.randrange(1, len(record) - 1)
            record[place : place + dice.randrange(2)] = bytes([dice.choice(CHARACTERS)])
        text = between_good_ones(bytes(record))

        assert entries(text) == entries_as_python_reads_them(text), text
