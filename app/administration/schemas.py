"""People as admins see them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from app.models import Role

LARGEST_ID = 2**63 - 1
Reason = Annotated[str, Field(min_length=1, max_length=1000, description="recorded in the audit")]


class Search(BaseModel):
    """Which people are asked for; an empty field asks for all."""

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True, frozen=True)

    text: Annotated[str, Field(max_length=254, description="part of a name or an e-mail address")] = ""
    after: Annotated[int | None, Field(ge=1, le=LARGEST_ID, description="`next` of the page before")] = None


class Change(BaseModel):
    """Why an account is suspended, opened again or given another role."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    reason: Reason


class RoleChange(Change):
    """Another role on the server."""

    role: Annotated[Role, Field(description="what the person becomes")]


@dataclass(frozen=True, slots=True)
class Person:
    """An account as admins see it."""

    id: int
    name: str
    email: str
    role: Role
    organises: tuple[str, ...]  # codes of editions
    created_at: datetime
    suspended_at: datetime | None
    is_program: bool  # cannot log in, and acts with tokens only


@dataclass(frozen=True, slots=True)
class PeoplePage:
    """A page of people, newest first; `next` is the `after` of the next page."""

    people: tuple[Person, ...]
    next: int | None
