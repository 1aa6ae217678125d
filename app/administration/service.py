"""People and failed jobs, for admins."""

from sqlalchemy import func
from sqlalchemy.orm import Session

from app.access import Actor
from app.administration import queries
from app.administration.schemas import PeoplePage, Person, Search
from app.audit import queries as audit
from app.errors import ConflictError, NotFoundError
from app.jobs import queue, workers
from app.jobs.queue import DeadJob
from app.models import Role, User
from app.platform import Platform
from app.retention.storage import count_damaged
from app.row_pages import RowPage
from app.sessions import queries as sessions

PAGE = 50  # people
LAST_ADMIN = ConflictError("this is the last admin who can log in; make another one first")


def people(platform: Platform, actor: Actor, search: Search) -> PeoplePage:
    """A page of people, newest first."""
    with platform.transaction() as session:
        found = queries.people(session, actor, search, PAGE + 1)
    return PeoplePage(tuple(found[:PAGE]), found[PAGE - 1].id if len(found) > PAGE else None)


def person(platform: Platform, actor: Actor, user_id: int) -> Person:
    """One person. Raises NotFoundError."""
    with platform.transaction() as session:
        found = queries.person(session, actor, user_id)
    if found is None:
        raise _nobody(user_id)
    return found


def suspend(platform: Platform, actor: Actor, user_id: int, reason: str) -> None:
    """Close an account: its sessions end, and neither a login nor a token opens anything until it is opened again.

    Raises NotFoundError, and ConflictError for one's own account and for the last admin.
    """
    if user_id == actor.user_id:
        raise ConflictError("you cannot suspend your own account")
    with platform.transaction() as session:
        admins = queries.lock_admins(session, platform.settings)
        user = _locked(session, actor, user_id)
        if user.suspended_at is not None:
            return
        if admins == [user_id]:
            raise LAST_ADMIN
        user.suspended_at = func.clock_timestamp()
        ended = sessions.end_sessions_of(session, user_id)
        _record(session, actor, "person.suspend", user_id, reason, suspended=True, sessions=ended)


def unsuspend(platform: Platform, actor: Actor, user_id: int, reason: str) -> None:
    """Open an account again; its tokens are good again, its sessions are not. Raises NotFoundError."""
    with platform.transaction() as session:
        user = _locked(session, actor, user_id)
        if user.suspended_at is None:
            return
        user.suspended_at = None
        _record(session, actor, "person.unsuspend", user_id, reason, suspended=False)


def change_role(platform: Platform, actor: Actor, user_id: int, role: Role, reason: str) -> None:
    """Make somebody an admin, or an admin a participant.

    Raises NotFoundError, and ConflictError where no admin who can log in would be left.
    """
    with platform.transaction() as session:
        admins = queries.lock_admins(session, platform.settings)
        user = _locked(session, actor, user_id)
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


def _locked(session: Session, actor: Actor, user_id: int) -> User:
    user = queries.lock_person(session, actor, user_id)
    if user is None:
        raise _nobody(user_id)
    return user


def _nobody(user_id: int) -> NotFoundError:
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


def alive_workers(platform: Platform) -> int:
    """How many workers are alive, of any version."""
    with platform.transaction() as session:
        return workers.alive_workers(session)


def damaged_contents(platform: Platform) -> int:
    """How many stored contents are known to be damaged."""
    with platform.transaction() as session:
        return count_damaged(session)


def dead_messages(platform: Platform, before: int | None = None) -> RowPage[DeadJob]:
    """A page of the jobs that were given up; before: the last one of the page before."""
    with platform.transaction() as session:
        return queue.dead_jobs(session, before)
