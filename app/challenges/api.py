"""JSON API: descriptions of phases and terms of challenges."""

from fastapi import APIRouter
from fastapi.responses import Response

from app.challenges import phase_files
from app.challenges import terms as challenges_terms
from app.challenges.terms import Accepted
from app.core.access import Action
from app.web.dependencies import CurrentActor, ThePlatform, requires

router = APIRouter(
    prefix="/api/v1/challenges", tags=["challenges"], dependencies=[requires(Action.READ_PUBLIC)]
)


@router.get("/{challenge}/{image_set}/description")
def description(platform: ThePlatform, challenge: str, image_set: str) -> Response:
    """Everything public about a phase: its images with their sizes, its classes, the persons to predict for, and the counts of
    objects in an image set of the challenge whose annotation is public.
    """
    content = platform.cache.version(
        ("description", challenge, image_set),
        lambda: phase_files.public_description(platform, challenge, image_set),
    )
    return Response(content, media_type="application/json")


@router.get("/{challenge}/terms")
def terms(platform: ThePlatform, actor: CurrentActor, challenge: str) -> Accepted:
    """The terms of a challenge, and whether you have accepted them. Accepting them takes a person with a browser."""
    found = challenges_terms.terms_page(platform, actor, challenge)
    return Accepted(
        challenge=found.challenge,
        version=found.version,
        text=found.text,
        set_at=found.set_at,
        accepted_at=found.accepted_at,
        accept_at=f"{platform.settings.address}/challenges/{found.challenge}/terms",
    )
