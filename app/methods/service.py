"""Naming, describing and publishing methods."""

from sqlalchemy import func
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from app.access import Action, Actor
from app.audit.queries import record
from app.database_errors import violated_constraint
from app.disclosure.rules import sight_of
from app.editions import queries as editions
from app.errors import NotFoundError, Refusal, RefusedError
from app.jobs import queue
from app.memberships.queries import members_of
from app.methods import queries
from app.methods.rules import (
    METHOD_NAME,
    NAME_RACED,
    changed_fields,
    edit_refusals,
    name_refusal,
    publication_refusal,
)
from app.methods.schemas import MethodEdit, MethodPage, MethodView, NewMethod
from app.models import Entry, Method, MethodChange
from app.names import folded
from app.platform import Platform
from app.standings import service as standings


def method_page(platform: Platform, actor: Actor, method_id: int) -> MethodPage:
    """A method with its texts.

    Raises NotFoundError, also for what is there but not for this reader.
    """
    with platform.snapshot() as session:
        found = queries.method_of(session, actor, method_id)
        if found is None:
            raise NotFoundError(f"there is no method {method_id}, or it is not public")
        method, team, edition = found
        is_ours = actor.is_member(method.team_id)
        phases = editions.phases_of(session, edition.code)
        people = members_of(session, method.team_id, only_named=True)
        sees_all = is_ours or actor.runs(method.edition_id)
        sights = {phase.id: (phase, sight_of(actor, phase)) for phase in phases}
        return MethodPage(
            method=queries.method_view(method),
            edition=edition.code,
            edition_title=edition.title,
            team_id=team.id,
            team=team.name,
            members=people.members,
            has_more_members=people.next is not None,
            results=standings.of_methods(session, (method_id,), sights, only_public=not sees_all),
            submissions=queries.submissions_of(session, actor, method),
            changes=queries.changes_of(session, method),
            is_ours=is_ours,
            can_rename=is_ours and not queries.has_score(session, method_id),
            unpublishable=queries.unpublishable_reason(method),
        )


def own_method_page(platform: Platform, actor: Actor, method_id: int) -> MethodPage:
    """A method of the reader's team; raises NotFoundError for others."""
    page = method_page(platform, actor, method_id)
    if not page.is_ours:
        raise NotFoundError(f"your team has no method {method_id}")
    return page


def describe(
    session: Session, actor: Actor, where: tuple[int, int], new: NewMethod, *, make_public: bool
) -> tuple[Method | None, tuple[Refusal, ...]]:
    """The team's method of this name, with what `new` says of it; or what is against it, and nothing is changed.

    where: edition and team, which is locked. A field that `new` leaves empty stays as it is.
    """
    edition_id, team_id = where
    found = queries.method_like(session, edition_id, new.name)
    is_ours = found is not None and found.team_id == team_id
    is_same = found is not None and is_ours and folded(found.name) == folded(new.name)
    method = (
        queries.lock_method(session, actor, Action.CHANGE_METHOD, found.id) if found and is_same else None
    )
    before = queries.texts(method) if method else new
    said = {field: value for field, value in new.model_dump(exclude={"name"}).items() if value}
    after = before.model_copy(update=said)
    is_public = make_public or (method is not None and method.public_at is not None)
    against = (
        name_refusal(new.name, found.name, is_ours=is_ours) if found and not is_same else None,
        publication_refusal(after.description, is_baseline=after.is_baseline) if is_public else None,
    )
    if any(against):
        return None, tuple(each for each in against if each is not None)
    if method is None:
        method = Method(edition_id=edition_id, team_id=team_id, revision=0, public_at=None)
        queries.set_texts(method, new.model_dump())
        session.add(method)
    else:
        _change(session, actor, method, before, after)
    if make_public:
        _publish(session, actor, method)
    session.flush()
    return method, ()


def edit(platform: Platform, actor: Actor, method_id: int, edit: MethodEdit) -> MethodView:
    """Change what a method says of itself; raises NotFoundError, RefusedError with all reasons."""
    try:
        with platform.transaction() as session:
            method = queries.lock_method(session, actor, Action.CHANGE_METHOD, method_id)
            if method is None:
                raise NotFoundError(f"your team has no method {method_id}")
            before = queries.texts(method)
            said = edit.model_dump(exclude_none=True)
            after = before.model_copy(update=said)
            against = [*_edit_refusals(session, method, before, after)]
            if against:
                raise RefusedError(against)
            _change(session, actor, method, before, after)
            view = queries.method_view(method)
    except IntegrityError as error:
        if violated_constraint(error) != METHOD_NAME:
            raise
        raise RefusedError([NAME_RACED]) from error
    platform.cache.forget_versions()
    return view


def _edit_refusals(
    session: Session, method: Method, before: NewMethod, after: NewMethod
) -> tuple[Refusal, ...]:
    found = edit_refusals(
        before,
        after,
        is_public=method.public_at is not None,
        has_score=queries.has_score(session, method.id),
    )
    other = queries.method_like(session, method.edition_id, after.name)
    if other is None or other.id == method.id:
        return found
    return (*found, name_refusal(after.name, other.name, is_ours=other.team_id == method.team_id))


def _change(session: Session, actor: Actor, method: Method, before: NewMethod, after: NewMethod) -> None:
    """Write new texts; what a public method said before is kept."""
    changed = changed_fields(before, after)
    if not changed:
        return
    if method.public_at is not None:
        session.add(MethodChange(method_id=method.id, user_id=actor.user_id, before=dict(changed)))
    queries.set_texts(method, {field: getattr(after, field) for field in changed})
    method.revision += 1
    queue.add_boards(session, Entry.method_id == method.id)


def make_public(platform: Platform, actor: Actor, method_id: int) -> None:
    """Show a method of the reader's team to everybody, with all its results; it cannot be hidden again.

    Raises NotFoundError, RefusedError.
    """
    with platform.transaction() as session:
        method = queries.lock_method(session, actor, Action.PUBLISH, method_id)
        if method is None:
            raise NotFoundError(f"your team has no method {method_id}")
        refusal = publication_refusal(method.description, is_baseline=method.is_baseline)
        if refusal is not None and method.public_at is None:
            raise RefusedError([refusal])
        _publish(session, actor, method)
    platform.cache.forget_versions()


def _publish(session: Session, actor: Actor, method: Method) -> None:
    if method.public_at is not None:
        return
    method.public_at = func.clock_timestamp()
    method.revision += 1
    session.flush()
    queue.add_boards(session, Entry.method_id == method.id)
    record(
        session,
        actor.user_id,
        "method.make_public",
        f"method {method.id}",
        edition_id=method.edition_id,
        before={"public": False},
        after={"public": True},
        details={"method": method.name},
    )
