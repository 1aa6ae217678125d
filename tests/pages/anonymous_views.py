"""Anonymous links and what they show, with names that contain markup."""

from dataclasses import replace
from typing import Any

from app.models import RunState
from app.results.anonymous_links import AnonymousLinkView, AnonymousResult, LinksPage, LinkState
from tests.pages.drawn import EVIL
from tests.pages.drawn import shown as shown_exhibits
from tests.pages.views import NOW, run


def links_page(**changes: Any) -> LinksPage:
    links = tuple(
        AnonymousLinkView(number, "/anonymous/x", f"http://127.0.0.1:8000/anonymous/{EVIL}", state, NOW, 7)
        for number, state in enumerate(LinkState)
    )
    page = LinksPage(7, 12, EVIL, 3, "Detection", links, (), is_public=True)
    return replace(page, **changes)


def anonymous_result(**changes: Any) -> dict[str, Any]:
    shown = run(RunState.SCORED)
    result = AnonymousResult(
        challenge="VOC2007",
        challenge_title=EVIL,
        image_set="test",
        competition=3,
        title="Detection",
        data_rule=EVIL,
        protocol="voc2007",
        ground_truth=2,
        scorer="1",
        measure="AP",
        headline=0.5,
        headline_reason=None,
        low=None,
        high=None,
        classes=shown.classes,
        withheld=EVIL,
        is_withdrawn=False,
    )
    return {"result": replace(result, **changes), "exhibits": shown_exhibits(shown), "token": EVIL}
