"""Pages: a method, and the forms to change and publish it."""

from dataclasses import asdict
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response

from app.core.access import Action
from app.core.errors import NotFoundError
from app.core.rate_limits import Limited
from app.results import methods as views
from app.results.methods import MethodPage
from app.submissions import methods
from app.submissions.methods import MethodEdit
from app.submissions.questions import FIELD, answers_sent
from app.web.dependencies import CurrentActor, ThePlatform, limited, mark_as_of, render, requires
from app.web.forms import Form, TheForm
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
    return render(request, "methods/method.html", page=page, citation=citation)


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


@router.get("/methods/{method_id}/edit", dependencies=[requires(Action.CHANGE_METHOD)])
def form(request: Request, platform: ThePlatform, actor: CurrentActor, method_id: int) -> Response:
    """Show the form to change a method's description."""
    page = views.own_method_page(platform, actor, method_id)
    answers = {f"{FIELD}{each.question.id}": each.answer or "" for each in page.answers}
    return render(request, "methods/edit.html", page=page, form=Form(asdict(page.method) | answers))


@router.post(
    "/methods/{method_id}/edit", dependencies=[requires(Action.CHANGE_METHOD), limited(Limited.CHANGE)]
)
def edit(
    request: Request, platform: ThePlatform, actor: CurrentActor, method_id: int, form: TheForm
) -> Response:
    """Change a method's description."""
    answers = answers_sent(form.sent.items())
    form.fill({f"{FIELD}{question}": answer for question, answer in answers.items()})
    with form.showing_errors():
        methods.edit(platform, actor, method_id, form.read(MethodEdit, answers=answers))
        return RedirectResponse(f"/methods/{method_id}", status_code=303)
    page = views.own_method_page(platform, actor, method_id)
    return render(request, "methods/edit.html", page=page, form=form)


@router.post("/methods/{method_id}/public", dependencies=[requires(Action.PUBLISH)])
def make_public(platform: ThePlatform, actor: CurrentActor, method_id: int) -> Response:
    """Make a method public."""
    methods.make_public(platform, actor, method_id)
    return RedirectResponse(f"/methods/{method_id}", status_code=303)
