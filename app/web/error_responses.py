"""Error responses: a page for browsers, `application/problem+json` for programs."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from urllib.parse import quote

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse, Response
from sqlalchemy.exc import DataError, StatementError
from starlette.exceptions import HTTPException

from app.core.database import is_unavailable, sqlstate
from app.core.errors import (
    BadRequestError,
    BusyError,
    CheckBusyError,
    CrossSiteError,
    DomainError,
    LoginRequiredError,
    MalformedError,
    NotFoundError,
    OffsetError,
    ProblemKind,
    ProtocolVersionError,
    RangeError,
    RateLimitedError,
    RecentLoginRequiredError,
    RefusedError,
    SecondFactorRequiredError,
    StorageDamagedError,
    StorageFullError,
    StorageUnavailableError,
    TooLargeError,
    UnavailableError,
)
from app.core.problems import MEDIA_TYPE, RETRY_AFTER, ProblemItem, kind_of_status, problem_of
from app.web.addresses import (
    address_of,
    methods_at,
    name_of_page,
    nearest_page,
    page_of_form,
    parent_page,
    search_terms,
    without_slash,
)
from app.web.dependencies import render, wants_json

log = structlog.get_logger()

DISK_FULL, FOREIGN_KEY = "53100", "23503"  # SQLSTATE
TUS_VERSION = "1.0.0"

Problems = list[ProblemItem]


def add_error_handlers(app: FastAPI) -> None:
    """Handle the errors that routes raise; any others reach the middleware, which calls `answer_error` too."""
    for kind in (DomainError, RefusedError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, _handle)


# the pages that ask for authentication when a form is sent, and their status; they carry the form
LOGIN_PAGES: Mapping[type[Exception], tuple[str, int]] = {
    LoginRequiredError: ("sessions/login.html", 401),
    RecentLoginRequiredError: ("sessions/confirm.html", 403),
}


async def _handle(request: Request, error: Exception) -> Response:
    page = LOGIN_PAGES.get(type(error))
    if page and request.method == "POST" and not wants_json(request):
        template, code = page
        async with request.form():  # a browser does not read the response while it is still sending
            pass
        return render(
            request,
            template,
            code=code,
            form={},
            problems={},
            next=page_of_form(request),
            is_interrupted=True,
        )
    return answer_error(request, error)


def answer_error(request: Request, error: Exception) -> Response:
    """Return the response to any exception; unexpected ones are logged."""
    match error:
        case RefusedError():
            return _answer_refused(request, error)
        case DomainError():
            return _answer_domain_error(request, error)
        case RequestValidationError():
            return _answer_malformed(request, error)
        case HTTPException():
            return _answer_http(request, error)
    return _answer_failure(request, error)


def _answer_failure(request: Request, error: Exception) -> Response:
    if isinstance(error, DataError):
        log.info("value out of range", path=_logged_path(request))
        if request.method == "GET" and not wants_json(request):
            return respond(request, NotFoundError, "There is nothing at this address")
        detail = "The request has a value that cannot be stored: a NUL character, or a number out of range"
        return respond(request, MalformedError, detail)
    if sqlstate(error) == FOREIGN_KEY and not _is_deletion(error):
        log.info("deleted meanwhile", path=_logged_path(request))
        return respond(request, NotFoundError, "What this belongs to was deleted a moment ago")
    if sqlstate(error) == DISK_FULL:
        log.error("database disk full", path=_logged_path(request))
        detail = "The database is out of disk space. Nothing was saved or counted; please try again later"
        return respond(request, StorageFullError, detail)
    if is_unavailable(error):
        log.warning("database unavailable", path=_logged_path(request), error=type(error).__name__)
        detail = "The database cannot be reached at the moment. Please try again in a few seconds"
        return respond(request, UnavailableError, detail)
    log.error("unhandled error", path=_logged_path(request), exc_info=error)
    detail = "Something went wrong on our side; nothing was lost or counted"
    return respond(request, DomainError, detail)


def _is_deletion(error: Exception) -> bool:
    """Whether rows were to be deleted that others still refer to, which is an error on our side."""
    return isinstance(error, StatementError) and (error.statement or "").startswith("DELETE")


def answer_interrupted(request: Request) -> Response:
    """Return the response to a request that was interrupted because the server is stopping."""
    log.warning("request interrupted by shutdown", path=_logged_path(request))
    detail = (
        "The server is restarting and did not finish this request. Bytes of an upload received so far are stored; "
        "please try again in a few seconds"
    )
    return respond(request, UnavailableError, detail, headers={"Connection": "close"})


def _logged_path(request: Request) -> str:
    """The path of a route without its parameters, which may be secrets such as the token of a one-time link."""
    route = request.scope.get("route")
    return getattr(route, "path", "/" + request.url.path.split("/")[1])


def respond(
    request: Request,
    kind: type[ProblemKind],
    detail: str,
    problems: Problems | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return the response for a problem, as a page or as JSON."""
    response = _json(request, kind, detail, problems or [])
    if not wants_json(request):
        response = _page(request, kind, detail, problems or [])
    response.headers.update(headers or {})
    if kind.status == 503:
        response.headers.setdefault("Retry-After", str(RETRY_AFTER))
    response.headers.setdefault("Cache-Control", "no-store")
    return response


