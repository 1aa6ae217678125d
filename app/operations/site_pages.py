"""HTML pages: the settings of the site for admins; its style, logo, contact and legal texts for everybody."""

from typing import Annotated

from fastapi import APIRouter, File, Query, Request, UploadFile
from fastapi.responses import RedirectResponse, Response

from app.core.access import Action
from app.core.errors import NotFoundError
from app.core.rate_limits import Limited
from app.operations import settings_view, site, trial_mail
from app.operations.site import NewSite, SiteSheet
from app.platform import Platform
from app.web.dependencies import CurrentActor, ThePlatform, limited, platform_of_request, render, requires
from app.web.forms import Form, TheForm
from app.web.route_marks import marked

router = APIRouter()
READ, MANAGE = requires(Action.READ_PUBLIC), requires(Action.MANAGE_SITE)
CACHED = {"Cache-Control": "public, max-age=31536000, immutable"}  # their addresses name a version


@router.get("/site/accent.css", dependencies=[READ])
@marked(in_views=True)
def accent(platform: ThePlatform) -> Response:
    """Serve the accent colour of the site as a style sheet."""
    return Response(site.accent_css(platform), media_type="text/css", headers=CACHED)


@router.get("/site/logo.png", dependencies=[READ])
@marked(in_views=True)
def logo(platform: ThePlatform) -> Response:
    """Serve the logo of the site."""
    return Response(site.logo(platform), media_type="image/png", headers=CACHED)


@router.get("/imprint", dependencies=[READ])
def imprint(request: Request, platform: ThePlatform) -> Response:
    """Show who runs the site."""
    return _legal(request, platform, "imprint", "Imprint")


@router.get("/privacy", dependencies=[READ])
def privacy(request: Request, platform: ThePlatform) -> Response:
    """Show the privacy notice."""
    return _legal(request, platform, "privacy", "Privacy notice")


def _legal(request: Request, platform: Platform, kind: str, title: str) -> Response:
    return render(request, "site/legal.html", title=title, text=site.legal_text(platform, kind))


@router.get("/contact", dependencies=[READ])
def contact(request: Request, platform: ThePlatform, actor: CurrentActor) -> Response:
    """Show the address of the site to people who are logged in, and a button that shows it to others."""
    return _contact(request, platform, shows_address=actor.is_logged_in)


@router.post("/contact", dependencies=[READ, limited(Limited.VIEW)])
def show_contact(request: Request, platform: ThePlatform) -> Response:
    """Show the address of the site to somebody who asks for it, which programs that collect addresses do not."""
    return _contact(request, platform, shows_address=True)


def _contact(request: Request, platform: Platform, *, shows_address: bool) -> Response:
    address = platform.site().contact
    if not address:
        raise NotFoundError("this site names no contact")
    return render(request, "site/contact.html", contact=address if shows_address else "")


@router.get("/admin/site", dependencies=[MANAGE])
def settings(request: Request, platform: ThePlatform) -> Response:
    """Show the settings of the site."""
    return _page(request, site.sheet(platform), Form())


@router.post("/admin/site", dependencies=[MANAGE])
@marked(done="Saved. Other processes follow within half a minute.")
def change(request: Request, platform: ThePlatform, actor: CurrentActor, form: TheForm) -> Response:
    """Change the settings of the site, or show a preview of its legal texts."""
    stored = site.sheet(platform)
    with form.showing_errors():
        creation = form.text("creation") or stored.creation.value
        new = form.read(NewSite, links=_links(form.text("links")), creation=creation)
        form.values["creation"] = creation
        if form.text("preview"):
            return _page(request, stored, form, preview=new)
        site.change(platform, actor, new)
        return RedirectResponse("/admin/site", status_code=303)
    if "links" in form.problems:
        form.problems["links"] = "must be lines such as Our lab https://example.org"
    return _page(request, stored, form)


def _links(text: str) -> list[dict[str, str]]:
    """Split lines into titles and addresses, which are their last words."""
    parts = [line.strip().rpartition(" ") for line in text.splitlines() if line.strip()]
    return [{"title": title, "address": address} for title, _, address in parts]


@router.get("/admin/settings", dependencies=[MANAGE])
def all_settings(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    query: Annotated[str, Query(alias="q", max_length=100, description="words of variables")] = "",
) -> Response:
    """Show every setting, where it is changed, and whether mail works."""
    view = settings_view.settings_view(platform)
    response = render(
        request,
        "site/all.html",
        view=view,
        groups=settings_view.with_words(view.groups, query),
        query=query,
        trial=trial_mail.view(platform, actor),
    )
    response.headers["Cache-Control"] = "no-store"
    return response


@router.post("/admin/settings/mail", dependencies=[MANAGE])
def try_mail(platform: ThePlatform, actor: CurrentActor) -> Response:
    """Send the reader a message."""
    trial_mail.send(platform, actor)
    return RedirectResponse("/admin/settings#mail", status_code=303)


@router.post("/admin/site/logo", dependencies=[MANAGE])
@marked(done="The logo is set.")
def set_logo(
    request: Request, platform: ThePlatform, actor: CurrentActor, logo: Annotated[UploadFile, File()]
) -> Response:
    """Set the logo of the site."""
    form = Form()
    with form.showing_errors():
        site.set_logo(platform, actor, logo.file.read(site.LARGEST_LOGO + 1))
        return RedirectResponse("/admin/site", status_code=303)
    return _page(request, site.sheet(platform), form)


@router.post("/admin/site/logo/remove", dependencies=[MANAGE])
@marked(done="The logo is removed.")
def remove_logo(platform: ThePlatform, actor: CurrentActor) -> Response:
    """Remove the logo of the site."""
    site.set_logo(platform, actor, None)
    return RedirectResponse("/admin/site", status_code=303)


def _page(request: Request, stored: SiteSheet, form: Form, *, preview: NewSite | None = None) -> Response:
    now = site.as_plain(stored)
    form.fill(now)
    theirs = {}
    if form.refused:
        form.values["version"] = stored.version  # the next submission replaces what this page shows of theirs
        theirs = {name: now[name] for name in site.FIELDS if now[name] != form.values[name]}
    return render(
        request,
        "site/settings.html",
        sheet=stored,
        form=form,
        registration_is_fixed=site.is_registration_fixed(platform_of_request(request)),
        preview=preview,
        theirs=theirs,
    )
