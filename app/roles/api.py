"""Organisers of editions, for admins' programs."""

from fastapi import APIRouter

from app.access import Action
from app.roles import service
from app.roles.schemas import NewOrganiser, OrganisedEdition
from app.web import CurrentActor, ThePlatform, requires

router = APIRouter(
    prefix="/api/v1/admin/editions/{edition}/organisers",
    tags=["admins"],
    dependencies=[requires(Action.MANAGE_ROLES)],
)


@router.get("")
def organisers(platform: ThePlatform, edition: str) -> OrganisedEdition:
    """Who organises an edition; every admin does so, too."""
    return service.organised_edition(platform, edition)


@router.post("", status_code=204)
def add(platform: ThePlatform, actor: CurrentActor, edition: str, new: NewOrganiser) -> None:
    """Make somebody an organiser of an edition."""
    service.add_organiser(platform, actor, edition, new.email)


@router.delete("/{user_id}", status_code=204)
def remove(platform: ThePlatform, actor: CurrentActor, edition: str, user_id: int) -> None:
    """Take an edition from one of its organisers."""
    service.remove_organiser(platform, actor, edition, user_id)
