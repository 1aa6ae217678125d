"""Pages: an anonymous link, and a team's management of its links."""

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from app.core.access import Action
from app.core.rate_limits import Limited
from app.results import anonymous_links
from app.web.dependencies import CurrentActor, ThePlatform, limited, render, requires
from app.web.route_marks import marked

router = APIRouter()

# keep the page out of search engines, its URL from other sites, and revocable content from caches
HEADERS = {"X-Robots-Tag": "noindex, nofollow", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store"}


@router.get("/anonymous/{token}", dependencies=[requires(Action.READ_PUBLIC)])
def anonymous(request: Request, platform: ThePlatform, actor: CurrentActor, token: str) -> Response:
    """Show a result without its team, or redirect to the submission once the link is revealed."""
    found = anonymous_links.anonymous_result(platform, actor, token)
    if isinstance(found, int):
        return RedirectResponse(f"/submissions/{found}", status_code=302, headers=HEADERS)
    result, exhibits = found
    response = render(request, "anonymous/result.html", result=result, exhibits=exhibits, token=token)
    response.headers.update(HEADERS)
    return response


@router.get("/results/{result_id}/links", dependencies=[requires(Action.LINK)])
def links(request: Request, platform: ThePlatform, actor: CurrentActor, result_id: int) -> Response:
    """List the anonymous links of a result."""
    return render(
        request, "anonymous/links.html", page=anonymous_links.links_page(platform, actor, result_id)
    )


@router.post("/results/{result_id}/links", dependencies=[requires(Action.LINK), limited(Limited.CHANGE)])
@marked(done="The link is created.")
def create(platform: ThePlatform, actor: CurrentActor, result_id: int) -> Response:
    """Create an anonymous link."""
    anonymous_links.create(platform, actor, result_id)
    return RedirectResponse(f"/results/{result_id}/links", status_code=303)


@router.post("/links/{link_id}/revoke", dependencies=[requires(Action.LINK)])
@marked(done="The link is revoked.")
def revoke(platform: ThePlatform, actor: CurrentActor, link_id: int) -> Response:
    """Revoke an anonymous link."""
    result_id = anonymous_links.revoke(platform, actor, link_id)
    return RedirectResponse(f"/results/{result_id}/links", status_code=303)


@router.post("/links/{link_id}/reveal", dependencies=[requires(Action.LINK)])
@marked(done="The link shows names now.")
def reveal(platform: ThePlatform, actor: CurrentActor, link_id: int) -> Response:
    """Reveal an anonymous link, which then redirects to the submission."""
    result_id = anonymous_links.reveal(platform, actor, link_id)
    return RedirectResponse(f"/results/{result_id}/links", status_code=303)
