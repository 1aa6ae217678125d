"""Terms and their acceptance in the database."""

from sqlalchemy import and_, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.models import Edition, Terms, TermsAcceptance
from app.participation.schemas import TermsView


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


def accept(session: Session, user_id: int, code: str, version: int) -> bool:
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
