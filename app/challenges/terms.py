"""Terms of challenges, their acceptance, and what else a person must do before submitting."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated
from urllib.parse import quote

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from sqlalchemy import and_, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.challenges import challenges
from app.challenges.challenges import PhaseView
from app.core import audit
from app.core.access import Actor, require_challenge
from app.core.errors import (
    AddressNotConfirmed,
    ConflictError,
    NotFoundError,
    Refusal,
    TeamNotApproved,
    TeamSuspended,
    TermsNotAccepted,
)
from app.jobs import events
from app.models import Challenge, EventKind, Terms, TermsAcceptance
from app.people import teams
from app.people.teams import TeamStatus, scoring_refusals, upload_refusals
from app.platform import Platform

SHORTEST = 20  # characters of terms
LONGEST = 50_000


@dataclass(frozen=True, slots=True)
class TermsView:
    """The current terms of a challenge, and when the reader accepted them."""

    id: int
    challenge_id: int
    challenge: str
    challenge_title: str
    version: int
    text: str
    set_at: datetime
    accepted_at: datetime | None


@dataclass(frozen=True, slots=True)
class RequiredStep:
    """A step that a person must take before submitting, and the page for it."""

    title: str
    reason: str
    address: str


def _long_enough_or_none(text: str) -> str:
    if 0 < len(text) < SHORTEST:
        raise ValueError(f"must have at least {SHORTEST} characters, or none")
    return text


class NewTerms(BaseModel):
    """The form for terms."""

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True, frozen=True)

    text: Annotated[
        str, Field(max_length=LONGEST, pattern="^[^\0]*$"), AfterValidator(_long_enough_or_none)
    ]  # an empty text removes the terms


class Accepted(BaseModel):
    """The terms of a challenge, as the API returns them."""

    challenge: str
    version: int
    text: str
    set_at: datetime
    accepted_at: Annotated[
        datetime | None, Field(description="by you; null if you have not accepted them or are not logged in")
    ]
    accept_at: Annotated[str, Field(description="the page where a person accepts them")]


def address_refusals(actor: Actor, phase: PhaseView) -> Iterable[Refusal]:
    """Yield a refusal if a phase's annotation is hidden and the person's address is not confirmed."""
    if phase.is_held_out and not actor.is_verified:
        message = (
            "confirm your e-mail address before you submit to a phase whose annotation is hidden; "
            "the page /account/address says how"
        )
        yield AddressNotConfirmed(message)


def terms_refusals(actor: Actor, terms: TermsView | None) -> Iterable[Refusal]:
    """Yield a refusal if the current terms are not accepted. Organisers need not accept their own."""
    if terms is not None and terms.accepted_at is None and not actor.organises_challenge(terms.challenge_id):
        message = (
            f"accept version {terms.version} of the terms of {terms.challenge} first; "
            f"they are at /challenges/{terms.challenge}/terms"
        )
        yield TermsNotAccepted(message)


def required_step(refusal: Refusal, phase: PhaseView, here: str) -> RequiredStep:
    """Return the step that resolves a refusal. here: the page it is shown on, to which accepting the terms returns."""
    if isinstance(refusal, TermsNotAccepted):
        return RequiredStep(
            "Accept the terms",
            f"of {phase.challenge_title}, in their current version",
            f"/challenges/{phase.challenge}/terms?next={quote(here)}",
        )
    if isinstance(refusal, TeamSuspended | TeamNotApproved):
        return RequiredStep("Ask the organisers", refusal.message, f"/challenges/{phase.challenge}/ask")
    return RequiredStep(
        "Confirm your e-mail address",
        f"the annotation of {phase.image_set} is hidden",
        f"/account/address?next={quote(here)}",
    )


def current_terms(session: Session, code: str, user_id: int | None) -> TermsView | None:
    """Return the current terms of a challenge and when this person accepted them; None if there are no terms now."""
    newest = newest_terms(session, code, user_id)
    return newest if newest is not None and newest.text else None


def newest_terms(session: Session, code: str, user_id: int | None) -> TermsView | None:
    """Return the last version of a challenge's terms, whose text is empty if they were removed."""
    accepted = and_(TermsAcceptance.terms_id == Terms.id, TermsAcceptance.user_id == user_id)
    statement = (
        select(Terms, Challenge, TermsAcceptance.accepted_at)
        .join(Challenge, Challenge.id == Terms.challenge_id)
        .outerjoin(TermsAcceptance, accepted)
        .where(Challenge.code == code)
        .order_by(Terms.version.desc())
        .limit(1)
    )
    row = session.execute(statement).one_or_none()
    return _view(*row) if row else None


