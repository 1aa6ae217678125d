"""Which results are on a board, whichever transaction commits first."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import select

from app.core.access import Actor
from app.core.errors import MalformedError, NotFoundError
from app.evaluation import rescoring
from app.evaluation.rescoring import RescoreChoice
from app.models import Job, JobKind, Role, Run, RunState
from app.platform import Platform
from app.results import withdrawing
from tests.confirming import confirm_rescores
from tests.system.rows import Rows, made, score_run, small_board
from tests.system.servers import eventually

pytestmark = pytest.mark.system

__all__ = ["small_board"]


@pytest.fixture
def board(small_board: Platform) -> Rows:
    return made(small_board)


def rescored(board: Rows) -> int:
    """Start to score the phase again, with a board that switches by itself; the number of the rescoring."""
    number = rescoring.rescore_phase(board.platform, None, board.phase_id)
    confirm_rescores(board.platform)
    return number


def switch(board: Rows) -> None:
    """Rescore the phase under the newest ground truth and switch the board."""
    rescored(board)
    for result_id in list(board.standing()):
        [(run_id, truth)] = board.unfinished(result_id)
        assert truth == board.truths[1]
        board.end(run_id, RunState.SCORED, 0.9)
    assert rescoring.activate_complete(board.platform) == 1


def test_a_score_queues_its_intervals_a_search_for_similar_results_and_new_figures(board: Rows) -> None:
    result_id = board.result(mean=0.5)

    with board.platform.transaction() as session:
        queued = [(kind, payload) for kind, payload in session.execute(select(Job.kind, Job.payload))]
    place = {"phase_id": board.phase_id, "competition": board.competition}
    for follow_up in (
        (JobKind.INTERVALS, {"run_id": board.run_of(result_id)}),
        (JobKind.SIMILARITY, {"result_id": result_id}),
        (JobKind.BOARD, place),
    ):
        assert queued.count(follow_up) == 1


def test_a_score_committed_after_the_switch_is_queued_again(board: Rows) -> None:
    early, late = board.result(mean=0.5), board.result()
    with board.platform.transaction() as session:
        score_run(session, late, board.run_of(late), 0.7)  # has read the board and is not committed yet
        switch(board)

    assert board.standing() == {early: 0.9}
    assert rescoring.queue_outdated(board.platform) == 1
    assert rescoring.queue_outdated(board.platform) == 0
    [(again, truth)] = board.unfinished(late)
    assert truth == board.truths[1]
    with board.platform.transaction() as session:
        score_run(session, late, again, 0.8)
    assert board.standing() == {early: 0.9, late: 0.8}


def test_two_sweeps_at_once_queue_an_outdated_result_once(board: Rows) -> None:
    board.result(mean=0.5)
    late = board.result()
    with board.platform.transaction() as session:
        score_run(session, late, board.run_of(late), 0.7)
        switch(board)

    with board.platform.transaction() as session:
        assert rescoring.queue_outdated_results(session) == 1
        assert rescoring.queue_outdated(board.platform) == 0

    assert len(board.unfinished(late)) == 1
    assert rescoring.queue_outdated(board.platform) == 0


def test_an_older_result_stays_on_the_board_until_the_newer_one_is_scored(board: Rows) -> None:
    older = board.result(mean=0.5)
    newer = board.newer(older)
    assert board.standing() == {older: 0.5}

    board.score(newer, 0.4)

    assert board.standing() == {newer: 0.4}
    assert board.published(older)[-1] is None


def test_an_older_result_stays_on_the_board_if_the_newer_one_is_refused(board: Rows) -> None:
    older = board.result(mean=0.5)

    board.refuse(board.run_of(board.newer(older)))

    assert board.standing() == {older: 0.5}


def test_a_newer_result_scored_during_a_switch_replaces_the_older_one(board: Rows) -> None:
    older = board.result(mean=0.5)
    newer = board.newer(older)
    with board.platform.transaction() as session:
        score_run(session, newer, board.run_of(newer), 0.7)  # has read the board and is not committed yet
        rescored(board)

    assert board.standing() == {newer: 0.7}


def test_a_score_written_after_the_switch_is_queued_again(board: Rows) -> None:
    early, late = board.result(mean=0.5), board.result()
    board.claim(late)
    switch(board)

    board.score(late, 0.7)

    assert board.standing() == {early: 0.9}
    assert rescoring.queue_outdated(board.platform) == 1
    assert [truth for _, truth in board.unfinished(late)] == [board.truths[1]]


def test_a_run_queued_before_a_switch_is_scored_under_the_new_versions(board: Rows) -> None:
    early, late = board.result(mean=0.5), board.result()
    before = board.unfinished(late)
    switch(board)

    assert [(run_id, board.truths[1]) for run_id, _ in before] == board.unfinished(late)
    board.score(late, 0.7)
    assert board.standing() == {early: 0.9, late: 0.7}
    assert rescoring.queue_outdated(board.platform) == 0


def test_a_score_that_commits_before_the_switch_joins_the_rescoring(board: Rows) -> None:
    early, late = board.result(mean=0.5), board.result()
    rescored(board)
    [(run_id, _)] = board.unfinished(early)
    board.score(late, 0.7)
    board.end(run_id, RunState.SCORED, 0.9)

    assert rescoring.activate_complete(board.platform) == 0
    assert board.standing() == {early: 0.5, late: 0.7}

    [(run_id, truth)] = board.unfinished(late)
    assert truth == board.truths[1]
    board.end(run_id, RunState.SCORED, 0.8)
    assert rescoring.activate_complete(board.platform) == 1
    assert board.standing() == {early: 0.9, late: 0.8}


def test_a_result_refused_by_the_new_versions_is_not_queued_forever(board: Rows) -> None:
    late = board.result()
    early = board.result(mean=0.5)
    board.claim(late)
    switch(board)
    board.score(late, 0.7)
    rescoring.queue_outdated(board.platform)
    [(run_id, _)] = board.unfinished(late)

    board.refuse(run_id)

    assert rescoring.queue_outdated(board.platform) == 0
    assert board.standing() == {early: 0.9}


def test_recording_a_result_does_not_wait_for_a_lock_on_the_board(board: Rows) -> None:
    result_id = board.result()
    with board.platform.transaction() as session:
        board.lock_board(session)

        board.score(result_id, 0.5)

    assert board.standing() == {result_id: 0.5}


def team_of(board: Rows) -> Actor:
    return Actor(user_id=board.user_id, teams=frozenset({board.team_id}))


def test_a_result_withdrawn_during_scoring_never_appears_on_the_board(board: Rows) -> None:
    result_id = board.result(is_public=False)

    withdrawing.withdraw(board.platform, team_of(board), result_id, None)
    board.score(result_id, 0.5)  # as a worker that has not noticed would

    assert board.standing() == {}
    assert board.unfinished(result_id) == []
    assert rescoring.queue_outdated(board.platform) == 0


def test_a_withdrawal_waits_for_a_score_being_written_and_removes_it(board: Rows) -> None:
    result_id = board.result(is_public=False)
    with ThreadPoolExecutor() as crowd:
        with board.platform.transaction() as session:
            session.get_one(Run, board.run_of(result_id), with_for_update=True)
            score_run(session, result_id, board.run_of(result_id), 0.5)
            withdrawal = crowd.submit(withdrawing.withdraw, board.platform, team_of(board), result_id, None)
            assert eventually(board.somebody_waits_for_a_lock)
        withdrawal.result()

    assert board.standing() == {}
    assert board.published(result_id) == [board.run_of(result_id), None]


def test_withdrawing_a_result_settles_its_failed_rescoring(board: Rows) -> None:
    kept, gone = board.result(mean=0.5), board.result(mean=0.6, is_public=False)
    rescored(board)
    [[good, _]], [[bad, _]] = board.unfinished(kept), board.unfinished(gone)
    board.end(good, RunState.SCORED, 0.9)
    board.refuse(bad)
    assert rescoring.activate_complete(board.platform) == 0

    withdrawing.withdraw(board.platform, team_of(board), gone, None)

    assert rescoring.activate_complete(board.platform) == 1
    assert board.standing() == {kept: 0.9}


def test_an_organiser_decides_about_results_a_rescoring_could_not_score(board: Rows) -> None:
    good, kept, gone, retried = [board.result(mean=0.1 * place) for place in (1, 2, 3, 4)]
    rescored(board)
    runs = {result: board.unfinished(result)[0][0] for result in (good, kept, gone, retried)}
    board.end(runs[good], RunState.SCORED, 0.9)
    for result in (kept, gone, retried):
        board.refuse(runs[result])
    organiser = Actor(user_id=board.user_id, role=Role.ADMIN, has_second_factor=True)

    rescoring.decide(
        board.platform, organiser, runs[kept], RescoreChoice.KEEP, "its archive is of an old format"
    )
    with pytest.raises(MalformedError):
        rescoring.decide(board.platform, organiser, runs[gone], RescoreChoice.WITHDRAW)
    rescoring.decide(board.platform, organiser, runs[gone], RescoreChoice.WITHDRAW, "empty")
    rescoring.decide(board.platform, organiser, runs[retried], RescoreChoice.RETRY)
    with pytest.raises(NotFoundError):
        rescoring.decide(board.platform, organiser, runs[kept], RescoreChoice.KEEP)
    assert rescoring.activate_complete(board.platform) == 0
    board.end(runs[retried], RunState.SCORED, 0.8)

    assert rescoring.activate_complete(board.platform) == 1
    assert board.standing() == {good: 0.9, kept: pytest.approx(0.2), retried: 0.8}
    assert board.outdated() == [kept]
    assert rescoring.queue_outdated(board.platform) == 0


def test_runs_of_an_abandoned_rescoring_are_abandoned_not_failed(board: Rows) -> None:
    result_id = board.result(mean=0.5)
    rescore_id = rescored(board)
    [(run_id, _)] = board.unfinished(result_id)

    rescoring.abandon(
        board.platform, Actor(user_id=board.user_id, role=Role.ADMIN, has_second_factor=True), rescore_id
    )

    with board.platform.transaction() as session:
        assert session.get_one(Run, run_id).state is RunState.ABANDONED
    assert board.standing() == {result_id: 0.5}
