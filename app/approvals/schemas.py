"""Teams as the organisers of their edition see them."""

import enum
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from app.models import Approval

LARGEST_ID = 2**63 - 1
Reason = Annotated[str, Field(min_length=1, max_length=1000, description="the team reads it")]


class TeamState(enum.StrEnum):
    """Which teams are asked for."""

    ALL = "all"
    WAITING = "waiting"
    REFUSED = "refused"
    SUSPENDED = "suspended"


class TeamSearch(BaseModel):
    """Which teams are asked for; an empty field asks for all."""

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True, frozen=True)

    text: Annotated[str, Field(max_length=80, description="part of a name")] = ""
    state: TeamState = TeamState.ALL
    after: Annotated[int | None, Field(ge=1, le=LARGEST_ID, description="`next` of the page before")] = None


class ApprovalRule(BaseModel):
    """Whether only teams that were approved are scored on the edition's held-out annotation."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    approves_teams: bool


class TeamRefusal(BaseModel):
    """Why a team is not approved, or its suspension ends."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    reason: Reason


class Suspension(TeamRefusal):
    """Why a team is suspended, and what becomes of its public results."""

    hides_results: Annotated[
        bool, Field(description="take its results off the boards; otherwise they stay, marked")
    ] = False


@dataclass(frozen=True, slots=True)
class TeamRow:
    """A team in the organiser's list."""

    id: int
    name: str
    affiliation: str
    members: int
    results: int
    created_at: datetime
    approval: Approval
    approval_reason: str
    suspended_at: datetime | None
    suspension_reason: str
    hides_results: bool


@dataclass(frozen=True, slots=True)
class TeamList:
    """A page of an edition's teams, newest first; `next` is the `after` of the next page."""

    edition: str
    edition_title: str
    approves_teams: bool
    waiting: int  # teams that an organiser has to decide about
    teams: tuple[TeamRow, ...]
    next: int | None
