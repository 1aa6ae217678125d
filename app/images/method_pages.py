"""HTML pages: a method, with its ranks and what it predicted."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from app.core.access import Action
from app.core.errors import NotFoundError
from app.images import showcase
from app.results import methods as views
from app.results.methods import MethodPage
from app.web.dependencies import CurrentActor, ThePlatform, mark_as_of, render, requires
from app.web.tables import bibtex

router = APIRouter()

Kind = Annotated[Literal["html", "bib"], Query(alias="format")]


@router.get("/methods/{method_id}", dependencies=[requires(Action.READ_SUBMISSION)])
def method(
    request: Request, platform: ThePlatform, actor: CurrentActor, method_id: int, kind: Kind = "html"
) -> Response:
    """Show a method, its results, and its earlier descriptions; or its citation, once it is public."""
    page = views.method_page(platform, actor, method_id)
    mark_as_of(request, page.challenge)
    citation = _citation(page, platform.settings.address)
    if kind == "bib":
        if citation is None:
            raise NotFoundError(f"method {method_id} is not public yet")
        return Response(citation, media_type="application/x-bibtex")
    return render(
        request,
        "methods/method.html",
        page=page,
        citation=citation,
        tasks=showcase.by_task(page.results),
        ranks=showcase.ranks(platform, actor, page),
        shown=showcase.showcase(platform, actor, page),
    )


def _citation(page: MethodPage, address: str) -> str | None:
    """Format a public method as BibTeX."""
    method = page.method
    if method.public_at is None:
        return None
    fields = {
        "author": method.contributors or page.team,
        "title": method.title or method.name,
        "year": str(method.public_at.year),
        "howpublished": f"{address.rstrip('/')}/methods/{method.id}",
        "note": f"{method.name}, {page.challenge_title}",
    }
    return bibtex(f"{method.name}-{method.id}", fields)