def _json(request: Request, kind: type[ProblemKind], detail: str, problems: Problems) -> Response:
    problem = problem_of(kind, detail, getattr(request.state, "reference", ""), problems)
    return JSONResponse(problem.model_dump(), kind.status, media_type=MEDIA_TYPE)


def _page(request: Request, kind: type[ProblemKind], detail: str, problems: Problems) -> Response:
    return render(
        request,
        "error.html",
        code=kind.status,
        kind=kind,
        detail=detail,
        reference=getattr(request.state, "reference", ""),
        is_form=request.method == "POST",
        above=(above := parent_page(request, without_query=kind.status == 422)),
        above_name=name_of_page(above or "/"),
        words=search_terms(request.url.path) if kind.status in (404, 410) else None,
        problems=tuple(problem.message for problem in problems),
    )


def _answer_domain_error(request: Request, error: DomainError) -> Response:
    if isinstance(error, LoginRequiredError) and "hx-request" in request.headers:
        return _lost_session(request)
    if request.method == "GET" and not wants_json(request) and (page := _login_page(request, error)):
        return RedirectResponse(f"{page}?next={quote(address_of(request))}", status_code=303)
    if isinstance(error, StorageUnavailableError):
        log.warning("storage unavailable", path=_logged_path(request), cause=error.cause)
    return respond(request, type(error), str(error), headers=_headers_of(error))


def _lost_session(request: Request) -> Response:
    """Return what stands in place of the part of a page that htmx asked for; htmx shows no response with an error's status."""
    headers = {"Cache-Control": "no-store", "HX-Reselect": ".note", "HX-Reswap": "innerHTML"}
    response = render(request, "sessions/lost.html")
    response.headers.update(headers)
    return response


def _login_page(request: Request, error: DomainError) -> str | None:
    """The page where the user can authenticate as this address requires."""
    match error:
        case LoginRequiredError():
            return "/login/code" if request.state.awaits_code else "/login"
        case RecentLoginRequiredError():
            return "/login/confirm"
        case SecondFactorRequiredError():
            return "/account/second-factor"
    return None


def _headers_of(error: DomainError) -> dict[str, str]:
    headers = {}
    match error:
        case LoginRequiredError():
            headers = {"WWW-Authenticate": "Bearer"}
        case OffsetError():
            headers = {"Upload-Offset": str(error.received)}
        case TooLargeError() | BadRequestError() | CrossSiteError():  # the body was not read
            headers = {"Connection": "close"}
        case ProtocolVersionError():
            headers = {"Tus-Version": TUS_VERSION}
        case CheckBusyError() | BusyError() | RateLimitedError() | StorageDamagedError():
            headers = {"Retry-After": str(error.retry_after)}
        case RangeError():
            headers = {"Content-Range": f"bytes */{error.size}"}
    return headers


def _answer_refused(request: Request, error: RefusedError) -> Response:
    problems = [ProblemItem(code=refusal.code, message=refusal.message) for refusal in error.refusals]
    times = [refusal.retry_at for refusal in error.refusals if refusal.retry_at is not None]
    all_retryable = len(times) == len(error.refusals)
    headers = {"Retry-After": str(_seconds_until(max(times)))} if all_retryable else {}
    return respond(request, type(error.refusals[0]), str(error), problems, {**error.fields, **headers})


def _seconds_until(moment: datetime) -> int:
    return max(1, math.ceil((moment - datetime.now(UTC)).total_seconds()))


def _answer_malformed(request: Request, error: RequestValidationError) -> Response:
    if not wants_json(request) and all(problem["loc"][0] == "path" for problem in error.errors()):
        return respond(request, NotFoundError, "There is nothing at this address")
    problems = [
        ProblemItem(code=problem["type"], message=f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}")
        for problem in error.errors()
    ]
    return respond(request, MalformedError, "The request is not valid for this address", problems)


def _answer_http(request: Request, error: HTTPException) -> Response:
    if isinstance(error.__cause__, DomainError):  # raised while reading a form
        return answer_error(request, error.__cause__)
    if error.status_code == 404 and (address := without_slash(request)):
        return RedirectResponse(address, status_code=307)
    if error.status_code == 405 and request.method == "GET" and not wants_json(request):
        # e.g. the address of a form, reloaded
        return RedirectResponse(nearest_page(request), status_code=303)
    details = {404: "There is nothing at this address", 405: f"This address does not accept {request.method}"}
    detail = details.get(error.status_code, str(error.detail))
    headers = {"Allow": ", ".join(methods_at(request))} if error.status_code == 405 else error.headers
    return respond(request, kind_of_status(error.status_code), detail, headers=headers)
