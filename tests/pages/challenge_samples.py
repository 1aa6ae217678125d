"""Contexts for the home page and the overview of a challenge."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

from app.challenges.asking import Asking
from app.challenges.challenges import PhaseRef, PhaseView
from app.challenges.phase_rules import PhaseState
from app.challenges.rules import rules_of
from app.challenges.texts import ChallengeTexts
from app.core.paging import part_of
from app.home.front import (
    ChallengeBoards,
    ChallengeCard,
    ChallengeList,
    ChallengeState,
    HomeView,
)
from app.home.home import (
    ChallengeSummary,
    ChallengeView,
    CompetitionLine,
    FoundMethod,
    PhaseCard,
    Representative,
    SearchResult,
    timeline_of,
)
from app.home.overview import Overview, OwnQuota, OwnView, PersonProgress, PhaseNumbers, steps_of
from app.images.covers import Cover, PublicAnnotation
from app.models import AskingPlace
from app.results.leaders import BoardSummary
from app.results.standings import Matrix, MatrixCell, MatrixRow, columns_of, submissions_of
from tests.pages.drawn import EVIL
from tests.pages.method_views import OTHER_METHOD, RESULT
from tests.pages.text_samples import QUOTA_LINE, WRITTEN
from tests.pages.thread_samples import FORUM
from tests.pages.views import NOW, PHASE, VAL

CLOSED = replace(
    PHASE, id=3, image_set="old", state=PhaseState.CLOSED, is_over=True, closes_at=NOW - timedelta(days=2)
)
UPCOMING = replace(PHASE, id=4, image_set="new", state=PhaseState.UPCOMING, opens_at=NOW + timedelta(days=2))

OWN_COVER = Cover("/challenges/a/picture.jpg?v=1", "/challenges/a/picture-small.jpg?v=1", EVIL)
MOSAIC = Cover(
    images=(
        "/pictures/a/b/c/thumbnail.jpg",
        "/pictures/a/b/d/thumbnail.jpg",
        "/pictures/a/b/e/thumbnail.jpg",
    ),
    drawn=(
        PublicAnnotation(640, 480, ((0.0, 0.0, 10.0, 20.5),)),
        PublicAnnotation(640, 480, labels="/pictures/a/b/d/labels.png?truth=1"),
        None,
    ),
)


def of_challenges() -> Iterator[tuple[str, dict[str, Any]]]:
    phases = (PHASE, VAL)
    summary = ChallengeSummary("VOC2007", EVIL, "VOC2007", phases)
    yield from of_the_front(phases)
    challenges = (summary, replace(summary, phases=()))
    stands_for = Representative(
        EVIL, EVIL, EVIL, "/pictures/a/b/c", "/pictures/a/b/c/thumbnail.jpg", 200, 150, MOSAIC.drawn[1]
    )
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
        replace(without, matrix=last, cover=OWN_COVER),
        replace(without, matrix=nothing, cover=MOSAIC),
        replace(without, matrix=replace(nothing, page=2)),
        replace(challenge, phases=(), matrix=None),
    ):
        timeline = timeline_of([card.phase for card in each.phases], NOW)
        for shows_methods in (True, False):
            shown = {"challenge": each, "timeline": timeline, "shows_methods": shows_methods}
            shown |= {"can_try": shows_methods, "rules_of": rules_of}
            yield "home/challenge.html", shown


def of_the_front(phases: tuple[PhaseView, ...]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Home and the lists of challenges and leaderboards: empty, open, upcoming and past."""
    leading = (replace(RESULT, mean=0.8, low=0.7, high=0.9), replace(RESULT, method=OTHER_METHOD, mean=0.8))
    board = BoardSummary(
        PhaseRef("VOC2007", EVIL, "test"),
        4,
        "detection",
        "Detection",
        True,
        7,
        NOW,
        leading,
        hides_means=False,
    )
    hidden = replace(board, leaders=(), hides_means=True, methods=1)
    nothing = replace(hidden, hides_means=False, methods=0, last_result=None)
    card = ChallengeCard(
        "VOC2007", EVIL, "VOC2007", phases, ChallengeState.OPEN, PHASE.closes_at, ("detection", EVIL), 7, NOW, board,
        OWN_COVER, EVIL,
    )  # fmt: skip
    bare = replace(
        card, phases=(), tasks=(), methods=0, last_result=None, main_board=None, tagline="", cover=Cover()
    )
    cards = (
        card,
        replace(card, phases=(UPCOMING,), state=ChallengeState.UPCOMING, main_board=None),
        replace(card, phases=(CLOSED,), state=ChallengeState.CLOSED),
        replace(bare, phases=(VAL,), state=ChallengeState.OPEN, cover=MOSAIC, tasks=("detection",)),
        replace(bare, state=ChallengeState.CLOSED),
    )
    more = tuple(replace(RESULT, competition=number, mean=None) for number in (1, 3, 4, 5))
    newest = (*submissions_of((RESULT,), 8), *submissions_of(more, 8))
    full = HomeView(
        cards,
        phases,
        (UPCOMING,),
        PHASE,
        newest,
        board,
        (WRITTEN,),
    )
    empty = HomeView((), (), (), None, ())
    for home in (full, replace(full, main_board=replace(board, leaders=leading[1:])), empty):
        for is_admin in (True, False):
            yield "home/home.html", {"home": home, "is_admin": is_admin, "can_try": is_admin}
    every = ChallengeList(cards, 5, {"detection": "Detection", EVIL: EVIL}, tuple(ChallengeState))
    for found in (every, replace(every, challenges=()), ChallengeList((), 0, {}, ())):
        part = part_of(found.challenges, 1, 24)
        yield "home/challenges.html", {"found": found, "listed": part, "query": {"task": None, "state": None}}
    some = {"found": every, "listed": part_of(every.challenges, 2, 1)}
    yield "home/challenges.html", some | {"query": {"task": EVIL, "state": ChallengeState.OPEN}}
    image = Representative(
        "detection", EVIL, EVIL, "/pictures/a/b/c", "/pictures/a/b/c/thumbnail.jpg?v=1", 200, 150
    )
    boards = ChallengeBoards("VOC2007", EVIL, phases, (board, hidden, nothing), (image,))
    for listed in ((boards, replace(boards, code="VOC2008", boards=())), ()):
        for image_set in (None, "test"):
            yield (
                "home/leaderboards.html",
                {"listed": part_of([each for each in listed if each.boards], 1, 10), "image_set": image_set},
            )


