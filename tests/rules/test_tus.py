import base64

import pytest

from app.core.errors import BadRequestError
from app.submissions.uploads import parse_competitions
from app.web.tus import format_metadata, parse_metadata, parse_sha256, parse_size


def encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


def test_metadata_that_is_written_is_read_again() -> None:
    values = {"filename": "Ergebnisse ü.zip", "competitions": "3,4", "empty": ""}

    assert parse_metadata(format_metadata(values)) == values


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("filename !!!", "is not Base64"),
        ("filename é", "is not Base64"),
        ("filename YQ==,filename YQ==", "appears twice"),
        (f"filename {encoded(bytes([255]))}", "is not UTF-8"),
    ],
)
def test_malformed_metadata_is_an_error_that_says_what_is_wrong(header: str, message: str) -> None:
    with pytest.raises(BadRequestError, match=message):
        parse_metadata(header)


@pytest.mark.parametrize("text", ["3;4", "three", "3,", "٣", "300"])
def test_competitions_are_numbers(text: str) -> None:
    with pytest.raises(BadRequestError, match="expected numbers of competitions"):
        parse_competitions(text)


def test_competitions_are_sorted_and_named_once() -> None:
    assert parse_competitions("4,3,3") == (3, 4)


def test_a_sha256_has_64_hexadecimal_digits() -> None:
    assert parse_sha256("AB" * 32) == "ab" * 32
    assert parse_sha256("") is None
    with pytest.raises(BadRequestError, match="64 hexadecimal digits"):
        parse_sha256("ab")


@pytest.mark.parametrize("text", ["-1", "1e3", "", "٣", "1" * 19])
def test_a_size_is_a_number_of_bytes(text: str) -> None:
    with pytest.raises(BadRequestError, match="expected a number of bytes"):
        parse_size(text, "Upload-Length")
