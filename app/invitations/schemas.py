"""Invitations as forms, pages and programs see them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class NewInvitation(BaseModel):
    """How often and how long a new link may be used."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    uses: Annotated[int, Field(ge=1, le=20, description="how many people may join by it")] = 1
    days: Annotated[int, Field(ge=1, le=30, description="until it expires")] = 7


class Acceptance(BaseModel):
    """The secret of a link."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    token: Annotated[str, Field(max_length=100, description="what stands after /invitations/ in the link")]


@dataclass(frozen=True, slots=True)
class NewLink:
    """A link that was just made; its secret is shown once."""

    id: int
    token: str
    url: str
    uses: int
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class InvitationView:
    """An invitation that can still be used, as the team's members see it."""

    id: int
    uses_left: int
    created_by: str
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Offer:
    """What somebody is invited to, and what joining means for them."""

    team: str
    edition: str
    edition_title: str
    members: int
    invited_by: str
    leaves: str | None  # the team that they are alone in and leave by joining
    keeps_results: bool  # that team has results, which stay under its name
    refusals: tuple[str, ...]
