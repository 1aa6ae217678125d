"""Pages: the account, its profile, data export, and deletion."""

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response, StreamingResponse
from pydantic import ValidationError

from app.core.access import Action
from app.core.rate_limits import Limited
from app.people.sessions import WrongPasswordError
from app.platform import Platform
from app.results import personal_data
from app.results.personal_data import Deletion, Profile, ResultsChoice
from app.web.dependencies import (
    SESSION_COOKIE,
    CurrentActor,
    ThePlatform,
    actor_of_request,
    limited,
    recently_logged_in,
    render,
    requires,
)
from app.web.forms import field_errors

router = APIRouter(dependencies=[requires(Action.MANAGE_ACCOUNT)])

TextField = Annotated[str, Form()]


@router.get("/account")
def account(request: Request) -> Response:
    """Show the account."""
    response = render(request, "profiles/account.html")
    response.headers["Cache-Control"] = "no-store"
    return response


@router.get("/account/profile")
def profile(request: Request, platform: ThePlatform, actor: CurrentActor) -> Response:
    """Show the form for the profile."""
    return _profile(request, personal_data.profile(platform, actor).model_dump(), {})


def _profile(request: Request, form: Mapping[str, str], problems: Mapping[str, str]) -> Response:
    code = 422 if problems else 200
    return render(request, "profiles/profile.html", code=code, form=form, problems=problems)


@router.post("/account/profile")
def change(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    name: TextField = "",
    affiliation: TextField = "",
    homepage: TextField = "",
    orcid: TextField = "",
) -> Response:
    """Change the profile."""
    form = {"name": name, "affiliation": affiliation, "homepage": homepage, "orcid": orcid}
    try:
        personal_data.change(platform, actor, Profile.model_validate(form))
    except ValidationError as error:
        return _profile(request, form, field_errors(error))
    return RedirectResponse("/account", status_code=303)


@router.get("/account/data.json", dependencies=[recently_logged_in(), limited(Limited.VIEW)])
def export(platform: ThePlatform, actor: CurrentActor) -> Response:
    """Download everything that is stored about the reader."""
    headers = {
        "Content-Disposition": 'attachment; filename="heldout-account.json"',
        "Cache-Control": "no-store",
    }
    pieces = personal_data.export(platform, actor)
    return StreamingResponse(pieces, media_type="application/json", headers=headers)


@router.get("/account/delete")
def deletion(request: Request, platform: ThePlatform) -> Response:
    """Show the form to delete the account."""
    return _deletion(request, platform, ResultsChoice.KEEP.value, {}, 200)


def _deletion(
    request: Request, platform: Platform, chosen: str, problems: Mapping[str, str], code: int
) -> Response:
    response = render(
        request,
        "profiles/delete.html",
        code=code,
        teams=personal_data.own_results(platform, actor_of_request(request)),
        form={"results": chosen},
        problems=problems,
    )
    response.headers["Cache-Control"] = "no-store"
    return response


@router.post("/account/delete", dependencies=[limited(Limited.LOGIN)])
def end_account(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    password: TextField = "",
    results: TextField = "",
) -> Response:
    """Delete the account."""
    try:
        personal_data.end_account(
            platform, actor, Deletion.model_validate({"password": password, "results": results})
        )
    except ValidationError as error:
        return _deletion(request, platform, results, field_errors(error), 422)
    except WrongPasswordError:
        return _deletion(request, platform, results, {"password": "is wrong"}, 403)
    response = render(request, "profiles/deleted.html")
    response.delete_cookie(SESSION_COOKIE)
    return response
