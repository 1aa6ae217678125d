"""The settings of the whole site, as admins change them in the browser."""

import io
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Annotated, Final, Literal

from PIL import Image
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from sqlalchemy import func, select
from sqlalchemy.orm import Session, undefer

from app.challenges.texts import Lines
from app.core import audit
from app.core.access import Actor
from app.core.errors import ConflictError, FieldsError, NotFoundError
from app.core.names import Visible, folded, is_mail_address
from app.core.settings import Registration
from app.core.site import NAME, FooterLink, accent_style, checked_accent
from app.models import CreationRule, Site
from app.platform import Platform
from app.web.markdown import LONGEST

FIELDS: Final = (
    "name",
    "tagline",
    "creation",
    "registration",
    "accent",
    "contact",
    "links",
    "imprint",
    "privacy",
)
LARGEST_LOGO: Final = 512 << 10  # bytes
MOST_PIXELS: Final = 4_000_000
LOGO_SIZE: Final = (480, 96)  # at most, in pixels
LOGO_FORMATS: Final = ("PNG", "WEBP", "JPEG")
NOT_AN_IMAGE: Final = "must be a PNG, WebP or JPEG image"


def _address_or_none(text: str) -> str:
    if text and not is_mail_address(folded(text)):
        raise ValueError("is not an e-mail address, such as name@example.org")
    return text


ContactAddress = Annotated[str, Field(max_length=254), AfterValidator(_address_or_none)]


class NewLink(BaseModel):
    """A link in the footer."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    title: Annotated[str, Field(min_length=1, max_length=60), Visible]
    address: Annotated[str, Field(max_length=300, pattern=r"^https://[^\s\"<>\\]+$")]


class NewSite(BaseModel):
    """All settings of the site but its logo."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    name: Annotated[str, Field(min_length=2, max_length=40), Visible] = NAME
    tagline: Annotated[str, Field(max_length=300, description="a sentence on the home page")] = ""
    creation: Annotated[CreationRule, Field(description="who may create challenges")] = CreationRule.ADMINS
    registration: Annotated[
        Registration | Literal[""],
        Field(description="who may create an account; empty: as the server was started"),
    ] = ""
    accent: Annotated[
        str,
        Field(description="a colour such as #2456d6; empty for the usual one"),
        AfterValidator(checked_accent),
    ] = ""
    contact: ContactAddress = ""
    links: Annotated[tuple[NewLink, ...], Field(max_length=8, description="in the footer")] = ()
    imprint: Annotated[Lines, Field(max_length=LONGEST, description="Markdown")] = ""
    privacy: Annotated[Lines, Field(max_length=LONGEST, description="Markdown")] = ""
    version: Annotated[
        int, Field(ge=0, le=2**31 - 1, description="the version that was edited; 0 if there was none")
    ] = 0


@dataclass(frozen=True, slots=True)
class SiteSheet:
    """The settings of the site, as admins see them. version: 0 if nothing was set yet."""

    version: int = 0
    name: str = NAME
    accent: str = ""
    contact: str = ""
    links: tuple[FooterLink, ...] = ()
    imprint: str = ""
    privacy: str = ""
    logo: str = ""
    tagline: str = ""
    creation: CreationRule = CreationRule.ADMINS
    registration: str = ""


def sheet(platform: Platform) -> SiteSheet:
    """Return the settings of the site."""
    with platform.transaction() as session:
        row = session.get(Site, 1)
        return _sheet(row) if row else SiteSheet()


def is_registration_fixed(platform: Platform) -> bool:
    """Whether the environment decides who may create an account."""
    return "registration" in platform.settings.model_fields_set


def _sheet(row: Site) -> SiteSheet:
    links = tuple(FooterLink(each["title"], each["address"]) for each in row.links)
    return SiteSheet(
        row.version,
        row.name,
        row.accent,
        row.contact,
        links,
        row.imprint,
        row.privacy,
        row.logo_digest,
        row.tagline,
        row.creation,
        row.registration,
    )


