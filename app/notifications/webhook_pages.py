"""HTML pages: webhooks of challenges."""

from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from app.core.access import Action
from app.core.rate_limits import Limited
from app.notifications import webhooks
from app.notifications.webhooks import NewSecret, NewWebhook, WebhookPage
from app.web.dependencies import CurrentActor, ThePlatform, limited, recently_logged_in, render, requires
from app.web.forms import Form, TheForm
from app.web.route_marks import marked

router = APIRouter()

CHANGE: Final = [requires(Action.CHANGE_WEBHOOK), limited(Limited.CHANGE)]
# who may do this can have everything that happens sent elsewhere from then on, as with a token
CREATE: Final = [requires(Action.CHANGE_WEBHOOK), recently_logged_in(), limited(Limited.CHANGE)]


@router.get("/organise/challenges/{challenge}/webhooks", dependencies=[requires(Action.ORGANISE)])
def of_challenge(request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str) -> Response:
    """List the webhooks of a challenge, with a form for a new one."""
    return _page(request, webhooks.challenge_page(platform, actor, challenge), Form())


def _page(request: Request, page: WebhookPage, form: Form, new: NewSecret | None = None) -> Response:
    response = render(request, "webhooks/webhooks.html", page=page, form=form, new=new)
    response.headers["Cache-Control"] = "no-store"
    return response


@router.post("/organise/challenges/{challenge}/webhooks", dependencies=CREATE)
def create(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, form: TheForm
) -> Response:
    """Create a webhook of a challenge and show its secret once."""
    with form.showing_errors():
        new = webhooks.create(platform, actor, challenge, form.read(NewWebhook))
        return _page(request, webhooks.challenge_page(platform, actor, challenge), Form(), new)
    return _page(request, webhooks.challenge_page(platform, actor, challenge), form)


@router.post("/webhooks/{webhook_id}/secret", dependencies=CREATE)
def rotate(request: Request, platform: ThePlatform, actor: CurrentActor, webhook_id: int) -> Response:
    """Replace the secret of a webhook and show the new one once."""
    new = webhooks.rotate_secret(platform, actor, webhook_id)
    return _page(request, webhooks.page_of(platform, actor, webhook_id), Form(), new)


@router.post("/webhooks/{webhook_id}/test", dependencies=CHANGE)
def test(request: Request, platform: ThePlatform, actor: CurrentActor, webhook_id: int) -> Response:
    """Send a test to a webhook; a worker sends it, and the page lists its outcome."""
    form = Form()
    with form.showing_errors():
        path = webhooks.send_test(platform, actor, webhook_id)
        return RedirectResponse(f"{path}#webhook-{webhook_id}", status_code=303)
    return _page(request, webhooks.page_of(platform, actor, webhook_id), form)


@router.post("/webhooks/{webhook_id}/on", dependencies=CREATE)
@marked(done="The webhook is on.")
def turn_on(platform: ThePlatform, actor: CurrentActor, webhook_id: int) -> Response:
    """Turn a webhook on again."""
    return RedirectResponse(webhooks.turn_on(platform, actor, webhook_id), status_code=303)


@router.post("/webhooks/{webhook_id}/delete", dependencies=CHANGE)
@marked(done="The webhook is deleted.")
def delete(platform: ThePlatform, actor: CurrentActor, webhook_id: int) -> Response:
    """Delete a webhook."""
    return RedirectResponse(webhooks.delete_webhook(platform, actor, webhook_id), status_code=303)
