"""HTML pages: what organisers write about their challenge, with a preview, and the address of the organisers."""

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import ValidationError

from app.challenges import texts
from app.challenges.texts import NewTexts
from app.core.access import Action
from app.core.errors import ConflictError
from app.core.rate_limits import Limited
from app.platform import Platform
from app.web.dependencies import CurrentActor, ThePlatform, limited, render, requires
from app.web.forms import SentForm, field_errors, values_of
from app.web.markdown import foreign_images

router = APIRouter()


@router.post(
    "/challenges/{challenge}/contact", dependencies=[requires(Action.READ_PUBLIC), limited(Limited.VIEW)]
)
def contact(request: Request, platform: ThePlatform, challenge: str) -> Response:
    """Show the address of a challenge's organisers to somebody who asks for it, which programs that collect addresses do not."""
    title, address = texts.contact(platform, challenge)
    page = render(request, "texts/contact.html", challenge=challenge, title=title, contact=address)
    page.headers["Cache-Control"] = "no-store"
    return page


@router.get("/organise/challenges/{challenge}/page", dependencies=[requires(Action.ORGANISE)])
def texts_form(request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str) -> Response:
    """Show the form with the texts of a challenge."""
    return _form(request, platform, actor, challenge, None)


@router.post(
    "/organise/challenges/{challenge}/page",
    dependencies=[requires(Action.ORGANISE), limited(Limited.CHANGE)],
)
def set_texts(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, sent: SentForm
) -> Response:
    """Save the texts of a challenge, or show a preview of them."""
    form = values_of(sent, NewTexts)
    try:
        new = NewTexts.model_validate(form)
        if sent.get("preview"):
            return _form(request, platform, actor, challenge, form, preview=new)
        texts.set_texts(platform, actor, challenge, new)
    except ValidationError as error:
        return _form(request, platform, actor, challenge, form, problems=field_errors(error))
    except ConflictError as error:
        return _form(request, platform, actor, challenge, form, refused=str(error))
    if foreign_images(new.markdown, challenge):
        return RedirectResponse(f"/organise/challenges/{challenge}/page", status_code=303)  # which says so
    return RedirectResponse(f"/challenges/{challenge}", status_code=303)


def _form(
    request: Request,
    platform: Platform,
    actor: CurrentActor,
    challenge: str,
    form: Mapping[str, Any] | None,
    *,
    problems: Mapping[str, str] | None = None,
    preview: NewTexts | None = None,
    refused: str = "",
) -> Response:
    """Show what was typed, by default the texts as they are.

    A refused form carries the newest version: its next submission replaces the text of the other organiser, which it shows.
    """
    sheet = texts.editable_texts(platform, actor, challenge)
    stored = {name: getattr(sheet, name) for name in NewTexts.model_fields}
    typed = dict(form) if form is not None else stored
    if refused:
        typed["version"] = sheet.version
    theirs = {name: stored[name] for name in texts.FIELDS if refused and stored[name] != _plain(typed[name])}
    return render(
        request,
        "texts/edit.html",
        code=409 if refused else 422 if problems else 200,
        sheet=sheet,
        form=typed,
        problems=problems or {},
        preview=preview,
        refused=refused,
        theirs=theirs,
    )


def _plain(text: str) -> str:
    """Return a text as it is stored: browsers send lines that end with CR LF."""
    return text.strip().replace("\r\n", "\n")
