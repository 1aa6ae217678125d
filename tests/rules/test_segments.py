"""Segments of data sets: what is sent comes back, and nothing else does."""

import uuid
from collections.abc import AsyncIterator, Callable

import anyio
import pytest
from pyrage import x25519

from app.intake.segments import Place, SegmentError, in_order, pieces_in_memory, seal, unseal

INTAKE, FILE, OTHER = (uuid.UUID(int=number) for number in (1, 2, 3))
KEY = x25519.Identity.generate()
PARTS = (b"first ", b"second ", b"third")

Sealed = list[bytes]


def sealed(file: uuid.UUID = FILE, intake: uuid.UUID = INTAKE, parts: tuple[bytes, ...] = PARTS) -> Sealed:
    """A file of three segments."""
    ends = [sum(map(len, parts[: number + 1])) for number in range(len(parts))]
    return [
        seal(part, Place(intake, file, end - len(part), is_last=end == ends[-1]), str(KEY.to_public()))
        for part, end in zip(parts, ends, strict=True)
    ]


def opened(segments: Sealed) -> bytes:
    return b"".join(in_order((unseal(each, KEY) for each in segments), INTAKE, FILE))


def test_a_file_comes_back_from_its_segments_and_none_of_them_can_be_read() -> None:
    segments = sealed()

    assert opened(segments) == b"first second third"
    assert not any(part in each for part in PARTS for each in segments)


TAMPERED: dict[str, Callable[[Sealed], Sealed]] = {
    "dropped": lambda s: [s[0], s[2]],
    "first dropped": lambda s: s[1:],
    "end dropped": lambda s: s[:2],
    "all dropped": lambda _: [],
    "swapped": lambda s: [s[1], s[0], s[2]],
    "duplicated": lambda s: [s[0], s[0], s[1], s[2]],
    "behind the end": lambda s: [*s, s[2]],
    "of another file": lambda s: [s[0], sealed(OTHER)[1], s[2]],
    "of another data set": lambda s: [s[0], sealed(intake=OTHER)[1], s[2]],
    "of an earlier upload": lambda s: [s[0], sealed(parts=(b"longer than it was ", b"x"))[1], s[2]],
    "changed": lambda s: [s[0][:-1] + b"x", *s[1:]],
    "cut": lambda s: [s[0], s[1][:-20], s[2]],
    "for another key": lambda s: [
        seal(b"first ", Place(INTAKE, FILE, 0, is_last=False), str(x25519.Identity.generate().to_public())),
        *s[1:],
    ],
    "not a segment": lambda s: [b"first ", *s[1:]],
}


@pytest.mark.parametrize("tamper", TAMPERED.values(), ids=TAMPERED.keys())
def test_exchanged_segments_are_noticed(tamper: Callable[[Sealed], Sealed]) -> None:
    with pytest.raises(SegmentError) as refused:
        opened(tamper(sealed()))

    assert not any(part.decode().strip() in str(refused.value) for part in PARTS)


def test_pieces_have_the_same_size_and_what_arrived_before_an_error_is_kept() -> None:
    async def chunks() -> AsyncIterator[bytes]:
        yield b"abcde"
        yield b"fghijklm"
        raise ConnectionError

    found: list[bytes] = []

    async def gather() -> None:
        async for piece in pieces_in_memory(chunks(), 4):
            found.append(bytes(piece))  # noqa: PERF401 - a comprehension would lose what came before the error

    with pytest.raises(ConnectionError):
        anyio.run(gather)
    assert found == [b"abcd", b"efgh", b"ijkl", b"m"]
