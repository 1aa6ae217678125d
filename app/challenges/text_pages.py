"""HTML pages: what organisers write about their challenge, with a preview, and the address of the organisers."""

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from app.challenges import texts
from app.challenges.texts import NewTexts
from app.core.access import Action, Actor
from app.core.rate_limits import Limited
from app.platform import Platform
from app.web.dependencies import CurrentActor, ThePlatform, limited, render, requires
from app.web.forms import Form, TheForm
from app.web.markdown import foreign_images
from app.web.route_marks import marked

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
@marked(done="The texts are saved.")
def set_texts(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, form: TheForm
) -> Response:
    """Save the texts of a challenge, or show a preview of them."""
    with form.showing_errors():
        new = form.read(NewTexts)
        if form.text("preview"):
            return _form(request, platform, actor, challenge, form, preview=new)
        texts.set_texts(platform, actor, challenge, new)
        if foreign_images(new.markdown, challenge):
            return RedirectResponse(
                f"/organise/challenges/{challenge}/page", status_code=303
            )  # which says so
        return RedirectResponse(f"/challenges/{challenge}", status_code=303)
    return _form(request, platform, actor, challenge, form)


def _form(
    request: Request,
    platform: Platform,
    actor: Actor,
    challenge: str,
    form: Form | None,
    *,
    preview: NewTexts | None = None,
) -> Response:
    """Show what was typed, by default what is saved.

    A refused form carries the newest version: its next submission replaces the text of the other organiser, which it shows.
    """
    sheet = texts.editable_texts(platform, actor, challenge)
    stored = {name: getattr(sheet, name) for name in NewTexts.model_fields}
    form = form or Form(stored)
    theirs = {}
    if form.refused:
        form.values["version"] = sheet.version
        theirs = {name: stored[name] for name in texts.FIELDS if stored[name] != _plain(form.values[name])}
    return render(request, "texts/edit.html", sheet=sheet, form=form, preview=preview, theirs=theirs)


def _plain(text: str) -> str:
    """Return a text as it is stored: browsers send lines that end with CR LF."""
    return text.strip().replace("\r\n", "\n")
