"""Contexts for the pages of notifications and of mail, covering their branches."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from app.jobs.mail import MailLocation
from app.models import EventKind
from app.notifications import choosing
from app.notifications.choosing import KindChoice, Subscription
from app.notifications.kinds import BY_MAIL, KINDS
from app.notifications.mailing import FailedMail
from app.notifications.reading import NotificationPage, NotificationView, grouped
from tests.pages.drawn import EVIL
from tests.pages.views import NOW

Sample = tuple[str, dict[str, Any]]


def of_notifications() -> Iterator[Sample]:
    """Every page about notifications."""
    told = NotificationView(7, EventKind.SCORED, NOW, False, EVIL, "/submissions/3", "VOC2007")
    gone = replace(told, id=5, is_read=True, path=None, challenge=None)
    kinds = (replace(told, id=100 + number, kind=kind) for number, kind in enumerate(EventKind))
    page = NotificationPage((told, replace(told, id=6, is_read=True), gone, *kinds), 5, 100)
    none = NotificationPage((), None, 0)
    name = "notifications/notifications.html"
    for unread in (False, True):
        known = {"only_unread": unread, "is_first": True}
        yield (
            name,
            {
                "page": page,
                "groups": grouped(page.notifications),
                "older": "/notifications?before=5",
                **known,
            },
        )
        yield name, {"page": none, "groups": (), "older": None, **known}
    choices = tuple(
        KindChoice(kind, row.title, row.recipients.value, row.by_mail) for kind, row in KINDS.items()
    )
    for is_sent in (False, True):
        place = MailLocation(is_sent=is_sent)
        yield (
            "notifications/choices.html",
            {"groups": choosing.grouped(choices), "usual": BY_MAIL, "place": place},
        )
    found = Subscription(7, EventKind.OPENED)
    for is_done in (False, True):
        yield "notifications/unsubscribe.html", {"found": found, "token": "t0ken", "is_done": is_done}
    mail = FailedMail(EVIL, 3, 7, EVIL, EVIL, 1, EVIL, NOW)
    mails = (mail, replace(mail, address="", attempts=8))
    failed = "notifications/failed_mail.html"
    yield failed, {"mails": mails, "older": "/admin/mail?before=3", "trouble": EVIL}
    yield failed, {"mails": (), "older": None, "trouble": None}
