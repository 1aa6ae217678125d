"""What organisers write about their challenge: tagline, overview, rules, organisers, contact and citation."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.challenges import challenges
from app.core import audit
from app.core.access import Actor, require_challenge
from app.core.errors import ConflictError, NotFoundError
from app.core.names import folded, is_mail_address
from app.models import Challenge, ChallengePage, User
from app.platform import Platform
from app.web.markdown import LONGEST
from app.web.zones import MINUTE

FIELDS: Final = ("tagline", "overview", "rules", "organisers", "contact", "citation")
NO_NULLS: Final = "^[^\0]*$"
ENTRY: Final = re.compile(r"@\w+\s*\{\s*[^\s,{}]+\s*,.*\}", re.DOTALL)  # @article{key, …}


@dataclass(frozen=True, slots=True)
class ChallengeTexts:
    """The public texts of a challenge. overview, rules, organisers: Markdown; citation: BibTeX; empty if there is none."""

    tagline: str = ""
    overview: str = ""
    rules: str = ""
    organisers: str = ""
    citation: str = ""
    has_contact: bool = False  # the address itself is not for programs


@dataclass(frozen=True, slots=True)
class TextSheet:
    """The texts of a challenge for its organisers. version: 0 if nothing was written yet."""

    challenge: str
    title: str
    version: int
    tagline: str = ""
    overview: str = ""
    rules: str = ""
    organisers: str = ""
    contact: str = ""
    citation: str = ""
    changed_at: datetime | None = None
    changed_by: str | None = None


def _address_or_none(text: str) -> str:
    if text and not is_mail_address(folded(text)):
        raise ValueError("is not an e-mail address, such as name@example.org")
    return text


def _entry_or_none(text: str) -> str:
    if text and (ENTRY.fullmatch(text) is None or text.count("{") != text.count("}")):
        raise ValueError("is not a BibTeX entry, such as @article{key, title = {Title}}")
    return text


def _with_plain_line_ends(text: object) -> object:
    return text.replace("\r\n", "\n") if isinstance(text, str) else text  # as browsers send them


Lines = Annotated[str, BeforeValidator(_with_plain_line_ends), Field(pattern=NO_NULLS)]


Tagline = Annotated[str, Field(max_length=160, pattern="^[^\0\r\n]*$", description="one sentence")]
Contact = Annotated[
    str,
    Field(max_length=254, description="an e-mail address, shown on request"),
    AfterValidator(_address_or_none),
]
Citation = Annotated[
    Lines,
    Field(max_length=5000, description="BibTeX entry of the challenge's paper"),
    AfterValidator(_entry_or_none),
]


class LongTexts(BaseModel):
    """The texts that tell of nobody how to reach them; the tagline stands with the title."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    overview: Annotated[Lines, Field(max_length=LONGEST, description="Markdown")] = ""
    rules: Annotated[
        Lines,
        Field(max_length=LONGEST, description="Markdown, after what the server knows itself"),
    ] = ""
    organisers: Annotated[Lines, Field(max_length=2000, description="who they are, Markdown")] = ""
    citation: Citation = ""


class NewTexts(LongTexts):
    """All texts of a challenge; an empty one is not shown."""

    tagline: Tagline = ""
    contact: Contact = ""
    version: Annotated[
        int, Field(ge=0, le=2**31 - 1, description="the version that was edited; 0 if there was none")
    ] = 0

    @property
    def markdown(self) -> tuple[str, ...]:
        """The texts that are Markdown."""
        return self.overview, self.rules, self.organisers


def texts_of(session: Session, challenge_id: int) -> ChallengeTexts:
    """Return the public texts of a challenge."""
    page = session.get(ChallengePage, challenge_id)
    if page is None:
        return ChallengeTexts()
    return ChallengeTexts(
        page.tagline, page.overview, page.rules, page.organisers, page.citation, bool(page.contact)
    )


def taglines(session: Session) -> Mapping[str, str]:
    """Return the taglines of all challenges that have one, by the code of the challenge."""
    statement = select(Challenge.code, ChallengePage.tagline).join(Challenge)
    return dict(session.execute(statement.where(ChallengePage.tagline != "")).all())


def contact(platform: Platform, code: str) -> tuple[str, str]:
    """Return the title of a challenge and the address of its organisers.

    Raises NotFoundError if it has none.
    """
    with platform.transaction() as session:
        challenge = challenges.challenge_of(session, code)
        address = contact_of(session, challenge.id) if challenge else ""
    if challenge is None or not address:
        raise NotFoundError(f"the challenge {code!r} has no contact")
    return challenge.title, address


