"""Every job is done at least once, whichever process dies."""

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text, update

import heldout_scoring
from app.core.access import Actor
from app.core.errors import StorageUnavailableError
from app.jobs import attempts, heartbeats, queue
from app.jobs.attempts import MAX_FAILURES, MAX_LOST_LEASES, Handler, Handlers, on_payload
from app.jobs.queue import Claim
from app.models import Job, JobKind, Queue, Service
from app.platform import Platform
from tests.system.holds import in_a_pipe
from tests.system.installations import LONGEST, Client, Installation, awaited, installation
from tests.system.kits import results, small_kit
from tests.system.plans import rows_read
from tests.system.servers import OwnServers, eventually
from tests.working import do_all

pytestmark = pytest.mark.system

ORGANISER = Actor()


@pytest.fixture(scope="module")
def alone(own_servers: OwnServers) -> Iterator[Installation]:
    """An installation without a worker; tests do its jobs themselves, and no lease or pause ends while they look."""
    with installation(own_servers, lease_seconds=600, retry_seconds=600) as running:
        yield running


@pytest.fixture
def platform(alone: Installation) -> Platform:
    alone.ask("DELETE FROM job")
    alone.ask("DELETE FROM heartbeat")
    return alone.platform


def do_next(platform: Platform, handle: Callable[[Platform, Mapping[str, Any]], None]) -> bool:
    """Do the next follow-up job, of whatever kind."""
    return attempts.do_next(platform, Queue.FOLLOW_UPS, doing(handle))


def doing(handle: Callable[[Platform, Mapping[str, Any]], None]) -> Handlers:
    return dict.fromkeys(JobKind, on_payload(handle))


def message(platform: Platform, run_id: int) -> None:
    with platform.transaction() as session:
        queue.add(session, JobKind.INTERVALS, {"run_id": run_id}, owner="team 1")


def test_workers_look_for_mail_then_for_work_of_organisers_then_for_runs_then_for_the_rest(
    platform: Platform,
) -> None:
    expected = [JobKind.MAIL, JobKind.INTAKE, JobKind.RUN, JobKind.INTERVALS]
    with platform.transaction() as session:
        for kind in reversed(expected):
            queue.add(session, kind, {}, owner="challenge 1")
        session.execute(update(Job).where(Job.kind == JobKind.RUN).values(scorer=heldout_scoring.SCORER))
    done: list[JobKind] = []

    while do_first(platform, dict.fromkeys(JobKind, Handler(lambda _, claim: done.append(claim.kind)))):
        pass

    assert done == expected


COPIES = text(
    "INSERT INTO job (kind, queue, scorer, payload, priority, owner, turn, attempt, failures, postponements, lost_leases)"
    " SELECT kind, queue, :scorer, payload, priority, owner, turn + each, 0, 0, 0, 0"
    " FROM job, generate_series(1, 500) each"
)


def do_first(platform: Platform, handlers: Handlers) -> bool:
    """Do the job that a worker takes next; return whether there was one."""
    return any(attempts.do_next(platform, each, handlers) for each in Queue)


@pytest.mark.parametrize(
    ("processes", "expected"),
    [
        (1, ["intake", "run", "run"]),
        (2, ["intake", "run", "run"]),
        (4, ["intake", "intake", "run"]),
        (5, ["intake", "intake", "run"]),
    ],
)
def test_data_sets_are_read_at_once_by_at_most_half_of_the_processes_while_runs_wait(
    platform: Platform, processes: int, expected: list[str]
) -> None:
    with platform.transaction() as session:
        heartbeats.write_heartbeat(
            session, "here:1", Service.WORKER, scorer=heldout_scoring.SCORER, slots=processes
        )
        queue.add(session, JobKind.RUN, {}, owner="team 1")
        session.flush()
        session.execute(COPIES.bindparams(scorer=heldout_scoring.SCORER))
        for _ in range(3):
            queue.add(session, JobKind.INTAKE, {}, owner="challenge 1")
    taken: list[str] = []

    def take(_platform: Platform, claim: Claim) -> None:
        """Be at a job while the next process looks for one."""
        taken.append(claim.kind.value)
        if len(taken) < 3:
            do_first(platform, handlers)

    handlers = dict.fromkeys(JobKind, Handler(take))

    do_first(platform, handlers)

    assert taken == expected


def test_without_waiting_runs_every_process_reads_data_sets(platform: Platform) -> None:
    with platform.transaction() as session:
        for key in "abc":
            queue.add(session, JobKind.INTAKE, {}, owner="challenge 1", key=key)
    started: list[int] = []
    ended: list[int] = []

    def read(_platform: Platform, claim: Claim) -> None:
        started.append(claim.id)
        attempts.do_next(platform, Queue.ORGANISING, handlers)  # meanwhile, another process
        ended.append(len(started))

    handlers = dict.fromkeys(JobKind, Handler(read))
    attempts.do_next(platform, Queue.ORGANISING, handlers)

    assert ended == [3, 3, 3]


