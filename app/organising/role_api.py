"""Organisers of editions, for the browser of who names them."""

from fastapi import APIRouter

from app.core.access import Action
from app.organising import roles
from app.organising.roles import NewOrganiser, OrganisedEdition
from app.web.dependencies import CurrentActor, ThePlatform, requires

router = APIRouter(
    prefix="/api/v1/organise/editions/{edition}/organisers",
    tags=["organisers"],
    dependencies=[requires(Action.NAME_ORGANISERS)],
)


@router.get("")
def organisers(platform: ThePlatform, actor: CurrentActor, edition: str) -> OrganisedEdition:
    """Who organises an edition; every admin does, too."""
    return roles.organised_edition(platform, actor, edition)


@router.post("", status_code=204)
def add(platform: ThePlatform, actor: CurrentActor, edition: str, new: NewOrganiser) -> None:
    """Make somebody an organiser of an edition."""
    roles.add_organiser(platform, actor, edition, new.email)


@router.delete("/{user_id}", status_code=204)
def remove(platform: ThePlatform, actor: CurrentActor, edition: str, user_id: int) -> None:
    """Remove an organiser of an edition; only an admin can remove the last one."""
    roles.remove_organiser(platform, actor, edition, user_id)
