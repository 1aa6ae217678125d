"""Pages: a method, and the forms to change and publish it."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import ValidationError

from app.core.access import Action
from app.core.errors import NotFoundError, RefusedError
from app.core.rate_limits import Limited
from app.results import methods as views
from app.results.methods import MethodPage
from app.submissions import methods
from app.submissions.methods import MethodEdit
from app.submissions.questions import FIELD, answers_sent
from app.web.dependencies import CurrentActor, ThePlatform, limited, mark_as_of, render, requires
from app.web.forms import SentForm, field_errors, values_of
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
    return _form(request, page, asdict(page.method) | answers, {})


def _form(
    request: Request, page: MethodPage, form: dict[str, Any], problems: Mapping[str, str], code: int = 200
) -> Response:
    return render(request, "methods/edit.html", code=code, page=page, form=form, problems=problems)


@router.post(
    "/methods/{method_id}/edit", dependencies=[requires(Action.CHANGE_METHOD), limited(Limited.CHANGE)]
)
def edit(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    method_id: int,
    sent: SentForm,
) -> Response:
    """Change a method's description."""
    edited = values_of(sent, MethodEdit) | {"answers": answers_sent(sent.items())}
    form = {**dict(sent), **edited}
    try:
        methods.edit(platform, actor, method_id, MethodEdit.model_validate(edited))
    except ValidationError as error:
        page = views.own_method_page(platform, actor, method_id)
        return _form(request, page, form, field_errors(error), 422)
    except RefusedError as error:
        problems: dict[str, str] = {}
        for one in error.refusals:
            field = one.field or "description"
            problems[field] = f"{problems[field]}; {one.message}" if field in problems else one.message
        return _form(request, views.own_method_page(platform, actor, method_id), form, problems, 409)
    return RedirectResponse(f"/methods/{method_id}", status_code=303)


@router.post("/methods/{method_id}/public", dependencies=[requires(Action.PUBLISH)])
def make_public(platform: ThePlatform, actor: CurrentActor, method_id: int) -> Response:
    """Make a method public."""
    methods.make_public(platform, actor, method_id)
    return RedirectResponse(f"/methods/{method_id}", status_code=303)