def _view(terms: Terms, challenge: Challenge, accepted_at: datetime | None) -> TermsView:
    return TermsView(
        id=terms.id,
        challenge_id=challenge.id,
        challenge=challenge.code,
        challenge_title=challenge.title,
        version=terms.version,
        text=terms.text,
        set_at=terms.set_at,
        accepted_at=accepted_at,
    )


def insert_acceptance(session: Session, user_id: int, code: str, version: int) -> bool:
    """Record that a person accepts a version, and return whether it is the newest. The first acceptance keeps its date."""
    newest = select(func.max(Terms.version)).join(Challenge).where(Challenge.code == code).scalar_subquery()
    statement = select(Terms.id).join(Challenge)
    statement = statement.where(Challenge.code == code, Terms.version == newest, Terms.text != "")
    terms_id = session.scalar(statement.where(Terms.version == version))
    if terms_id is None:
        return False
    row = insert(TermsAcceptance).values(user_id=user_id, terms_id=terms_id)
    session.execute(row.on_conflict_do_nothing())
    return True


def submission_refusals(session: Session, actor: Actor, phase: PhaseView) -> tuple[Refusal, ...]:
    """Return every reason to refuse results that concerns the person or their team."""
    terms = current_terms(session, phase.challenge, actor.user_id)
    return (
        *address_refusals(actor, phase),
        *terms_refusals(actor, terms),
        *scoring_refusals(_team(session, actor, phase), is_held_out=phase.is_held_out),
    )


def _team(session: Session, actor: Actor, phase: PhaseView) -> TeamStatus | None:
    return teams.team_status(session, teams.team_of(session, actor, phase.challenge_id))


def refusals_of_upload(session: Session, actor: Actor, phase: PhaseView) -> tuple[Refusal, ...]:
    """Return every reason to refuse an upload that concerns the person or their team."""
    return (*address_refusals(actor, phase), *upload_refusals(_team(session, actor, phase)))


def terms_page(platform: Platform, actor: Actor, code: str) -> TermsView:
    """Return the terms of a challenge. Raises NotFoundError if it has none."""
    with platform.transaction() as session:
        terms = current_terms(session, code, actor.user_id)
    if terms is None:
        raise NotFoundError(f"the challenge {code!r} has no terms")
    return terms


def accept(platform: Platform, actor: Actor, code: str, version: int) -> None:
    """Record that a person accepts the terms.

    Raises ConflictError if the version is not the newest, so that nobody accepts what they have not read.
    """
    assert actor.user_id is not None
    with platform.transaction() as session:
        if not insert_acceptance(session, actor.user_id, code, version):
            raise ConflictError("these terms have been replaced; read the new version, then accept it")


def editable_terms(platform: Platform, actor: Actor, code: str) -> tuple[str, TermsView | None]:
    """Return the title and last terms of a challenge that this person organises. Raises NotFoundError, ForbiddenError."""
    with platform.transaction() as session:
        challenge = require_challenge(session, actor, code)
        return challenge.title, newest_terms(session, code, actor.user_id)


def set_terms(platform: Platform, actor: Actor, code: str, new: NewTerms) -> int:
    """Set a challenge's terms, which everyone must accept before their next submission. Return the version.

    An empty text removes the terms; the same text changes nothing. Raises NotFoundError, ForbiddenError.
    """
    with platform.transaction() as session:
        challenge = require_challenge(session, actor, code, lock=True)
        return replace_terms(session, actor, challenge, new)


def replace_terms(session: Session, actor: Actor, challenge: Challenge, new: NewTerms) -> int:
    """Set the terms of a locked challenge as `set_terms` does, in the transaction of the caller."""
    before = newest_terms(session, challenge.code, None)
    if (before.text if before else "") == new.text:
        return before.version if before else 0
    version = before.version + 1 if before else 1
    session.add(Terms(challenge_id=challenge.id, version=version, text=new.text, set_by=actor.user_id))
    audit.record(
        session,
        actor.user_id,
        "terms.set",
        f"challenge {challenge.id}",
        challenge_id=challenge.id,
        before={"version": before.version if before else None},
        after={"version": version},
    )
    if challenges.is_announced(session, challenge.id):
        events.record(
            session,
            EventKind.TERMS_CHANGED,
            challenge_id=challenge.id,
            version=version,
            has_text=bool(new.text),
        )
    return version
