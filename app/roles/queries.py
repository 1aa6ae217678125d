"""Organisers and one-time links in the database."""

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from app.login_settings import LoginSettings
from app.models import Edition, EditionOrganiser, OneTimeLink, Role, User
from app.roles.schemas import Organiser
from app.sessions.queries import can_log_in, is_person


def usable_link(session: Session, token_hash: bytes) -> OneTimeLink | None:
    """A one-time link that nobody has used, locked until the end of the transaction."""
    statement = (
        select(OneTimeLink)
        .where(
            OneTimeLink.token_hash == token_hash,
            OneTimeLink.used_by.is_(None),
            OneTimeLink.expires_at > func.now(),
        )
        .with_for_update()
    )
    return session.scalar(statement)


def has_admin(session: Session, settings: LoginSettings) -> bool:
    """Whether there is an admin who can log in."""
    statement = select(User.id).where(User.role == Role.ADMIN, can_log_in(settings))
    return session.scalar(statement.limit(1)) is not None


def has_organiser(session: Session, edition_id: int) -> bool:
    """Whether somebody who can log in organises this edition."""
    statement = (
        select(User.id).join(EditionOrganiser).where(EditionOrganiser.edition_id == edition_id, is_person())
    )
    return session.scalar(statement.limit(1)) is not None


def lock_edition(session: Session, edition_id: int) -> None:
    """Let changes of an edition's organisers follow each other."""
    session.execute(select(Edition.id).where(Edition.id == edition_id).with_for_update())


def organisers_of(session: Session, edition_id: int) -> tuple[Organiser, ...]:
    """Who organises an edition, in the order in which they came."""
    statement = (
        select(User.id, User.name, User.email, EditionOrganiser.added_at)
        .join(EditionOrganiser, EditionOrganiser.user_id == User.id)
        .where(EditionOrganiser.edition_id == edition_id)
        .order_by(EditionOrganiser.added_at, User.id)
    )
    return tuple(Organiser(*row) for row in session.execute(statement))


def locked_person(session: Session, user_id: int) -> User | None:
    """A person, locked, so that changes of their roles follow each other."""
    return session.scalar(select(User).where(User.id == user_id).with_for_update())


def organised_by(session: Session, user_id: int) -> list[int]:
    """The editions that a person organises."""
    statement = select(EditionOrganiser.edition_id).where(EditionOrganiser.user_id == user_id)
    return list(session.scalars(statement.order_by(EditionOrganiser.edition_id)))


def remove_organiser(session: Session, user_id: int, edition_id: int | None) -> None:
    """Take an edition from one of its organisers, or all of theirs."""
    theirs = delete(EditionOrganiser).where(EditionOrganiser.user_id == user_id)
    session.execute(theirs if edition_id is None else theirs.where(EditionOrganiser.edition_id == edition_id))
