"""HTML pages: administration."""

from typing import Annotated, Final
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response

from app.core.access import Action, Actor
from app.core.paging import Before
from app.jobs import attempts
from app.operations import administration
from app.operations.administration import AccountChange, RoleChange, Search
from app.operations.administration_index import administration_index
from app.organising import audit, creating
from app.platform import Platform
from app.web.dependencies import CurrentActor, ThePlatform, render, requires
from app.web.forms import Form, TheForm
from app.web.route_marks import marked

router = APIRouter(prefix="/admin")

LATEST: Final = 5  # records of the audit on the start page
PEOPLE, ROLES, JOBS = map(requires, (Action.MANAGE_PEOPLE, Action.MANAGE_ROLES, Action.MANAGE_JOBS))


@router.get("", dependencies=[JOBS])
def overview(request: Request, platform: ThePlatform, actor: CurrentActor, before: Before = None) -> Response:
    """Show the admins' start page: what waits for them, the state of the installation, failed jobs and what was done last."""
    page = administration.failed_jobs(platform, before)
    return render(
        request,
        "administration/overview.html",
        index=administration_index(platform),
        requests=creating.count_open(platform),
        latest=audit.latest(platform, actor, LATEST),
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
    return _person(request, platform, actor, user_id, Form())


def _person(request: Request, platform: Platform, actor: Actor, user_id: int, form: Form) -> Response:
    found = administration.get_person(platform, actor, user_id)
    return render(request, "administration/person.html", person=found, form=form)


@router.post("/people/{user_id}/suspend", dependencies=[PEOPLE])
@marked(done="The account is suspended.")
def suspend(
    request: Request, platform: ThePlatform, actor: CurrentActor, user_id: int, form: TheForm
) -> Response:
    """Suspend an account."""
    with form.showing_errors():
        administration.suspend(platform, actor, user_id, form.read(AccountChange).reason)
        return _to(user_id)
    return _person(request, platform, actor, user_id, form)


@router.post("/people/{user_id}/unsuspend", dependencies=[PEOPLE])
@marked(done="The account is open again.")
def unsuspend(
    request: Request, platform: ThePlatform, actor: CurrentActor, user_id: int, form: TheForm
) -> Response:
    """Unsuspend an account."""
    with form.showing_errors():
        administration.unsuspend(platform, actor, user_id, form.read(AccountChange).reason)
        return _to(user_id)
    return _person(request, platform, actor, user_id, form)


@router.post("/people/{user_id}/role", dependencies=[ROLES])
@marked(done="The role is changed.")
def change_role(
    request: Request, platform: ThePlatform, actor: CurrentActor, user_id: int, form: TheForm
) -> Response:
    """Make a person an admin, or an admin a participant."""
    with form.showing_errors(names={"reason": "reason-role"}):
        new = form.read(RoleChange)
        administration.change_role(platform, actor, user_id, new.role, new.reason)
        return _to(user_id)
    return _person(request, platform, actor, user_id, form)


def _to(user_id: int) -> Response:
    return RedirectResponse(f"/admin/people/{user_id}", status_code=303)


@router.post("/messages/{message_id}/retry", dependencies=[JOBS])
@marked(done="The job will be tried again.")
def retry_message(platform: ThePlatform, message_id: int) -> Response:
    """Retry a failed job."""
    attempts.retry(platform, message_id)
    return RedirectResponse("/admin", status_code=303)


@router.post("/messages/{message_id}/discard", dependencies=[JOBS])
@marked(done="The failed job is deleted.")
def discard_message(platform: ThePlatform, actor: CurrentActor, message_id: int) -> Response:
    """Delete a failed job."""
    attempts.discard(platform, actor, message_id)
    return RedirectResponse("/admin", status_code=303)
