"""Terms of challenges, their acceptance, and what else a person needs before submitting."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from sqlalchemy import and_, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.challenges import challenges
from app.challenges.challenges import PhaseView
from app.core import audit
from app.core.access import Actor
from app.core.errors import (
    AddressNotConfirmed,
    ConflictError,
    ForbiddenError,
    NotFoundError,
    Refusal,
    TeamNotApproved,
    TeamSuspended,
    TermsNotAccepted,
)
from app.models import Disclosure, Edition, Terms, TermsAcceptance
from app.people import teams
from app.people.teams import Standing, scoring_refusals, upload_refusals
from app.platform import Platform

SHORTEST = 20  # characters of terms


@dataclass(frozen=True, slots=True)
class TermsView:
    """The terms of an edition that hold now, and when the reader accepted them."""

    id: int
    edition_id: int
    edition: str
    edition_title: str
    version: int
    text: str
    set_at: datetime
    accepted_at: datetime | None


@dataclass(frozen=True, slots=True)
class Step:
    """What a person does before their results are taken, and the page for it."""

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
        str, Field(max_length=50_000, pattern="^[^\0]*$"), AfterValidator(_long_enough_or_none)
    ]  # none: the edition has no terms any more


class Accepted(BaseModel):
    """The terms of an edition, as programs read them."""

    edition: str
    version: int
    text: str
    set_at: datetime
    accepted_at: Annotated[
        datetime | None, Field(description="by you; none: not yet, or you are not logged in")
    ]
    accept_at: Annotated[str, Field(description="the page where a person accepts them")]


def address_refusals(actor: Actor, phase: PhaseView) -> Iterable[Refusal]:
    """The reason why no results of a person are taken before their address is confirmed: where labels are hidden."""
    if phase.disclosure is not Disclosure.FULL and not actor.is_verified:
        message = (
            "confirm your e-mail address before you send results to a phase whose annotation is hidden; "
            "the page /account/address says how"
        )
        yield AddressNotConfirmed(message)


def terms_refusals(actor: Actor, terms: TermsView | None) -> Iterable[Refusal]:
    """The reason why no results are taken before the terms that hold now are accepted; organisers set them themselves."""
    if terms is not None and terms.accepted_at is None and not actor.runs(terms.edition_id):
        message = (
            f"accept version {terms.version} of the terms of {terms.edition} first; "
            f"they are at /editions/{terms.edition}/terms"
        )
        yield TermsNotAccepted(message)


def step_of(refusal: Refusal, phase: PhaseView) -> Step:
    """Where a person does what a refusal asks for."""
    if isinstance(refusal, TermsNotAccepted):
        return Step(
            "Accept the terms",
            f"of {phase.edition_title}, in their current version",
            f"/editions/{phase.edition}/terms",
        )
    if isinstance(refusal, TeamSuspended | TeamNotApproved):
        return Step("Ask the organisers", refusal.message, "/teams")
    return Step(
        "Confirm your e-mail address", f"the annotation of {phase.image_set} is hidden", "/account/address"
    )


def current_terms(session: Session, code: str, user_id: int | None) -> TermsView | None:
    """The terms of an edition, and when this person accepted them; none where there are none, or none any more."""
    newest = newest_terms(session, code, user_id)
    return newest if newest is not None and newest.text else None


def newest_terms(session: Session, code: str, user_id: int | None) -> TermsView | None:
    """The last version of an edition's terms, whose text is empty where the edition has none any more."""
    accepted = and_(TermsAcceptance.terms_id == Terms.id, TermsAcceptance.user_id == user_id)
    statement = (
        select(
            Terms.id, Edition.id, Edition.code, Edition.title, Terms.version, Terms.text, Terms.set_at,
            TermsAcceptance.accepted_at,
        )
        .join(Edition, Edition.id == Terms.edition_id)
        .outerjoin(TermsAcceptance, accepted)
        .where(Edition.code == code)
        .order_by(Terms.version.desc())
        .limit(1)
    )  # fmt: skip
    row = session.execute(statement).one_or_none()
    return TermsView(*row) if row else None


