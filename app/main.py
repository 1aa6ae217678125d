"""The web application."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from fastapi.staticfiles import StaticFiles
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from app.boards import api as boards_api
from app.boards import comparison_api
from app.boards import pages as boards_pages
from app.boards import team_api as boards_team_api
from app.boards import team_pages as boards_team_pages
from app.challenges import (
    answer_pages,
    data_api,
    data_pages,
    example_pages,
    news_pages,
    text_api,
    text_pages,
    visibility_api,
    visibility_pages,
)
from app.challenges import api as challenges_api
from app.challenges import pages as challenges_pages
from app.core import logs
from app.core.problems import problem_responses
from app.core.settings import Settings
from app.figures import api as figures_api
from app.figures import pages as figures_pages
from app.home import api as home_api
from app.home import pages as home_pages
from app.images import api as image_api
from app.images import comparison_pages, label_report_api, label_report_pages
from app.images import method_pages as shown_method_pages
from app.images import pages as image_pages
from app.intake import api as intake_api
from app.intake import label_api, label_pages
from app.intake import pages as intake_pages
from app.jobs.sandbox import warm_up
from app.notifications import api as notifications_api
from app.notifications import (
    opening,
    thread_api,
    thread_pages,
    webhook_api,
    webhook_pages,
)
from app.notifications import pages as notifications_pages
from app.operations import (
    administration_api,
    administration_pages,
    documentation_api,
    documentation_pages,
    health_api,
    metrics,
    setup_pages,
    site_api,
    site_pages,
    status_api,
    status_pages,
    storage_api,
    storage_pages,
)
from app.operations.status import ServiceWatch
from app.organising import api as organising_api
from app.organising import (
    approval_api,
    approval_pages,
    audit_api,
    audit_pages,
    creating_pages,
    disclosure_pages,
    draft_pages,
    phase_api,
    phase_pages,
    preview_api,
    preview_pages,
    question_api,
    question_pages,
    role_api,
    role_pages,
    setting_file_api,
    setting_file_pages,
    settings_api,
    settings_pages,
    similarity_api,
    similarity_pages,
    view_pages,
    viewing,
)
from app.organising import pages as organising_pages
from app.organising import submission_api as organising_submission_api
from app.organising import submission_pages as organising_submission_pages
from app.people import (
    account_pages,
    login_pages,
    openid_pages,
    recovery_pages,
    second_factor_pages,
    sessions,
    token_pages,
)
from app.platform import INTERACTIVE, Platform, platform_of
from app.results import (
    anonymous_api,
    anonymous_pages,
    cancelling_api,
    cancelling_pages,
    exhibit_api,
    method_api,
    method_pages,
    personal_data_api,
    personal_data_pages,
    result_api,
    result_pages,
    submission_api,
    submission_pages,
)
from app.submissions import downloads, quota_api, submitting_pages, upload_api, upload_pages
from app.web.dependencies import ROOT
from app.web.error_responses import add_error_handlers
from app.web.middleware import RequestMiddleware
from app.web.route_marks import MarkedRoutes

API = (
    upload_api.router,
    downloads.router,
    storage_api.router,
    quota_api.router,
    submission_api.router,
    result_api.router,
    cancelling_api.router,
    method_api.router,
    anonymous_api.router,
    exhibit_api.router,
    boards_team_api.router,
    approval_api.reading,
    approval_api.router,
    boards_api.router,
    comparison_api.router,
    figures_api.router,
    home_api.router,
    challenges_api.router,
    text_api.router,
    visibility_api.router,
    data_api.router,
    intake_api.router,
    label_api.router,
    thread_api.router,
    label_report_api.router,
    image_api.router,
    personal_data_api.router,
    organising_api.router,
    setting_file_api.router,
    settings_api.router,
    organising_submission_api.router,
    preview_api.router,
    similarity_api.router,
    phase_api.router,
    administration_api.router,
    site_api.router,
    status_api.router,
    role_api.router,
    question_api.router,
    notifications_api.router,
    webhook_api.router,
    audit_api.router,
    documentation_api.router,
    health_api.router,
    metrics.router,
)
PAGES = (
    boards_pages.router,
    submitting_pages.router,
    submission_pages.router,
    home_pages.router,
    account_pages.router,
    token_pages.router,
    recovery_pages.router,
    personal_data_pages.router,
    challenges_pages.router,
    text_pages.router,
    news_pages.router,
    visibility_pages.router,
    answer_pages.router,
    thread_pages.router,
    label_report_pages.router,
    login_pages.router,
    second_factor_pages.router,
    openid_pages.router,
    role_pages.router,
    setting_file_pages.router,
    draft_pages.router,
    settings_pages.router,
    question_pages.router,
    webhook_pages.router,
    upload_pages.router,
    example_pages.router,
    data_pages.router,
    intake_pages.router,
    label_pages.router,
    storage_pages.router,
    result_pages.router,
    cancelling_pages.router,
    boards_team_pages.router,
    approval_pages.reading,
    approval_pages.router,
    shown_method_pages.router,
    method_pages.router,
    anonymous_pages.router,
    image_pages.router,
    comparison_pages.router,
    figures_pages.router,
    organising_pages.reading,
    view_pages.router,
    organising_submission_pages.router,
    organising_pages.router,
    disclosure_pages.router,
    preview_pages.router,
    similarity_pages.router,
    phase_pages.router,
    phase_pages.calendars,
    administration_pages.router,
    site_pages.router,
    creating_pages.router,
    setup_pages.router,
    notifications_pages.router,
    status_pages.router,
    audit_pages.router,
    documentation_pages.router,
)


@asynccontextmanager
async def _watching(app: FastAPI) -> AsyncIterator[None]:
    """Look at the state of the service as long as the application runs."""
    task = asyncio.create_task(app.state.watch.run())
    yield
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


class Site(FastAPI):
    """The application, which describes its API when somebody asks: the description takes half a second to build."""

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document."""
        if self.openapi_schema is None:
            described = APIRouter(responses=problem_responses())
            for router in API:
                described.include_router(router)
            self.openapi_schema = get_openapi(
                title=self.title, version=self.version, summary=self.summary, routes=described.routes
            )
        return self.openapi_schema