def test_while_one_process_decides_about_a_data_set_others_look_for_runs(platform: Platform) -> None:
    with platform.transaction() as session:
        queue.add(session, JobKind.INTAKE, {}, owner="challenge 1")
    with platform.transaction() as deciding:
        assert queue.may_organise(deciding, heldout_scoring.SCORER)

        assert not attempts.do_next(platform, Queue.ORGANISING, doing(lambda *_: None))

    assert attempts.do_next(platform, Queue.ORGANISING, doing(lambda *_: None))


def test_owners_take_turns_in_every_queue(platform: Platform) -> None:
    kinds = {Queue.MAIL: JobKind.MAIL, Queue.ORGANISING: JobKind.INTAKE, Queue.FOLLOW_UPS: JobKind.SIMILARITY}
    done: list[str] = []
    for which, kind in kinds.items():
        with platform.transaction() as session:
            for owner in ("team 1", "team 1", "team 1", "team 2", "team 2"):
                queue.add(session, kind, {"owner": owner}, owner=owner)

        while attempts.do_next(platform, which, doing(lambda _, payload: done.append(payload["owner"]))):
            pass

    assert done == ["team 1", "team 2", "team 1", "team 2", "team 1"] * 3


def test_adding_a_job_costs_the_same_however_many_wait(platform: Platform) -> None:
    with platform.transaction() as session:
        session.execute(
            text(
                "INSERT INTO job (kind, queue, scorer, payload, priority, owner, turn, attempt, failures, postponements,"
                " lost_leases) SELECT 'similarity', 'follow-ups', '', '{}', 0, 'team ' || each % 9, each, 0, 0, 0, 0"
                " FROM generate_series(1, 5000) each"
            )
        )

    with rows_read(platform) as found, platform.transaction() as session:
        queue.add(session, JobKind.SIMILARITY, {}, owner="team 3")

    assert found["job"] <= 5, found


def states(alone: Installation) -> list[tuple[int, int, bool]]:
    """The run and the attempts of every job, and whether it was given up."""
    return alone.ask("SELECT (payload->>'run_id')::int, attempt, dead_at IS NOT NULL FROM job ORDER BY id")


def test_a_job_is_done_once_when_nothing_goes_wrong(alone: Installation, platform: Platform) -> None:
    seen: list[int] = []
    message(platform, 1)

    assert do_next(platform, lambda _, payload: seen.append(payload["run_id"]))
    assert not do_next(platform, lambda _, payload: seen.append(payload["run_id"]))

    assert seen == [1]
    assert states(alone) == []


def test_a_job_of_a_rolled_back_transaction_does_not_exist(platform: Platform) -> None:
    with platform.transaction() as session:
        queue.add(session, JobKind.INTERVALS, {"run_id": 1}, owner="team 1")
        session.flush()
        session.rollback()

    assert not do_next(platform, lambda *_: None)


def test_a_job_that_always_fails_is_given_up_and_does_not_block_others(
    alone: Installation, platform: Platform
) -> None:
    seen: list[int] = []

    def handle(_: Platform, payload: Mapping[str, Any]) -> None:
        if payload["run_id"] == 666:
            raise ValueError("not a run")
        seen.append(payload["run_id"])

    for run_id in (666, 1, 2):
        message(platform, run_id)
    while do_next(platform, handle):
        pass
    assert seen == [1, 2]
    assert states(alone) == [(666, 1, False)]  # it is retried after a pause
    for _ in range(MAX_FAILURES):
        alone.ask("UPDATE job SET not_before = now()")
        do_next(platform, handle)

    assert states(alone) == [(666, MAX_FAILURES, True)]
    [[error, job_id]] = alone.ask("SELECT error, id FROM job")
    assert error == "ValueError: not a run"
    attempts.retry(platform, job_id)
    assert do_next(platform, lambda *_: None)
    assert states(alone) == []


def test_a_job_waits_for_storage_however_long_it_is_unavailable(
    alone: Installation, platform: Platform
) -> None:
    def handle(*_: object) -> None:
        raise StorageUnavailableError("no such host")

    message(platform, 1)
    for _ in range(2 * MAX_FAILURES):
        assert do_next(platform, handle)
        assert not do_next(platform, handle)  # not immediately
        alone.ask("UPDATE job SET not_before = now()")
    assert do_next(platform, lambda *_: None)

    assert states(alone) == []


