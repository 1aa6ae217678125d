"""Archives with arbitrarily changed bytes are refused or read and never crash the reader."""

import random
from pathlib import Path

import pytest

from heldout_scoring import validate
from tests.scoring.archives import description, detections, gz, tar, written, xz, zip_of

SPECIAL = (b"\xff\xff\xff\xff", b"\0\0\0\0", b"PK\1\2", b"PK\5\6", b"7777777")


def damaged(data: bytes, random_baseline: random.Random) -> bytes:
    result = bytearray(data)
    for _ in range(random_baseline.choice((1, 1, 2, 8))):
        place = random_baseline.randrange(len(result) + 1)
        match random_baseline.randrange(4):
            case 0:
                result[place : place + 1] = random_baseline.randbytes(1)
            case 1:
                del result[place : place + random_baseline.randrange(600)]
            case 2:
                result[place : place + 4] = random_baseline.choice(SPECIAL)
            case _:
                result[place:place] = random_baseline.randbytes(random_baseline.randrange(600))
    return bytes(result)


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("pack", [zip_of, tar, lambda files: gz(tar(files)), lambda files: xz(tar(files))])
def test_a_damaged_archive_is_refused_or_read(tmp_path: Path, pack: object, seed: int) -> None:
    assert callable(pack)
    whole, random_baseline = pack(detections()), random.Random(seed)

    for _ in range(60):
        validation = validate(written(tmp_path, damaged(whole, random_baseline)), description())
        assert validation.valid == (not validation.problems)
        assert all(str(problem).isprintable() for problem in validation.problems)
