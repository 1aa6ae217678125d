"""Contexts for the pages of the service's status and of notices."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

from app.models import ServicePart
from app.operations.notices import NewNotice, NoticeView
from app.operations.status import DayView, Numbers, OutageView, PartStatus, Status, line_of, state_of
from tests.pages.drawn import EVIL
from tests.pages.views import NOW

Sample = tuple[str, dict[str, Any]]

NOTICE = NoticeView(1, EVIL, f"*Soon* {EVIL}", NOW - timedelta(hours=1), None)
SCHEDULED = NoticeView(2, EVIL, "", NOW + timedelta(days=1), NOW + timedelta(days=2))
OVER = replace(NOTICE, id=3, ends_at=NOW - timedelta(minutes=1))
OUTAGE = OutageView(ServicePart.UPLOADS, NOW - timedelta(hours=2), NOW - timedelta(hours=1))
OUTAGES = (OUTAGE, replace(OUTAGE, part=ServicePart.SCORING))
DAYS = (DayView(NOW.date(), 0, 0, is_known=False), DayView(NOW.date(), 5, 60), DayView(NOW.date(), 0, 1440))
NUMBERS = Numbers(NOW, 2, 3, 4, NOW, (NOTICE, SCHEDULED), OUTAGES, days=DAYS)
WELL = Status(NOW, PartStatus(works=True), PartStatus(works=True), NUMBERS)
AWAY = PartStatus(works=False, problem=EVIL, since=NOW)


def of_status() -> Iterator[Sample]:
    """The pages of the status and of notices."""
    new = Numbers(NOW, 0, 0, None, None, (), ())
    for status in (
        WELL,
        replace(WELL, uploads=AWAY, scoring=AWAY),
        replace(WELL, scoring=PartStatus(works=False, problem=EVIL), numbers=new),
        replace(WELL, uploads=AWAY, numbers=None),
    ):
        context = {"status": status, "line": state_of(status), "service": line_of(status)}
        yield "status/status.html", context
    page = "status/notices.html"
    empty: dict[str, Any] = {"form": {}, "problems": {}, "preview": None}
    yield page, {**empty, "notices": ()}
    yield page, {**empty, "notices": (NOTICE, SCHEDULED, OVER)}
    form = {"title": EVIL, "text": EVIL, "starts_at": EVIL, "starts_zone": EVIL, "ends_zone": "AoE"}
    problems = {"title": EVIL, "text": EVIL, "starts_at": EVIL}
    yield (
        page,
        {"form": form, "problems": problems, "notices": (), "preview": NewNotice(title=EVIL, text=EVIL)},
    )
