"""JSON API: what organisers write about their challenge."""

from fastapi import APIRouter

from app.challenges import texts
from app.challenges.texts import NewTexts, TextSheet
from app.core.access import Action
from app.web.dependencies import CurrentActor, ThePlatform, requires

router = APIRouter(prefix="/api/v1", tags=["organisers"])


@router.get("/organise/challenges/{challenge}/page", dependencies=[requires(Action.ORGANISE)])
def page(platform: ThePlatform, actor: CurrentActor, challenge: str) -> TextSheet:
    """Return the texts of a challenge as its organisers edit them."""
    return texts.editable_texts(platform, actor, challenge)


@router.put("/organise/challenges/{challenge}/page", dependencies=[requires(Action.ORGANISE)])
def set_page(platform: ThePlatform, actor: CurrentActor, challenge: str, new: NewTexts) -> TextSheet:
    """Replace all texts of a challenge. `version` is the one that was read: another organiser's newer texts are not overwritten."""
    texts.set_texts(platform, actor, challenge, new)
    return texts.editable_texts(platform, actor, challenge)