def _stored(session: Session) -> Site:
    """Return the row of the site, which is new and not yet stored if there is none, locked until the end of the transaction."""
    session.execute(select(func.pg_advisory_xact_lock(int.from_bytes(b"site"))))
    row = session.get(Site, 1)
    if row is None:
        row = Site(
            id=1,
            version=0,
            name=NAME,
            tagline="",
            creation=CreationRule.ADMINS,
            registration="",
            accent="",
            contact="",
            links=[],
            imprint="",
            privacy="",
            logo_digest="",
        )
    return row


def change(platform: Platform, actor: Actor, new: NewSite) -> None:
    """Set the settings of the site; the same ones change nothing.

    Raises ConflictError if somebody has changed them since the version that was edited.
    """
    with platform.transaction() as session:
        row = _stored(session)
        wanted = new.model_dump(include=set(FIELDS), mode="json")
        before = {name: getattr(row, name) for name in FIELDS}
        changed = [name for name in FIELDS if before[name] != wanted[name]]
        if not changed:
            return
        if new.version != row.version:
            message = "Another admin has changed these settings after you had opened them. Nothing of yours was saved"
            raise ConflictError(message)
        for name in changed:
            setattr(row, name, wanted[name])
        short = [name for name in changed if name not in ("imprint", "privacy")]
        _record(
            session,
            actor,
            row,
            changed,
            {name: before[name] for name in short},
            {name: wanted[name] for name in short},
        )
    _expire(platform)


def set_logo(platform: Platform, actor: Actor, data: bytes | None) -> None:
    """Set the logo, rewritten as a PNG of at most 480 by 96 pixels, or remove it. Raises MalformedError."""
    logo = logo_png(data) if data is not None else None
    with platform.transaction() as session:
        row = _stored(session)
        row.logo, row.logo_digest = logo, sha256(logo).hexdigest()[:16] if logo else ""
        _record(session, actor, row, ["logo"], {}, {"logo": row.logo_digest})
    _expire(platform)


def _record(
    session: Session,
    actor: Actor,
    row: Site,
    changed: list[str],
    before: dict[str, object],
    after: dict[str, object],
) -> None:
    session.add(row)
    row.version += 1
    row.changed_at, row.changed_by = func.clock_timestamp(), actor.user_id
    details = {"changed": changed, "version": row.version}
    audit.record(session, actor.user_id, "site.change", "site 1", before=before, after=after, details=details)


def _expire(platform: Platform) -> None:
    platform.cache.expire_versions()
    platform.cache.expire_versions("site")


def logo_png(data: bytes) -> bytes:
    """Rewrite an image as a PNG without its metadata. Raises MalformedError."""
    if len(data) > LARGEST_LOGO:
        raise FieldsError({"logo": f"must have at most {LARGEST_LOGO >> 10} KiB"})
    try:
        with Image.open(io.BytesIO(data), formats=LOGO_FORMATS) as image:
            if image.width * image.height > MOST_PIXELS:
                raise FieldsError({"logo": f"must have at most {MOST_PIXELS:,} pixels"})
            picture = image.convert("RGBA")
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise FieldsError({"logo": NOT_AN_IMAGE}) from error
    picture.thumbnail(LOGO_SIZE)
    written = io.BytesIO()
    picture.save(written, "PNG", optimize=True)
    return written.getvalue()


def logo(platform: Platform) -> bytes:
    """Return the logo as a PNG. Raises NotFoundError if there is none."""
    with platform.transaction() as session:
        row = session.get(Site, 1, options=[undefer(Site.logo)])
        if row is None or row.logo is None:
            raise NotFoundError("this site has no logo")
        return row.logo


def accent_css(platform: Platform) -> str:
    """Return the style sheet of the accent colour, empty if the usual one is used."""
    accent = platform.site().accent
    return accent_style(accent) if accent else ""


def legal_text(platform: Platform, kind: str) -> str:
    """Return the imprint or the privacy notice, Markdown. Raises NotFoundError if it was not written."""
    found = sheet(platform)
    text = {"imprint": found.imprint, "privacy": found.privacy}[kind]
    if not text:
        raise NotFoundError(f"this site has no page {kind!r}")
    return text


def as_plain(found: SiteSheet) -> dict[str, object]:
    """Return the settings of the form: links as lines of title and address."""
    lines = "\n".join(f"{link.title} {link.address}" for link in found.links)
    return asdict(found) | {"links": lines}