def create_app(platform: Platform | None = None) -> FastAPI:
    """Create the application on a platform, by default the one that the settings describe.

    On a given platform it looks at the state of the service only when it is asked.
    """
    logs.configure()
    warm_up()
    app = Site(
        title="heldout",
        summary="A submission server for visual-recognition challenges whose test annotation stays hidden.",
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/v1/openapi.json",
        redirect_slashes=False,  # its redirects use the host of a header; ours are in app/web/error_responses.py
        lifespan=_watching if platform is None else None,
    )
    app.state.platform = platform or platform_of(Settings.read(), INTERACTIVE)
    app.state.watch = ServiceWatch(app.state.platform)
    app.state.service_line = app.state.watch.line
    settings: Settings = app.state.platform.settings
    app.add_middleware(opening.MarkOpened)
    app.add_middleware(
        RequestMiddleware,
        platform=app.state.platform,
        find_caller=partial(sessions.find_caller, app.state.platform),
        check_view=partial(viewing.check, app.state.platform),
        marked_routes=MarkedRoutes((*API, *PAGES)),
    )
    if settings.proxies:
        app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=settings.proxies)
    app.mount("/static", StaticFiles(directory=ROOT / "static"), name="static")
    app.state.routers = [*PAGES, *API]  # the documentation reads permissions from them
    app.state.page_routes = [
        route for pages in PAGES for route in pages.routes if isinstance(route, APIRoute)
    ]
    # not included, which would build each route a second time
    app.router.routes.extend(route for router in app.state.routers for route in router.routes)
    add_error_handlers(app)
    return app
