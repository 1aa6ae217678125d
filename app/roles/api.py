"""Organisers of editions, for the browser of who names them."""

from fastapi import APIRouter

from app.access import Action
from app.roles import service
from app.roles.schemas import NewOrganiser, OrganisedEdition
from app.web import CurrentActor, ThePlatform, requires

router = APIRouter(
    prefix="/api/v1/organise/editions/{edition}/organisers",
    tags=["organisers"],
    dependencies=[requires(Action.NAME_ORGANISERS)],
)


@router.get("")
def organisers(platform: ThePlatform, actor: CurrentActor, edition: str) -> OrganisedEdition:
    """Who organises an edition; every admin does so, too."""
    return service.organised_edition(platform, actor, edition)


@router.post("", status_code=204)
def add(platform: ThePlatform, actor: CurrentActor, edition: str, new: NewOrganiser) -> None:
    """Make somebody an organiser of an edition."""
    service.add_organiser(platform, actor, edition, new.email)


@router.delete("/{user_id}", status_code=204)
def remove(platform: ThePlatform, actor: CurrentActor, edition: str, user_id: int) -> None:
    """Take an edition from one of its organisers; the last one only an admin can remove."""
    service.remove_organiser(platform, actor, edition, user_id)
