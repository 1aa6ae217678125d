"""JSON API: the reader's own data."""

from fastapi import APIRouter
from fastapi.responses import StreamingResponse

from app.core.access import Action
from app.core.errors import RecentLoginRequiredError
from app.core.rate_limits import Limited
from app.results import personal_data
from app.web.dependencies import CurrentActor, ThePlatform, limited, requires

router = APIRouter(prefix="/api/v1", tags=["account"])


@router.get(
    "/account/export",
    dependencies=[requires(Action.READ_OWN), limited(Limited.VIEW)],
    response_class=StreamingResponse,
    responses={200: {"content": {"application/json": {"schema": {"type": "object"}}}}},
)
def export(platform: ThePlatform, actor: CurrentActor) -> StreamingResponse:
    """Everything stored about you: profile, teams, accepted terms, uploads, and submissions.

    A token gets what its scope may read. `left_out` lists what only the page of your account exports: e-mail addresses, role,
    sessions, logins, tokens, and the account's actions.
    """
    if not actor.by_token and not actor.is_recent:
        raise RecentLoginRequiredError("Confirm your password first")
    headers = {"Cache-Control": "no-store"}
    return StreamingResponse(
        personal_data.export(platform, actor), media_type="application/json", headers=headers
    )
