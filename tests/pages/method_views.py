"""A method and its results as pages receive them."""

from dataclasses import replace
from typing import Any

from app.challenges.challenges import PhaseRef
from app.images.drawing import ExampleView
from app.images.pictures import PictureView
from app.images.showcase import Sample, Showcase, ShownCurve, Window, by_task
from app.images.viewer import Mark
from app.people.teams import MemberView, TeamRef
from app.results.details import Rank
from app.results.exhibits import CurveView, RocView
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


def shown_method(page: MethodPage, citation: str | None, **changes: Any) -> dict[str, Any]:
    """What the page of a method receives."""
    rank = Rank(2, 7)
    context = {
        "page": page,
        "citation": citation,
        "tasks": by_task(page.results),
        "shown": showcase(EVIL, "curve"),
    }
    return context | {"ranks": {("test", 3): rank} if page.results else {}} | changes


def showcase(image: str, kind: str) -> Showcase:
    """A result with a curve and images."""
    curve = (
        RocView(EVIL, (0.0, 1.0), (0.5, 1.0)) if kind == "roc" else CurveView(EVIL, (0.0, 1.0), (1.0, None))
    )
    example = ExampleView(image, 1, 0.9, (1.0, 2.0, 30.0, 40.0), 0.7, None)
    picture = PictureView(0, image, 500, 375, "v1", None)
    mark = Mark("hit", 1, 2, 29, 38, EVIL)
    sample = Sample(picture, EVIL, example, mark, "/labels.png", Window(0, 0, 400, 300))
    return Showcase(RESULT, 9, (ShownCurve(curve, 0.5),), (sample,), True)


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
        training=(EVIL, EVIL),
        shortest_description=500,
        is_ours=True,
        can_rename=True,
        unpublishable=None,
    )
    return replace(page, **changes)
