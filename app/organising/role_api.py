"""JSON API: organisers of a challenge."""

from fastapi import APIRouter

from app.core.access import Action
from app.organising import roles
from app.organising.roles import NewOrganiser, OrganisedChallenge
from app.web.dependencies import CurrentActor, ThePlatform, requires

router = APIRouter(
    prefix="/api/v1/organise/challenges/{challenge}/organisers",
    tags=["organisers"],
    dependencies=[requires(Action.NAME_ORGANISERS)],
)


@router.get("")
def organisers(platform: ThePlatform, actor: CurrentActor, challenge: str) -> OrganisedChallenge:
    """List the organisers of a challenge; every admin can organise it too."""
    return roles.organised_challenge(platform, actor, challenge)


@router.post("", status_code=204)
def add(platform: ThePlatform, actor: CurrentActor, challenge: str, new: NewOrganiser) -> None:
    """Make a person an organiser of a challenge."""
    roles.add_organiser(platform, actor, challenge, new.email)


@router.delete("/{user_id}", status_code=204)
def remove(platform: ThePlatform, actor: CurrentActor, challenge: str, user_id: int) -> None:
    """Remove an organiser of a challenge; only an admin can remove the last one."""
    roles.remove_organiser(platform, actor, challenge, user_id)
