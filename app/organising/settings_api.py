"""JSON API: the settings of an open challenge, archiving it, and deleting it."""

from fastapi import APIRouter

from app.core.access import Action
from app.core.rate_limits import Limited
from app.organising import deleting, settings
from app.organising.deleting import Confirmation, Deletion
from app.organising.settings import NewSettings, SettingsView
from app.web.dependencies import CurrentActor, ThePlatform, limited, recently_logged_in, requires

router = APIRouter(prefix="/api/v1/organise/challenges/{challenge}", tags=["organisers"])


@router.get("/settings", dependencies=[requires(Action.ORGANISE)])
def organised_settings(platform: ThePlatform, actor: CurrentActor, challenge: str) -> SettingsView:
    """Return the settings of a challenge."""
    return settings.settings_page(platform, actor, challenge)


@router.put("/settings", dependencies=[requires(Action.ORGANISE), limited(Limited.CHANGE)])
def change(platform: ThePlatform, actor: CurrentActor, challenge: str, new: NewSettings) -> SettingsView:
    """Change the settings of an open challenge. `version` is the one that was read: newer ones are not overwritten."""
    settings.change(platform, actor, challenge, new)
    return settings.settings_page(platform, actor, challenge)


@router.put("/archive", status_code=204, dependencies=[requires(Action.OWN)])
def archive(platform: ThePlatform, actor: CurrentActor, challenge: str) -> None:
    """Make a challenge read only and take it out of lists and searches; its addresses stay. Runs that wait are still scored."""
    settings.archive(platform, actor, challenge)


@router.delete("/archive", status_code=204, dependencies=[requires(Action.OWN)])
def take_back(platform: ThePlatform, actor: CurrentActor, challenge: str) -> None:
    """Let a challenge that was archived go on under its rules and dates."""
    settings.take_back(platform, actor, challenge)


@router.get("/deletion", dependencies=[requires(Action.OWN)])
def deletion(platform: ThePlatform, actor: CurrentActor, challenge: str) -> Deletion:
    """Return what deleting a challenge would delete, and why it cannot be deleted if others have submitted to it."""
    return deleting.plan(platform, actor, challenge)


@router.post("/deletion", dependencies=[requires(Action.OWN), recently_logged_in(), limited(Limited.CHANGE)])
def delete(
    platform: ThePlatform, actor: CurrentActor, challenge: str, confirmation: Confirmation
) -> Deletion:
    """Delete a challenge that was open, for good, while only its organisers submitted; return what was deleted.

    `code` is the one in its address, which no other challenge gets.
    """
    return deleting.delete_challenge(platform, actor, challenge, confirmation)
