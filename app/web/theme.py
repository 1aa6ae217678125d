"""Light or dark pages: what this browser has chosen, in a cookie."""

import enum
from typing import Final

from fastapi import Request
from fastapi.responses import RedirectResponse

from app.core.caching import Splice
from app.web.addresses import page_of_form

COOKIE: Final = "heldout_theme"
SECONDS: Final = 365 * 24 * 3600
MARKER: Final = b'<html lang="en">'  # where shared pages get the theme of their reader


class Theme(enum.StrEnum):
    """The colour schemes that a reader can choose."""

    LIGHT = "light"
    DARK = "dark"
    SYSTEM = "system"


def theme_of(request: Request) -> Theme:
    """Return what this browser has chosen; by default, that of its system."""
    chosen = request.cookies.get(COOKIE, "")
    return Theme(chosen) if chosen in (Theme.LIGHT, Theme.DARK) else Theme.SYSTEM


def splices_of_theme(request: Request) -> tuple[Splice, ...]:
    """Return what turns a shared page into one of the chosen theme; nothing for most readers, who have chosen none."""
    theme = theme_of(request)
    if theme is Theme.SYSTEM:
        return ()
    return (Splice(MARKER, f'<html lang="en" data-theme="{theme}">'.encode()),)


def choose_theme(request: Request, theme: Theme, *, secure: bool) -> RedirectResponse:
    """Redirect to the page that the form was on, and remember the choice."""
    response = RedirectResponse(page_of_form(request), status_code=303)
    if theme is Theme.SYSTEM:
        response.delete_cookie(COOKIE)
    else:
        response.set_cookie(COOKIE, theme, max_age=SECONDS, httponly=True, samesite="lax", secure=secure)
    return response
