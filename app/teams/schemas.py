"""Teams as pages and programs see them."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Query
from pydantic import BaseModel, ConfigDict

from app.invitations.schemas import InvitationView
from app.memberships.schemas import MemberView, OwnTeam, Reason
from app.models import Approval
from app.quotas.schemas import QuotaLine
from app.standings.schemas import Matrix
from app.submissions.schemas import SubmissionRow

LARGEST_ID = 2**63 - 1
AfterMember = Annotated[
    int | None,
    Query(
        ge=1,
        le=LARGEST_ID,
        description="the member behind whom the list begins: `more_members` of the page before",
    ),
]


class Ownership(BaseModel):
    """Whether a member owns the team."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    is_owner: bool
    reason: Reason = ""


class Naming(BaseModel):
    """Whether you are named on the team's public page."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    is_named: bool


class Successor(BaseModel):
    """Who owns the team in your place."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    person: int


@dataclass(frozen=True, slots=True)
class EditionChoice:
    """An edition in which the reader has no team yet."""

    code: str
    title: str


@dataclass(frozen=True, slots=True)
class MyTeams:
    """The teams that a person is in, and where they may create one."""

    teams: tuple[OwnTeam, ...]
    editions: tuple[EditionChoice, ...]


@dataclass(frozen=True, slots=True)
class PhaseQuota:
    """What a person has left in a phase, acting for this team."""

    image_set: str
    lines: tuple[QuotaLine, ...]


@dataclass(frozen=True, slots=True)
class TeamPage:
    """A team as this reader may see it."""

    id: int
    name: str
    affiliation: str
    edition: str
    edition_title: str
    is_suspended: bool
    is_member: bool
    is_owner: bool
    can_change: bool  # its owners, and the organisers of its edition
    user_id: int | None  # of the reader
    approval: Approval | None  # none: its edition asks for none, or the reader is a stranger
    refusals: tuple[str, ...]  # why nothing of it is scored on held-out annotation
    members: tuple[MemberView, ...]  # a page of them; strangers see those who agreed to be named
    more_members: int | None  # the last of these where others follow, who are listed `after` this one
    invitations: tuple[InvitationView, ...]  # that can be used, for its owners
    quotas: tuple[PhaseQuota, ...]  # for its members
    results: tuple[SubmissionRow, ...]  # strangers see public ones
    standings: tuple[Matrix, ...] = ()  # those on boards, by phase; of the newest methods
    more_results: int | None = None  # the last submission of the results where others were made `before` it
