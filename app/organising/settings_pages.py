"""HTML pages: the settings of an open challenge, archiving it, and deleting it."""

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response

from app.core.access import Action, Actor
from app.core.rate_limits import Limited
from app.models import ChallengeVisibility
from app.organising import deleting, settings
from app.organising.deleting import Confirmation
from app.organising.settings import FIELDS, NewSettings
from app.platform import Platform
from app.web.dependencies import (
    CurrentActor,
    ThePlatform,
    limited,
    recently_logged_in,
    render,
    requires,
)
from app.web.forms import Form, TheForm
from app.web.route_marks import marked

router = APIRouter(prefix="/organise/challenges/{challenge}")
ORGANISE, OWN = requires(Action.ORGANISE), requires(Action.OWN)

Saved = Annotated[bool, Query(description="whether the settings were just changed")]


@router.get("/settings", dependencies=[ORGANISE])
def page(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    saved: Saved = False,  # noqa: FBT002
) -> Response:
    """Show the settings of a challenge with the forms that change them; those of a draft are in its steps."""
    return _page(request, platform, actor, challenge, Form(), saved=saved)


def _page(
    request: Request, platform: Platform, actor: Actor, challenge: str, form: Form, *, saved: bool = False
) -> Response:
    """Show what was typed, by default what is stored.

    A refused form carries the newest version: its next submission replaces what the other organiser wrote, which it shows.
    """
    view = settings.settings_page(platform, actor, challenge)
    if view.visibility is ChallengeVisibility.DRAFT:
        return RedirectResponse(f"/organise/new/{quote(challenge)}/what", status_code=303)
    stored = {name: getattr(view, name) for name in FIELDS}
    form.fill(stored | {"version": view.version})
    theirs = {}
    if form.refused:
        form.values["version"] = view.version
        theirs = {
            name: text
            for name, text in stored.items()
            if text != form.values[name].strip().replace("\r\n", "\n")
        }
    kept = deleting.refusals(platform, actor, challenge) if view.is_owner else ()
    return render(
        request, "organisers/settings.html", view=view, form=form, theirs=theirs, saved=saved, kept=kept
    )


@router.post("/settings", dependencies=[ORGANISE, limited(Limited.CHANGE)])
def change(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, form: TheForm
) -> Response:
    """Change the settings of a challenge."""
    with form.showing_errors():
        tagline = " ".join(form.text("tagline").split())  # its field has several lines
        settings.change(platform, actor, challenge, form.read(NewSettings, tagline=tagline))
        return RedirectResponse(f"/organise/challenges/{quote(challenge)}/settings?saved=1", status_code=303)
    return _page(request, platform, actor, challenge, form)


@router.post("/archive", dependencies=[OWN])
@marked(done="The challenge is archived.")
def archive(platform: ThePlatform, actor: CurrentActor, challenge: str) -> Response:
    """Archive a challenge."""
    settings.archive(platform, actor, challenge)
    return RedirectResponse(f"/organise/challenges/{quote(challenge)}/settings#archive", status_code=303)


@router.post("/take-back", dependencies=[OWN])
@marked(done="The challenge is no longer archived.")
def take_back(platform: ThePlatform, actor: CurrentActor, challenge: str) -> Response:
    """Take a challenge back that was archived."""
    settings.take_back(platform, actor, challenge)
    return RedirectResponse(f"/organise/challenges/{quote(challenge)}/settings#archive", status_code=303)


@router.get("/delete", dependencies=[OWN])
def ask_to_delete(request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str) -> Response:
    """Say what deleting a challenge would delete, with the form that does it."""
    return _deletion(request, platform, actor, challenge, Form())


@router.post("/delete", dependencies=[OWN, recently_logged_in(), limited(Limited.CHANGE)])
@marked(done="The challenge is deleted.")
def delete(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, form: TheForm
) -> Response:
    """Delete a challenge to which only its organisers submitted."""
    with form.showing_errors():
        deleting.delete_challenge(platform, actor, challenge, form.read(Confirmation))
        return RedirectResponse("/organise", status_code=303)
    return _deletion(request, platform, actor, challenge, form)


def _deletion(request: Request, platform: Platform, actor: Actor, challenge: str, form: Form) -> Response:
    plan = deleting.plan(platform, actor, challenge)
    return render(request, "organisers/delete.html", plan=plan, form=form)
