"""HTML pages: webhooks of challenges."""

from collections.abc import Mapping
from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import ValidationError

from app.core.access import Action
from app.core.errors import ConflictError, MalformedError
from app.core.rate_limits import Limited
from app.notifications import webhooks
from app.notifications.webhooks import NewSecret, NewWebhook, WebhookPage
from app.web.dependencies import CurrentActor, ThePlatform, limited, recently_logged_in, render, requires
from app.web.forms import SentForm, field_errors, values_of

router = APIRouter()

CHANGE: Final = [requires(Action.CHANGE_WEBHOOK), limited(Limited.CHANGE)]
# who may do this can have everything that happens sent elsewhere from then on, as with a token
CREATE: Final = [requires(Action.CHANGE_WEBHOOK), recently_logged_in(), limited(Limited.CHANGE)]
EMPTY: Final[Mapping[str, str]] = {"name": "", "url": ""}


@router.get("/organise/challenges/{challenge}/webhooks", dependencies=[requires(Action.ORGANISE)])
def of_challenge(request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str) -> Response:
    """List the webhooks of a challenge, with a form for a new one."""
    return _page(request, webhooks.challenge_page(platform, actor, challenge))


def _page(
    request: Request,
    page: WebhookPage,
    form: Mapping[str, str] = EMPTY,
    *,
    problems: Mapping[str, str] | None = None,
    new: NewSecret | None = None,
    refused: str = "",
) -> Response:
    response = render(
        request,
        "webhooks/webhooks.html",
        code=422 if problems else 409 if refused else 200,
        page=page,
        form=form,
        problems=problems or {},
        new=new,
        refused=(refused,) if refused else (),
    )
    response.headers["Cache-Control"] = "no-store"
    return response


@router.post("/organise/challenges/{challenge}/webhooks", dependencies=CREATE)
def create(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, sent: SentForm
) -> Response:
    """Create a webhook of a challenge and show its secret once."""

    def page() -> WebhookPage:
        return webhooks.challenge_page(platform, actor, challenge)

    form = values_of(sent, NewWebhook)
    try:
        new = webhooks.create(platform, actor, challenge, NewWebhook.model_validate(form))
    except ValidationError as error:
        return _page(request, page(), form, problems=field_errors(error))
    except MalformedError as error:
        return _page(request, page(), form, problems=error.by_field)
    except ConflictError as error:
        return _page(request, page(), form, refused=str(error))
    return _page(request, page(), new=new)


@router.post("/webhooks/{webhook_id}/secret", dependencies=CREATE)
def rotate(request: Request, platform: ThePlatform, actor: CurrentActor, webhook_id: int) -> Response:
    """Replace the secret of a webhook and show the new one once."""
    new = webhooks.rotate_secret(platform, actor, webhook_id)
    return _page(request, webhooks.page_of(platform, actor, webhook_id), new=new)


@router.post("/webhooks/{webhook_id}/test", dependencies=CHANGE)
def test(request: Request, platform: ThePlatform, actor: CurrentActor, webhook_id: int) -> Response:
    """Send a test to a webhook; a worker sends it, and the page lists its outcome."""
    try:
        path = webhooks.send_test(platform, actor, webhook_id)
    except ConflictError as error:
        return _page(request, webhooks.page_of(platform, actor, webhook_id), refused=str(error))
    return RedirectResponse(f"{path}#webhook-{webhook_id}", status_code=303)


@router.post("/webhooks/{webhook_id}/on", dependencies=CREATE)
def turn_on(platform: ThePlatform, actor: CurrentActor, webhook_id: int) -> Response:
    """Turn a webhook on again."""
    return RedirectResponse(webhooks.turn_on(platform, actor, webhook_id), status_code=303)


@router.post("/webhooks/{webhook_id}/delete", dependencies=CHANGE)
def delete(platform: ThePlatform, actor: CurrentActor, webhook_id: int) -> Response:
    """Delete a webhook."""
    return RedirectResponse(webhooks.delete_webhook(platform, actor, webhook_id), status_code=303)
