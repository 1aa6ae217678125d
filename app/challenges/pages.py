"""Pages: reading, accepting and setting the terms of a challenge."""

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import ValidationError

from app.challenges import terms as challenges_terms
from app.challenges.terms import NewTerms
from app.core.access import Action
from app.platform import Platform
from app.web.addresses import local_path
from app.web.dependencies import CurrentActor, ThePlatform, render, requires
from app.web.forms import field_errors

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
def accept(
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    version: Annotated[int, Form(ge=1)],
    next_page: Annotated[str, Form(alias="next", max_length=1000)] = "",
) -> Response:
    """Accept the terms, and return to the page that asked for it."""
    challenges_terms.accept(platform, actor, challenge, version)
    where = local_path(next_page) if next_page else f"/challenges/{challenge}/terms"
    return RedirectResponse(where, status_code=303)


@router.get("/organise/challenges/{challenge}/terms", dependencies=[requires(Action.ORGANISE)])
def terms_form(request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str) -> Response:
    """Show the form that sets the terms."""
    _, known = challenges_terms.editable_terms(platform, actor, challenge)
    return _form(request, platform, actor, challenge, {"text": known.text if known else ""}, {})


def _form(
    request: Request,
    platform: Platform,
    actor: CurrentActor,
    challenge: str,
    form: Mapping[str, str],
    problems: Mapping[str, str],
) -> Response:
    title, known = challenges_terms.editable_terms(platform, actor, challenge)
    return render(
        request,
        "participation/set_terms.html",
        code=422 if problems else 200,
        challenge=challenge,
        title=title,
        version=known.version if known and known.text else None,
        form=form,
        problems=problems,
    )


@router.post("/organise/challenges/{challenge}/terms", dependencies=[requires(Action.ORGANISE)])
def set_terms(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    text: Annotated[str, Form()] = "",
) -> Response:
    """Set the terms of a challenge."""
    try:
        challenges_terms.set_terms(platform, actor, challenge, NewTerms(text=text))
    except ValidationError as error:
        return _form(request, platform, actor, challenge, {"text": text}, field_errors(error))
    ended = "/organise" if not text.strip() else ""
    return RedirectResponse(f"{ended}/challenges/{challenge}/terms", status_code=303)
