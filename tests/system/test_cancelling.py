"""Whether a team that cancels or a worker that starts was first, decided in the database."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from app.challenges import challenges
from app.core.access import Actor
from app.core.errors import ConflictError, NotFoundError
from app.jobs import queue
from app.models import Phase, Queue, Result, ResultState, Run, RunState
from app.platform import Platform
from app.results import cancelling
from tests.system.rows import Rows, made, small_board
from tests.system.servers import eventually

pytestmark = pytest.mark.system

__all__ = ["small_board"]

LEASE = timedelta(minutes=1)


@pytest.fixture
def board(small_board: Platform) -> Rows:
    return made(small_board)


def team_of(board: Rows) -> Actor:
    return Actor(user_id=board.user_id, teams=frozenset({board.team_id}))


def stored(board: Rows, result_id: int) -> tuple[Result, Run]:
    with board.platform.transaction() as session:
        return session.get_one(Result, result_id), session.get_one(Run, board.run_of(result_id))


def submission_of(board: Rows, result_id: int) -> int:
    return stored(board, result_id)[0].submission_id


def test_what_waits_is_cancelled_and_no_worker_gets_it(board: Rows) -> None:
    result_id = board.result()

    cancelling.cancel(board.platform, team_of(board), submission_of(board, result_id))

    result, run = stored(board, result_id)
    assert (result.state, run.state) == (ResultState.WITHDRAWN, RunState.ABANDONED)
    assert result.cancelled_at is not None
    assert board.unfinished(result_id) == []
    board.score(result_id, 0.5)  # as a worker would that has not noticed
    assert board.standing() == {}


def test_what_a_worker_has_started_is_not_cancelled(board: Rows) -> None:
    result_id = board.result()
    board.claim(result_id)

    with pytest.raises(ConflictError, match="Too late to cancel"):
        cancelling.cancel(board.platform, team_of(board), submission_of(board, result_id))

    result, run = stored(board, result_id)
    assert (result.state, result.cancelled_at, run.state) == (ResultState.PENDING, None, RunState.RUNNING)


@pytest.mark.parametrize("mean", [0.0, 0.5])
def test_what_was_scored_is_not_cancelled(board: Rows, mean: float) -> None:
    result_id = board.result(mean=mean)

    with pytest.raises(ConflictError):
        cancelling.cancel(board.platform, team_of(board), submission_of(board, result_id))

    assert board.standing() == {result_id: mean}


def test_a_worker_that_is_just_starting_it_goes_first(board: Rows) -> None:
    result_id = board.result()
    submission = submission_of(board, result_id)
    with ThreadPoolExecutor() as crowd:
        with board.platform.transaction() as session:
            [job] = queue.lock_jobs_of_result(session, result_id)
            job.lease_until, job.attempt = challenges.now(session) + LEASE, 1
            session.get_one(Run, board.run_of(result_id)).state = RunState.RUNNING
            session.flush()
            cancellation = crowd.submit(cancelling.cancel, board.platform, team_of(board), submission)
            assert eventually(board.somebody_waits_for_a_lock)
        with pytest.raises(ConflictError):
            cancellation.result()

    assert stored(board, result_id)[0].state is ResultState.PENDING


def test_a_team_that_is_just_cancelling_goes_first_and_workers_take_the_next_one(board: Rows) -> None:
    first, second = board.result(), board.result()
    scorer = stored(board, first)[1].scorer
    with board.platform.transaction() as session:
        assert cancelling._cancel_result(session, team_of(board), first)
        taken = set()
        with board.platform.transaction() as worker:
            while (claim := queue.claim_next(worker, Queue.RUNS, LEASE, scorer)) is not None:
                taken.add(claim.run)
            assert board.run_of(first) not in taken
            assert board.run_of(second) in taken
            worker.rollback()

    assert stored(board, first)[0].cancelled_at is not None


def test_nobody_but_its_team_cancels_it(board: Rows) -> None:
    result_id = board.result()
    organiser = Actor(user_id=board.user_id, organises=frozenset({board_challenge(board)}))

    for someone in (
        Actor(),
        Actor(user_id=board.user_id + 1000, teams=frozenset({board.team_id + 1})),
        organiser_of(organiser),
    ):
        with pytest.raises(NotFoundError):
            cancelling.cancel(board.platform, someone, submission_of(board, result_id))
    with pytest.raises(NotFoundError):
        cancelling.refund(board.platform, team_of(board), result_id, "mine")


def organiser_of(actor: Actor) -> Actor:
    """The same rights for a person in no team."""
    return Actor(user_id=(actor.user_id or 0) + 2000, organises=actor.organises)


def board_challenge(board: Rows) -> int:
    with board.platform.transaction() as session:
        return session.get_one(Phase, board.phase_id).challenge_id
