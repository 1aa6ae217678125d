"""Teams and members as forms, pages and programs see them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from app.models import Approval
from app.names import Visible

TeamName = Annotated[
    str,
    Field(min_length=2, max_length=40, description="unique in the edition, as boards show it"),
    Visible,
]
Affiliation = Annotated[str, Field(max_length=200, description="where its members work")]
Reason = Annotated[str, Field(max_length=1000, description="required from organisers; the team reads it")]


class NewTeam(BaseModel):
    """What a new team is called."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    name: TeamName
    affiliation: Affiliation = ""


class TeamChange(BaseModel):
    """What is changed of a team."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    name: TeamName
    affiliation: Affiliation = ""
    reason: Reason = ""


@dataclass(frozen=True, slots=True)
class OwnTeam:
    """A team that a person is in."""

    id: int
    name: str
    edition: str
    edition_title: str
    members: int
    is_owner: bool
    is_named: bool  # the person agreed to be named on the team's public page
    approval: Approval | None  # none: its edition asks for none
    is_suspended: bool


@dataclass(frozen=True, slots=True)
class MemberView:
    """A member of a team."""

    id: int  # of the person
    name: str
    is_owner: bool
    is_named: bool
    joined_at: datetime
    affiliation: str = ""
    homepage: str = ""
    orcid: str = ""


@dataclass(frozen=True, slots=True)
class MemberPage:
    """Members of a team, and the last of them where others follow."""

    members: tuple[MemberView, ...]
    next: int | None
