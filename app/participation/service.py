"""What a person has to do before their results are taken, and the terms of editions."""

from sqlalchemy.orm import Session

from app.access import Actor
from app.audit import queries as audit
from app.editions import queries as editions
from app.editions.schemas import PhaseView
from app.errors import ConflictError, ForbiddenError, NotFoundError, Refusal
from app.memberships import queries as memberships
from app.memberships.rules import Standing, scoring_refusals, upload_refusals
from app.models import Disclosure, Terms
from app.participation import queries
from app.participation.rules import address_refusals, terms_refusals
from app.participation.schemas import NewTerms, TermsView
from app.platform import Platform


def against_submission(session: Session, actor: Actor, phase: PhaseView) -> tuple[Refusal, ...]:
    """Every reason in the person or their team why no results of theirs are taken."""
    terms = queries.current_terms(session, phase.edition, actor.user_id)
    is_held_out = phase.disclosure is not Disclosure.FULL
    return (
        *address_refusals(actor, phase),
        *terms_refusals(actor, terms),
        *scoring_refusals(_team(session, actor, phase), is_held_out=is_held_out),
    )


def _team(session: Session, actor: Actor, phase: PhaseView) -> Standing | None:
    return memberships.standing(session, memberships.team_in(session, actor.user_id, phase.edition_id))


def against_upload(session: Session, actor: Actor, phase: PhaseView) -> tuple[Refusal, ...]:
    """Every reason in the person or their team why they may not upload."""
    return (*address_refusals(actor, phase), *upload_refusals(_team(session, actor, phase)))


def terms_page(platform: Platform, actor: Actor, code: str) -> TermsView:
    """The terms of an edition. Raises NotFoundError where it has none."""
    with platform.transaction() as session:
        terms = queries.current_terms(session, code, actor.user_id)
    if terms is None:
        raise NotFoundError(f"the edition {code!r} has no terms")
    return terms


def accept(platform: Platform, actor: Actor, code: str, version: int) -> None:
    """Note that a person accepts the terms.

    Raises ConflictError for a version that is not the newest, so that nobody accepts what they have not read.
    """
    assert actor.user_id is not None
    with platform.transaction() as session:
        if not queries.accept(session, actor.user_id, code, version):
            raise ConflictError("these terms have been replaced; read the new version, then accept it")


def editable_terms(platform: Platform, actor: Actor, code: str) -> tuple[str, TermsView | None]:
    """The title of an edition that this person runs, and the last version of its terms. Raises NotFoundError, ForbiddenError."""
    with platform.transaction() as session:
        edition = editions.edition_of(session, code)
        _require_organiser(actor, edition.id if edition else None, code)
        assert edition is not None
        return edition.title, queries.newest_terms(session, code, actor.user_id)


def set_terms(platform: Platform, actor: Actor, code: str, new: NewTerms) -> int:
    """Give an edition other terms, which everybody accepts before their next submission; returns the version.

    No text ends them; nobody has to accept any. The same text again changes nothing. Raises NotFoundError, ForbiddenError.
    """
    with platform.transaction() as session:
        edition = queries.locked_edition(session, code)
        _require_organiser(actor, edition.id if edition else None, code)
        assert edition is not None
        before = queries.newest_terms(session, code, None)
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
