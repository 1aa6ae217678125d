"""HTML pages: who can see a challenge, and the page where people redeem a code."""

from typing import Annotated, Final
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response

from app.challenges import visibility
from app.challenges.visibility import CreatedCode, NewCode, NewInvitations, NewVisibility
from app.core.access import Action, Actor
from app.core.audit import LARGEST_ID
from app.core.errors import RefusedError
from app.core.rate_limits import Limited
from app.platform import Platform
from app.web.dependencies import CurrentActor, ThePlatform, limited, render, requires
from app.web.forms import Form, TheForm
from app.web.route_marks import marked

router = APIRouter()
organising: Final = [requires(Action.ORGANISE)]
HERE: Final = "/organise/challenges/{challenge}"

Removed = Annotated[
    int | None,
    Query(ge=1, le=LARGEST_ID, description="a person who was just removed from the invited people"),
]


@router.get(f"{HERE}/visibility", dependencies=organising)
def page(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, removed: Removed = None
) -> Response:
    """Show who can see a challenge, with forms to change it."""
    return _page(request, platform, actor, challenge, Form(), removed=removed)


def _page(
    request: Request,
    platform: Platform,
    actor: Actor,
    challenge: str,
    form: Form,
    *,
    created: CreatedCode | None = None,
    removed: int | None = None,
) -> Response:
    page = visibility.visibility_page(platform, actor, challenge, removed)
    form.fill({"visibility": page.visibility})
    response = render(request, "visibility/visibility.html", page=page, form=form, created=created)
    response.headers["Cache-Control"] = "no-store"
    return response


@router.post(f"{HERE}/visibility", dependencies=organising)
@marked(done="Who sees the challenge is saved.")
def change(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, form: TheForm
) -> Response:
    """Change who can see a challenge."""
    with form.showing_errors(conflict="visibility"):
        visibility.change(platform, actor, challenge, form.read(NewVisibility))
        return _back(challenge)
    return _page(request, platform, actor, challenge, form)


@router.post(f"{HERE}/invitations", dependencies=organising)
@marked(done="They are invited.")
def invite(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, form: TheForm
) -> Response:
    """Invite the addresses and domains in a text, one in each line."""
    lines = [line.strip() for line in form.text("people").splitlines() if line.strip()]
    with form.showing_errors(conflict="people"):
        visibility.invite(platform, actor, challenge, form.read(NewInvitations, people=lines))
        return _back(challenge)
    return _page(request, platform, actor, challenge, form)


@router.post(f"{HERE}/invitations/codes", dependencies=organising)
def create_code(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, form: TheForm
) -> Response:
    """Create a code, and show it once."""
    with form.showing_errors(conflict="note"):
        created = visibility.create_code(platform, actor, challenge, form.read(NewCode))
        return _page(request, platform, actor, challenge, Form(), created=created)
    return _page(request, platform, actor, challenge, form)


@router.post(f"{HERE}/invitations/{{invitation_id}}/revoke", dependencies=organising)
@marked(done="The code is revoked.")
def revoke(platform: ThePlatform, actor: CurrentActor, challenge: str, invitation_id: int) -> Response:
    """Revoke an invitation."""
    visibility.revoke(platform, actor, challenge, invitation_id)
    return _back(challenge)


@router.post(f"{HERE}/invited/{{user_id}}/remove", dependencies=organising)
@marked(done="The person is removed.")
def remove_person(platform: ThePlatform, actor: CurrentActor, challenge: str, user_id: int) -> Response:
    """Remove a person who has redeemed a code."""
    visibility.remove_person(platform, actor, challenge, user_id)
    return RedirectResponse(
        f"/organise/challenges/{quote(challenge)}/visibility?removed={user_id}", status_code=303
    )


def _back(challenge: str) -> Response:
    return RedirectResponse(f"/organise/challenges/{quote(challenge)}/visibility", status_code=303)


@router.get("/invited/{code}", dependencies=[requires(Action.READ_PUBLIC), limited(Limited.CODE)])
def invited(request: Request, platform: ThePlatform, code: str) -> Response:
    """Ask for confirmation before redeeming a code."""
    return _invited(request, platform, code)


def _invited(request: Request, platform: Platform, code: str) -> Response:
    offer = visibility.offer(platform, code)
    response = render(
        request, "visibility/invited.html", code=200 if offer else 410, offer=offer, secret=code
    )
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Robots-Tag"] = "noindex, nofollow"
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


@router.post("/invited/{code}", dependencies=[requires(Action.MANAGE_ACCOUNT), limited(Limited.CODE)])
@marked(done="You are invited to this challenge now.")
def redeem(request: Request, platform: ThePlatform, actor: CurrentActor, code: str) -> Response:
    """Redeem a code."""
    try:
        challenge = visibility.redeem(platform, actor, code)
    except RefusedError:
        return _invited(request, platform, code)
    return RedirectResponse(f"/challenges/{quote(challenge)}", status_code=303)
