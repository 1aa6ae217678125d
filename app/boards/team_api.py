"""Teams for programs."""

from fastapi import APIRouter

from app.boards import team_views
from app.boards.team_views import AfterMember, Naming, Ownership, Successor, TeamPage
from app.core.access import Action
from app.core.paging import Before
from app.core.rate_limits import Limited
from app.people import invitations, teams
from app.people.invitations import Acceptance, NewInvitation, NewLink
from app.people.teams import NewTeam, OwnTeam, TeamChange
from app.web.dependencies import CurrentActor, ThePlatform, limited, requires

router = APIRouter(prefix="/api/v1", tags=["teams"])

JOIN, CHANGE = requires(Action.JOIN_TEAM), requires(Action.CHANGE_TEAM)


@router.get("/teams", dependencies=[requires(Action.READ_OWN)])
def mine(platform: ThePlatform, actor: CurrentActor) -> tuple[OwnTeam, ...]:
    """Your teams, at most one in each challenge."""
    return team_views.my_teams(platform, actor).teams


@router.post("/challenges/{challenge}/teams", status_code=201, dependencies=[JOIN, limited(Limited.CHANGE)])
def create(platform: ThePlatform, actor: CurrentActor, challenge: str, new: NewTeam) -> TeamPage:
    """Create a team that you own. A person who uploads without a team gets one named after them."""
    return team_views.team_page(platform, actor, teams.create_team(platform, actor, challenge, new))


@router.get("/teams/{team_id}", dependencies=[requires(Action.READ_TEAM)])
def team(
    platform: ThePlatform,
    actor: CurrentActor,
    team_id: int,
    after: AfterMember = None,
    before: Before = None,
) -> TeamPage:
    """A team: its members see everything, others what is public once it has a public result."""
    return team_views.team_page(platform, actor, team_id, after, before)


@router.patch("/teams/{team_id}", dependencies=[CHANGE, limited(Limited.CHANGE)])
def change(platform: ThePlatform, actor: CurrentActor, team_id: int, change: TeamChange) -> TeamPage:
    """Change the name, which is possible until the first public result, or the affiliation of a team that you own."""
    teams.change(platform, actor, team_id, change)
    return team_views.team_page(platform, actor, team_id)


@router.post("/teams/{team_id}/leave", status_code=204, dependencies=[CHANGE])
def leave(platform: ThePlatform, actor: CurrentActor, team_id: int) -> None:
    """Leave a team; what was confirmed stays with it. The last owner makes another member an owner first."""
    teams.leave(platform, actor, team_id)


@router.put("/teams/{team_id}/named", status_code=204, dependencies=[CHANGE])
def set_named(platform: ThePlatform, actor: CurrentActor, team_id: int, naming: Naming) -> None:
    """Agree to be named on the public page of your team, or not any more."""
    teams.set_named(platform, actor, team_id, is_named=naming.is_named)


@router.put(
    "/teams/{team_id}/members/{person}/owner", status_code=204, dependencies=[CHANGE, limited(Limited.CHANGE)]
)
def set_owner(
    platform: ThePlatform, actor: CurrentActor, team_id: int, person: int, ownership: Ownership
) -> None:
    """Make a member an owner of a team that you own, or an owner an ordinary member."""
    teams.set_owner(platform, actor, team_id, person, is_owner=ownership.is_owner, reason=ownership.reason)


@router.post("/teams/{team_id}/hand-over", status_code=204, dependencies=[CHANGE, limited(Limited.CHANGE)])
def hand_over(platform: ThePlatform, actor: CurrentActor, team_id: int, successor: Successor) -> None:
    """Make another member the owner in your place."""
    teams.hand_over(platform, actor, team_id, successor.person)


@router.delete(
    "/teams/{team_id}/members/{person}", status_code=204, dependencies=[CHANGE, limited(Limited.CHANGE)]
)
def remove(platform: ThePlatform, actor: CurrentActor, team_id: int, person: int, reason: str = "") -> None:
    """Take a member out of a team that you own; all its invitations are revoked."""
    teams.remove(platform, actor, team_id, person, reason)


@router.post("/teams/{team_id}/invitations", status_code=201, dependencies=[CHANGE, limited(Limited.CHANGE)])
def invite(platform: ThePlatform, actor: CurrentActor, team_id: int, new: NewInvitation) -> NewLink:
    """Create a link by which people join a team that you own; its secret is shown only once."""
    return invitations.invite(platform, actor, team_id, new)


@router.delete("/teams/{team_id}/invitations/{invitation_id}", status_code=204, dependencies=[CHANGE])
def revoke(platform: ThePlatform, actor: CurrentActor, team_id: int, invitation_id: int) -> None:
    """Revoke an invitation; people who joined by it stay."""
    invitations.revoke(platform, actor, team_id, invitation_id)


@router.post("/invitations/accept", dependencies=[JOIN, limited(Limited.CHANGE)])
def accept(platform: ThePlatform, actor: CurrentActor, acceptance: Acceptance) -> TeamPage:
    """Join the team of an invitation. Somebody who is alone in another team of the challenge leaves it."""
    team_id = invitations.accept(platform, actor, acceptance.token)
    return team_views.team_page(platform, actor, team_id)
