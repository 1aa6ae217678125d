"""Pages: the account, its profile, data export, and deletion."""

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response, StreamingResponse

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
from app.web.forms import Form, TheForm
from app.web.route_marks import marked

router = APIRouter(dependencies=[requires(Action.MANAGE_ACCOUNT)])


@router.get("/account")
def account(request: Request, platform: ThePlatform, actor: CurrentActor) -> Response:
    """Show the account, with the state of what its pages are about."""
    response = render(
        request, "profiles/account.html", summary=personal_data.account_summary(platform, actor)
    )
    response.headers["Cache-Control"] = "no-store"
    return response


@router.get("/account/profile")
def profile(request: Request, platform: ThePlatform, actor: CurrentActor) -> Response:
    """Show the form for the profile."""
    form = Form(personal_data.profile(platform, actor).model_dump())
    return render(request, "profiles/profile.html", form=form)


@router.post("/account/profile")
@marked(done="Your profile is saved.")
def change(request: Request, platform: ThePlatform, actor: CurrentActor, form: TheForm) -> Response:
    """Change the profile."""
    with form.showing_errors():
        personal_data.change(platform, actor, form.read(Profile))
        return RedirectResponse("/account", status_code=303)
    return render(request, "profiles/profile.html", form=form)


@router.get("/account/data")
def data(request: Request) -> Response:
    """Say what the export of the reader's data holds."""
    return render(request, "profiles/data.html")


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
    return _deletion(request, platform, Form({"results": ResultsChoice.KEEP}))


def _deletion(request: Request, platform: Platform, form: Form) -> Response:
    found = personal_data.own_results(platform, actor_of_request(request))
    response = render(request, "profiles/delete.html", teams=found, form=form)
    response.headers["Cache-Control"] = "no-store"
    return response


@router.post("/account/delete", dependencies=[limited(Limited.LOGIN)])
def end_account(request: Request, platform: ThePlatform, actor: CurrentActor, form: TheForm) -> Response:
    """Delete the account."""
    with form.showing_errors():
        try:
            personal_data.end_account(platform, actor, form.read(Deletion))
        except WrongPasswordError:
            form.refuse({"password": "wrong password"}, 403)
            return _deletion(request, platform, form)
        response = render(request, "profiles/deleted.html")
        response.delete_cookie(SESSION_COOKIE)
        return response
    return _deletion(request, platform, form)