def locked_edition(session: Session, code: str) -> Edition | None:
    """An edition, locked until the end of the transaction, so that versions are counted one by one."""
    return session.scalar(select(Edition).where(Edition.code == code).with_for_update())


def insert_acceptance(session: Session, user_id: int, code: str, version: int) -> bool:
    """Note that a person accepts this version; whether it is the newest. Accepting twice keeps the first date."""
    newest = select(func.max(Terms.version)).join(Edition).where(Edition.code == code).scalar_subquery()
    statement = select(Terms.id).join(Edition)
    statement = statement.where(Edition.code == code, Terms.version == newest, Terms.text != "")
    terms_id = session.scalar(statement.where(Terms.version == version))
    if terms_id is None:
        return False
    row = insert(TermsAcceptance).values(user_id=user_id, terms_id=terms_id)
    session.execute(row.on_conflict_do_nothing())
    return True


def against_submission(session: Session, actor: Actor, phase: PhaseView) -> tuple[Refusal, ...]:
    """Every reason in the person or their team why no results of theirs are taken."""
    terms = current_terms(session, phase.edition, actor.user_id)
    is_held_out = phase.disclosure is not Disclosure.FULL
    return (
        *address_refusals(actor, phase),
        *terms_refusals(actor, terms),
        *scoring_refusals(_team(session, actor, phase), is_held_out=is_held_out),
    )


def _team(session: Session, actor: Actor, phase: PhaseView) -> Standing | None:
    return teams.standing_of(session, teams.team_in(session, actor.user_id, phase.edition_id))


def against_upload(session: Session, actor: Actor, phase: PhaseView) -> tuple[Refusal, ...]:
    """Every reason in the person or their team why they may not upload."""
    return (*address_refusals(actor, phase), *upload_refusals(_team(session, actor, phase)))


def terms_page(platform: Platform, actor: Actor, code: str) -> TermsView:
    """The terms of an edition. Raises NotFoundError where it has none."""
    with platform.transaction() as session:
        terms = current_terms(session, code, actor.user_id)
    if terms is None:
        raise NotFoundError(f"the edition {code!r} has no terms")
    return terms


def accept(platform: Platform, actor: Actor, code: str, version: int) -> None:
    """Note that a person accepts the terms.

    Raises ConflictError for a version that is not the newest, so that nobody accepts what they have not read.
    """
    assert actor.user_id is not None
    with platform.transaction() as session:
        if not insert_acceptance(session, actor.user_id, code, version):
            raise ConflictError("these terms have been replaced; read the new version, then accept it")


def editable_terms(platform: Platform, actor: Actor, code: str) -> tuple[str, TermsView | None]:
    """The title of an edition that this person runs, and the last version of its terms. Raises NotFoundError, ForbiddenError."""
    with platform.transaction() as session:
        edition = challenges.edition_of(session, code)
        _require_organiser(actor, edition.id if edition else None, code)
        assert edition is not None
        return edition.title, newest_terms(session, code, actor.user_id)


def set_terms(platform: Platform, actor: Actor, code: str, new: NewTerms) -> int:
    """Give an edition other terms, which everybody accepts before their next submission; returns the version.

    No text ends them; nobody has to accept any. The same text again changes nothing. Raises NotFoundError, ForbiddenError.
    """
    with platform.transaction() as session:
        edition = locked_edition(session, code)
        _require_organiser(actor, edition.id if edition else None, code)
        assert edition is not None
        before = newest_terms(session, code, None)
        if (before.text if before else "") == new.text:
            return before.version if before else 0
        version = before.version + 1 if before else 1
        session.add(Terms(edition_id=edition.id, version=version, text=new.text, set_by=actor.user_id))
        audit.record(
            session,
            actor.user_id,
            "terms.set",
            f"edition {edition.id}",
            edition_id=edition.id,
            before={"version": before.version if before else None},
            after={"version": version},
        )
        return version


def _require_organiser(actor: Actor, edition_id: int | None, code: str) -> None:
    if edition_id is None:
        raise NotFoundError(f"there is no edition {code!r}")
    if not actor.runs(edition_id):
        raise ForbiddenError("Only organisers of this edition may do this")
