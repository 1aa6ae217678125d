"""Home and the overview of a challenge with what they are rendered with."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

from app.challenges.challenges import PhaseState
from app.challenges.texts import ChallengeTexts
from app.figures.published import PublishedLine
from app.home.home import (
    ChallengeSummary,
    ChallengeView,
    CompetitionLine,
    FoundMethod,
    HomeView,
    PhaseCard,
    PhasePictures,
    Representative,
    SearchResult,
    competitions_of,
    timeline_of,
)
from app.home.overview import Overview, OwnQuota, OwnView, PhaseNumbers, Progress, TaskLeaders, steps_of
from app.results.standings import Cell, Matrix, MatrixRow, columns_of, submissions_of
from tests.pages.drawn import EVIL
from tests.pages.method_views import RESULT
from tests.pages.text_samples import QUOTA_LINE, WRITTEN
from tests.pages.views import NOW, PHASE, VAL

CLOSED = replace(
    PHASE, id=3, image_set="old", state=PhaseState.CLOSED, is_over=True, closes_at=NOW - timedelta(days=2)
)
UPCOMING = replace(PHASE, id=4, image_set="new", state=PhaseState.UPCOMING, opens_at=NOW + timedelta(days=2))

HISTORICAL = PublishedLine("voc2007", EVIL, EVIL)


def of_challenges() -> Iterator[tuple[str, dict[str, Any]]]:
    phases = (PHASE, VAL)
    summary = ChallengeSummary("VOC2007", EVIL, "VOC2007", phases)
    several = (RESULT, replace(RESULT, competition=1, title="Classification", mean=None))
    empty = HomeView((), (), (), None, ())
    yield "home/home.html", {"home": empty}
    challenges = (summary, replace(summary, phases=()))
    stands_for = Representative(EVIL, "/pictures/a/b/c", "/pictures/a/b/c/thumbnail.jpg", 200, 150)
    pictures = PhasePictures(VAL, (stands_for,))
    newest = submissions_of(several, 8)
    yield (
        "home/home.html",
        {
            "home": HomeView(
                challenges, phases, (UPCOMING,), PHASE, newest, (HISTORICAL,), pictures, (WRITTEN,)
            )
        },
    )
    yield "home/home.html", {"home": HomeView(challenges, (), (UPCOMING,), None, ())}
    methods = (FoundMethod(7, EVIL, EVIL, EVIL), FoundMethod(8, EVIL, "", EVIL))
    yield "home/find.html", {"found": SearchResult(EVIL, challenges, methods)}
    yield "home/find.html", {"found": SearchResult("", (), ())}
    lines = tuple(
        CompetitionLine(number, "detection", "Detection", "trained on anything") for number in (3, 4)
    )
    cards = tuple(PhaseCard(each, lines, None, (stands_for,)) for each in (PHASE, VAL, CLOSED, UPCOMING))
    challenge = ChallengeView(
        "VOC2007", EVIL, "VOC2007", cards, matrix(), has_terms=True, overview=overview()
    )
    without = replace(challenge, phases=(PhaseCard(VAL, ()),), has_terms=False)
    last = replace(matrix(), page=20, next_page=None, withheld=None)
    yield from of_readers()
    nothing = replace(matrix(), rows=(), columns=(), next_page=None, has_more=False)
    for each in (
        challenge,
        replace(without, matrix=last),
        replace(without, matrix=nothing),
        replace(without, matrix=replace(nothing, page=2)),
        replace(challenge, phases=(), matrix=None),
    ):
        timeline = timeline_of([card.phase for card in each.phases], NOW)
        competitions = competitions_of(each.phases)
        yield "home/challenge.html", {"challenge": each, "timeline": timeline, "competitions": competitions}


def overview() -> Overview:
    """Texts, leaders and numbers, with names that try to break out."""
    leaders = (TaskLeaders("detection", 3, EVIL, (RESULT, replace(RESULT, mean=None))),)
    texts = ChallengeTexts(EVIL, f"# {EVIL}", EVIL, EVIL, EVIL, has_contact=True)
    numbers = (PhaseNumbers("val", 5823, 13_841), PhaseNumbers("test", 1, None))
    return Overview(texts, "val", leaders, numbers, (EVIL, "car"))


def of_readers() -> Iterator[tuple[str, dict[str, Any]]]:
    """What depends on the reader: a visitor's, and that of somebody who has done everything."""
    everything = Progress(registered=True, confirmed=True, accepted_terms=True, uploaded=True, submitted=True)
    first = steps_of("VOC2007", Progress(), has_terms=False, submit_to=None)
    last = steps_of("VOC2007", everything, has_terms=True, submit_to="test")
    for own in (
        OwnView("VOC2007", first, None, (), True, ""),
        OwnView("VOC2007", last, EVIL, (OwnQuota("test", (QUOTA_LINE,)),), True, EVIL),
        OwnView("VOC2007", last, None, (OwnQuota("test", ()),), False, ""),
    ):
        yield "home/own_steps.html", {"own": own}
        yield "home/own_aside.html", {"own": own}


def matrix() -> Matrix:
    """Two methods in three competitions."""
    cells = (Cell(12, 0.9, best=True), None, Cell(13, None, best=False))
    row = MatrixRow(7, EVIL, is_baseline=True, team_id=2, team=EVIL, cells=cells)
    plain = replace(row, method_id=8, is_baseline=False, cells=(None, Cell(14, 0.0, best=False), None))
    return Matrix(
        "VOC2007", "test", columns_of("VOC2007", (1, 3, 4)), (row, plain), 1, 2, has_more=True, withheld=EVIL
    )
