"""One ranking: a board and the leaders on its edition's page never disagree."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from app.disclosure.rules import PUBLIC
from app.disclosure.schemas import StoredScore
from app.leaderboards.rules import Candidate, Order, Standing, arrange, leaders_of
from app.leaderboards.schemas import BoardTeam
from app.methods.schemas import MethodView
from app.models import Disclosure

OAK = BoardTeam(1, "Oak", is_suspended=False)
DAY = datetime(2026, 11, 21, tzinfo=UTC)


def shown_mean(value: float | None) -> float | None:
    return PUBLIC[Disclosure.CLASSES].mean(StoredScore(value, value, "not entered"))


def leaders(means: list[float | None], ranks: int = 3) -> list[tuple[int, int, float]]:
    candidates = [Candidate(f"m{place}", place, mean) for place, mean in enumerate(means)]
    return [(leader.rank, leader.submission, leader.mean) for leader in leaders_of(candidates, ranks)]


def method(place: int) -> MethodView:
    return MethodView(place, f"m{place}", "", "", "", "", "", "", is_baseline=False, public_at=DAY)


def board_ranks(means: list[float | None]) -> dict[int, int | None]:
    rows = arrange(
        [Standing(method(place), place, OAK, DAY, False, None, mean, {}) for place, mean in enumerate(means)],
        (),
        Order(),
    )
    return {row.submission: row.rank for row in rows}


def test_halves_of_the_last_digit_tie_with_what_they_are_shown_as() -> None:
    hidden = [0.0625, 0.062, 0.063, 0.0635, 0.1875, 0.188]
    shown = list(map(shown_mean, hidden))

    by_board = board_ranks(shown)

    for place, value in enumerate(shown):
        for other, same in enumerate(shown):
            assert (by_board[place] == by_board[other]) == (value == same)
    assert {submission: rank for rank, submission, _ in leaders(shown, ranks=9)} == by_board


def test_a_rank_that_is_shared_may_show_more_rows_than_ranks() -> None:
    assert leaders([0.5, 0.9, 0.9, 0.9, 0.1]) == [(1, 1, 0.9), (1, 2, 0.9), (1, 3, 0.9)]


def test_a_row_without_a_mean_leads_nothing() -> None:
    assert leaders([None, 0.0, None]) == [(1, 1, 0.0)]


@given(st.lists(st.one_of(st.none(), st.integers(0, 400).map(lambda steps: steps / 400)), max_size=40))
def test_leaders_have_the_ranks_of_the_board(means: list[float | None]) -> None:
    shown = list(map(shown_mean, means))

    by_board = board_ranks(shown)

    assert {submission: rank for rank, submission, _ in leaders(shown, ranks=100)} == {
        submission: rank for submission, rank in by_board.items() if rank is not None
    }
