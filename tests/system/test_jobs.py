"""Every job is done at least once, whichever process dies."""

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.core.access import Actor
from app.core.errors import StorageUnavailableError
from app.jobs import attempts, queue
from app.jobs.attempts import MAX_FAILURES, MAX_LOST_LEASES, Handlers, on_payload
from app.models import JobKind, Queue
from app.platform import Platform
from tests.system.holds import in_a_pipe
from tests.system.installations import LONGEST, Client, Installation, awaited, installation
from tests.system.kits import results, small_kit
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
    return alone.platform


def do_next(platform: Platform, handle: Callable[[Platform, Mapping[str, Any]], None]) -> bool:
    """Do the next follow-up job, of whatever kind."""
    return attempts.do_next(platform, Queue.FOLLOW_UPS, doing(handle))


def doing(handle: Callable[[Platform, Mapping[str, Any]], None]) -> Handlers:
    return dict.fromkeys(JobKind, on_payload(handle))


def message(platform: Platform, run_id: int) -> None:
    with platform.transaction() as session:
        queue.add(session, JobKind.INTERVALS, {"run_id": run_id})


def test_mail_does_not_wait_for_figures(platform: Platform) -> None:
    for run in range(3):
        message(platform, run)
    with platform.transaction() as session:
        queue.add(session, JobKind.MAIL, {"run_id": 4})
    sent: list[int] = []

    attempts.do_next(platform, Queue.MAIL, doing(lambda _, payload: sent.append(payload["run_id"])))

    assert sent == [4]


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
        queue.add(session, JobKind.INTERVALS, {"run_id": 1})
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
        assert eventually(lambda: not running.ask("SELECT FROM job"), LONGEST)

        [[key]] = running.ask("SELECT statistics_key FROM run WHERE id = %s", run)
        with running.platform.truths.materialise(key) as path, in_a_pipe(path) as pipe:
            running.ask("UPDATE class_score SET low = NULL, high = NULL")
            with running.platform.transaction() as session:
                queue.add(session, JobKind.INTERVALS, {"run_id": run})
            [[_]] = awaited(lambda: running.ask("SELECT id FROM job WHERE attempt = 1"))
            os.kill(running.pool()[0], signal.SIGKILL)
            pipe.put_back()

        assert eventually(lambda: bounds(running, run) == expected, LONGEST)
        assert len(expected) == 3


def of_board(platform: Platform, key: str) -> None:
    with platform.transaction() as session:
        queue.add(session, JobKind.BOARD, key=key, payload={"run_id": 7})


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
        queue.add(session, JobKind.BOARD, key="7/3", payload={})
        session.flush()
        of_board(platform, "7/3")  # a second connection while the first has not committed

        assert do_next(platform, lambda *_: None)

    assert do_next(platform, lambda *_: None)
    assert not do_next(platform, lambda *_: None)
