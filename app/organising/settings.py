"""What organisers change of a challenge that is open, on one page; what other pages change is named there with its value."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.orm import Session

from app.challenges import challenges, kits, news, pictures_from, terms, texts
from app.challenges.challenges import PhaseView
from app.challenges.pictures_from import ParticipantsPictures
from app.challenges.texts import Citation, Contact, NewTexts, Tagline
from app.core import audit
from app.core.access import Action, Actor, require_challenge
from app.core.errors import ConflictError
from app.models import Challenge, ChallengeVisibility
from app.organising.draft_rules import Licence, Title
from app.platform import Platform

COLUMNS: Final = ("title", "image_licence", "annotation_licence")  # the others are texts of the challenge
FIELDS: Final = (*COLUMNS, "tagline", "contact", "citation")
DRAFT: Final = "This challenge is a draft; change it in its steps"
ARCHIVED_NEWS: Final = (
    "This challenge is archived",
    "It accepts no more uploads, submissions and changes of teams. Its pages, leaderboards and data stay at their addresses.",
)
TAKEN_BACK_NEWS: Final = (
    "This challenge is no longer archived",
    "Its phases accept submissions again as their dates say.",
)


class NewSettings(BaseModel):
    """What the page of settings changes."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    title: Title
    tagline: Tagline = ""
    image_licence: Licence = ""
    annotation_licence: Licence = ""
    contact: Contact = ""
    citation: Citation = ""
    version: int = Field(ge=0, le=2**31 - 1, description="the version that was read; 0 if there was none")


@dataclass(frozen=True, slots=True)
class SettingsView:
    """The settings of a challenge for its organisers. version: of its texts, which counts changes here, too."""

    challenge: str
    version: int
    title: str
    tagline: str
    image_licence: str
    annotation_licence: str
    contact: str
    citation: str
    visibility: ChallengeVisibility
    approves_teams: bool
    most_members: int | None
    has_terms: bool
    pictures: ParticipantsPictures
    packed: tuple[str, ...]  # the image sets whose pictures are offered as an archive
    phases: tuple[PhaseView, ...]
    archived_at: datetime | None
    is_owner: bool


def settings_page(platform: Platform, actor: Actor, code: str) -> SettingsView:
    """Return the settings of a challenge. Raises NotFoundError, ForbiddenError."""
    with platform.snapshot() as session:
        challenge = require_challenge(session, actor, code)
        sheet = texts.sheet_of(session, challenge)
        phases = tuple(challenges.phases_of(session, code))
        return SettingsView(
            challenge=challenge.code,
            version=sheet.version,
            title=challenge.title,
            tagline=sheet.tagline,
            image_licence=challenge.image_licence,
            annotation_licence=challenge.annotation_licence,
            contact=sheet.contact,
            citation=sheet.citation,
            visibility=challenge.visibility,
            approves_teams=challenge.approves_teams,
            most_members=challenge.most_members,
            has_terms=terms.current_terms(session, code, None) is not None,
            pictures=pictures_from.answer_of(challenge),
            packed=pictures_from.packed(session, phases),
            phases=phases,
            archived_at=challenge.archived_at,
            is_owner=actor.owns_challenge(challenge.id),
        )


def change(platform: Platform, actor: Actor, code: str, new: NewSettings) -> None:
    """Change the settings of a challenge that is open; the same settings change nothing.

    Raises NotFoundError, ForbiddenError, and ConflictError for a draft or if somebody has changed its texts or settings since.
    """
    with platform.transaction() as session:
        challenge = open_challenge(session, actor, code)
        sheet = texts.sheet_of(session, challenge)
        kept = {name: getattr(sheet, name) for name in texts.FIELDS}
        written = {name: getattr(new, name) for name in FIELDS if name in kept}
        columns = {name: getattr(new, name) for name in COLUMNS}
        replaced = NewTexts.model_construct(**kept | written, version=new.version)  # all of it is valid
        texts.replace_texts(session, actor, challenge, replaced, columns)
        kits.queue_kit(session, challenge.id)  # which names title, licences and citation
    platform.cache.expire_versions()
    platform.notifier.wake_workers()


def open_challenge(session: Session, actor: Actor, code: str, action: Action = Action.ORGANISE) -> Challenge:
    """Lock a challenge that is no draft. Raises NotFoundError, ForbiddenError, ConflictError."""
    challenge = require_challenge(session, actor, code, action, lock=True)
    if challenge.visibility is ChallengeVisibility.DRAFT:
        raise ConflictError(DRAFT)
    return challenge


def archive(platform: Platform, actor: Actor, code: str) -> None:
    """Make a challenge read only and take it out of lists, and announce it; one that is archived stays as it is.

    Runs that wait are still scored. Raises NotFoundError, ForbiddenError, and ConflictError for a draft.
    """
    _set_archived(platform, actor, code, is_archived=True)


def take_back(platform: Platform, actor: Actor, code: str) -> None:
    """Let a challenge that was archived go on under its rules and dates, and announce it. Raises what `archive` raises."""
    _set_archived(platform, actor, code, is_archived=False)


def _set_archived(platform: Platform, actor: Actor, code: str, *, is_archived: bool) -> None:
    with platform.transaction() as session:
        challenge = open_challenge(session, actor, code, Action.OWN)
        if (challenge.archived_at is not None) is is_archived:
            return
        before = challenge.archived_at
        challenge.archived_at = challenges.now(session) if is_archived else None
        title, text = ARCHIVED_NEWS if is_archived else TAKEN_BACK_NEWS
        news.announce(session, challenge.id, title, text)
        audit.record(
            session, actor.user_id, "challenge.archive" if is_archived else "challenge.take_back", f"challenge {challenge.id}",
            challenge_id=challenge.id,
            before={"archived_at": before and before.isoformat()},
            after={"archived_at": challenge.archived_at and challenge.archived_at.isoformat()},
        )  # fmt: skip
    platform.cache.expire_versions()
