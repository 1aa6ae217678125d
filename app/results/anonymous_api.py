"""JSON API: anonymous links."""

from fastapi import APIRouter, Response
from fastapi.responses import RedirectResponse

from app.core.access import Action
from app.core.rate_limits import Limited
from app.results import anonymous_links
from app.results.anonymous_links import AnonymousLinkView, AnonymousResult, LinksPage
from app.results.anonymous_pages import HEADERS
from app.web.dependencies import CurrentActor, ThePlatform, limited, requires

router = APIRouter(prefix="/api/v1", tags=["anonymous links"])


@router.get("/anonymous/{token}", response_model=AnonymousResult, dependencies=[requires(Action.READ_PUBLIC)])
def anonymous(
    platform: ThePlatform, actor: CurrentActor, token: str, response: Response
) -> AnonymousResult | Response:
    """The result that an anonymous link shows. Once revealed, it redirects to the submission."""
    found = anonymous_links.anonymous_result(platform, actor, token)
    if isinstance(found, int):
        return RedirectResponse(f"/api/v1/submissions/{found}", status_code=302, headers=HEADERS)
    response.headers.update(HEADERS)
    return found[0]


@router.get("/results/{result_id}/links", dependencies=[requires(Action.LINK)])
def links(platform: ThePlatform, actor: CurrentActor, result_id: int) -> LinksPage:
    """The anonymous links of a result of your team."""
    return anonymous_links.links_page(platform, actor, result_id)


@router.post(
    "/results/{result_id}/links",
    status_code=201,
    dependencies=[requires(Action.LINK), limited(Limited.CHANGE)],
)
def create(platform: ThePlatform, actor: CurrentActor, result_id: int) -> AnonymousLinkView:
    """Create an anonymous link to the result now on the board. Later scores do not change what it shows."""
    return anonymous_links.create(platform, actor, result_id)


@router.post("/links/{link_id}/revoke", status_code=204, dependencies=[requires(Action.LINK)])
def revoke(platform: ThePlatform, actor: CurrentActor, link_id: int) -> None:
    """Revoke an anonymous link. This cannot be undone."""
    anonymous_links.revoke(platform, actor, link_id)


@router.post("/links/{link_id}/reveal", status_code=204, dependencies=[requires(Action.LINK)])
def reveal(platform: ThePlatform, actor: CurrentActor, link_id: int) -> None:
    """Redirect an anonymous link of a public method to its submission. This cannot be undone."""
    anonymous_links.reveal(platform, actor, link_id)
