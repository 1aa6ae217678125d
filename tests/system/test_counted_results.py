"""Which results count against the quota of a team, and against that of a person."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from app.core.access import Actor
from app.models import ExtraSlot, Method, Result, RunState, Submission, User
from app.platform import Platform
from app.results import recording
from app.results.withdrawing import withdraw
from app.submissions import quotas
from tests.system.rows import Rows, made, small_board

pytestmark = pytest.mark.system

__all__ = ["small_board"]


@pytest.fixture
def board(small_board: Platform) -> Rows:
    return made(small_board)


def counted(board: Rows, team_id: int, user_id: int) -> list[tuple[bool, bool]]:
    """For each result that counts, whether it is of this team and whether it is of this person."""
    tasks, week = {board.competition: "detection"}, timedelta(days=7)
    with board.platform.transaction() as session:
        found = quotas.counted_results(session, board.phase_id, tasks, team_id, user_id, week)
    return [(result.is_teams, result.is_persons) for result in found]


def score(board: Rows, result_id: int) -> None:
    board.score(result_id, 0.5)


def refuse(board: Rows, result_id: int) -> None:
    board.refuse(board.run_of(result_id))


def fail(board: Rows, result_id: int) -> None:
    run_id = board.run_of(result_id)
    board.end(run_id, RunState.FAILED)
    with board.platform.transaction() as session:
        recording.record_result(session, result_id, run_id)


def withdraw_own(board: Rows, result_id: int) -> None:
    team = Actor(user_id=board.user_id, teams=frozenset({board.team_id}))
    withdraw(board.platform, team, result_id, None)


def withdraw_scored(board: Rows, result_id: int) -> None:
    score(board, result_id)
    withdraw_own(board, result_id)


def become_a_baseline(board: Rows, result_id: int) -> None:
    with board.platform.transaction() as session:
        method_id = session.get_one(Result, result_id).method_id
        session.get_one(Method, method_id).is_baseline = True


def use_an_extra_slot(board: Rows, result_id: int) -> None:
    with board.platform.transaction() as session:
        slot = ExtraSlot(phase_id=board.phase_id, team_id=board.team_id, task="detection", reason="outage")
        session.add(slot)
        session.flush()
        session.get_one(Result, result_id).extra_slot_id = slot.id


@pytest.mark.parametrize(
    ("end", "counts"),
    [
        (None, True),
        (score, True),
        (withdraw_scored, True),
        (withdraw_own, False),
        (refuse, False),
        (fail, False),
        (become_a_baseline, False),
        (use_an_extra_slot, False),
    ],
)
def test_a_result_counts_if_it_revealed_a_score_or_is_about_to(
    board: Rows, end: Callable[[Rows, int], None] | None, *, counts: bool
) -> None:
    result_id = board.result(is_public=False)

    if end is not None:
        end(board, result_id)

    assert counted(board, board.team_id, board.user_id) == ([(True, True)] if counts else [])


def test_a_result_counts_for_its_team_and_for_the_person_who_submitted_it(board: Rows) -> None:
    first_team, second_team = board.team_id, board.other_team()
    with board.platform.transaction() as session:
        colleague = User(email=f"colleague{first_team}@example.org", name="Colleague")
        session.add(colleague)
        session.flush()
        colleague_id = colleague.id
    board.result(team_id=second_team)
    of_colleague = board.result()
    with board.platform.transaction() as session:
        submission_id = session.get_one(Result, of_colleague).submission_id
        session.get_one(Submission, submission_id).user_id = colleague_id

    assert sorted(counted(board, first_team, board.user_id)) == [(False, True), (True, False)]
    assert sorted(counted(board, second_team, colleague_id)) == [(False, True), (True, False)]
    assert counted(board, first_team, colleague_id) == [(True, True)]
