"""HTML pages: everything that arrived in a challenge, and what is done to many rows at once."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Final
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import ValidationError

from app.core.access import Action
from app.core.errors import MalformedError
from app.core.rate_limits import Limited
from app.organising import bulk, submission_api, submissions
from app.organising.bulk import WITH_REASON, Bulk, BulkRequest, Plan, Selection
from app.organising.submissions import RowState, SubmissionColumn, TableQuery
from app.web.dependencies import CurrentActor, ThePlatform, limited, render, requires
from app.web.forms import SentForm, field_errors

READ, ORGANISE = map(requires, (Action.READ_ORGANISING, Action.ORGANISE))

NOTHING: Final[Mapping[str, str]] = MappingProxyType({})

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
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, sent: SentForm
) -> Response:
    """Say what an action would do to the selected rows, and ask."""
    try:
        selection = Selection(action=Bulk(str(sent.get("action", ""))), rows=_rows(sent))
    except ValueError as error:
        raise MalformedError(f"Select between 1 and {bulk.MOST} rows, and what to do to them") from error
    plan = bulk.plan(platform, actor, challenge, selection)
    return _bulk(request, plan)


def _bulk(
    request: Request,
    plan: Plan,
    reason: str = "",
    problems: Mapping[str, str] = NOTHING,
    *,
    is_done: bool = False,
) -> Response:
    return render(
        request,
        "organisers/bulk.html",
        code=422 if problems else 200,
        plan=plan,
        asks_reason=plan.action in WITH_REASON,
        reason=reason,
        problems=problems,
        is_done=is_done,
    )


def _rows(sent: SentForm) -> tuple[str, ...]:
    return tuple(str(each) for each in sent.getlist("rows"))


@router.post("/submissions/bulk", dependencies=[ORGANISE, limited(Limited.CHANGE)])
def do(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, sent: SentForm
) -> Response:
    """Do something to the selected rows, and say what was done."""
    reason = str(sent.get("reason", ""))
    try:
        wanted = BulkRequest(action=Bulk(str(sent.get("action", ""))), rows=_rows(sent), reason=reason)
    except ValidationError as error:
        if not {"reason", ""} >= field_errors(error).keys():
            raise MalformedError(f"Select between 1 and {bulk.MOST} rows, and what to do to them") from error
        selection = Selection(action=Bulk(str(sent.get("action", ""))), rows=_rows(sent))
        plan = bulk.plan(platform, actor, challenge, selection)
        problems = {"reason": "Give a reason of at most 1000 characters; the teams read it"}
        return _bulk(request, plan, reason, problems)
    except ValueError as error:
        raise MalformedError("There is no such action") from error
    plan = bulk.do(platform, actor, challenge, wanted)
    return _bulk(request, plan, reason, is_done=True)
