"""The links that make organisers and admins."""

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from app.access import Action
from app.roles import service
from app.web import CurrentActor, ThePlatform, render, requires

router = APIRouter()


@router.get("/role-links/{token}", dependencies=[requires(Action.REGISTER)])
def role_link(request: Request, platform: ThePlatform, token: str) -> Response:
    """Ask before the link is used."""
    link = service.usable_link(platform, token)
    return render(request, "roles/link.html", token=token, link=link)


@router.post("/role-links/{token}", dependencies=[requires(Action.MANAGE_ACCOUNT)])
def take_role(request: Request, platform: ThePlatform, actor: CurrentActor, token: str) -> Response:
    """Use the link."""
    if actor.user_id is None or not service.use_link(platform, token, actor.user_id):
        return render(request, "roles/link.html", code=410, token=token, link=None)
    return RedirectResponse("/organise", status_code=303)