def test_a_job_that_kills_its_worker_each_time_is_given_up(alone: Installation, platform: Platform) -> None:
    class DeathError(BaseException):
        """Stands for the death of a process."""

    def die(*_: object) -> None:
        raise DeathError

    message(platform, 1)
    for _ in range(MAX_LOST_LEASES):
        with pytest.raises(DeathError):
            do_next(platform, die)
        assert not do_next(platform, die)  # it is leased
        alone.ask("UPDATE job SET lease_until = now() - interval '1 s'")
        attempts.recover_lost_jobs(platform, doing(die))
        alone.ask("UPDATE job SET not_before = now()")

    assert states(alone) == [(1, MAX_LOST_LEASES, True)]
    [[job_id]] = alone.ask("SELECT id FROM job")
    attempts.discard(platform, ORGANISER, job_id)
    assert states(alone) == []
    [[discarded]] = alone.ask(
        "SELECT count(*) FROM audit WHERE action = %s AND subject = %s", "job.discard", f"job {job_id}"
    )
    assert discarded == 1


def test_a_job_that_takes_longer_than_its_lease_keeps_it(alone: Installation, platform: Platform) -> None:
    impatient = replace(platform, settings=platform.settings.model_copy(update={"lease_seconds": 3}))

    def lease() -> Any:
        [[until]] = alone.ask("SELECT lease_until FROM job")
        return until

    def handle(*_: object) -> None:
        first = lease()
        assert eventually(lambda: lease() > first)
        assert not do_next(impatient, handle)

    message(platform, 1)
    assert do_next(impatient, handle)

    assert states(alone) == []


def bounds(running: Installation, run: int) -> list[tuple[float, float]]:
    statement = "SELECT low, high FROM class_score WHERE run_id = %s AND low IS NOT NULL ORDER BY position"
    return running.ask(statement, run)


@pytest.mark.slow
def test_intervals_follow_a_score_even_if_their_worker_is_killed(
    own_servers: OwnServers, tmp_path: Path
) -> None:
    with installation(own_servers) as running:
        running.load(small_kit(tmp_path), "late", quota=100)
        address = running.start_web()
        running.start_worker(workers=1)
        oak: Client = running.participant(address, "oak")
        first = oak.final(oak.submit("late/test", results(cat=5, dog=5), "Acorn"))
        run = first["results"][0]["shown"]["id"]
        expected = awaited(lambda: bounds(running, run))
        # other follow-up jobs read the statistics, too, and would occupy the only process of the worker
        assert eventually(
            lambda: not running.ask("SELECT FROM job WHERE queue NOT IN ('mail', 'webhooks')"), LONGEST
        )

        [[key]] = running.ask("SELECT statistics_key FROM run WHERE id = %s", run)
        with running.platform.truths.materialise(key) as path, in_a_pipe(path) as pipe:
            running.ask("UPDATE class_score SET low = NULL, high = NULL")
            with running.platform.transaction() as session:
                queue.add(session, JobKind.INTERVALS, {"run_id": run}, owner=None)
            [[_]] = awaited(lambda: running.ask("SELECT id FROM job WHERE attempt = 1"))
            os.kill(running.pool()[0], signal.SIGKILL)
            pipe.put_back()

        assert eventually(lambda: bounds(running, run) == expected, LONGEST)
        assert len(expected) == 3


def of_board(platform: Platform, key: str) -> None:
    with platform.transaction() as session:
        queue.add(session, JobKind.BOARD, {"run_id": 7}, owner="challenge 1", key=key)


def test_jobs_with_the_same_key_are_done_together(alone: Installation, platform: Platform) -> None:
    for key in ("7/3", "7/3", "7/4", "7/3"):
        of_board(platform, key)
    seen: list[int] = []

    do_all(platform, handlers=doing(lambda _, payload: seen.append(payload["run_id"])))

    assert len(seen) == 2
    assert states(alone) == []


def test_a_job_added_while_its_key_is_being_done_is_done_afterwards(platform: Platform) -> None:
    seen: list[bool] = []

    def handle(*_: object) -> None:
        if not seen:
            of_board(platform, "7/3")
            seen.append(do_next(platform, handle))  # meanwhile, another worker
        else:
            seen.append(True)

    of_board(platform, "7/3")
    while do_next(platform, handle):
        pass

    assert seen == [False, True]


def test_transactions_adding_jobs_with_the_same_key_do_not_block_each_other(platform: Platform) -> None:
    with platform.transaction() as session:
        queue.add(session, JobKind.BOARD, {}, owner="challenge 1", key="7/3")
        session.flush()
        of_board(platform, "7/3")  # a second connection while the first has not committed

        assert do_next(platform, lambda *_: None)

    assert do_next(platform, lambda *_: None)
    assert not do_next(platform, lambda *_: None)
