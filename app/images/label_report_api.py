"""JSON API: reports of labels."""

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response, StreamingResponse

from app.core.access import Action
from app.core.names import attachment
from app.core.paging import RowPage
from app.core.rate_limits import Limited
from app.images import label_reports
from app.images.label_reports import Closing, LabelReportView, NewReport, ReportedImages, ReportQuery
from app.web.dependencies import CurrentActor, ThePlatform, limited, requires

router = APIRouter(prefix="/api/v1", tags=["questions"])

ORGANISE, CHANGE = requires(Action.ORGANISE), limited(Limited.CHANGE)


@router.post(
    "/challenges/{challenge}/{image_set}/images/{name}/reports",
    status_code=201,
    dependencies=[requires(Action.ASK), CHANGE],
)
def report(
    platform: ThePlatform, actor: CurrentActor, challenge: str, image_set: str, name: str, new: NewReport
) -> LabelReportView:
    """Report a label of an image whose annotation is public; its organisers read it and answer. At most 10 a day."""
    return label_reports.report(platform, actor, challenge, image_set, name, new)


@router.get(
    "/challenges/{challenge}/{image_set}/images/{name}/reports", dependencies=[requires(Action.READ_OWN)]
)
def mine(
    platform: ThePlatform, actor: CurrentActor, challenge: str, image_set: str, name: str
) -> tuple[LabelReportView, ...]:
    """List your reports of an image, newest first, with what became of them."""
    return label_reports.own_reports(platform, actor, challenge, image_set, name)


@router.get("/organise/challenges/{challenge}/label-reports", dependencies=[ORGANISE])
def organised(
    platform: ThePlatform, actor: CurrentActor, challenge: str, query: Annotated[ReportQuery, Query()]
) -> RowPage[LabelReportView]:
    """List the reports of labels of a challenge, newest first, 50 at a time."""
    return label_reports.list_reports(platform, actor, challenge, query)


@router.get("/organise/challenges/{challenge}/reported-images", dependencies=[ORGANISE])
def reported_images(
    platform: ThePlatform, actor: CurrentActor, challenge: str, query: Annotated[ReportQuery, Query()]
) -> ReportedImages:
    """List the images with reported labels and how many reports each has, the one with the newest report first."""
    return label_reports.images(platform, actor, challenge, query)


@router.post(
    "/organise/challenges/{challenge}/label-reports/close", status_code=204, dependencies=[ORGANISE, CHANGE]
)
def close(platform: ThePlatform, actor: CurrentActor, challenge: str, closing: Closing) -> None:
    """Close open reports with an answer, with the version in which the label is corrected, or with both."""
    label_reports.close(platform, actor, challenge, closing)


@router.get(
    "/organise/challenges/{challenge}/label-reports.csv",
    response_class=Response,
    responses={200: {"content": {"text/csv": {}}}},
    dependencies=[ORGANISE, limited(Limited.VIEW)],
)
def csv(
    platform: ThePlatform, actor: CurrentActor, challenge: str, query: Annotated[ReportQuery, Query()]
) -> Response:
    """Download the reports of labels of a challenge as CSV, newest first."""
    lines = label_reports.csv_lines(platform, actor, challenge, query)
    headers = {"Content-Disposition": attachment(f"{challenge}-label-reports.csv")}
    return StreamingResponse(lines, headers=headers, media_type="text/csv")
