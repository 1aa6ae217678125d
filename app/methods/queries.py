"""Methods in the database."""

from collections.abc import Mapping

from sqlalchemy import ColumnElement, exists, func, select, true
from sqlalchemy.orm import Session

from app.access import Action, Actor, State
from app.editions.queries import is_past_embargo
from app.memberships.queries import is_erased, is_public
from app.methods.rules import SHOWN_STATES, name_key, unpublishable, without_people
from app.methods.schemas import Change, MethodView, NewMethod
from app.models import Edition, Entry, Method, MethodChange, Run, RunState, Submission, Team
from app.visibility import rows_for


def visible_methods(viewer: Actor) -> ColumnElement[bool]:
    """The methods that somebody may read about."""
    return rows_for(
        viewer,
        Action.READ_SUBMISSION,
        team=Method.team_id,
        edition=Method.edition_id,
        states={State.PRIVATE: true(), State.PUBLIC: is_public()},
    )


def method_like(session: Session, edition_id: int, name: str) -> Method | None:
    """The method of an edition whose name cannot be told from this one."""
    statement = select(Method).where(Method.edition_id == edition_id, Method.name_key == name_key(name))
    return session.scalar(statement)


def methods_of(session: Session, edition_id: int, team_id: int) -> tuple[MethodView, ...]:
    """A team's methods in an edition by name."""
    statement = select(Method).where(Method.edition_id == edition_id, Method.team_id == team_id)
    return tuple(
        method_view(method) for method in session.scalars(statement.order_by(func.lower(Method.name)))
    )


def method_of(session: Session, viewer: Actor, method_id: int) -> tuple[Method, Team, Edition] | None:
    """A method that the reader may see, with its team and edition."""
    statement = (
        select(Method, Team, Edition)
        .join(Team, Method.team_id == Team.id)
        .join(Edition, Method.edition_id == Edition.id)
        .where(Method.id == method_id, visible_methods(viewer))
    )
    row = session.execute(statement).one_or_none()
    return (row[0], row[1], row[2]) if row else None


def lock_method(session: Session, actor: Actor, action: Action, method_id: int) -> Method | None:
    """A method that somebody may do this to, locked until the end of the transaction."""
    statement = select(Method).where(Method.id == method_id, rows_for(actor, action, team=Method.team_id))
    return session.scalar(statement.with_for_update().execution_options(populate_existing=True))


def has_score(session: Session, method_id: int) -> bool:
    """Whether any result of a method was ever scored."""
    scored = exists().where(
        Entry.method_id == method_id, Run.entry_id == Entry.id, Run.state == RunState.SCORED
    )
    return bool(session.scalar(select(scored)))


def changes_of(session: Session, method: Method) -> tuple[Change, ...]:
    """The earlier texts of a public method, newest first; without those that name people once its team was erased."""
    statement = (
        select(MethodChange.changed_at, MethodChange.before)
        .where(MethodChange.method_id == method.id)
        .order_by(MethodChange.id.desc())
    )
    changes = tuple(Change(changed_at, before) for changed_at, before in session.execute(statement))
    return without_people(changes) if is_erased(session, method.team_id) else changes


def submissions_of(session: Session, viewer: Actor, method: Method) -> tuple[int, ...]:
    """The submissions of a method that somebody may read, oldest first: others than its team and organisers those with a score."""
    is_shown = exists().where(
        Entry.submission_id == Submission.id, Entry.state.in_(SHOWN_STATES), is_past_embargo(Entry.phase_id)
    )
    sees_all = viewer.is_member(method.team_id) or viewer.runs(method.edition_id)
    statement = select(Submission.id).where(
        Submission.method_id == method.id, true() if sees_all else is_shown
    )
    return tuple(session.scalars(statement.order_by(Submission.id)))


def method_view(method: Method) -> MethodView:
    """A method as pages show it."""
    return MethodView(
        method.id, method.name, method.title, method.contributors, method.affiliation, method.description,
        method.paper_url, method.code_url, method.is_baseline, method.public_at,
    )  # fmt: skip


def unpublishable_reason(method: Method) -> str | None:
    """Why a method cannot be made public as it is."""
    return unpublishable(
        method.description, is_baseline=method.is_baseline, is_public=method.public_at is not None
    )


def texts(method: Method) -> NewMethod:
    """What a method says of itself; rules that were added later are not applied to what was taken before."""
    return NewMethod.model_construct(**{field: getattr(method, field) for field in NewMethod.model_fields})


def set_texts(method: Method, new: Mapping[str, str]) -> None:
    """Change what a method says of itself."""
    for field, value in new.items():
        setattr(method, field, value)
    method.name_key = name_key(method.name)
