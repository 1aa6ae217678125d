"""JSON API: administration."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from app.core.access import Action
from app.core.paging import Before
from app.jobs import attempts
from app.jobs.queue import DeadJob
from app.operations import administration
from app.operations.administration import AccountChange, PeoplePage, Person, RoleChange, Search
from app.web.dependencies import CurrentActor, ThePlatform, requires

router = APIRouter(prefix="/api/v1/admin", tags=["admins"])

PEOPLE, ROLES, JOBS = map(requires, (Action.MANAGE_PEOPLE, Action.MANAGE_ROLES, Action.MANAGE_JOBS))


@router.get("/people", dependencies=[PEOPLE])
def people(platform: ThePlatform, actor: CurrentActor, search: Annotated[Search, Query()]) -> PeoplePage:
    """List accounts, newest first, 50 per page."""
    return administration.people(platform, actor, search)


@router.get("/people/{user_id}", dependencies=[PEOPLE])
def person(platform: ThePlatform, actor: CurrentActor, user_id: int) -> Person:
    """Get one account."""
    return administration.get_person(platform, actor, user_id)


@router.post("/people/{user_id}/suspend", status_code=204, dependencies=[PEOPLE])
def suspend(platform: ThePlatform, actor: CurrentActor, user_id: int, change: AccountChange) -> None:
    """Suspend an account: its sessions end, its tokens stop working, and its owner can no longer log in."""
    administration.suspend(platform, actor, user_id, change.reason)


@router.post("/people/{user_id}/unsuspend", status_code=204, dependencies=[PEOPLE])
def unsuspend(platform: ThePlatform, actor: CurrentActor, user_id: int, change: AccountChange) -> None:
    """Unsuspend an account; its tokens work again."""
    administration.unsuspend(platform, actor, user_id, change.reason)


@router.post("/people/{user_id}/role", status_code=204, dependencies=[ROLES])
def change_role(platform: ThePlatform, actor: CurrentActor, user_id: int, change: RoleChange) -> None:
    """Make a person an admin, or an admin a participant. Organisers are managed per challenge."""
    administration.change_role(platform, actor, user_id, change.role, change.reason)


@router.get("/messages", dependencies=[JOBS])
def dead_messages(platform: ThePlatform, response: Response, before: Before = None) -> tuple[DeadJob, ...]:
    """List jobs that failed for good, latest first, up to 100 per page; the `Link` header has the next page."""
    page = administration.failed_jobs(platform, before)
    if page.next:
        response.headers["Link"] = f'</api/v1/admin/messages?before={page.next}>; rel="next"'
    return page.rows


@router.post("/messages/{message_id}/retry", status_code=204, dependencies=[JOBS])
def retry_job(platform: ThePlatform, message_id: int) -> None:
    """Retry a failed job."""
    attempts.retry(platform, message_id)


@router.delete("/messages/{message_id}", status_code=204, dependencies=[JOBS])
def discard_message(platform: ThePlatform, actor: CurrentActor, message_id: int) -> None:
    """Delete a failed job."""
    attempts.discard(platform, actor, message_id)
