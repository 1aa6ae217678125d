"""HTML pages: links that give roles, and the people of a challenge."""

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi import Form as FormField
from fastapi.responses import RedirectResponse, Response

from app.core.access import Action, Actor
from app.core.rate_limits import Limited
from app.models import ChallengeRole
from app.organising import roles
from app.organising.roles import NewRole, NewRoleInvitation
from app.people import sessions
from app.people.login_pages import logged_in
from app.platform import Platform
from app.web.dependencies import SESSION_COOKIE, CurrentActor, ThePlatform, limited, render, requires
from app.web.forms import Form, TheForm
from app.web.route_marks import marked

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


HERE = "/organise/challenges/{challenge}/organisers"


@router.get(HERE, dependencies=[requires(Action.READ_PEOPLE)])
def people(request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str) -> Response:
    """List the people of a challenge and the open invitations."""
    return _people(request, platform, actor, challenge, Form())


def _people(
    request: Request,
    platform: Platform,
    actor: Actor,
    challenge: str,
    form: Form,
    link: str | None = None,
) -> Response:
    found = roles.organised_challenge(platform, actor, challenge)
    return render(
        request, "roles/organisers.html", challenge=found, form=form, link=link, roles=list(ChallengeRole)
    )


@router.post(HERE, dependencies=[requires(Action.NAME_ORGANISERS), limited(Limited.CHANGE)])
def invite(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, form: TheForm
) -> Response:
    """Mail a link to a role, and show it once."""
    link = None
    with form.showing_errors():
        link = roles.invite(platform, actor, challenge, form.read(NewRoleInvitation))
    return _people(request, platform, actor, challenge, form, link)


def _back(challenge: str) -> Response:
    return RedirectResponse(HERE.format(challenge=quote(challenge)), status_code=303)


@router.post(HERE + "/invitations/{invitation_key}/revoke", dependencies=[requires(Action.NAME_ORGANISERS)])
@marked(done="The invitation is revoked.")
def revoke(platform: ThePlatform, actor: CurrentActor, challenge: str, invitation_key: str) -> Response:
    """Revoke a link that has not been used."""
    roles.revoke_invitation(platform, actor, challenge, invitation_key)
    return _back(challenge)


@router.post(HERE + "/leave", dependencies=[requires(Action.READ_PEOPLE)])
@marked(done="You have left the organisers of the challenge.")
def leave(platform: ThePlatform, actor: CurrentActor, challenge: str) -> Response:
    """Leave the people of a challenge."""
    roles.leave(platform, actor, challenge)
    return RedirectResponse("/", status_code=303)


@router.post(HERE + "/{user_id}/role", dependencies=[requires(Action.OWN)])
@marked(done="The role is changed.")
def set_role(
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    user_id: int,
    new: Annotated[NewRole, FormField()],
) -> Response:
    """Change the role of somebody."""
    roles.set_role(platform, actor, challenge, user_id, new.role)
    return _back(challenge)


@router.post(HERE + "/{user_id}/remove", dependencies=[requires(Action.OWN)])
@marked(done="The person is removed.")
def remove(platform: ThePlatform, actor: CurrentActor, challenge: str, user_id: int) -> Response:
    """Remove somebody from the people of a challenge."""
    roles.remove_organiser(platform, actor, challenge, user_id)
    return _back(challenge)
