"""JSON API: the people of a challenge and their roles."""

from fastapi import APIRouter
from pydantic import BaseModel

from app.core.access import Action
from app.core.rate_limits import Limited
from app.organising import roles
from app.organising.roles import NewOrganiser, NewRole, NewRoleInvitation, OrganisedChallenge
from app.web.dependencies import CurrentActor, ThePlatform, limited, requires

router = APIRouter(prefix="/api/v1/organise/challenges/{challenge}/organisers", tags=["organisers"])


class InvitationLink(BaseModel):
    """The link of an invitation, which is shown once."""

    link: str


@router.get("", dependencies=[requires(Action.READ_PEOPLE)])
def people(platform: ThePlatform, actor: CurrentActor, challenge: str) -> OrganisedChallenge:
    """List the people of a challenge and the open invitations; viewers get neither addresses nor invitations."""
    return roles.organised_challenge(platform, actor, challenge)


@router.post("", status_code=204, dependencies=[requires(Action.NAME_ORGANISERS)])
def add(platform: ThePlatform, actor: CurrentActor, challenge: str, new: NewOrganiser) -> None:
    """Give somebody who has an account a role in a challenge."""
    roles.add_organiser(platform, actor, challenge, new)


@router.post(
    "/invitations",
    status_code=201,
    dependencies=[requires(Action.NAME_ORGANISERS), limited(Limited.CHANGE)],
)
def invite(
    platform: ThePlatform, actor: CurrentActor, challenge: str, new: NewRoleInvitation
) -> InvitationLink:
    """Mail a link that gives its first user a role; it works once, within 7 days."""
    return InvitationLink(link=roles.invite(platform, actor, challenge, new))


@router.delete(
    "/invitations/{invitation_key}", status_code=204, dependencies=[requires(Action.NAME_ORGANISERS)]
)
def revoke(platform: ThePlatform, actor: CurrentActor, challenge: str, invitation_key: str) -> None:
    """Revoke an invitation that has not been used."""
    roles.revoke_invitation(platform, actor, challenge, invitation_key)


@router.delete("/me", status_code=204, dependencies=[requires(Action.READ_PEOPLE)])
def leave(platform: ThePlatform, actor: CurrentActor, challenge: str) -> None:
    """Leave the people of a challenge; its last owner cannot."""
    roles.leave(platform, actor, challenge)


@router.put("/{user_id}", status_code=204, dependencies=[requires(Action.OWN)])
def set_role(platform: ThePlatform, actor: CurrentActor, challenge: str, user_id: int, new: NewRole) -> None:
    """Change the role of somebody; a challenge keeps an owner."""
    roles.set_role(platform, actor, challenge, user_id, new.role)


@router.delete("/{user_id}", status_code=204, dependencies=[requires(Action.OWN)])
def remove(platform: ThePlatform, actor: CurrentActor, challenge: str, user_id: int) -> None:
    """Remove somebody from the people of a challenge; only an admin can remove the last owner."""
    roles.remove_organiser(platform, actor, challenge, user_id)
