"""The front page and the lists of challenges and leaderboards: what is open, who leads, and what stays hidden."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import func, update
from starlette.testclient import TestClient

from app.challenges.challenges import PhaseRef, PhaseView
from app.challenges.phase_rules import PhaseState
from app.home import front, pages
from app.home.front import (
    ChallengeBoards,
    ChallengeCard,
    ChallengeState,
    HomeView,
    main_board,
    state_of_challenge,
    tasks_offered,
)
from app.models import Challenge, Disclosure, Phase
from app.platform import Platform
from app.results.leaders import BoardSummary
from app.results.standings import ResultView, submissions_of
from tests.pages.challenge_samples import CLOSED, UPCOMING
from tests.pages.method_views import RESULT
from tests.pages.views import NOW, PHASE, VAL
from tests.system.rows import Rows, made

Browser = Callable[..., TestClient]


@pytest.fixture
def rows(platform: Platform) -> Rows:
    return made(platform)


def card(rows: Rows) -> ChallengeCard:
    forget(rows.platform)
    cards = front.home(rows.platform).challenges
    return next(each for each in cards if rows.phase_id in {phase.id for phase in each.phases})


def forget(platform: Platform) -> None:
    platform.cache.expire_versions()
    platform.cache.expire_versions("counts of methods")


def change(rows: Rows, **values: object) -> None:
    with rows.platform.transaction() as session:
        session.execute(update(Phase).where(Phase.id == rows.phase_id).values(**values))


def test_a_challenge_is_open_if_any_phase_is_and_upcoming_before_it_is_past() -> None:
    assert state_of_challenge([CLOSED, UPCOMING, VAL]) is ChallengeState.OPEN
    assert state_of_challenge([CLOSED, UPCOMING]) is ChallengeState.UPCOMING
    assert state_of_challenge([CLOSED]) is ChallengeState.CLOSED
    assert state_of_challenge([]) is ChallengeState.UPCOMING
    assert PHASE.state is PhaseState.OPEN


def test_tasks_come_in_the_order_of_their_competitions() -> None:
    assert tasks_offered([PHASE, VAL])[:2] == ("classification", "detection")


def test_detection_on_any_data_stands_for_a_challenge_and_never_a_board_without_a_mean() -> None:
    board = BoardSummary(VAL.ref, 1, "classification", "", False, 9, NOW, (RESULT,), hides_means=False)
    given = BoardSummary(VAL.ref, 3, "detection", "", False, 5, NOW, (RESULT,), hides_means=False)
    any_data = BoardSummary(VAL.ref, 4, "detection", "", True, 2, NOW, (RESULT,), hides_means=False)
    hidden = BoardSummary(PHASE.ref, 4, "detection", "", True, 9, NOW, (), hides_means=True)
    phases = (VAL, PHASE)

    assert main_board(phases, [board, given, any_data, hidden]) == any_data
    assert main_board(phases, [board, hidden]) == board
    assert main_board(phases, [hidden]) is None


def test_the_board_of_the_phase_that_other_pages_show_first_stands_for_a_challenge() -> None:
    open_, held_out = (
        BoardSummary(each.ref, 4, "detection", "", True, methods, NOW, (RESULT,), hides_means=False)
        for each, methods in ((VAL, 9), (PHASE, 2))
    )
    challenge = ChallengeBoards("a", "A", (VAL, PHASE), (open_, held_out))

    assert main_board(challenge.phases, challenge.boards) == held_out
    assert challenge.shown(None) == PHASE


def test_a_card_names_the_leader_and_counts_what_is_public(rows: Rows) -> None:
    for mean, is_public in ((0.4, True), (0.6, True), (0.9, False)):
        rows.result(mean=mean, is_public=is_public)

    found = card(rows)

    assert found.methods == 2
    assert found.main_board is not None
    assert [each.mean for each in found.main_board.leaders] == [0.6, 0.4]
    assert (found.main_board.methods, found.state) == (2, ChallengeState.OPEN)
    assert found.last_result == max(each.date for each in found.main_board.leaders)


def test_at_most_three_lead_and_the_best_come_first(rows: Rows) -> None:
    for mean in (0.1, 0.5, 0.2, 0.9, 0.3):
        rows.result(mean=mean)

    board = card(rows).main_board

    assert board is not None
    assert [each.mean for each in board.leaders] == [0.9, 0.5, 0.3]
    assert board.methods == 5


def test_nobody_leads_while_means_are_hidden_and_times_are_cut_to_the_minute(rows: Rows) -> None:
    rows.result(mean=0.5)
    closes = func.now() + timedelta(days=3)
    quotas = [{"results": 2, "days": 7}]
    change(rows, disclosure=Disclosure.AT_CLOSE, closes_at=closes, stored_quotas=quotas)
    forget(rows.platform)

    [board] = [
        board
        for each in front.all_boards(rows.platform)
        for board in each.boards
        if rows.phase_id in {phase.id for phase in each.phases}
    ]

    assert (board.leaders, board.hides_means, board.methods) == ((), True, 1)
    assert board.last_result is not None
    assert board.last_result.second == board.last_result.microsecond == 0
    assert card(rows).main_board is None


def test_an_embargo_hides_a_method_from_leaders_and_counts(rows: Rows) -> None:
    rows.result(mean=0.5)
    change(rows, embargo=True, closes_at=func.now() + timedelta(days=3))

    found = card(rows)

    assert (found.methods, found.last_result, found.main_board) == (0, None, None)


def test_the_newest_submissions_of_a_method_stand_together_in_the_order_of_its_phases() -> None:
    def arrived(phase: PhaseView, method: int, submission: int) -> ResultView:
        to = PhaseRef(phase.challenge, phase.challenge_title, phase.image_set)
        return replace(RESULT, phase=to, method=replace(RESULT.method, id=method), submission=submission)

    newest = submissions_of((arrived(PHASE, 1, 9), arrived(VAL, 2, 8), arrived(VAL, 1, 7)), 8)
    challenge = ChallengeCard(PHASE.challenge, "", PHASE.dataset, (VAL, PHASE))

    home = HomeView((challenge,), (), (), None, newest)

    assert [[each.submission for each in group] for group in home.newest_by_method] == [[7, 9], [8]]


def test_challenges_are_filtered_by_task_and_state(rows: Rows, browser: Browser) -> None:
    change(made(rows.platform), not_offered={"3": "no ground truth"})  # a challenge with other tasks
    change(rows, opens_at=func.now() + timedelta(days=3))
    forget(rows.platform)
    with rows.platform.transaction() as session:
        phase = session.get_one(Phase, rows.phase_id)
        title = session.get_one(Challenge, phase.challenge_id).title

    found = {
        query: browser().get(f"/challenges{query}").text
        for query in ("", "?state=upcoming", "?state=open", "?task=detection&state=upcoming")
    }

    shown = {query for query, text in found.items() if f">{title}</bdi></a>" in text}
    assert shown == {"", "?state=upcoming", "?task=detection&state=upcoming"}
    assert 'href="/challenges?task=detection&amp;state=upcoming"' in found["?state=upcoming"]
    assert ">Person layout</a>" in found["?state=upcoming"]  # as on the pages of the challenge


@pytest.mark.parametrize("query", ["task=nothing", "state=half-open"])
def test_an_unknown_task_or_state_is_refused(rows: Rows, browser: Browser, query: str) -> None:
    for path in ("/challenges", "/api/v1/challenges"):
        assert browser().get(f"{path}?{query}").status_code == 422


def test_the_tabs_of_a_challenge_lead_to_its_main_board_and_its_figures(rows: Rows, browser: Browser) -> None:
    code = card(rows).code

    visitor = browser()
    visitor.follow_redirects = True
    board = browser().get(f"/challenges/{code}/leaderboards")
    figures = visitor.get(f"/challenges/{code}/figures")
    nothing = browser().get("/challenges/nothing/leaderboards")

    assert board.headers["location"] == f"/leaderboards/{code}/test/{rows.competition}"
    assert figures.url.path == f"{board.headers['location']}/figures"
    assert (figures.status_code, nothing.status_code) == (200, 404)
    assert f'<a href="/challenges/{code}"' in figures.text
    assert f'href="/challenges/{code}/test/submit"' in figures.text


@pytest.mark.parametrize(("path", "size"), [("/leaderboards", "TABLES"), ("/challenges", "CARDS")])
def test_a_long_list_has_pages_that_lead_to_each_other(
    rows: Rows, browser: Browser, monkeypatch: pytest.MonkeyPatch, path: str, size: str
) -> None:
    made(rows.platform)
    monkeypatch.setattr(pages, size, 1)
    forget(rows.platform)

    first, second = (browser().get(f"{path}?page={number}") for number in (1, 2))
    last = int(re.findall(r"Page 1 of (\d+)", first.text)[0])
    beyond = browser().get(f"{path}?page={last + 1}")

    assert (first.status_code, second.status_code, beyond.status_code) == (200, 200, 404)
    assert last > 1
    assert f'rel="next" href="{path}?page=2"' in first.text
    assert f'rel="prev" href="{path}?page=1"' in second.text
    assert 'rel="prev"' not in first.text
    titles = [re.findall(r'<h[23][^>]*><a href="/challenges/([^"]+)"', page.text) for page in (first, second)]
    assert [len(each) for each in titles] == [1, 1]
    assert titles[0] != titles[1]
