"""JSON API: teams."""

from fastapi import APIRouter

from app.boards import team_views
from app.boards.team_views import AfterMember, Naming, Ownership, Successor, TeamPage
from app.core.access import Action
from app.core.paging import Before
from app.core.rate_limits import Limited
from app.people import invitations, teams
from app.people.invitations import Acceptance, NewTeamLink, TeamLink
from app.people.teams import NewTeam, OwnTeam, TeamChange
from app.web.dependencies import CurrentActor, ThePlatform, limited, requires

router = APIRouter(prefix="/api/v1", tags=["teams"])

JOIN, CHANGE = requires(Action.JOIN_TEAM), requires(Action.CHANGE_TEAM)


@router.get("/teams", dependencies=[requires(Action.READ_OWN)])
def mine(platform: ThePlatform, actor: CurrentActor) -> tuple[OwnTeam, ...]:
    """List your teams. You have at most one in each challenge."""
    return team_views.my_teams(platform, actor).teams


@router.post("/challenges/{challenge}/teams", status_code=201, dependencies=[JOIN, limited(Limited.CHANGE)])
def create(platform: ThePlatform, actor: CurrentActor, challenge: str, new: NewTeam) -> TeamPage:
    """Create a team that you own. If you upload without a team, one is created with your name."""
    return team_views.create_team(platform, actor, challenge, new)


@router.get("/teams/{team_id}", dependencies=[requires(Action.READ_TEAM)])
def team(
    platform: ThePlatform,
    actor: CurrentActor,
    team_id: int,
    after: AfterMember = None,
    before: Before = None,
) -> TeamPage:
    """Return a team. Members see everything; others see the public part once the team has a public result."""
    return team_views.team_page(platform, actor, team_id, after, before)


@router.patch("/teams/{team_id}", dependencies=[CHANGE, limited(Limited.CHANGE)])
def change(platform: ThePlatform, actor: CurrentActor, team_id: int, change: TeamChange) -> TeamPage:
    """Change the name or affiliation of a team that you own. The name is fixed after the first public result."""
    teams.change(platform, actor, team_id, change)
    return team_views.team_page(platform, actor, team_id)


@router.post("/teams/{team_id}/leave", status_code=204, dependencies=[CHANGE])
def leave(platform: ThePlatform, actor: CurrentActor, team_id: int) -> None:
    """Leave a team. Its submissions stay with it. The last owner must make another member an owner first."""
    teams.leave(platform, actor, team_id)


@router.put("/teams/{team_id}/named", status_code=204, dependencies=[CHANGE])
def set_named(platform: ThePlatform, actor: CurrentActor, team_id: int, naming: Naming) -> None:
    """Choose whether the public page of your team shows your name."""
    teams.set_listed_publicly(platform, actor, team_id, is_named=naming.is_named)


@router.put(
    "/teams/{team_id}/members/{person}/owner", status_code=204, dependencies=[CHANGE, limited(Limited.CHANGE)]
)
def set_owner(
    platform: ThePlatform, actor: CurrentActor, team_id: int, person: int, ownership: Ownership
) -> None:
    """Make a member of your team an owner, or an owner an ordinary member. You must own the team."""
    teams.set_owner(platform, actor, team_id, person, is_owner=ownership.is_owner, reason=ownership.reason)


@router.post("/teams/{team_id}/hand-over", status_code=204, dependencies=[CHANGE, limited(Limited.CHANGE)])
def hand_over(platform: ThePlatform, actor: CurrentActor, team_id: int, successor: Successor) -> None:
    """Transfer your ownership of a team to another member."""
    teams.transfer_ownership(platform, actor, team_id, successor.person)


@router.delete(
    "/teams/{team_id}/members/{person}", status_code=204, dependencies=[CHANGE, limited(Limited.CHANGE)]
)
def remove(platform: ThePlatform, actor: CurrentActor, team_id: int, person: int, reason: str = "") -> None:
    """Remove a member from a team that you own. All invitations of the team are revoked."""
    teams.remove(platform, actor, team_id, person, reason)


@router.post("/teams/{team_id}/invitations", status_code=201, dependencies=[CHANGE, limited(Limited.CHANGE)])
def invite(platform: ThePlatform, actor: CurrentActor, team_id: int, new: NewTeamLink) -> TeamLink:
    """Create an invitation link for a team that you own. Its secret is shown only once."""
    return invitations.invite(platform, actor, team_id, new)


@router.delete("/teams/{team_id}/invitations/{invitation_id}", status_code=204, dependencies=[CHANGE])
def revoke(platform: ThePlatform, actor: CurrentActor, team_id: int, invitation_id: int) -> None:
    """Revoke an invitation. People who joined with it stay members."""
    invitations.revoke(platform, actor, team_id, invitation_id)


@router.post("/invitations/accept", dependencies=[JOIN, limited(Limited.CHANGE)])
def accept(platform: ThePlatform, actor: CurrentActor, acceptance: Acceptance) -> TeamPage:
    """Join the team of an invitation. If you are the only member of another team of the challenge, you leave it."""
    return team_views.accept_invitation(platform, actor, acceptance.token)
