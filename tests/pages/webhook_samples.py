"""Contexts for the pages of webhooks."""

import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from app.notifications.webhooks import DeliveryState, DeliveryView, NewSecret, WebhookPage, WebhookView
from tests.pages.drawn import EVIL
from tests.pages.views import NOW

Sample = tuple[str, dict[str, Any]]

DELIVERY = DeliveryView(
    uuid.UUID(int=7),
    EVIL,
    NOW,
    DeliveryState.WAITING,
    attempts=0,
    tried_at=None,
    status=None,
    seconds=None,
    problem="",
)
DELIVERIES = (
    DELIVERY,
    replace(DELIVERY, id=uuid.UUID(int=8), attempts=3, tried_at=NOW, seconds=5.0, problem=EVIL),
    replace(
        DELIVERY,
        id=uuid.UUID(int=9),
        state=DeliveryState.DELIVERED,
        attempts=1,
        tried_at=NOW,
        status=200,
        seconds=0.12,
    ),
    replace(DELIVERY, id=uuid.UUID(int=10), state=DeliveryState.FAILED, problem=EVIL),
)
HOOK = WebhookView(1, EVIL, "hooks.example.org", EVIL, NOW, None, None, "", DELIVERIES)
PAGE = WebhookPage(
    "VOC2007",
    EVIL,
    webhooks=(
        HOOK,
        replace(HOOK, id=2, failing_since=NOW, deliveries=(), made_by=""),
        replace(HOOK, id=3, off_at=NOW, off_reason=EVIL),
    ),
)


def of_webhooks() -> Iterator[Sample]:
    """The pages of webhooks."""
    page, form = "webhooks/webhooks.html", {"name": EVIL, "url": EVIL}
    empty: dict[str, Any] = {"form": {}, "problems": {}, "new": None, "refused": ()}
    yield page, {**empty, "page": PAGE}
    new = NewSecret(EVIL, "whsec_x")
    without = replace(PAGE, webhooks=())
    yield page, {**empty, "page": without, "new": new}
    yield page, {**empty, "page": without, "form": form, "problems": form, "refused": (EVIL,)}
