"""A method and its results as pages receive them."""

from dataclasses import replace
from typing import Any

from app.challenges.challenges import PhaseRef
from app.people.teams import MemberView, TeamRef
from app.results.methods import MethodPage
from app.results.standings import ResultView
from app.submissions.methods import MethodRef, MethodRevision, MethodView
from app.submissions.questions import AnsweredQuestion
from tests.pages.drawn import EVIL
from tests.pages.views import METHOD, NOW, QUESTIONS

RESULT = ResultView(
    phase=PhaseRef("VOC2007", EVIL, "test"),
    competition=3,
    title="Detection",
    method=MethodRef(7, EVIL, is_baseline=True),
    team=TeamRef(2, EVIL),
    submission=12,
    mean=0.648,
    date=NOW,
)
OTHER_METHOD = MethodRef(8, EVIL, is_baseline=False)


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
