"""JSON API: cancelling a submission that waits, and refunding a result."""

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from app.core.access import Action
from app.results import cancelling, submissions
from app.results.submissions import SubmissionView
from app.web.dependencies import CurrentActor, ThePlatform, requires

router = APIRouter(prefix="/api/v1", tags=["submissions"])


class Refund(BaseModel):
    """The reason for giving quota back."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    reason: Annotated[str, Field(min_length=3, max_length=1000, description="why; its team reads it")]


@router.post("/submissions/{submission_id}/cancel", dependencies=[requires(Action.SUBMIT)])
def cancel(platform: ThePlatform, actor: CurrentActor, submission_id: int) -> SubmissionView:
    """Cancel the results of a submission that no worker has started. They cost no quota, and the method's name stays free."""
    cancelling.cancel(platform, actor, submission_id)
    return submissions.submission_page(platform, actor, submission_id)


@router.post(
    "/organise/results/{result_id}/refund", dependencies=[requires(Action.ORGANISE)], tags=["organisers"]
)
def refund(platform: ThePlatform, actor: CurrentActor, result_id: int, requested: Refund) -> SubmissionView:
    """Give the quota of a result back to its team. The score stays; the team sees the reason."""
    submission_id = cancelling.refund(platform, actor, result_id, requested.reason)
    return submissions.submission_page(platform, actor, submission_id)
