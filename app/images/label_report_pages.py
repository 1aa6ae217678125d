"""HTML pages: reporting a label, and the reports of a challenge for its organisers."""

from typing import Annotated
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response

from app.core.access import Action, Actor
from app.core.paging import Before
from app.core.rate_limits import Limited
from app.images import label_report_api, label_reports
from app.images.label_reports import Closing, NewReport, ReportQuery
from app.images.pages import viewer_page
from app.images.viewer import ViewerChoice
from app.platform import Platform
from app.web.dependencies import CurrentActor, ThePlatform, limited, render, requires
from app.web.forms import Form, TheForm
from app.web.route_marks import marked

router = APIRouter()

ORGANISE, CHANGE = requires(Action.ORGANISE), limited(Limited.CHANGE)


@router.post("/pictures/{challenge}/{image_set}/{name}/reports", dependencies=[requires(Action.ASK), CHANGE])
@marked(done="Your report is sent. You are notified of the answer.")
def report(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    image_set: str,
    name: str,
    form: TheForm,
) -> Response:
    """Report a label of an image."""
    with form.showing_errors(refusal=None):
        label_reports.report(platform, actor, challenge, image_set, name, form.read(NewReport))
        here = f"/pictures/{quote(challenge)}/{quote(image_set)}/{quote(name)}"
        return RedirectResponse(f"{here}#report", status_code=303)
    return viewer_page(request, platform, actor, challenge, image_set, name, ViewerChoice(), form)


@router.get("/organise/challenges/{challenge}/label-reports", dependencies=[ORGANISE])
def images(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    query: Annotated[ReportQuery, Query()],
) -> Response:
    """List the images with reported labels, the one with the newest report first."""
    page = label_reports.images(platform, actor, challenge, query)
    words = query.model_dump(mode="json", exclude_none=True, exclude={"before"})
    return render(
        request,
        "images/reported.html",
        page=page,
        query=query,
        older=urlencode(words | {"before": page.next}) if page.next else None,
        words=urlencode(words),
    )


router.add_api_route(
    "/organise/challenges/{challenge}/label-reports.csv",
    label_report_api.csv,
    methods=["GET"],
    dependencies=[ORGANISE, limited(Limited.VIEW)],
)


@router.get("/organise/challenges/{challenge}/label-reports/{image_set}/{name}", dependencies=[ORGANISE])
def of_image(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    image_set: str,
    name: str,
    before: Before = None,
) -> Response:
    """Show the reports of an image, with the form that closes them."""
    return _of_image(request, platform, actor, challenge, image_set, name, Form(), before)


@router.post(
    "/organise/challenges/{challenge}/label-reports/{image_set}/{name}", dependencies=[ORGANISE, CHANGE]
)
@marked(done="The reports are answered.")
def close(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    image_set: str,
    name: str,
    form: TheForm,
) -> Response:
    """Close reports of an image."""
    with form.showing_errors(names={"": "answer"}):
        label_reports.close(platform, actor, challenge, form.read(Closing))
        here = f"/organise/challenges/{quote(challenge)}/label-reports/{quote(image_set)}/{quote(name)}"
        return RedirectResponse(here, status_code=303)
    return _of_image(request, platform, actor, challenge, image_set, name, form)


def _of_image(
    request: Request,
    platform: Platform,
    actor: Actor,
    challenge: str,
    image_set: str,
    name: str,
    form: Form,
    before: int | None = None,
) -> Response:
    page = label_reports.of_image(platform, actor, challenge, image_set, name, before)
    chosen = form.texts("reports") if form.sent else [str(each.id) for each in page.reports]
    return render(
        request,
        "images/reports.html",
        page=page,
        form=form,
        chosen=chosen,
        longest=label_reports.LONGEST,
    )
