"""What admins set about the whole site: its name, logo, accent colour, contact, footer links and legal texts."""

import re
from dataclasses import dataclass
from typing import Final

from sqlalchemy.orm import Session

from app.models import Site

NAME: Final = "Heldout"  # until an admin chooses another
COLOUR: Final = re.compile("#[0-9a-f]{6}")
ENOUGH: Final = 4.5  # contrast of text, WCAG 2.2, 1.4.3
LIGHT, DARK = "#ffffff", "#161b22"  # surfaces of the style sheet
INK: Final = "#0b1226"  # dark text on the accent
SOFT: Final = 0.1  # of the accent in the background of notes and badges


@dataclass(frozen=True, slots=True)
class FooterLink:
    """A link in the footer."""

    title: str
    address: str


@dataclass(frozen=True, slots=True)
class SiteView:
    """What every page needs of the site's settings. logo: the digest of its image, empty if there is none."""

    name: str = NAME
    version: int = 0
    accent: str = ""
    contact: str = ""
    links: tuple[FooterLink, ...] = ()
    has_imprint: bool = False
    has_privacy: bool = False
    logo: str = ""
    tagline: str = ""
    registration: str | None = None  # as admins chose; None: as the server was started


@dataclass(frozen=True, slots=True)
class ServiceLine:
    """What every page says of the state of the service. look: of `marks.html`; details: what else the submit page says."""

    look: str
    words: str
    details: str = ""


def load_site(session: Session) -> SiteView:
    """Return the settings of the site, by default those of a new installation."""
    site = session.get(Site, 1)
    if site is None:
        return SiteView()
    return SiteView(
        name=site.name,
        version=site.version,
        accent=site.accent,
        contact=site.contact,
        links=tuple(FooterLink(each["title"], each["address"]) for each in site.links),
        has_imprint=bool(site.imprint),
        has_privacy=bool(site.privacy),
        logo=site.logo_digest,
        tagline=site.tagline,
        registration=site.registration or None,
    )


Colour = tuple[float, float, float]  # red, green and blue in [0, 1]


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours as WCAG 2.2 defines it, from 1 to 21.

    >>> contrast("#ffffff", "#000000"), round(contrast("#2456d6", "#ffffff"), 1)
    (21.0, 6.2)
    """
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in _parts(colour)
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _parts(colour: str) -> Colour:
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return red, green, blue


def mixed(colour: str, other: str, share: float) -> str:
    """Mix two colours; share: of the first.

    >>> mixed("#ffffff", "#000000", 0.5)
    '#808080'
    """
    pairs = zip(_parts(colour), _parts(other), strict=True)
    return "#" + "".join(f"{round(255 * (share * one + (1 - share) * two)):02x}" for one, two in pairs)


def checked_accent(colour: str) -> str:
    """Return an accent colour in the form "#2456d6", or an empty string.

    Raises ValueError unless text in this colour can be read on the light pages.
    """
    colour = colour.lower()
    if not colour:
        return ""
    if COLOUR.fullmatch(colour) is None:
        raise ValueError("must be a colour such as #2456d6")
    found = min(contrast(colour, LIGHT), contrast(colour, mixed(colour, LIGHT, SOFT)))
    if found < ENOUGH:
        raise ValueError(f"is too light: its contrast with the page is {found:.1f}, and text needs {ENOUGH}")
    return colour


def accent_style(accent: str) -> str:
    """Return the style sheet of an accent colour; on dark pages it is lightened until text in it can be read.

    >>> print(accent_style("#2456d6").splitlines()[1].strip())
    --accent: light-dark(#2456d6, #7393e5);
    """
    share, dark = 1.0, accent
    while min(contrast(dark, DARK), contrast(dark, mixed(dark, DARK, SOFT))) < ENOUGH + 0.5:
        share -= 0.02
        dark = mixed(accent, LIGHT, share)
    on_dark = max(INK, LIGHT, key=lambda text: contrast(text, dark))
    soft = mixed(accent, LIGHT, SOFT), mixed(dark, DARK, SOFT)
    return (
        ":root {\n"
        f"    --accent: light-dark({accent}, {dark});\n"
        f"    --accent-soft: light-dark({soft[0]}, {soft[1]});\n"
        f"    --on-accent: light-dark(#ffffff, {on_dark});\n"
        "}\n"
    )
