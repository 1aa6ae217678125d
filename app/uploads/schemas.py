"""Uploads as pages and programs see them."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from app.models import UploadState


@dataclass(frozen=True, slots=True)
class Announced:
    """What is known of an archive before it arrives; without a size the end of the stream tells it."""

    filename: str
    size: int | None
    sha256: str | None = None
    competitions: Sequence[int] | None = None  # meant for these alone


class NewUpload(BaseModel):
    """An upload that will come in pieces."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    filename: Annotated[str, Field(min_length=1, max_length=255, description="name of the archive")]
    size: Annotated[int, Field(gt=0, description="bytes to come")]
    sha256: Annotated[
        str | None, Field(pattern="^[0-9a-f]{64}$", description="of the whole archive, to be verified")
    ] = None
    competitions: Annotated[
        tuple[int, ...] | None,
        Field(description="meant for these competitions alone; files of others are then problems"),
    ] = None


@dataclass(frozen=True, slots=True)
class UploadView:
    """An upload; `report` is the validation report as `heldout validate` would print it."""

    id: uuid.UUID
    edition: str
    image_set: str
    filename: str
    size: int | None
    received: int
    sha256: str | None
    state: UploadState
    valid: bool | None
    report: dict[str, Any] | None
    started_at: datetime
    checked_at: datetime | None

    @property
    def competitions(self) -> tuple[int, ...]:
        """Which competitions the archive has files for."""
        return competitions_of(self.report)


def competitions_of(report: dict[str, Any] | None) -> tuple[int, ...]:
    """Which competitions a validation report found files for."""
    return tuple(sorted(found["number"] for found in (report or {}).get("competitions", ())))
