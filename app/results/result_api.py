"""JSON API: withdrawing results."""

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from app.core.access import Action
from app.results import submissions, withdrawing
from app.results.submissions import SubmissionView
from app.web.dependencies import CurrentActor, ThePlatform, requires

router = APIRouter(prefix="/api/v1", tags=["submissions"])


class Withdrawal(BaseModel):
    """The reason for withdrawing a result."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, frozen=True)

    reason: Annotated[
        str, Field(max_length=1000, description="required from organisers; its team and organisers read it")
    ] = ""


@router.post("/results/{result_id}/withdraw", dependencies=[requires(Action.WITHDRAW)])
def withdraw(
    platform: ThePlatform, actor: CurrentActor, result_id: int, withdrawal: Withdrawal
) -> SubmissionView:
    """Withdraw a result from its leaderboard. Its team can do so until the method is public, organisers at any time.

    The submission stays. On a held-out phase the method's name cannot be used again, and the quota stays used.
    """
    submission_id = withdrawing.withdraw(platform, actor, result_id, withdrawal.reason)
    return submissions.submission_page(platform, actor, submission_id)
