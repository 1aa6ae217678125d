"""JSON API: the settings of the site."""

from fastapi import APIRouter

from app.core.access import Action
from app.operations import settings_view, site
from app.operations.settings_view import SettingsView
from app.operations.site import NewSite, SiteSheet
from app.web.dependencies import CurrentActor, ThePlatform, requires

router = APIRouter(prefix="/api/v1/admin", tags=["admins"], dependencies=[requires(Action.MANAGE_SITE)])


@router.get("/site")
def settings(platform: ThePlatform) -> SiteSheet:
    """Return the settings of the site: name, accent colour, contact, footer links, legal texts."""
    return site.sheet(platform)


@router.put("/site")
def change(platform: ThePlatform, actor: CurrentActor, new: NewSite) -> SiteSheet:
    """Replace the settings of the site. `version` is the one that was read: newer settings are not overwritten."""
    site.change(platform, actor, new)
    return site.sheet(platform)


@router.get("/settings")
def all_settings(platform: ThePlatform) -> SettingsView:
    """Return every setting: those of the site, and those that variables of the environment fix. Secrets are left out."""
    return settings_view.settings_view(platform)
