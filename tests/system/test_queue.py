"""The order in which workers claim runs, and the wait that participants are shown."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import anyio
import pytest
from anyio import CapacityLimiter
from sqlalchemy import Connection, NullPool, Select, create_engine, func, select, text

import heldout_scoring
from app.core.access import Actor
from app.core.errors import CheckBusyError, ConflictError, StorageUnavailableError
from app.evaluation import scoring as evaluation
from app.evaluation.scoring import HANDLER
from app.jobs import heartbeats, places, queue
from app.jobs.places import Cause, Places, Wait
from app.jobs.queue import Claim
from app.models import (
    Job,
    JobKind,
    Queue,
    Rescore,
    Result,
    ResultState,
    Role,
    Run,
    RunState,
    Service,
    Upload,
    UploadState,
)
from app.organising import approvals, pausing
from app.organising.approvals import Suspension, TeamRefusal
from app.organising.pausing import Pause
from app.platform import Platform
from app.storage import FolderStorage
from app.submissions import checking
from app.submissions.acceptance import COUNTED_STATES
from tests.system.rows import Rows, made, small_board
from worker.handlers import do_next, recover_lost_jobs
from worker.sweeper import check_recovery, sweep

pytestmark = pytest.mark.system

__all__ = ["small_board"]

LEASE = timedelta(seconds=3)
OURS = heldout_scoring.SCORER


@pytest.fixture
def board(small_board: Platform) -> Rows:
    """A board in a database with no other runs in the queue, and no worker."""
    with small_board.transaction() as session:
        session.execute(text("DELETE FROM heartbeat"))
        session.execute(text("DELETE FROM job"))
        session.execute(text("DELETE FROM run WHERE state IN ('queued', 'running', 'failed')"))
    return made(small_board)


def claim(board: Rows, scorer: str = OURS) -> tuple[int, int] | None:
    """Claim the next run; returns its id and attempt."""
    claimed = claim_job(board, scorer)
    return (claimed.run, claimed.attempt) if claimed else None


def claim_job(board: Rows, scorer: str = OURS) -> Claim | None:
    with board.platform.transaction() as session:
        claimed = queue.claim_next(session, Queue.RUNS, LEASE, scorer)
        if claimed:
            HANDLER.on_claim(session, claimed)
        return claimed


def change(board: Rows, assignment: str, run_id: int) -> None:
    """Update a run directly in the database."""
    with board.platform.transaction() as session:
        session.execute(text(f"UPDATE run SET {assignment} WHERE id = :run"), {"run": run_id})


def change_job(board: Rows, assignment: str, run_id: int) -> None:
    """Update the job of a run directly in the database."""
    with board.platform.transaction() as session:
        session.execute(text(f"UPDATE job SET {assignment} WHERE run_id = :run"), {"run": run_id})


def run(board: Rows, run_id: int) -> Run:
    with board.platform.transaction() as session:
        return session.get_one(Run, run_id)


def job(board: Rows, run_id: int) -> Job:
    with board.platform.transaction() as session:
        return session.scalars(select(Job).where(Job.run_id == run_id)).one()


def places_of(board: Rows, *run_ids: int) -> Places:
    with board.platform.transaction() as session:
        board.platform.cache.expire_versions()
        return places.places_of(board.platform, session, run_ids)


def test_runs_are_claimed_by_priority_and_then_in_the_order_of_arrival(board: Rows) -> None:
    first, second, rescored = (board.run_of(board.result()) for _ in range(3))
    change_job(board, "priority = 10, queued_at = queued_at - interval '1 day'", rescored)

    claims = [claim(board) for _ in range(4)]

    assert claims == [(first, 1), (second, 1), (rescored, 1), None]


def test_teams_take_turns_and_the_place_in_the_queue_is_the_order_of_claims(board: Rows) -> None:
    hasty, other = board.team_id, board.other_team()
    first = [board.run_of(board.result(team_id=hasty)) for _ in range(4)]
    second = [board.run_of(board.result(team_id=other)) for _ in range(2)]
    expected = [first[0], second[0], first[1], second[1], first[2], first[3]]

    positions = places_of(board, *first, *second).places
    claims = [claim(board) for _ in expected]

    assert sorted(positions, key=lambda run_id: positions[run_id]) == expected
    assert [each[0] for each in claims if each] == expected


def test_a_team_that_joins_later_waits_for_one_run_of_each_other_team(board: Rows) -> None:
    hasty = [board.run_of(board.result()) for _ in range(4)]
    assert claim(board) == (hasty[0], 1)
    assert claim(board) == (hasty[1], 1)

    late = board.run_of(board.result(team_id=board.other_team()))

    assert [each[0] for each in (claim(board), claim(board), claim(board)) if each] == [
        hasty[2],
        late,
        hasty[3],
    ]


def test_a_team_gets_no_extra_turn_by_submitting_one_run_at_a_time(board: Rows) -> None:
    patient = board.other_team()
    hasty = board.run_of(board.result())
    waiting = [board.run_of(board.result(team_id=patient)) for _ in range(2)]
    assert claim(board) == (hasty, 1)

    again = board.run_of(board.result())

    assert [each[0] for each in (claim(board), claim(board), claim(board)) if each] == [*waiting, again]


def test_a_worker_claims_only_runs_of_its_own_scorer_version(board: Rows) -> None:
    older, newer = (board.run_of(board.result()) for _ in range(2))
    change_job(board, "scorer = 'next'", newer)

    assert [claim(board), claim(board)] == [(older, 1), None]
    assert [claim(board, "next"), claim(board, "next")] == [(newer, 1), None]


def test_an_expired_run_is_queued_again_and_its_old_claim_cannot_write(board: Rows) -> None:
    run_id = board.run_of(board.result())
    old = claim_job(board)
    assert old
    recover_lost_jobs(board.platform)
    assert run(board, run_id).state is RunState.RUNNING

    change_job(board, "lease_until = now() - interval '1 second'", run_id)
    recover_lost_jobs(board.platform)

    lost = job(board, run_id)
    assert run(board, run_id).state is RunState.QUEUED
    assert (lost.lost_leases, lost.postponements, lost.failures) == (1, 0, 0)
    change_job(board, "not_before = now()", run_id)
    assert claim(board) == (run_id, 2)
    with board.platform.transaction() as session:
        assert not queue.extend(session, old, LEASE)
        assert queue.lock_claimed(session, old) is None


def test_a_worker_that_lost_its_lease_while_scoring_records_nothing(
    board: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = board.run_of(board.result())

    def score_too_slowly(platform: Platform, _: Claim) -> object:
        change_job(board, "lease_until = now() - interval '1 second'", run_id)
        recover_lost_jobs(platform)
        change_job(board, "not_before = now()", run_id)
        assert claim(board) == (run_id, 2)  # another worker
        return evaluation._Refused("too late")

    monkeypatch.setattr(evaluation, "_score", score_too_slowly)

    assert do_next(board.platform, Queue.RUNS)

    assert (run(board, run_id).state, run(board, run_id).failure_message) == (RunState.RUNNING, None)
    assert job(board, run_id).attempt == 2


def test_every_sweep_queues_runs_whose_lease_has_expired(board: Rows) -> None:
    run_id = board.run_of(board.result())
    assert claim(board) == (run_id, 1)
    change_job(board, "lease_until = now() - interval '1 second'", run_id)

    assert sweep(board.platform)

    assert run(board, run_id).state is RunState.QUEUED


def test_a_run_that_lost_its_worker_ten_times_fails_at_no_cost(board: Rows) -> None:
    result_id = board.result()
    run_id = board.run_of(result_id)
    states = []
    for _ in range(10):
        change_job(board, "not_before = NULL", run_id)
        assert claim(board)
        change_job(board, "lease_until = now() - interval '1 second'", run_id)
        recover_lost_jobs(board.platform)
        states.append(run(board, run_id).state)

    failed = run(board, run_id)
    assert states == [RunState.QUEUED] * 9 + [RunState.FAILED]
    assert failed.attempt == 10
    assert failed.finished_at is not None
    assert failed.failure_message == (
        "the worker stopped 10 times while scoring this; this does not count, and the organisers see it"
    )
    with board.platform.transaction() as session:
        result = session.get_one(Result, result_id)
        assert result.state is ResultState.FAILED
        assert result.state not in COUNTED_STATES


def test_a_run_that_waits_for_infrastructure_never_fails(board: Rows) -> None:
    run_id = board.run_of(board.result())
    change_job(board, "postponements = 1000, lost_leases = 8", run_id)
    assert claim(board)

    change_job(board, "lease_until = now() - interval '1 second'", run_id)
    recover_lost_jobs(board.platform)

    assert run(board, run_id).state is RunState.QUEUED


@pytest.mark.parametrize("ahead", ["1 hour", "7 seconds"])
def test_a_lease_in_the_far_future_is_ignored_after_a_clock_change(board: Rows, ahead: str) -> None:
    run_id = board.run_of(board.result())
    claim(board)

    change_job(board, f"lease_until = now() + interval '{ahead}'", run_id)
    recover_lost_jobs(board.platform)

    assert run(board, run_id).state is RunState.QUEUED


def test_a_small_clock_correction_keeps_leases(board: Rows) -> None:
    run_id = board.run_of(board.result())
    claim(board)

    change_job(board, "lease_until = now() + interval '4 seconds'", run_id)
    recover_lost_jobs(board.platform)

    assert run(board, run_id).state is RunState.RUNNING


def test_a_pause_in_the_far_future_is_ignored_after_a_clock_change(board: Rows) -> None:
    run_id = board.run_of(board.result())

    change_job(board, "not_before = now() + interval '9 minutes'", run_id)
    assert claim(board) is None

    change_job(board, "not_before = now() + interval '1 hour'", run_id)
    assert claim(board) == (run_id, 1)


def test_a_locked_run_does_not_block_claims_or_sweeps_of_others(board: Rows) -> None:
    held, free, lost = (board.run_of(board.result()) for _ in range(3))
    change(board, "state = 'running'", lost)
    change_job(board, "lease_until = now() - interval '1 minute'", lost)
    with board.platform.transaction() as stalled:
        stalled.execute(text("SELECT 1 FROM job WHERE run_id IN (:a, :b) FOR UPDATE"), {"a": held, "b": lost})

        assert claim(board) == (free, 1)
        recover_lost_jobs(board.platform)

    assert run(board, lost).state is RunState.RUNNING
    recover_lost_jobs(board.platform)
    assert run(board, lost).state is RunState.QUEUED


def test_runs_of_a_suspended_team_wait_until_the_suspension_is_lifted(board: Rows) -> None:
    actor, suspended = (
        Actor(user_id=board.user_id, role=Role.ADMIN, has_second_factor=True),
        board.other_team(),
    )
    waiting = board.run_of(board.result(team_id=suspended))
    again = board.run_of(board.result(team_id=suspended))
    with board.platform.transaction() as session:
        rescore = Rescore(phase_id=board.phase_id, ground_truth_id=board.truths[0], scorer=OURS)
        rescore.abandoned_at = func.now()  # so that no sweep switches the boards of other tests
        session.add(rescore)
        session.flush()
        session.get_one(Run, again).rescore_id = rescore.id
    change_job(board, "priority = 10", again)
    approvals.suspend(board.platform, actor, suspended, Suspension(reason="two accounts"))
    other = board.run_of(board.result())

    held = places_of(board, waiting, other)
    assert (held.wait(waiting), held.wait(again), set(held.places)) == (
        Wait(
            Cause.SUSPENDED,
            "It waits while the team is suspended, and is scored once the suspension is lifted.",
        ),
        None,
        {other},
    )
    assert {claim(board), claim(board), claim(board)} == {(again, 1), (other, 1), None}
    with board.platform.transaction() as session:
        assert queue.count_due(session, Queue.RUNS, 10, OURS) == 0

    approvals.lift(board.platform, actor, suspended, TeamRefusal(reason="explained"))
    assert set(places_of(board, waiting).places) == {waiting}
    assert claim(board) == (waiting, 1)


def test_runs_of_a_paused_phase_keep_their_places_and_let_others_pass(board: Rows) -> None:
    actor = Actor(user_id=board.user_id, role=Role.ADMIN, has_second_factor=True)
    other = made(board.platform)
    first, second = (board.run_of(board.result()) for _ in range(2))
    started = board.run_of(board.result())
    change_job(board, "turn = -1", started)
    assert claim(board) == (started, 1)
    theirs = other.run_of(other.result())
    before = places_of(board, first, second, theirs)

    pausing.pause(board.platform, actor, board.phase_id, Pause(reason="A class is mislabelled."))
    held = places_of(board, first, second, theirs)
    late = board.run_of(board.result())

    assert [before.places[each] for each in (first, theirs, second)] == [1, 2, 3]
    assert held.places == {theirs: 1}
    wait = held.wait(first)
    assert wait is not None
    assert wait.cause is Cause.PAUSED
    assert "have paused scoring: A class is mislabelled. It keeps its place" in wait.text
    assert [claim(board), claim(board)] == [(theirs, 1), None]
    with board.platform.transaction() as session:
        assert queue.count_due(session, Queue.RUNS, 10, OURS) == 0
        assert queue.lock_claimed(session, Claim(job(board, started).id, 1, JobKind.RUN, started, {}))
    with pytest.raises(ConflictError):
        pausing.pause(board.platform, actor, board.phase_id, Pause(reason="again"))

    newer = other.run_of(other.result())
    pausing.resume(board.platform, actor, board.phase_id)
    pausing.resume(board.platform, actor, board.phase_id)
    order = places_of(board, first, second, late, newer).places
    assert sorted(order, key=order.__getitem__) == [first, second, newer, late]
    assert [claim(board) for _ in range(4)] == [(first, 1), (second, 1), (newer, 1), (late, 1)]


def test_other_work_goes_on_while_a_phase_is_paused(board: Rows) -> None:
    actor = Actor(user_id=board.user_id, role=Role.ADMIN, has_second_factor=True)
    pausing.pause(board.platform, actor, board.phase_id, Pause(reason="A class is mislabelled."))
    with board.platform.transaction() as session:
        queue.add(session, JobKind.MAIL, {"letter": "trial"}, owner=None)

    with board.platform.transaction() as session:
        assert queue.claim_next(session, Queue.MAIL, LEASE) is not None
    pausing.resume(board.platform, actor, board.phase_id)


def test_runs_of_the_release_before_take_turns_with_those_of_this_one(board: Rows) -> None:
    other = board.other_team()
    earlier = [board.run_of(board.result()) for _ in range(3)]
    for each in earlier:
        change_job(board, "owner = NULL", each)
    theirs = [board.run_of(board.result(team_id=other)) for _ in range(2)]
    later = board.run_of(board.result())

    order = [each[0] for each in (claim(board) for _ in range(6)) if each]

    assert order == [earlier[0], theirs[0], earlier[1], theirs[1], earlier[2], later]


def test_a_run_that_waits_for_a_data_set_says_so(board: Rows) -> None:
    run_id = board.run_of(board.result())
    with board.platform.transaction() as session:
        heartbeats.write_heartbeat(session, "one", Service.WORKER, scorer=OURS, slots=1)
        queue.add(session, JobKind.INTAKE, {}, owner="challenge 1")
    with board.platform.transaction() as session:
        assert queue.may_organise(session, OURS)
        assert queue.claim_next(session, Queue.ORGANISING, LEASE)

    wait = places_of(board, run_id).wait(run_id)

    assert wait is not None
    assert wait.text == (
        "Number 1 in the queue, where teams take turns; scoring goes on once a data set of organisers has been read or applied."
    )


def test_a_claim_reads_one_row_of_the_queue_index(board: Rows) -> None:
    runs = {"result": board.result(), "truth": board.truths[0], "scorer": OURS, "team": board.team_id}
    owner = create_engine(str(board.platform.settings.migration_database_url), poolclass=NullPool)
    with (
        owner.connect() as connection
    ):  # as the owner, the only role that can analyse a table; nothing is committed
        connection.execute(
            text(
                "WITH queued AS (INSERT INTO run (result_id, ground_truth_id, protocol, scorer, state, attempt, team_id)"
                " SELECT :result, :truth, 'voc2012', :scorer, 'queued', 0, :team FROM generate_series(1, 20000) RETURNING id)"
                " INSERT INTO job (kind, queue, scorer, run_id, payload, priority, team_id, turn, attempt, failures, postponements, lost_leases)"
                " SELECT 'run', 'runs', :scorer, id, '{}', 0, :team, row_number() OVER (), 0, 0, 0, 0 FROM queued"
            ),
            runs,
        )
        connection.execute(text("ANALYZE job"))
        plan = explained(connection, queue.first_due(Queue.RUNS, OURS))

    assert "ix_job_waiting" in plan
    assert "Sort" not in plan


def explained(connection: Connection, statement: Select[int]) -> str:
    """The query plan of a statement."""
    compiled = statement.compile(connection, compile_kwargs={"literal_binds": True})
    return "\n".join(connection.scalars(text(f"EXPLAIN {compiled}")))


def test_only_the_kind_of_an_error_is_stored(board: Rows) -> None:
    run_id = board.run_of(board.result())  # its archive has no bytes

    assert do_next(board.platform, Queue.RUNS)

    error = job(board, run_id).error
    assert error is not None
    assert (
        error.isidentifier()
    )  # error messages may quote hidden annotation, which must not be stored in rows


def test_the_estimated_wait_is_divided_among_live_slots(board: Rows) -> None:
    run_ids = [board.run_of(board.result()) for _ in range(4)]
    scored = board.run_of(board.result(mean=0.5))
    change(board, "claimed_at = now() - interval '50 seconds', finished_at = now()", scored)
    runs = [run(board, run_id) for run_id in run_ids]

    before = places_of(board, *run_ids)
    with board.platform.transaction() as session:
        heartbeats.write_heartbeat(session, "one", Service.WORKER, scorer=OURS, slots=2)
        heartbeats.write_heartbeat(session, "other version", Service.WORKER, scorer="next", slots=50)
    after = places_of(board, *run_ids)

    assert [before.place(each) for each in runs] == [1, 2, 3, 4]
    assert [before.wait_seconds(each) for each in runs] == [None] * 4
    assert not before.has_worker(runs[0])
    assert after.has_worker(runs[0])
    assert [after.wait_seconds(each) for each in runs] == [
        60,
        60,
        120,
        120,
    ]  # full minutes, so that nobody learns how long a run took


def test_a_worker_not_seen_for_twenty_seconds_counts_as_dead(board: Rows) -> None:
    with board.platform.transaction() as session:
        for name in ("old", "from before the clock was set back", "alive"):
            heartbeats.write_heartbeat(session, name, Service.WORKER, scorer=OURS, slots=2)
        session.execute(text("UPDATE heartbeat SET seen_at = now() - interval '21 s' WHERE name = 'old'"))
        session.execute(text("UPDATE heartbeat SET seen_at = now() + interval '1 h' WHERE name LIKE 'from%'"))

    with board.platform.transaction() as session:
        assert heartbeats.alive_workers(session) == 1
        assert heartbeats.slots_by_scorer(session) == {OURS: 2}


def test_one_of_several_sweepers_works_in_each_interval(board: Rows) -> None:
    settings = board.platform.settings.model_copy(
        update={"sweep_seconds": 600}
    )  # longer than any sweep takes
    platform = replace(board.platform, settings=settings)

    assert [sweep(platform) for _ in range(3)] == [True, False, False]
    with board.platform.transaction() as session:
        age = heartbeats.last_sweep_age(session)
        assert age is not None
        assert age < timedelta(seconds=600)
        session.execute(
            text("UPDATE heartbeat SET seen_at = seen_at + interval '1 hour'")
        )  # the clock was set back

    assert [sweep(platform) for _ in range(2)] == [True, False]


def test_a_sweeper_stopped_during_its_turn_does_not_block_others(board: Rows) -> None:
    with board.platform.transaction() as stalled:
        assert heartbeats.try_acquire_sweep(stalled, timedelta(seconds=1))

        assert not sweep(board.platform)

    assert not sweep(board.platform)


def test_an_upload_that_finds_all_check_slots_busy_can_be_checked_later(
    board: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checking, "TIMEOUT", 1.0)
    board.result()
    with board.platform.transaction() as session:
        newest = session.scalars(select(Upload).order_by(Upload.started_at.desc())).first()
        assert newest is not None
        newest.state, newest.sha256 = UploadState.RECEIVED, "0" * 64
        upload = newest.id

    async def ask_twice() -> None:
        platform = replace(board.platform, checks=CapacityLimiter(1))
        await platform.checks.acquire_on_behalf_of("another")
        with pytest.raises(CheckBusyError, match="Many archives are being checked"):
            await checking.check(platform, upload)
        platform.checks.release_on_behalf_of("another")
        with pytest.raises(
            StorageUnavailableError
        ):  # it got as far as reading bytes, which this test does not store
            await checking.check(platform, upload)
        assert platform.checks.borrowed_tokens == 0

    anyio.run(ask_twice)


def test_runs_waiting_for_a_store_are_due_as_soon_as_it_is_back(board: Rows) -> None:
    waiting, crashed = (board.run_of(board.result()) for _ in range(2))
    change_job(board, "postponements = 9, not_before = now() + interval '9 minutes'", waiting)
    change_job(board, "failures = 1, not_before = now() + interval '5 seconds'", crashed)
    away = replace(board.platform, archives=FolderStorage(Path("/proc/away")))

    assert check_recovery(away, was_away=False)
    assert check_recovery(away, was_away=True)
    assert claim(board) is None

    assert not check_recovery(board.platform, was_away=True)
    assert [claim(board), claim(board)] == [(waiting, 1), None]


def test_a_store_that_was_always_available_ends_no_pause(board: Rows) -> None:
    run_id = board.run_of(board.result())
    change_job(board, "postponements = 9, not_before = now() + interval '9 minutes'", run_id)

    assert not check_recovery(board.platform, was_away=False)

    assert claim(board) is None


def test_a_crashing_run_waits_longer_each_time_and_finally_fails(board: Rows) -> None:
    run_id = board.run_of(board.result())  # its archive has no bytes, which counts as an error on the server
    patient = replace(
        board.platform, settings=board.platform.settings.model_copy(update={"retry_seconds": 600})
    )
    waits = []
    for _ in range(3):
        change_job(board, "not_before = NULL", run_id)
        assert do_next(patient, Queue.RUNS)
        waits.append(claim(board))

    ended = run(board, run_id)
    assert (ended.state, ended.attempt) == (RunState.FAILED, 3)
    assert waits == [None, None, None]  # it is not due again immediately
    assert ended.failure_message == (
        "scoring failed 3 times because of an error on our side; this does not count, and the organisers see it"
    )
