"""Pages: reading, accepting and setting the terms of a challenge."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi import Form as FormField
from fastapi.responses import RedirectResponse, Response

from app.challenges import terms as challenges_terms
from app.challenges.terms import NewTerms
from app.core.access import Action
from app.platform import Platform
from app.web.addresses import local_path
from app.web.dependencies import CurrentActor, ThePlatform, render, requires
from app.web.forms import Form, TheForm
from app.web.route_marks import marked

router = APIRouter()


@router.get("/challenges/{challenge}/terms", dependencies=[requires(Action.READ_PUBLIC)])
def terms(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    next_page: Annotated[str, Query(alias="next", max_length=1000)] = "",
) -> Response:
    """Show the terms of a challenge; next: the page to return to after accepting them."""
    found = challenges_terms.terms_page(platform, actor, challenge)
    return render(
        request, "participation/terms.html", terms=found, next_page=local_path(next_page) if next_page else ""
    )


@router.post("/challenges/{challenge}/terms", dependencies=[requires(Action.MANAGE_ACCOUNT)])
@marked(done="You have accepted the terms.")
def accept(
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    version: Annotated[int, FormField(ge=1)],
    next_page: Annotated[str, FormField(alias="next", max_length=1000)] = "",
) -> Response:
    """Accept the terms, and return to the page that asked for it."""
    challenges_terms.accept(platform, actor, challenge, version)
    where = local_path(next_page) if next_page else f"/challenges/{challenge}/terms"
    return RedirectResponse(where, status_code=303)


@router.get("/organise/challenges/{challenge}/terms", dependencies=[requires(Action.ORGANISE)])
def terms_form(request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str) -> Response:
    """Show the form that sets the terms."""
    return _form(request, platform, actor, challenge, Form())


def _form(request: Request, platform: Platform, actor: CurrentActor, challenge: str, form: Form) -> Response:
    title, known = challenges_terms.editable_terms(platform, actor, challenge)
    return render(
        request,
        "participation/set_terms.html",
        challenge=challenge,
        title=title,
        version=known.version if known and known.text else None,
        form=form.fill({"text": known.text if known else ""}),
    )


@router.post("/organise/challenges/{challenge}/terms", dependencies=[requires(Action.ORGANISE)])
@marked(done="The terms are saved.")
def set_terms(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, form: TheForm
) -> Response:
    """Set the terms of a challenge."""
    with form.showing_errors():
        challenges_terms.set_terms(platform, actor, challenge, new := form.read(NewTerms))
        ended = "/organise" if not new.text.strip() else ""
        return RedirectResponse(f"{ended}/challenges/{challenge}/terms", status_code=303)
    return _form(request, platform, actor, challenge, form)
