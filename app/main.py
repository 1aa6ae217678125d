"""The web application, put together."""

from fastapi import FastAPI
from fastapi.routing import APIRoute
from fastapi.staticfiles import StaticFiles
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from app import logs, metrics
from app.accounts import pages as account_pages
from app.administration import api as administration_api
from app.administration import pages as administration_pages
from app.analyses import api as analysis_api
from app.anonymous import api as anonymous_api
from app.anonymous import pages as anonymous_pages
from app.approvals import api as approval_api
from app.approvals import pages as approval_pages
from app.audit import api as audit_api
from app.audit import pages as audit_pages
from app.comparisons import api as comparison_api
from app.comparisons import pages as comparison_pages
from app.confirmation import pages as confirmation_pages
from app.documentation import api as documentation_api
from app.documentation import pages as documentation_pages
from app.editions import api as edition_api
from app.entries import api as entry_api
from app.entries import pages as entry_pages
from app.error_responses import add_error_handlers
from app.examples import pages as example_pages
from app.exhibits import api as exhibit_api
from app.figure_pages import api as figure_api
from app.figure_pages import pages as figure_pages
from app.health import api as health_api
from app.home import api as home_api
from app.home import pages as home_pages
from app.images import api as image_api
from app.images import pages as image_pages
from app.leaderboards import api as leaderboard_api
from app.leaderboards import pages as leaderboard_pages
from app.methods import api as method_api
from app.methods import pages as method_pages
from app.middleware import RequestMiddleware
from app.openid import pages as openid_pages
from app.organisers import api as organiser_api
from app.organisers import pages as organiser_pages
from app.participation import api as participation_api
from app.participation import pages as participation_pages
from app.phases import api as phase_api
from app.phases import pages as phase_pages
from app.platform import INTERACTIVE, Platform, platform_of
from app.problems import problem_responses
from app.profiles import api as profile_api
from app.profiles import pages as profile_pages
from app.progress import pages as progress_pages
from app.published import api as published_api
from app.published import pages as published_pages
from app.quotas import api as quota_api
from app.recovery import pages as recovery_pages
from app.retention import api as retention_api
from app.retention import pages as retention_pages
from app.roles import api as role_api
from app.roles import pages as role_pages
from app.sandbox import warm_up
from app.second_factor import pages as second_factor_pages
from app.sessions import pages as session_pages
from app.settings import Settings
from app.similarity import api as similarity_api
from app.similarity import pages as similarity_pages
from app.submissions import api as submission_api
from app.submissions import pages as submission_pages
from app.teams import api as team_api
from app.teams import pages as team_pages
from app.tokens import pages as token_pages
from app.uploads import api as upload_api
from app.uploads import downloads
from app.uploads import pages as upload_pages
from app.web import ROOT

API = (
    upload_api.router,
    downloads.router,
    retention_api.router,
    quota_api.router,
    submission_api.router,
    entry_api.router,
    method_api.router,
    anonymous_api.router,
    exhibit_api.router,
    analysis_api.router,
    team_api.router,
    approval_api.router,
    leaderboard_api.router,
    comparison_api.router,
    figure_api.router,
    published_api.router,
    home_api.router,
    edition_api.router,
    image_api.router,
    participation_api.router,
    profile_api.router,
    organiser_api.router,
    similarity_api.router,
    phase_api.router,
    administration_api.router,
    role_api.router,
    audit_api.router,
    documentation_api.router,
    health_api.router,
    metrics.router,
)
PAGES = (
    leaderboard_pages.router,
    progress_pages.router,
    home_pages.router,
    submission_pages.router,
    account_pages.router,
    confirmation_pages.router,
    recovery_pages.router,
    profile_pages.router,
    participation_pages.router,
    session_pages.router,
    openid_pages.router,
    second_factor_pages.router,
    token_pages.router,
    role_pages.router,
    upload_pages.router,
    example_pages.router,
    retention_pages.router,
    entry_pages.router,
    team_pages.router,
    approval_pages.router,
    method_pages.router,
    anonymous_pages.router,
    image_pages.router,
    comparison_pages.router,
    figure_pages.router,
    published_pages.router,
    organiser_pages.router,
    similarity_pages.router,
    phase_pages.router,
    phase_pages.calendars,
    administration_pages.router,
    audit_pages.router,
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
        openapi_url="/api/v1/openapi.json",
        redirect_slashes=False,  # its redirects name the host that a header claims; ours are in app/error_responses.py
        responses=problem_responses(),
    )
    app.state.platform = platform or platform_of(Settings.read(), INTERACTIVE)
    settings: Settings = app.state.platform.settings
    app.add_middleware(RequestMiddleware, platform=app.state.platform)
    if settings.proxies:
        app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=settings.proxies)
    app.mount("/static", StaticFiles(directory=ROOT / "static"), name="static")
    app.state.routers = [*API, *PAGES]  # what the documentation reads permissions from
    app.state.page_routes = [route for page in PAGES for route in page.routes if isinstance(route, APIRoute)]
    for page in PAGES:
        app.include_router(page, include_in_schema=False)
    for room in API:
        app.include_router(room)
    add_error_handlers(app)
    return app
