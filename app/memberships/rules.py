"""What a team may do, and who may come into it and leave it: each rule a pure function, each reason a message."""

from collections.abc import Iterator
from dataclasses import dataclass

from app.errors import InTeam, LastOwner, NameFixed, Refusal, TeamNotApproved, TeamSuspended
from app.models import Approval


@dataclass(frozen=True, slots=True)
class Standing:
    """What organisers have decided about a team."""

    name: str
    needs_approval: bool  # its edition asks for it
    approval: Approval
    approval_reason: str
    is_suspended: bool
    suspension_reason: str


@dataclass(frozen=True, slots=True)
class Place:
    """The team that a person is in, as far as it counts for leaving it or joining another."""

    team_id: int
    standing: Standing
    is_owner: bool
    other_owners: int
    others: int  # members besides this person, owners among them


def upload_refusals(team: Standing | None) -> Iterator[Refusal]:
    """Every reason why a person with this team, or with none yet, may not upload."""
    if team is not None and team.is_suspended:
        yield _suspended(team)


def scoring_refusals(team: Standing | None, *, is_held_out: bool) -> Iterator[Refusal]:
    """Every reason why nothing of this team is scored on a phase; a person without a team has none yet."""
    if team is None:
        return
    yield from upload_refusals(team)
    if not is_held_out or not team.needs_approval or team.approval is Approval.APPROVED:
        return
    message = f"an organiser has to approve the team {team.name} before anything of it is scored on held-out annotation"
    if team.approval is Approval.REFUSED:
        message = f"an organiser did not approve the team {team.name}: {team.approval_reason}"
    yield TeamNotApproved(message)


def joining_refusals(team_id: int, team: Standing, present: Place | None) -> Iterator[Refusal]:
    """Every reason why a person whose team in the edition is `present` may not join this team.

    A person who is alone in a team leaves it by joining another.
    """
    if team.is_suspended:
        yield _suspended(team)
    if present is None:
        return
    if present.team_id == team_id:
        yield InTeam(f"you are in the team {team.name} already")
        return
    if present.standing.is_suspended:
        yield _suspended(present.standing)
    if present.others:
        name = present.standing.name
        message = f"you are in the team {name}, and a person is in one team of an edition; leave it first"
        yield InTeam(message)


def leaving_refusals(place: Place) -> Iterator[Refusal]:
    """Every reason why a person may not leave a team; nobody escapes a suspension by leaving."""
    if place.standing.is_suspended:
        yield _suspended(place.standing)
    yield from giving_up_refusals(place)


def giving_up_refusals(place: Place) -> Iterator[Refusal]:
    """Every reason why a person may not stop being an owner."""
    if place.is_owner and place.others and not place.other_owners:
        message = f"the team {place.standing.name} has no other owner; make another member an owner first"
        yield LastOwner(message)


def renaming_refusals(team: Standing, *, has_public_result: bool, is_organiser: bool) -> Iterator[Refusal]:
    """Every reason why a team does not get another name: a public result is cited under the one it has."""
    if has_public_result and not is_organiser:
        message = f"the team {team.name} has public results under this name; ask an organiser to change it"
        yield NameFixed(message)


def _suspended(team: Standing) -> Refusal:
    message = f"the team {team.name} is suspended: {team.suspension_reason}"
    return TeamSuspended(message)
