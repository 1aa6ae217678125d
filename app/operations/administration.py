"""Accounts and failed jobs, for admins."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import ColumnElement, Select, and_, func, or_, select, text, true
from sqlalchemy.dialects.postgresql import aggregate_order_by
from sqlalchemy.orm import Session

from app.core import audit
from app.core.access import Action, Actor, rows_for
from app.core.errors import ConflictError, NotFoundError
from app.core.names import folded
from app.core.paging import RowPage
from app.jobs import heartbeats, queue
from app.jobs.queue import DeadJob
from app.models import Challenge, ChallengeOrganiser, Role, User
from app.people import sessions
from app.people.accounts import lock_admins
from app.people.locking import lock_person
from app.people.sessions import is_person
from app.platform import Platform

LARGEST_ID = 2**63 - 1
Reason = Annotated[str, Field(min_length=1, max_length=1000, description="recorded in the audit log")]


class Search(BaseModel):
    """A search for accounts; an empty field matches all."""

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True, frozen=True)

    text: Annotated[str, Field(max_length=254, description="part of a name or an e-mail address")] = ""
    after: Annotated[int | None, Field(ge=1, le=LARGEST_ID, description="`next` of the previous page")] = None


class AccountChange(BaseModel):
    """The reason for suspending or unsuspending an account or for changing its role."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    reason: Reason


class RoleChange(AccountChange):
    """A new role on the server."""

    role: Annotated[Role, Field(description="the new role")]


@dataclass(frozen=True, slots=True)
class Person:
    """An account as admins see it."""

    id: int
    name: str
    email: str
    role: Role
    organises: tuple[str, ...]  # codes of challenges
    created_at: datetime
    suspended_at: datetime | None
    is_program: bool  # cannot log in; uses tokens only


@dataclass(frozen=True, slots=True)
class PeoplePage:
    """A page of people, newest first; `next` is the `after` of the next page."""

    people: tuple[Person, ...]
    next: int | None


def visible_people(actor: Actor) -> ColumnElement[bool]:
    """Select the accounts that the actor may manage; never deleted ones."""
    return and_(rows_for(actor, Action.MANAGE_PEOPLE), User.deleted_at.is_(None))


def select_people(session: Session, actor: Actor, search: Search, limit: int) -> list[Person]:
    """Return the people whose name or e-mail address contains the text, newest first."""
    found: ColumnElement[bool] = true()
    if search.text:
        found = or_(
            User.name.icontains(search.text, autoescape=True),
            User.email.contains(folded(search.text), autoescape=True),
        )
    earlier = User.id < search.after if search.after is not None else true()
    statement = _people().where(visible_people(actor), found, earlier).order_by(User.id.desc()).limit(limit)
    return [_person(*row) for row in session.execute(statement)]


def find_person(session: Session, actor: Actor, user_id: int) -> Person | None:
    """Return one person, or None."""
    row = session.execute(_people().where(User.id == user_id, visible_people(actor))).one_or_none()
    return _person(*row) if row else None


def _people() -> Select[User, list[str], bool]:
    codes = (
        select(
            func.coalesce(
                func.array_agg(aggregate_order_by(Challenge.code, Challenge.code)), text("'{}'::text[]")
            )
        )
        .join(ChallengeOrganiser, ChallengeOrganiser.challenge_id == Challenge.id)
        .where(ChallengeOrganiser.user_id == User.id)
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


PAGE = 50  # people
LAST_ADMIN = ConflictError("this is the last admin who can log in; make someone else an admin first")


def people(platform: Platform, actor: Actor, search: Search) -> PeoplePage:
    """Return a page of people, newest first."""
    with platform.transaction() as session:
        found = select_people(session, actor, search, PAGE + 1)
    return PeoplePage(tuple(found[:PAGE]), found[PAGE - 1].id if len(found) > PAGE else None)


def get_person(platform: Platform, actor: Actor, user_id: int) -> Person:
    """Return one person. Raises NotFoundError."""
    with platform.transaction() as session:
        found = find_person(session, actor, user_id)
    if found is None:
        raise _not_found(user_id)
    return found


def suspend(platform: Platform, actor: Actor, user_id: int, reason: str) -> None:
    """Suspend an account: end its sessions and reject its logins and tokens until it is unsuspended.

    Raises NotFoundError, and ConflictError for your own account or the last admin.
    """
    if user_id == actor.user_id:
        raise ConflictError("you cannot suspend your own account")
    with platform.transaction() as session:
        admins = lock_admins(session, platform.settings)
        user = _lock_or_raise(session, actor, user_id, ends_access=True)
        if user.suspended_at is not None:
            return
        if admins == [user_id]:
            raise LAST_ADMIN
        user.suspended_at = func.clock_timestamp()
        ended = sessions.end_sessions_of(session, user_id)
        _record(session, actor, "person.suspend", user_id, reason, suspended=True, sessions=ended)


def unsuspend(platform: Platform, actor: Actor, user_id: int, reason: str) -> None:
    """Unsuspend an account: its tokens work again, its sessions stay ended. Raises NotFoundError."""
    with platform.transaction() as session:
        user = _lock_or_raise(session, actor, user_id)
        if user.suspended_at is None:
            return
        user.suspended_at = None
        _record(session, actor, "person.unsuspend", user_id, reason, suspended=False)


def change_role(platform: Platform, actor: Actor, user_id: int, role: Role, reason: str) -> None:
    """Make a person an admin, or an admin a participant.

    Raises NotFoundError, and ConflictError if no admin who can log in would be left.
    """
    with platform.transaction() as session:
        admins = lock_admins(session, platform.settings)
        user = _lock_or_raise(session, actor, user_id)
        if user.role is role:
            return
        if role is Role.PARTICIPANT and admins == [user_id]:
            raise LAST_ADMIN
        before, user.role = user.role, role
        audit.record(
            session,
            actor.user_id,
            "role.change",
            f"person {user_id}",
            reason=reason,
            before={"role": before.value},
            after={"role": role.value},
        )


def _lock_or_raise(session: Session, actor: Actor, user_id: int, *, ends_access: bool = False) -> User:
    user = lock_person(session, user_id, visible_people(actor), ends_access=ends_access)
    if user is None:
        raise _not_found(user_id)
    return user


def _not_found(user_id: int) -> NotFoundError:
    return NotFoundError(f"there is no person {user_id}")


def _record(
    session: Session, actor: Actor, action: str, user_id: int, reason: str, *, suspended: bool, **details: int
) -> None:
    audit.record(
        session,
        actor.user_id,
        action,
        f"person {user_id}",
        reason=reason,
        before={"suspended": not suspended},
        after={"suspended": suspended},
        details=details,
    )


def alive_senders(platform: Platform) -> int:
    """Count the live senders."""
    with platform.transaction() as session:
        return heartbeats.alive_senders(session)


def failed_jobs(platform: Platform, before: int | None = None) -> RowPage[DeadJob]:
    """Return a page of jobs that failed for good; before: the last job of the previous page."""
    with platform.transaction() as session:
        return queue.dead_jobs(session, before)
