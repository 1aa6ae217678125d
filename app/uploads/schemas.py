"""Uploads as pages and programs see them."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self

from app.models import UploadState
from app.uploads.rules import parse_competitions, parse_metadata, parse_sha256, parse_size


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

        Raises ValueError.
        """
        values = parse_metadata(metadata)
        return cls(
            filename=values.get("filename") or values.get("name") or "",
            size=parse_size(length or "", "Upload-Length"),
            sha256=parse_sha256(values.get("sha256", "")),
            competitions=parse_competitions(values.get("competitions", "")),
        )


@dataclass(frozen=True, slots=True)
class SameResult:
    """A result of the team whose predictions are those of an upload, in another packaging."""

    competition: int  # of the upload
    submission: int
    submitted_for: int  # competition


@dataclass(frozen=True, slots=True)
class UploadView:
    """An upload; `report` is the validation report as `python -m scoring validate` prints it."""

    id: uuid.UUID
    edition: str
    image_set: str
    filename: str
    size: int
    received: int
    sha256: str | None
    state: UploadState
    valid: bool | None
    report: dict[str, Any] | None
    started_at: datetime
    checked_at: datetime | None
    expires_at: datetime | None  # when it is removed; none: it is kept, or its bytes are gone
    expected_sha256: str | None
    only_competitions: list[int] | None  # files of others are problems
    submissions: list[int]  # that it was confirmed as
    same_content: list[int]  # submissions of the team in this phase with the same bytes
    is_ours: bool  # the reader is of its team, and may send bytes, confirm or delete it
    same_predictions: tuple[SameResult, ...] = ()  # in other archives of the team in this phase

    @property
    def shown_state(self) -> str:
        """The state as pages show it."""
        return shown_state(self.state, self.valid)

    @property
    def is_removed(self) -> bool:
        """Whether there are no bytes any more."""
        return self.state in (UploadState.REJECTED, UploadState.EXPIRED)

    @property
    def is_stored(self) -> bool:
        """Whether the whole archive is here."""
        return self.state in (UploadState.RECEIVED, UploadState.CHECKED)

    @property
    def competitions(self) -> tuple[int, ...]:
        """Which competitions the archive has files for."""
        return competitions_of(self.report)


@dataclass(frozen=True, slots=True)
class UploadRow:
    """A line of "my uploads"."""

    id: uuid.UUID
    edition: str
    image_set: str
    filename: str
    size: int
    received: int
    state: UploadState
    valid: bool | None
    problems: int | None  # in its report, also those that are only counted
    started_at: datetime
    expires_at: datetime | None
    submissions: list[int]

    @property
    def shown_state(self) -> str:
        """The state as pages show it."""
        return shown_state(self.state, self.valid)


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a page of uploads ended."""

    started_at: datetime
    id: uuid.UUID

    def __str__(self) -> str:
        """As an address carries it."""
        return f"{self.started_at.astimezone(UTC):%Y%m%dT%H%M%S.%fZ}_{self.id}"

    @classmethod
    def parse(cls, written: str) -> Self:
        """What `str` wrote; raises ValueError for anything else."""
        moment, _, upload_id = written.partition("_")
        return cls(datetime.strptime(moment, "%Y%m%dT%H%M%S.%f%z"), uuid.UUID(upload_id))


@dataclass(frozen=True, slots=True)
class StoredContent:
    """Where the bytes of an upload are stored, and under which name they are downloaded."""

    key: str
    filename: str


@dataclass(frozen=True, slots=True)
class UploadPage:
    """Some of a team's uploads, newest first; `next` asks for those after them."""

    uploads: tuple[UploadRow, ...]
    next: str | None
    stored: int  # bytes of the reader's own uploads that are not confirmed
    max_stored: int


def competitions_of(report: dict[str, Any] | None) -> tuple[int, ...]:
    """Which competitions a validation report found files for."""
    return tuple(sorted(found["number"] for found in (report or {}).get("competitions", ())))


@dataclass(frozen=True, slots=True)
class FoundResult:
    """What the check found of the results of a competition; the report of an older check says less.

    fingerprint: equal for equal predictions; constant, partial: classes as in `scoring.FoundCompetition`.
    """

    is_complete: bool = True
    fingerprint: str = ""
    constant: tuple[str, ...] = ()
    partial: tuple[str, ...] = ()


def results_of(report: dict[str, Any] | None) -> dict[int, FoundResult]:
    """The results in an archive by competition, by its validation report."""
    return {
        found["number"]: FoundResult(
            found.get("is_complete", True),
            found.get("fingerprint", ""),
            tuple(found.get("constant", ())),
            tuple(found.get("partial", ())),
        )
        for found in (report or {}).get("competitions", ())
    }


def shown_state(state: UploadState, valid: bool | None) -> str:  # noqa: FBT001 - the column
    """The state of an upload in a word; that of a checked one is what its check found.

    >>> shown_state(UploadState.RECEIVED, None), shown_state(UploadState.CHECKED, False)
    ('received', 'with problems')
    """
    if state is not UploadState.CHECKED:
        return state.value
    return "valid" if valid else "with problems"
