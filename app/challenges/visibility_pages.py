"""HTML pages: who can see a challenge, and the page where people redeem a code."""

from typing import Annotated, Any, Final
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import ValidationError

from app.challenges import visibility
from app.challenges.visibility import CreatedCode, NewCode, NewInvitations, NewVisibility
from app.core.access import Action, Actor
from app.core.audit import LARGEST_ID
from app.core.errors import ConflictError, RefusedError
from app.core.rate_limits import Limited
from app.models import ChallengeVisibility
from app.platform import Platform
from app.web.dependencies import CurrentActor, ThePlatform, limited, render, requires
from app.web.forms import SentForm, all_errors, field_errors, values_of

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
    return _page(request, platform, actor, challenge, removed=removed)


def _page(
    request: Request,
    platform: Platform,
    actor: Actor,
    challenge: str,
    *,
    form: dict[str, Any] | None = None,
    problems: dict[str, str] | None = None,
    created: CreatedCode | None = None,
    removed: int | None = None,
    code: int = 200,
) -> Response:
    response = render(
        request,
        "visibility/visibility.html",
        code=code,
        page=visibility.visibility_page(platform, actor, challenge, removed),
        choices=[each for each in ChallengeVisibility if each is not ChallengeVisibility.DRAFT],
        form=form or {},
        problems=problems or {},
        created=created,
    )
    response.headers["Cache-Control"] = "no-store"
    return response


@router.post(f"{HERE}/visibility", dependencies=organising)
def change(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, sent: SentForm
) -> Response:
    """Change who can see a challenge."""
    form = values_of(sent, NewVisibility)
    try:
        visibility.change(platform, actor, challenge, NewVisibility.model_validate(form))
    except ValidationError as error:
        problems = dict(field_errors(error))
        return _page(request, platform, actor, challenge, form=form, problems=problems, code=422)
    except ConflictError as error:
        return _page(
            request, platform, actor, challenge, form=form, problems={"visibility": str(error)}, code=409
        )
    return _back(challenge)


@router.post(f"{HERE}/invitations", dependencies=organising)
def invite(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, sent: SentForm
) -> Response:
    """Invite the addresses and domains in a text, one in each line."""
    text = str(sent.get("people", ""))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    try:
        visibility.invite(platform, actor, challenge, NewInvitations.model_validate({"people": lines}))
    except ValidationError as error:
        problems = {"people": all_errors(error) if lines else "is missing"}
        return _page(request, platform, actor, challenge, form={"people": text}, problems=problems, code=422)
    except ConflictError as error:
        problems = {"people": str(error)}
        return _page(request, platform, actor, challenge, form={"people": text}, problems=problems, code=409)
    return _back(challenge)


@router.post(f"{HERE}/invitations/codes", dependencies=organising)
def create_code(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, sent: SentForm
) -> Response:
    """Create a code, and show it once."""
    form = values_of(sent, NewCode)
    try:
        new = NewCode.model_validate(form | {"uses": form["uses"] or None})
        created = visibility.create_code(platform, actor, challenge, new)
    except ValidationError as error:
        problems = dict(field_errors(error))
        return _page(request, platform, actor, challenge, form=form, problems=problems, code=422)
    except ConflictError as error:
        return _page(request, platform, actor, challenge, form=form, problems={"note": str(error)}, code=409)
    return _page(request, platform, actor, challenge, created=created)


@router.post(f"{HERE}/invitations/{{invitation_id}}/revoke", dependencies=organising)
def revoke(platform: ThePlatform, actor: CurrentActor, challenge: str, invitation_id: int) -> Response:
    """Revoke an invitation."""
    visibility.revoke(platform, actor, challenge, invitation_id)
    return _back(challenge)


@router.post(f"{HERE}/invited/{{user_id}}/remove", dependencies=organising)
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
def redeem(request: Request, platform: ThePlatform, actor: CurrentActor, code: str) -> Response:
    """Redeem a code."""
    try:
        challenge = visibility.redeem(platform, actor, code)
    except RefusedError:
        return _invited(request, platform, code)
    return RedirectResponse(f"/challenges/{quote(challenge)}", status_code=303)
