"""The terms of an edition for programs."""

from fastapi import APIRouter

from app.access import Action
from app.participation import service
from app.participation.schemas import Accepted
from app.web import CurrentActor, ThePlatform, requires

router = APIRouter(prefix="/api/v1/editions", tags=["editions"], dependencies=[requires(Action.READ_PUBLIC)])


@router.get("/{edition}/terms")
def terms(platform: ThePlatform, actor: CurrentActor, edition: str) -> Accepted:
    """What participants of an edition agree to, and whether you have; a person accepts them in the browser."""
    found = service.terms_page(platform, actor, edition)
    return Accepted(
        edition=found.edition,
        version=found.version,
        text=found.text,
        set_at=found.set_at,
        accepted_at=found.accepted_at,
        accept_at=f"{platform.settings.address}/editions/{found.edition}/terms",
    )