def overview() -> Overview:
    """Texts, leaders and numbers, with names that try to break out."""
    leading = (replace(RESULT, mean=0.8, low=0.7, high=0.9), replace(RESULT, method=OTHER_METHOD, mean=0.7))
    leaders = (
        BoardSummary(
            PhaseRef("VOC2007", EVIL, "val"), 4, "detection", EVIL, True, 7, NOW, leading, hides_means=False
        ),
    )
    texts = ChallengeTexts(EVIL, f"# {EVIL}", EVIL, EVIL, EVIL, has_contact=True)
    numbers = (PhaseNumbers("val", 5823, 13_841), PhaseNumbers("test", 1, None))
    [board] = leaders
    nothing = replace(board, own_data=False, leaders=(), methods=0, last_result=None)
    boards = (nothing, board, replace(nothing, competition=5, title="Other", methods=1, hides_means=True))
    return Overview(texts, "val", leaders, numbers, (EVIL, "car"), boards)


def of_readers() -> Iterator[tuple[str, dict[str, Any]]]:
    """What depends on the reader: a visitor's, and that of somebody who has done everything."""
    everything = PersonProgress(
        registered=True, confirmed=True, accepted_terms=True, uploaded=True, submitted=True
    )
    first = steps_of("VOC2007", PersonProgress(), has_terms=False, submit_to=None)
    last = steps_of("VOC2007", everything, has_terms=True, submit_to="test")
    for own in (
        OwnView("VOC2007", first, None, (), True, "", Asking(), ""),
        OwnView("VOC2007", last, EVIL, (OwnQuota("test", (QUOTA_LINE,)),), True, EVIL, FORUM, EVIL),
        OwnView("VOC2007", last, None, (OwnQuota("test", ()),), False, "", Asking(AskingPlace.NOWHERE), ""),
    ):
        yield "home/own_steps.html", {"own": own}
        yield "home/own_aside.html", {"own": own}
        yield "home/own_quotas.html", {"own": own}


def matrix() -> Matrix:
    """Two methods in three competitions."""
    cells = (MatrixCell(12, 0.9, True, NOW), None, MatrixCell(13, None, False, NOW))
    row = MatrixRow(RESULT.method, RESULT.team, cells)
    plain = replace(row, method=OTHER_METHOD, cells=(None, MatrixCell(14, 0.0, False, NOW), None))
    return Matrix(
        "VOC2007", "test", columns_of("VOC2007", (1, 3, 4)), (row, plain), 1, 2, has_more=True, withheld=EVIL
    )
