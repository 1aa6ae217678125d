"""HTML pages: administration."""

from collections.abc import Callable, Mapping
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import ValidationError

from app.core.access import Action
from app.core.paging import Before
from app.jobs import attempts
from app.models import Role
from app.operations import administration
from app.operations.administration import AccountChange, Person, Search
from app.organising import creating, roles
from app.web.dependencies import (
    CurrentActor,
    ThePlatform,
    actor_of_request,
    platform_of_request,
    render,
    requires,
)
from app.web.forms import field_errors

router = APIRouter(prefix="/admin")

PEOPLE, ROLES, JOBS = map(requires, (Action.MANAGE_PEOPLE, Action.MANAGE_ROLES, Action.MANAGE_JOBS))

TextField = Annotated[str, Form()]


@router.get("", dependencies=[JOBS])
def overview(request: Request, platform: ThePlatform, before: Before = None) -> Response:
    """Show the admins' start page: failed jobs, and links to everything else."""
    page = administration.failed_jobs(platform, before)
    return render(
        request,
        "administration/overview.html",
        challenges=roles.challenges_with_organisers(platform),
        workers=administration.alive_workers(platform),
        damaged=administration.damaged_contents(platform),
        requests=creating.count_open(platform),
        dead=page.rows,
        older=f"/admin?before={page.next}#messages" if page.next else None,
    )


@router.get("/people", dependencies=[PEOPLE])
def people(
    request: Request, platform: ThePlatform, actor: CurrentActor, search: Annotated[Search, Query()]
) -> Response:
    """List accounts, newest first."""
    page = administration.people(platform, actor, search)
    words = {"text": search.text, "after": page.next}
    older = f"/admin/people?{urlencode(words)}" if page.next else None
    return render(request, "administration/people.html", page=page, form={"text": search.text}, older=older)


@router.get("/people/{user_id}", dependencies=[PEOPLE])
def person(request: Request, platform: ThePlatform, actor: CurrentActor, user_id: int) -> Response:
    """Show one account and the actions on it."""
    return _person(request, administration.get_person(platform, actor, user_id), {}, {})


def _person(
    request: Request, person: Person, form: Mapping[str, str], problems: Mapping[str, str]
) -> Response:
    code = 422 if problems else 200
    return render(
        request, "administration/person.html", code=code, person=person, form=form, problems=problems
    )


@router.post("/people/{user_id}/suspend", dependencies=[PEOPLE])
def suspend(
    request: Request, platform: ThePlatform, actor: CurrentActor, user_id: int, reason: TextField = ""
) -> Response:
    """Suspend an account."""
    return _change_account(
        request,
        user_id,
        {"reason": reason},
        lambda given: administration.suspend(platform, actor, user_id, given.reason),
    )


@router.post("/people/{user_id}/unsuspend", dependencies=[PEOPLE])
def unsuspend(
    request: Request, platform: ThePlatform, actor: CurrentActor, user_id: int, reason: TextField = ""
) -> Response:
    """Unsuspend an account."""
    return _change_account(
        request,
        user_id,
        {"reason": reason},
        lambda given: administration.unsuspend(platform, actor, user_id, given.reason),
    )


@router.post("/people/{user_id}/role", dependencies=[ROLES])
def change_role(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    user_id: int,
    role: Annotated[Role, Form()],
    reason: TextField = "",
) -> Response:
    """Make a person an admin, or an admin a participant."""
    return _change_account(
        request,
        user_id,
        {"reason": reason},
        lambda given: administration.change_role(platform, actor, user_id, role, given.reason),
    )


def _change_account(
    request: Request, user_id: int, form: Mapping[str, str], change: Callable[[AccountChange], None]
) -> Response:
    """Change an account for the reason in the form, then redirect to its page."""
    try:
        change(AccountChange.model_validate(form))
    except ValidationError as error:
        platform, actor = platform_of_request(request), actor_of_request(request)
        return _person(
            request, administration.get_person(platform, actor, user_id), form, field_errors(error)
        )
    return RedirectResponse(f"/admin/people/{user_id}", status_code=303)


@router.post("/messages/{message_id}/retry", dependencies=[JOBS])
def retry_message(platform: ThePlatform, message_id: int) -> Response:
    """Retry a failed job."""
    attempts.retry(platform, message_id)
    return RedirectResponse("/admin", status_code=303)


@router.post("/messages/{message_id}/discard", dependencies=[JOBS])
def discard_message(platform: ThePlatform, actor: CurrentActor, message_id: int) -> Response:
    """Delete a failed job."""
    attempts.discard(platform, actor, message_id)
    return RedirectResponse("/admin", status_code=303)
