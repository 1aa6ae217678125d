"""What an upload may be called, and how the tus protocol writes things down."""

import base64
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from app.editions.rules import offered_competitions
from app.editions.schemas import PhaseView
from app.errors import BadRequestError
from scoring import competitions
from scoring.competitions import file_name_as_regex

MAX_NAME_LENGTH = 120
KEPT_ENDING = 20  # characters of a longer name, the mark of what is left out among them
SINGLE_FILES = (".txt", ".xml", ".json")

TUS_VERSION = "1.0.0"
TUS_EXTENSIONS = "creation,creation-with-upload,expiration,termination"


@dataclass(frozen=True, slots=True)
class UploadMetadata:
    """What is known of an archive before it arrives."""

    filename: str
    size: int
    sha256: str | None = None
    competitions: Sequence[int] | None = None  # meant for these alone

    @classmethod
    def of_headers(cls, length: str | None, metadata: str) -> Self:
        """What the headers of tus say of a new upload.

        Raises BadRequestError.
        """
        values = parse_metadata(metadata)
        return cls(
            filename=values.get("filename") or values.get("name") or "",
            size=parse_size(length or "", "Upload-Length"),
            sha256=parse_sha256(values.get("sha256", "")),
            competitions=parse_competitions(values.get("competitions", "")),
        )


def shown_name(filename: str) -> str:
    r"""The name of an archive as it is stored and shown: no folders, nothing that hides, not too long.

    It never becomes a path; the server names files by their content.

    >>> shown_name("../../tmp/evil\x1b[2J.tar.gz"), shown_name("")
    ('evil[2J.tar.gz', 'archive')
    >>> shown_name("a method " + 200 * "x" + " of may.tar.gz")[-24:]
    'xxxx…xxxxx of may.tar.gz'
    """
    last = filename.replace("\\", "/").rsplit("/", 1)[-1]
    seen = "".join(letter for letter in last if unicodedata.category(letter)[0] != "C").strip(" .")
    if len(seen) > MAX_NAME_LENGTH:
        seen = f"{seen[: MAX_NAME_LENGTH - KEPT_ENDING]}…{seen[1 - KEPT_ENDING :]}"
    return seen or "archive"


def is_single_file(filename: str) -> bool:
    """Whether this is a result file by itself, and no archive of them."""
    return filename.lower().endswith(SINGLE_FILES)


def result_path(filename: str, dataset: str, image_set: str) -> str | None:
    """Where a result file belongs in an archive; none for a name that no competition of the edition has.

    >>> result_path("comp3_det_test_car.txt", "VOC2007", "test"), result_path("car.txt", "VOC2007", "test")
    ('results/VOC2007/Main/comp3_det_test_car.txt', None)
    """
    for competition in competitions(dataset):
        found = file_name_as_regex(competition).fullmatch(filename)
        if found and found.groupdict().get("set", image_set) == image_set:
            return "/".join(filter(None, ("results", dataset, competition.folder, filename)))
    return None


def mismatch(phase: PhaseView, filename: str, numbers: Iterable[int]) -> str | None:
    """Why nothing of this name, or for these competitions, belongs to a phase; none if it may."""
    known = [each.number for each in offered_competitions(phase)]
    unknown = sorted(set(numbers).difference(known))
    if unknown:
        expected = ", ".join(map(str, known))
        return (
            f"{phase.edition} {phase.image_set} has no competition {unknown[0]}; expected some of {expected}"
        )
    if is_single_file(filename) and result_path(filename, phase.dataset, phase.image_set) is None:
        return _unknown_result_file(filename, phase.dataset, phase.image_set)
    return None


def _unknown_result_file(filename: str, dataset: str, image_set: str) -> str:
    """What to say of a single file whose name no competition has."""
    patterns = (each.file_pattern_of(image_set).rpartition("/")[2] for each in competitions(dataset))
    expected = ", ".join(name for name in patterns if is_single_file(name))
    return f"{filename} is not the name of a result file; expected an archive, or one of {expected}"


def parse_metadata(header: str) -> dict[str, str]:
    """The value of `Upload-Metadata`: keys with Base64 values, separated by commas.

    Raises BadRequestError for anything else.

    >>> parse_metadata("filename cmVzdWx0cy56aXA=, is_final")
    {'filename': 'results.zip', 'is_final': ''}
    """
    found: dict[str, str] = {}
    for pair in filter(None, (part.strip() for part in header.split(","))):
        key, _, encoded = pair.partition(" ")
        if key in found:
            raise BadRequestError(f"Upload-Metadata: the key {key!r} appears twice")
        try:
            found[key] = base64.b64decode(encoded, validate=True).decode()
        except UnicodeDecodeError:
            raise BadRequestError(f"Upload-Metadata: the value of {key!r} is not UTF-8") from None
        except ValueError:  # of binascii, or a letter beyond ASCII
            raise BadRequestError(f"Upload-Metadata: {encoded!r} is not Base64") from None
    return found


def format_metadata(values: Mapping[str, str]) -> str:
    """`Upload-Metadata` of these values.

    >>> format_metadata({"filename": "results.zip"})
    'filename cmVzdWx0cy56aXA='
    """
    return ",".join(f"{key} {base64.b64encode(value.encode()).decode()}" for key, value in values.items())


def parse_competitions(text: str) -> tuple[int, ...] | None:
    """Numbers of competitions, separated by commas; none for an empty text.

    Raises BadRequestError.

    >>> parse_competitions("3, 4"), parse_competitions("")
    ((3, 4), None)
    """
    if not text:
        return None
    if not re.fullmatch(r"\s*\d{1,2}\s*(,\s*\d{1,2}\s*)*", text, re.ASCII):
        raise BadRequestError(
            f"Upload-Metadata: expected numbers of competitions such as '3,4', found {text!r}"
        )
    return tuple(sorted({int(each) for each in text.split(",")}))


def parse_sha256(text: str) -> str | None:
    """A digest of the whole file in hexadecimal; none for an empty text.

    Raises BadRequestError.
    """
    if not text:
        return None
    if not re.fullmatch("[0-9a-f]{64}", text.lower()):
        raise BadRequestError(f"Upload-Metadata: sha256 must have 64 hexadecimal digits, found {text!r}")
    return text.lower()


def parse_size(text: str, header: str) -> int:
    """A number of bytes.

    Raises BadRequestError.

    >>> parse_size("12", "Upload-Length")
    12
    """
    if not re.fullmatch(r"\d{1,18}", text, re.ASCII):
        raise BadRequestError(f"{header}: expected a number of bytes, found {text!r}")
    return int(text)
