"""People in the database, as admins see them."""

from sqlalchemy import ColumnElement, Select, and_, func, or_, select, text, true
from sqlalchemy.dialects.postgresql import aggregate_order_by
from sqlalchemy.orm import Session

from app.access import Action, Actor
from app.administration.schemas import Person, Search
from app.login_settings import LoginSettings
from app.models import Edition, EditionOrganiser, Role, User
from app.names import folded
from app.sessions.queries import can_log_in, is_person
from app.visibility import rows_for


def visible_people(actor: Actor) -> ColumnElement[bool]:
    """The accounts that somebody may manage; one that was deleted is nobody's."""
    return and_(rows_for(actor, Action.MANAGE_PEOPLE), User.deleted_at.is_(None))


def people(session: Session, actor: Actor, search: Search, limit: int) -> list[Person]:
    """People whose name or address has this text in it, the newest first."""
    found: ColumnElement[bool] = true()
    if search.text:
        found = or_(
            User.name.icontains(search.text, autoescape=True),
            User.email.contains(folded(search.text), autoescape=True),
        )
    earlier = User.id < search.after if search.after is not None else true()
    statement = _people().where(visible_people(actor), found, earlier).order_by(User.id.desc()).limit(limit)
    return [_person(*row) for row in session.execute(statement)]


def person(session: Session, actor: Actor, user_id: int) -> Person | None:
    """One person."""
    row = session.execute(_people().where(User.id == user_id, visible_people(actor))).one_or_none()
    return _person(*row) if row else None


def _people() -> Select[User, list[str], bool]:
    codes = (
        select(
            func.coalesce(
                func.array_agg(aggregate_order_by(Edition.code, Edition.code)), text("'{}'::text[]")
            )
        )
        .join(EditionOrganiser, EditionOrganiser.edition_id == Edition.id)
        .where(EditionOrganiser.user_id == User.id)
        .correlate(User)
        .scalar_subquery()
    )
    return select(User, codes, is_person())


def _person(user: User, codes: list[str], is_person: bool) -> Person:  # noqa: FBT001 - a row
    return Person(
        id=user.id,
        name=user.name,
        email=user.email,
        role=user.role,
        organises=tuple(codes),
        created_at=user.created_at,
        suspended_at=user.suspended_at,
        is_program=not is_person,
    )


def lock_person(session: Session, actor: Actor, user_id: int) -> User | None:
    """A person's row, locked."""
    statement = select(User).where(User.id == user_id, visible_people(actor)).with_for_update()
    return session.scalar(statement)


def lock_admins(session: Session, settings: LoginSettings) -> list[int]:
    """The admins who can log in, locked in one order, so that the last two cannot suspend each other."""
    statement = select(User.id).where(
        User.role == Role.ADMIN, can_log_in(settings), User.suspended_at.is_(None)
    )
    return list(session.scalars(statement.order_by(User.id).with_for_update()))
