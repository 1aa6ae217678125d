"""HTML pages: links that make organisers and admins, and the organisers of a challenge."""

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response

from app.core.access import Action
from app.core.errors import MalformedError
from app.organising import roles
from app.organising.roles import OrganisedChallenge
from app.people import sessions
from app.people.login_pages import logged_in
from app.web.dependencies import SESSION_COOKIE, CurrentActor, ThePlatform, render, requires

router = APIRouter()


@router.get("/role-links/{token}", dependencies=[requires(Action.REGISTER)])
def role_link(request: Request, platform: ThePlatform, token: str) -> Response:
    """Ask for confirmation before using the link."""
    link = roles.usable_link(platform, token)
    return render(request, "roles/link.html", token=token, link=link)


@router.post("/role-links/{token}", dependencies=[requires(Action.MANAGE_ACCOUNT)])
def take_role(request: Request, platform: ThePlatform, actor: CurrentActor, token: str) -> Response:
    """Use the link."""
    if actor.user_id is None or not roles.use_link(platform, token, actor.user_id):
        return render(request, "roles/link.html", code=410, token=token, link=None)
    token_of_session = sessions.renew(platform, request.cookies.get(SESSION_COOKIE, ""))
    return logged_in(request, platform, token_of_session, "/organise")


@router.get("/organise/challenges/{challenge}/organisers", dependencies=[requires(Action.NAME_ORGANISERS)])
def organisers(request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str) -> Response:
    """List the organisers of a challenge."""
    return _organisers(request, roles.organised_challenge(platform, actor, challenge), "", None)


def _organisers(
    request: Request, challenge: OrganisedChallenge, email: str, problem: str | None, code: int = 200
) -> Response:
    problems = {"email": problem} if problem else {}
    return render(
        request,
        "roles/organisers.html",
        code=code,
        challenge=challenge,
        form={"email": email},
        problems=problems,
    )


@router.post("/organise/challenges/{challenge}/organisers", dependencies=[requires(Action.NAME_ORGANISERS)])
def add_organiser(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    email: Annotated[str, Form(max_length=254)] = "",
) -> Response:
    """Make a person an organiser of a challenge."""
    shown = roles.organised_challenge(platform, actor, challenge)
    try:
        roles.add_organiser(platform, actor, challenge, email)
    except MalformedError:
        return _organisers(request, shown, email, "no account has this address", 422)
    return RedirectResponse(f"/organise/challenges/{quote(challenge)}/organisers", status_code=303)


@router.post(
    "/organise/challenges/{challenge}/organisers/{user_id}/remove",
    dependencies=[requires(Action.NAME_ORGANISERS)],
)
def remove_organiser(platform: ThePlatform, actor: CurrentActor, challenge: str, user_id: int) -> Response:
    """Remove an organiser of a challenge; redirect to the home page those who remove themselves."""
    roles.remove_organiser(platform, actor, challenge, user_id)
    has_left = user_id == actor.user_id and not actor.is_admin
    return RedirectResponse(
        "/" if has_left else f"/organise/challenges/{quote(challenge)}/organisers", status_code=303
    )
