"""HTML pages: everything that arrived in a challenge, and what is done to many rows at once."""

from typing import Annotated
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from app.core.access import Action
from app.core.errors import FieldsError, MalformedError
from app.core.rate_limits import Limited
from app.organising import bulk, submission_api, submissions
from app.organising.bulk import WITH_REASON, Bulk, BulkRequest, Plan, Selection
from app.organising.submissions import RowState, SubmissionColumn, TableQuery
from app.web.dependencies import CurrentActor, ThePlatform, limited, render, requires
from app.web.forms import Form, TheForm

READ, ORGANISE = map(requires, (Action.READ_ORGANISING, Action.ORGANISE))

router = APIRouter(prefix="/organise/challenges/{challenge}")


@router.get("/submissions", dependencies=[READ])
def table(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    query: Annotated[TableQuery, Query()],
) -> Response:
    """List uploads and the results of their submissions, newest first."""
    found = submissions.table(platform, actor, challenge, query)
    here = f"/organise/challenges/{quote(challenge)}/submissions"
    return render(
        request,
        "organisers/submissions.html",
        table=found,
        query=query,
        older=f"{here}?{urlencode(query.words(after=found.next))}" if found.next else None,
        words=urlencode(query.words()),
        states=list(RowState),
        columns=list(SubmissionColumn),
        actions=list(Bulk),
    )


router.add_api_route(
    "/submissions.csv",
    submission_api.csv,
    methods=["GET"],
    dependencies=[READ, limited(Limited.VIEW)],
)
router.add_api_route(
    "/archives.tar",
    submission_api.archives,
    methods=["GET"],
    dependencies=[ORGANISE, limited(Limited.VIEW)],
)


@router.post("/submissions/preview", dependencies=[ORGANISE])
def preview(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, form: TheForm
) -> Response:
    """Say what an action would do to the selected rows, and ask."""
    return _bulk(request, bulk.plan(platform, actor, challenge, _selection(form)), form)


def _selection(form: Form) -> Selection:
    try:
        return form.read(Selection)
    except FieldsError as error:
        raise MalformedError(f"Select between 1 and {bulk.MOST} rows, and what to do to them") from error


def _bulk(request: Request, plan: Plan, form: Form, *, is_done: bool = False) -> Response:
    return render(
        request,
        "organisers/bulk.html",
        plan=plan,
        asks_reason=plan.action in WITH_REASON,
        form=form,
        is_done=is_done,
    )


@router.post("/submissions/bulk", dependencies=[ORGANISE, limited(Limited.CHANGE)])
def do(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, form: TheForm
) -> Response:
    """Do something to the selected rows, and say what was done."""
    selection = _selection(form)
    with form.showing_errors(names={"": "reason"}):
        plan = bulk.do(platform, actor, challenge, form.read(BulkRequest))
        return _bulk(request, plan, form, is_done=True)
    form.problems["reason"] = "Give a reason of at most 1000 characters; the teams read it"
    return _bulk(request, bulk.plan(platform, actor, challenge, selection), form)
