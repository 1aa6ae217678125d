"""The results on the home page and on a challenge's overview, and their order."""

from datetime import timedelta

import pytest
from sqlalchemy import func, update

from app.challenges import challenges
from app.challenges.disclosure import EVERYTHING, PUBLIC, Visibility
from app.core.access import Actor
from app.home import front, home
from app.home.home import ChallengeView
from app.models import ClassScore, Disclosure, Phase, Result, Role, Run, Team
from app.platform import Platform
from app.results import details
from app.results.details import Rank
from app.results.standings import Matrix
from tests.pages.statements import asked
from tests.system.rows import Rows, made, small_board

__all__ = ["small_board"]

HELD_OUT = {"disclosure": Disclosure.CLASSES, "stored_quotas": [{"results": 2, "days": 7}]}


def change(rows: Rows, **values: object) -> None:
    with rows.platform.transaction() as session:
        session.execute(update(Phase).where(Phase.id == rows.phase_id).values(**values))


def challenge(rows: Rows) -> ChallengeView:
    return home.challenge_page(rows.platform, code(rows), None, 1)


def code(rows: Rows) -> str:
    with rows.platform.transaction() as session:
        phase = session.get_one(Phase, rows.phase_id)
        found = next(
            each
            for each in front.all_challenges(rows.platform).challenges
            if phase.id in {one.id for one in each.phases}
        )
        return found.code


def matrix(rows: Rows) -> Matrix:
    found = challenge(rows).matrix
    assert found is not None
    return found


def means(rows: Rows) -> list[float | None]:
    return [cell.mean for row in matrix(rows).rows for cell in row.cells if cell is not None]


def newest(rows: Rows) -> list[float | None]:
    return [
        result.mean
        for arrival in front.home(rows.platform).newest
        for result in arrival.results
        if result.phase.challenge == code(rows)
    ]


def test_the_newest_results_are_the_public_ones(small_board: Platform) -> None:
    rows = made(small_board)
    hidden_team = rows.other_team()
    for mean, is_public, team in (
        (0.5, True, None),
        (0.7, False, None),
        (0.6, True, hidden_team),
        (0.4, True, None),
    ):
        rows.result(mean=mean, is_public=is_public, team_id=team)
    with rows.platform.transaction() as session:
        hides = update(Team).where(Team.id == hidden_team)
        session.execute(hides.values(suspended_at=func.now(), hides_results=True))

    assert newest(rows) == [0.4, 0.5]
    assert means(rows) == [0.5, 0.4]


def test_embargoed_results_are_shown_when_the_phase_is_over(small_board: Platform) -> None:
    rows = made(small_board)
    rows.result(mean=0.5)
    day = timedelta(days=1)
    change(rows, embargo=True, opens_at=func.now() - 3 * day, closes_at=func.now() + day)
    before = newest(rows), means(rows)

    change(rows, closes_at=func.now() - day)

    assert before == ([], [])
    assert (newest(rows), means(rows)) == ([0.5], [0.5])


def test_undisclosed_digits_of_held_out_means_do_not_affect_the_order(small_board: Platform) -> None:
    rows = made(small_board)
    for mean in (0.50011, 0.50044, 0.7):
        rows.result(mean=mean)
    change(rows, **HELD_OUT)

    view = matrix(rows)

    assert [row.cells[0].mean for row in view.rows if row.cells[0]] == [0.7, 0.5, 0.5]
    assert [row.method.name for row in view.rows] == ["Method 3", "Method 1", "Method 2"]
    assert [row.cells[0].best for row in view.rows if row.cells[0]] == [True, False, False]


def test_until_a_phase_discloses_its_scores_the_newest_method_is_first(small_board: Platform) -> None:
    rows = made(small_board)
    for mean in (0.9, 0.1, 0.5):
        rows.result(mean=mean)
    change(
        rows, **{**HELD_OUT, "disclosure": Disclosure.AT_CLOSE, "closes_at": func.now() + timedelta(days=1)}
    )

    view = matrix(rows)

    assert [row.method.name for row in view.rows] == ["Method 3", "Method 2", "Method 1"]
    assert means(rows) == newest(rows) == [None, None, None]
    assert "Scores are hidden" in (view.withheld or "")


def test_a_ladder_ranks_by_the_means_it_shows(small_board: Platform) -> None:
    rows = made(small_board)
    first, other = rows.result(mean=0.6), rows.result(mean=0.5)
    third = rows.result()
    with rows.platform.transaction() as session:
        for result in (first, other):
            session.execute(update(Result).where(Result.id == result).values(ladder_rank_key=Result.rank_key))
        session.execute(update(Run).where(Run.result_id == third).values(ladder_run_id=rows.run_of(first)))
    rows.score(third, 0.4)
    with rows.platform.transaction() as session:
        keys = session.get_one(Result, third).rank_key, session.get_one(Result, third).ladder_rank_key
    change(rows, **{**HELD_OUT, "disclosure": Disclosure.LADDER})

    assert keys == (400, 600)
    assert means(rows) == [0.6, 0.6, 0.5]


def test_the_number_of_queries_does_not_grow_with_the_results(small_board: Platform) -> None:
    rows = made(small_board)
    rows.result(mean=0.5)
    read_pages(rows)  # numbers of methods are counted once a minute
    with asked(rows.platform) as before:
        read_pages(rows)
    for mean in (0.1, 0.2, 0.3, 0.4):
        rows.result(mean=mean)

    with asked(rows.platform) as after:
        read_pages(rows)

    assert 0 < len(after) == len(before)


def read_pages(rows: Rows) -> None:
    front.home(rows.platform)
    front.all_challenges(rows.platform)
    front.all_boards(rows.platform)
    home.challenge_page(rows.platform, code(rows), "test", 1)


def rank(rows: Rows, visibility: Visibility, result: int, reader: Actor) -> Rank | None:
    with rows.platform.transaction() as session:
        phase = challenges.phase_of_id(session, rows.phase_id)
        assert phase is not None
        return details.ranks(session, reader, phase, visibility, [session.get_one(Result, result)]).get(
            result
        )


@pytest.mark.parametrize(
    ("visibility", "place"),
    [(EVERYTHING, 2), (PUBLIC[Disclosure.CLASSES], 2), (PUBLIC[Disclosure.LADDER], 3)],
    ids=["every digit", "held out", "ladder"],
)
def test_a_result_is_ranked_among_the_results_its_reader_can_see(
    small_board: Platform, visibility: Visibility, place: int
) -> None:
    rows = made(small_board)
    best, own, tie, blank = (rows.result(mean=mean) for mean in (0.7, 0.5, 0.5, 0.1))
    rows.result(mean=0.9, is_public=False)
    rows.result()
    with rows.platform.transaction() as session:
        ladder_key = session.get_one(Result, best).rank_key
        session.execute(update(Result).where(Result.id == tie).values(ladder_rank_key=ladder_key))
        of_blank = update(ClassScore).where(ClassScore.run_id == rows.run_of(blank))
        session.execute(of_blank.values(value=None, held_out_value=None))
        session.execute(update(Result).where(Result.id == blank).values(rank_key=-1))

    organiser = Actor(user_id=rows.user_id, role=Role.ADMIN, has_second_factor=True)

    assert rank(rows, visibility, own, Actor()) == Rank(place, 3)
    assert rank(rows, visibility, own, organiser) == Rank(place + 1, 4)
    assert rank(rows, visibility, blank, Actor()) is None
