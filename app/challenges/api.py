"""The terms of an edition for programs."""

from fastapi import APIRouter
from fastapi.responses import Response

from app.challenges import challenges
from app.challenges import terms as challenges_terms
from app.challenges.terms import Accepted
from app.core.access import Action
from app.web.dependencies import CurrentActor, ThePlatform, requires

router = APIRouter(prefix="/api/v1/editions", tags=["editions"], dependencies=[requires(Action.READ_PUBLIC)])


@router.get("/{edition}/{image_set}/description")
def description(platform: ThePlatform, edition: str, image_set: str) -> Response:
    """Everything about a phase that participants may know: images with their sizes, classes, persons to look at."""
    return Response(
        challenges.public_description(platform, edition, image_set), media_type="application/json"
    )


@router.get("/{edition}/terms")
def terms(platform: ThePlatform, actor: CurrentActor, edition: str) -> Accepted:
    """What participants of an edition agree to, and whether you have; a person accepts them in the browser."""
    found = challenges_terms.terms_page(platform, actor, edition)
    return Accepted(
        edition=found.edition,
        version=found.version,
        text=found.text,
        set_at=found.set_at,
        accepted_at=found.accepted_at,
        accept_at=f"{platform.settings.address}/editions/{found.edition}/terms",
    )
