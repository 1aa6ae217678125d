"""The web application, put together."""

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from sqlalchemy.exc import DataError
from starlette.exceptions import HTTPException

from app import health, logs
from app.accounts import pages as account_pages
from app.accounts.service import EmailTakenError, WrongPasswordError
from app.documentation import pages as documentation_pages
from app.editions import api as edition_api
from app.editions import pages as edition_pages
from app.errors import (
    ConflictError,
    ForbiddenError,
    LoginNeededError,
    MalformedError,
    NotFoundError,
    OffsetError,
    TooLargeError,
)
from app.leaderboards import api as leaderboard_api
from app.leaderboards import pages as leaderboard_pages
from app.middleware import Envelope
from app.organisers import api as organiser_api
from app.organisers import pages as organiser_pages
from app.platform import Platform, platform_of
from app.sandbox import warm_up
from app.settings import Settings
from app.submissions import api as submission_api
from app.submissions import pages as submission_pages
from app.submissions.rules import RefusalCode, RefusedError
from app.uploads import api as upload_api
from app.uploads import pages as upload_pages
from app.web import ROOT, render

log = structlog.get_logger()

STATUS: dict[type[Exception], int] = {
    NotFoundError: 404,
    ForbiddenError: 403,
    LoginNeededError: 401,
    ConflictError: 409,
    OffsetError: 409,
    TooLargeError: 413,
    MalformedError: 422,
    EmailTakenError: 409,
    WrongPasswordError: 401,
}

REFUSED_STATUS = {
    RefusalCode.NOT_OPEN: 403,
    RefusalCode.CLOSED: 403,
    RefusalCode.QUOTA: 429,
    RefusalCode.ONE_RESULT: 409,
    RefusalCode.NAME_BURNT: 409,
    RefusalCode.NOT_CHECKED: 409,
    RefusalCode.INVALID: 422,
    RefusalCode.NOT_IN_ARCHIVE: 422,
}


API = (
    upload_api.router,
    submission_api.router,
    leaderboard_api.router,
    edition_api.router,
    organiser_api.router,
    health.router,
)
PAGES = (
    account_pages.router,
    edition_pages.router,
    upload_pages.router,
    submission_pages.router,
    leaderboard_pages.router,
    organiser_pages.router,
    documentation_pages.router,
)


def create_app(platform: Platform | None = None) -> FastAPI:
    """The application on this platform, by default on what the settings describe."""
    logs.configure()
    warm_up()
    app = FastAPI(
        title="heldout",
        summary="A submission server for visual-recognition challenges whose test annotation stays hidden.",
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
    )
    app.state.platform = platform or platform_of(Settings())
    app.add_middleware(Envelope, platform=app.state.platform, unforeseen=_answer_unforeseen)
    app.mount("/static", StaticFiles(directory=ROOT / "static"), name="static")
    app.state.routers = [*API, *PAGES]  # what the documentation reads permissions from
    for room in API:
        app.include_router(room)
    for page in PAGES:
        app.include_router(page, include_in_schema=False)
    for kind in STATUS:
        app.add_exception_handler(kind, _answer)
    app.add_exception_handler(RefusedError, _answer_refused)
    app.add_exception_handler(RequestValidationError, _answer_malformed)
    app.add_exception_handler(HTTPException, _answer_http)
    app.add_exception_handler(DataError, _answer_impossible)
    return app


def _answer(request: Request, error: Exception) -> Response:
    if isinstance(error, LoginNeededError) and not _wants_json(request) and request.method == "GET":
        return RedirectResponse(f"/login?next={request.url.path}", status_code=303)
    response = _say(request, STATUS[type(error)], str(error))
    if isinstance(error, OffsetError):
        response.headers["Upload-Offset"] = str(error.received)
    if isinstance(error, LoginNeededError):
        response.headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, TooLargeError):
        response.headers["Connection"] = "close"
    return response


def _answer_refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, RefusedError)
    problems = [{"code": refusal.code.value, "message": refusal.sentence} for refusal in error.refusals]
    return _say(request, REFUSED_STATUS[error.refusals[0].code], str(error), problems)


def _answer_malformed(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    if not _wants_json(request) and all(problem["loc"][0] == "path" for problem in error.errors()):
        return _say(request, 404, "there is nothing at this address")
    problems = [
        {"code": problem["type"], "message": f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}"}
        for problem in error.errors()
    ]
    return _say(request, 422, "the request is not of the form that this address takes", problems)


def _answer_impossible(request: Request, error: Exception) -> Response:
    """Answer for a value that PostgreSQL cannot hold, such as a NUL in a text or a number beyond its range."""
    log.info("impossible value", path=request.url.path, kind=type(error).__name__)
    return _say(
        request, 422, "the request holds a value that cannot exist here: a NUL, or a number beyond all ranges"
    )


def _answer_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if isinstance(error.__cause__, TooLargeError):  # met while a form was read
        return _answer(request, error.__cause__)
    sentence = "there is nothing at this address" if error.status_code == 404 else str(error.detail)
    response = _say(request, error.status_code, sentence)
    response.headers.update(error.headers or {})
    return response


def _answer_unforeseen(request: Request, error: Exception) -> Response:
    log.error("unforeseen", path=request.url.path, exc_info=error)
    return _say(request, 500, "something went wrong on our side; nothing of yours was lost or counted")


def _say(
    request: Request, status: int, sentence: str, problems: list[dict[str, str]] | None = None
) -> Response:
    reference = getattr(request.state, "reference", "")
    if _wants_json(request):
        body = {"title": sentence, "status": status, "reference": reference, "problems": problems or []}
        return JSONResponse(body, status, media_type="application/problem+json")
    return render(
        request,
        "error.html",
        code=status,
        status=status,
        sentence=sentence,
        reference=reference,
        problems=tuple(problem["message"] for problem in problems or []),
    )


def _wants_json(request: Request) -> bool:
    return request.url.path.startswith("/api/") or "text/html" not in request.headers.get("accept", "")
