"""The page of a method, and the forms that change or publish it."""

from typing import Annotated, Literal

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import BaseModel, ValidationError

from app.access import Action
from app.errors import NameFixed, NameTaken, NotFoundError, RefusedError
from app.exports.rules import bibtex
from app.form_errors import field_errors
from app.methods import service
from app.methods.schemas import MethodEdit, MethodPage
from app.rate_limits import Limited
from app.web import CurrentActor, ThePlatform, limited, render, requires

router = APIRouter()

Kind = Annotated[Literal["html", "bib"], Query(alias="format")]
FIELD_OF_REFUSAL = {NameTaken.code: "name", NameFixed.code: "name"}


class MethodForm(BaseModel):
    """The fields as the browser sends them; `NewMethod` says which are good."""

    name: str = ""
    title: str = ""
    contributors: str = ""
    affiliation: str = ""
    description: str = ""
    paper_url: str = ""
    code_url: str = ""


@router.get("/methods/{method_id}", dependencies=[requires(Action.READ_SUBMISSION)])
def method(
    request: Request, platform: ThePlatform, actor: CurrentActor, method_id: int, kind: Kind = "html"
) -> Response:
    """What a method is, its results, and its earlier texts; or how to cite it, once it is public."""
    page = service.method_page(platform, actor, method_id)
    citation = _citation(page, platform.settings.address)
    if kind == "bib":
        if citation is None:
            raise NotFoundError(f"method {method_id} is not public yet")
        return Response(citation, media_type="application/x-bibtex")
    return render(request, "methods/method.html", page=page, citation=citation)


def _citation(page: MethodPage, address: str) -> str | None:
    """A public method as BibTeX."""
    method = page.method
    if method.public_at is None:
        return None
    fields = {
        "author": method.contributors or page.team,
        "title": method.title or method.name,
        "year": str(method.public_at.year),
        "howpublished": f"{address.rstrip('/')}/methods/{method.id}",
        "note": f"{method.name}, {page.edition_title}",
    }
    return bibtex(f"{method.name}-{method.id}", fields)


@router.get("/methods/{method_id}/edit", dependencies=[requires(Action.CHANGE_METHOD)])
def form(request: Request, platform: ThePlatform, actor: CurrentActor, method_id: int) -> Response:
    """The form that changes what a method says of itself."""
    page = service.own_method_page(platform, actor, method_id)
    return _form(request, page, MethodForm.model_validate(page.method, from_attributes=True), {})


def _form(
    request: Request, page: MethodPage, form: MethodForm, problems: dict[str, str], code: int = 200
) -> Response:
    return render(
        request, "methods/edit.html", code=code, page=page, form=form.model_dump(), problems=problems
    )


@router.post(
    "/methods/{method_id}/edit", dependencies=[requires(Action.CHANGE_METHOD), limited(Limited.CHANGE)]
)
def edit(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    method_id: int,
    form: Annotated[MethodForm, Form()],
) -> Response:
    """Change what a method says of itself."""
    try:
        service.edit(platform, actor, method_id, MethodEdit(**form.model_dump()))
    except ValidationError as error:
        page = service.own_method_page(platform, actor, method_id)
        return _form(request, page, form, dict(field_errors(error)), 422)
    except RefusedError as error:
        problems = {FIELD_OF_REFUSAL.get(one.code, "description"): one.message for one in error.refusals}
        return _form(request, service.own_method_page(platform, actor, method_id), form, problems, 409)
    return RedirectResponse(f"/methods/{method_id}", status_code=303)


@router.post("/methods/{method_id}/public", dependencies=[requires(Action.PUBLISH)])
def make_public(platform: ThePlatform, actor: CurrentActor, method_id: int) -> Response:
    """Show a method to everybody."""
    service.make_public(platform, actor, method_id)
    return RedirectResponse(f"/methods/{method_id}", status_code=303)
