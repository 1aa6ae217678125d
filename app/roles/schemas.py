"""Roles as commands and links give them."""

import enum
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class Grant(enum.StrEnum):
    """What a person can be made; without an edition a participant is neither admin nor organiser of anything."""

    PARTICIPANT = "participant"
    ORGANISER = "organiser"
    ADMIN = "admin"


class NewOrganiser(BaseModel):
    """Who is to organise an edition."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    email: Annotated[str, Field(min_length=3, max_length=254, description="address of an account")]


@dataclass(frozen=True, slots=True)
class Organiser:
    """Somebody who organises an edition."""

    id: int
    name: str
    email: str
    added_at: datetime


@dataclass(frozen=True, slots=True)
class OrganisedEdition:
    """An edition with who organises it; admins do so without being listed."""

    code: str
    title: str
    organisers: tuple[Organiser, ...] = ()


@dataclass(frozen=True, slots=True)
class LinkView:
    """A link that works once."""

    edition: str | None  # the title of the edition whose organiser it makes; none: it makes an admin
