"""Records of the audit as admins and organisers read them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

LARGEST_ID = 2**63 - 1


class Search(BaseModel):
    """Which records are asked for; an empty field asks for all."""

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True, frozen=True)

    action: Annotated[
        str, Field(max_length=80, description="an action or its beginning: role, entry.withdraw")
    ] = ""
    subject: Annotated[str, Field(max_length=80, description="what it was done to: person 7, entry 12")] = ""
    by: Annotated[int | None, Field(ge=1, le=LARGEST_ID, description="id of the person who did it")] = None
    before: Annotated[int | None, Field(ge=1, le=LARGEST_ID, description="`next` of the page before")] = None


@dataclass(frozen=True, slots=True)
class Record:
    """Who did what, when and why."""

    id: int
    at: datetime
    by: int | None  # none: from the command line
    name: str | None  # of that person
    action: str
    subject: str
    edition: str | None
    reason: str
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    details: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RecordPage:
    """A page of the audit, newest first; `next` is the `before` of the next page."""

    records: tuple[Record, ...]
    next: int | None