def contact_of(session: Session, challenge_id: int) -> str:
    """Return the address of a challenge's organisers, empty if there is none."""
    return (
        session.scalar(select(ChallengePage.contact).where(ChallengePage.challenge_id == challenge_id)) or ""
    )


def editable_texts(platform: Platform, actor: Actor, code: str) -> TextSheet:
    """Return the texts of a challenge that this person organises. Raises NotFoundError, ForbiddenError."""
    with platform.transaction() as session:
        challenge = require_challenge(session, actor, code)
        return sheet_of(session, challenge)


def set_tagline(session: Session, challenge_id: int, tagline: str, user_id: int | None) -> None:
    """Set the tagline of a challenge that is being created; the same changes nothing."""
    page = session.get(ChallengePage, challenge_id)
    if tagline == (page.tagline if page else ""):
        return
    if page is None:
        page = ChallengePage(challenge_id=challenge_id, version=0)
        session.add(page)
    page.tagline, page.version = tagline, page.version + 1
    page.changed_at, page.changed_by = func.clock_timestamp(), user_id


def copy(
    session: Session, source_id: int, challenge_id: int, user_id: int | None, without: Collection[str] = ()
) -> None:
    """Copy the texts of a challenge, but these fields, to one that was just created."""
    found = session.get(ChallengePage, source_id)
    if found is not None:
        fields = {field: getattr(found, field) for field in FIELDS if field not in without}
        session.merge(ChallengePage(challenge_id=challenge_id, version=1, changed_by=user_id, **fields))


def sheet_of(session: Session, challenge: Challenge) -> TextSheet:
    """Return the texts of a challenge for its organisers."""
    page = session.get(ChallengePage, challenge.id)
    if page is None:
        return TextSheet(challenge.code, challenge.title, 0)
    name = session.scalar(select(User.name).where(User.id == page.changed_by))
    texts = {field: getattr(page, field) for field in FIELDS}
    return TextSheet(
        challenge.code, challenge.title, page.version, **texts, changed_at=page.changed_at, changed_by=name
    )


def set_texts(platform: Platform, actor: Actor, code: str, new: NewTexts) -> int:
    """Set all texts of a challenge and return their version; the same texts change nothing.

    Raises NotFoundError, ForbiddenError, ConflictError if somebody has changed them since the version that was edited.
    """
    with platform.transaction() as session:
        challenge = require_challenge(session, actor, code, lock=True)
        version = replace_texts(session, actor, challenge, new)
    platform.cache.expire_versions()
    return version


def replace_texts(
    session: Session,
    actor: Actor,
    challenge: Challenge,
    new: NewTexts,
    facts: Mapping[str, str] = MappingProxyType({}),
) -> int:
    """Set the texts of a locked challenge as `set_texts` does, in the transaction of the caller.

    facts: columns of the challenge that are changed with them, under the same version.
    """
    page = session.get(ChallengePage, challenge.id)
    before = {field: getattr(page, field) if page else "" for field in FIELDS}
    before |= {name: getattr(challenge, name) for name in facts}
    after = {field: getattr(new, field) for field in FIELDS} | dict(facts)
    changed = [field for field in after if before[field] != after[field]]
    if not changed:
        return page.version if page else 0
    if new.version != (page.version if page else 0):
        raise ConflictError(_too_late(sheet_of(session, challenge)))
    if page is None:
        page = ChallengePage(challenge_id=challenge.id, version=0)
        session.add(page)
    for field in changed:
        setattr(challenge if field in facts else page, field, after[field])
    page.version += 1
    page.changed_at, page.changed_by = func.clock_timestamp(), actor.user_id
    audit.record(
        session,
        actor.user_id,
        "page.change",
        f"challenge {challenge.id}",
        challenge_id=challenge.id,
        before={"version": page.version - 1} | {name: before[name] for name in changed if name in facts},
        after={"version": page.version} | {name: after[name] for name in changed if name in facts},
        details={"changed": changed},
    )
    return page.version


def _too_late(sheet: TextSheet) -> str:
    when = f" at {sheet.changed_at:{MINUTE}}" if sheet.changed_at else ""
    return (
        f"{sheet.changed_by or 'Another organiser'} saved version {sheet.version} of these texts{when}, after you had opened "
        "them. Nothing of yours was saved"
    )
