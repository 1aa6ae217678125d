"""Numbers in lines of detections are read exactly to the last bit."""

import struct
from random import Random

import numpy as np

from heldout_scoring.readers.image_index import ImageIndex
from heldout_scoring.tasks import detection_files as lines
from tests.scoring.archives import description

INDEX = ImageIndex.of(description())


def numbers_read(texts: list[str]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    rows = [f"000001 {text} 1 1 1 1\n" for text in texts]
    found = lines._parse("".join(rows).encode(), INDEX)
    assert found is not None
    return found.confidence


def test_numbers_equal_those_of_float_to_the_last_bit() -> None:
    random = Random(7)
    texts: list[str] = []
    while len(texts) < 20_000:
        [value] = struct.unpack("d", random.randbytes(8))
        if np.isfinite(value):
            texts += [repr(value), f"{value:.17g}", f"{value:.{random.randrange(40)}e}"]
    texts += [
        "9007199254740993",
        "1.00000000000000011102230246251565",
        "2.2250738585072011e-308",
        "5e-324",
        "1e-999",
    ]

    expected = np.array([float(text) for text in texts])

    assert numbers_read(texts).tobytes() == expected.tobytes()


def test_numbers_halfway_between_two_doubles_round_to_even() -> None:
    random = Random(8)
    texts = []
    for _ in range(2000):
        value = random.getrandbits(53) | 1 << 52
        texts.append(
            f"{2 * value + 1}{random.choice(['', '.0', 'e0', '.' + '0' * 300, '.' + '0' * 300 + '1'])}"
        )

    expected = np.array([float(text) for text in texts])

    assert numbers_read(texts).tobytes() == expected.tobytes()
