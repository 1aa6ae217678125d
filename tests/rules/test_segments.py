"""Segments of data sets: what is sent comes back, and nothing else does."""

import struct
import uuid
from collections.abc import AsyncIterator, Callable

import anyio
import pyrage
import pytest
from pyrage import x25519

from app.intake.reports import HIDDEN, IMAGES, PUBLIC
from app.intake.segments import Place, SegmentError, in_order, pieces_in_memory, seal, unseal

INTAKE, FILE, OTHER = (uuid.UUID(int=number) for number in (1, 2, 3))
KEY = x25519.Identity.generate()
PARTS = (b"first ", b"second ", b"third")

Sealed = list[bytes]


def sealed(
    file: uuid.UUID = FILE,
    intake: uuid.UUID = INTAKE,
    parts: tuple[bytes, ...] = PARTS,
    role: str = HIDDEN,
) -> Sealed:
    """A file of three segments."""
    ends = [sum(map(len, parts[: number + 1])) for number in range(len(parts))]
    places = [
        Place(intake, file, end - len(part), is_last=end == ends[-1], role=role)
        for part, end in zip(parts, ends, strict=True)
    ]
    return [seal(part, place, str(KEY.to_public())) for part, place in zip(parts, places, strict=True)]


def opened(segments: Sealed, role: str = HIDDEN) -> bytes:
    return b"".join(in_order((unseal(each, KEY) for each in segments), INTAKE, FILE, role))


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
        seal(
            b"first ",
            Place(INTAKE, FILE, 0, is_last=False, role=HIDDEN),
            str(x25519.Identity.generate().to_public()),
        ),
        *s[1:],
    ],
    "sent in another role": lambda s: [s[0], sealed(role=IMAGES)[1], s[2]],
    "not a segment": lambda s: [b"first ", *s[1:]],
}


@pytest.mark.parametrize("tamper", TAMPERED.values(), ids=TAMPERED.keys())
def test_exchanged_segments_are_noticed(tamper: Callable[[Sealed], Sealed]) -> None:
    with pytest.raises(SegmentError) as refused:
        opened(tamper(sealed()))

    assert not any(part.decode().strip() in str(refused.value) for part in PARTS)


@pytest.mark.parametrize(
    ("sent_as", "role"),
    [(HIDDEN, PUBLIC), (HIDDEN, IMAGES), (PUBLIC, IMAGES), (IMAGES, PUBLIC), (IMAGES, HIDDEN)],
)
def test_a_file_is_not_read_in_another_role(sent_as: str, role: str) -> None:
    with pytest.raises(SegmentError, match=f"The file was not sent as {role}"):
        opened(sealed(role=sent_as), role)


def test_what_was_sent_as_public_may_become_hidden() -> None:
    assert opened(sealed(role=PUBLIC), HIDDEN) == b"first second third"


@pytest.mark.parametrize("role", [HIDDEN, PUBLIC, IMAGES])
def test_what_an_earlier_release_sealed_is_read_in_the_role_that_it_has(role: str) -> None:
    header = struct.pack(">8s16s16sQ?", b"heldout1", INTAKE.bytes, FILE.bytes, 0, True)
    segment = pyrage.encrypt(header + b"whole", [KEY.to_public()])

    assert opened([segment], role) == b"whole"


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
