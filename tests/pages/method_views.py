"""A method and its results as pages receive them."""

from dataclasses import replace
from typing import Any

from app.people.teams import MemberView
from app.results.methods import MethodPage
from app.results.standings import ResultView
from app.submissions.methods import MethodRevision, MethodView
from app.submissions.questions import AnsweredQuestion
from tests.pages.drawn import EVIL
from tests.pages.views import METHOD, NOW, QUESTIONS

RESULT = ResultView(
    challenge="VOC2007",
    challenge_title=EVIL,
    image_set="test",
    competition=3,
    title="Detection",
    method_id=7,
    method=EVIL,
    is_baseline=True,
    team_id=2,
    team=EVIL,
    submission=12,
    mean=0.648,
    date=NOW,
)


def method_page(method: MethodView = METHOD, **changes: Any) -> MethodPage:
    page = MethodPage(
        method,
        "VOC2007",
        EVIL,
        7,
        EVIL,
        members=(
            MemberView(1, EVIL, is_owner=True, is_named=True, joined_at=NOW, homepage=EVIL, orcid=EVIL),
        ),
        has_more_members=True,
        submissions=(7, 12),
        results=(RESULT, replace(RESULT, mean=None)),
        changes=(MethodRevision(NOW, {"title": EVIL, "paper_url": ""}),),
        answers=tuple(AnsweredQuestion(each, None if each.id == 8 else EVIL) for each in QUESTIONS),
        shortest_description=500,
        is_ours=True,
        can_rename=True,
        unpublishable=None,
    )
    return replace(page, **changes)
