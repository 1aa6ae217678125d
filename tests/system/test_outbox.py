"""What follows from a result is delivered at least once, whatever dies in between."""

import os
import signal
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.access import Actor
from app.delivery import service as delivery
from app.errors import StorageUnavailableError
from app.models import Topic
from app.outbox import queries as outbox
from app.platform import Platform
from tests.system.holds import in_a_pipe
from tests.system.installations import LONGEST, Client, Installation, awaited, installation
from tests.system.kits import results, small_kit
from tests.system.servers import OwnServers, eventually

pytestmark = pytest.mark.system

ORGANISER = Actor()


@pytest.fixture(scope="module")
def alone(own_servers: OwnServers) -> Iterator[Installation]:
    """An installation without a worker; a test delivers by itself."""
    with installation(own_servers) as running:
        yield running


@pytest.fixture
def platform(alone: Installation) -> Platform:
    alone.ask("DELETE FROM outbox")
    return alone.platform


def message(platform: Platform, run_id: int) -> None:
    with platform.transaction() as session:
        outbox.add(session, Topic.INTERVALS, {"run_id": run_id})


def test_mail_does_not_wait_behind_figures(platform: Platform) -> None:
    for run in range(3):
        message(platform, run)
    with platform.transaction() as session:
        outbox.add(session, Topic.MAIL, {"run_id": 4})
    sent: list[int] = []

    delivery.deliver_next(platform, {Topic.MAIL: lambda _, payload: sent.append(payload["run_id"])})

    assert sent == [4]


def states(alone: Installation) -> list[tuple[int, int, bool, bool]]:
    """Of every message its run, attempts, and whether it is delivered or given up."""
    return alone.ask(
        "SELECT (payload->>'run_id')::int, attempt, delivered_at IS NOT NULL, dead_at IS NOT NULL"
        " FROM outbox ORDER BY id"
    )


def test_a_message_is_delivered_once_when_nothing_goes_wrong(alone: Installation, platform: Platform) -> None:
    seen: list[int] = []
    message(platform, 1)

    handlers = {Topic.INTERVALS: lambda _, payload: seen.append(payload["run_id"])}
    assert delivery.deliver_next(platform, handlers)
    assert not delivery.deliver_next(platform, handlers)

    assert seen == [1]
    assert states(alone) == [(1, 1, True, False)]


def test_a_message_of_a_transaction_that_fails_does_not_exist(platform: Platform) -> None:
    with platform.transaction() as session:
        outbox.add(session, Topic.INTERVALS, {"run_id": 1})
        session.flush()
        session.rollback()

    assert not delivery.deliver_next(platform)


def test_a_message_that_always_fails_is_given_up_and_blocks_no_other(
    alone: Installation, platform: Platform
) -> None:
    seen: list[int] = []

    def handle(_: Platform, payload: Mapping[str, Any]) -> None:
        if payload["run_id"] == 666:
            raise ValueError("not a run")
        seen.append(payload["run_id"])

    for run_id in (666, 1, 2):
        message(platform, run_id)
    while delivery.deliver_next(platform, {Topic.INTERVALS: handle}):
        pass
    assert seen == [1, 2]
    assert states(alone)[0][2:] == (False, False)  # it is tried again, after a pause
    for _ in range(delivery.MAX_ATTEMPTS):
        alone.ask("UPDATE outbox SET not_before = now() WHERE delivered_at IS NULL AND dead_at IS NULL")
        delivery.deliver_next(platform, {Topic.INTERVALS: handle})

    assert states(alone) == [
        (666, delivery.MAX_ATTEMPTS, False, True), (1, 1, True, False), (2, 1, True, False)
    ]  # fmt: skip
    [[error, message_id]] = alone.ask("SELECT error, id FROM outbox WHERE dead_at IS NOT NULL")
    assert error == "ValueError: not a run"
    delivery.retry(platform, message_id)
    assert delivery.deliver_next(platform, {Topic.INTERVALS: lambda *_: None})
    assert states(alone)[0] == (666, 1, True, False)


def test_a_message_waits_for_storage_however_long_it_is_away(alone: Installation, platform: Platform) -> None:
    def handle(*_: object) -> None:
        raise StorageUnavailableError("no such host")

    message(platform, 1)
    for _ in range(2 * delivery.MAX_ATTEMPTS):
        assert delivery.deliver_next(platform, {Topic.INTERVALS: handle})
        assert not delivery.deliver_next(platform, {Topic.INTERVALS: handle})  # not at once
        alone.ask("UPDATE outbox SET not_before = now()")
    assert delivery.deliver_next(platform, {Topic.INTERVALS: lambda *_: None})

    assert states(alone) == [(1, 1, True, False)]


def test_a_message_that_kills_its_worker_each_time_is_given_up(
    alone: Installation, platform: Platform
) -> None:
    class DeathError(BaseException):
        """Stands for a process that is gone."""

    def die(*_: object) -> None:
        raise DeathError

    message(platform, 1)
    for _ in range(delivery.MAX_ATTEMPTS):
        with pytest.raises(DeathError):
            delivery.deliver_next(platform, {Topic.INTERVALS: die})
        assert not delivery.deliver_next(platform, {Topic.INTERVALS: die})  # it is leased
        alone.ask("UPDATE outbox SET not_before = now()")
    assert delivery.deliver_next(platform, {Topic.INTERVALS: die})

    assert states(alone) == [(1, delivery.MAX_ATTEMPTS + 1, False, True)]
    [[message_id]] = alone.ask("SELECT id FROM outbox")
    delivery.discard(platform, ORGANISER, message_id)
    assert states(alone) == []


def test_a_delivery_that_takes_longer_than_its_lease_keeps_it(
    alone: Installation, platform: Platform
) -> None:
    impatient = replace(platform, settings=platform.settings.model_copy(update={"lease_seconds": 1}))

    def lease() -> Any:
        [[until]] = alone.ask("SELECT not_before FROM outbox")
        return until

    def handle(*_: object) -> None:
        first = lease()
        assert eventually(lambda: lease() > first)
        assert not delivery.deliver_next(impatient, {Topic.INTERVALS: handle})

    message(platform, 1)
    assert delivery.deliver_next(impatient, {Topic.INTERVALS: handle})

    assert states(alone) == [(1, 1, True, False)]


def bounds(running: Installation, run: int) -> list[tuple[float, float]]:
    statement = "SELECT low, high FROM class_score WHERE run_id = %s AND low IS NOT NULL ORDER BY position"
    return running.ask(statement, run)


def test_intervals_follow_a_score_also_when_their_worker_is_killed_in_between(
    own_servers: OwnServers, tmp_path: Path
) -> None:
    with installation(own_servers) as running:
        running.load(small_kit(tmp_path), "late", quota=100)
        address = running.start_web()
        running.start_worker(workers=1)
        oak: Client = running.participant(address, "oak")
        first = oak.final(oak.submit("late/test", results(cat=5, dog=5), "Acorn"))
        run = first["entries"][0]["shown"]["id"]
        expected = awaited(lambda: bounds(running, run))
        # what else follows from the score reads the statistics, too, and would hold the only process of the worker
        assert eventually(lambda: not running.ask("SELECT FROM outbox WHERE delivered_at IS NULL"), LONGEST)

        [[key]] = running.ask("SELECT statistics_key FROM run WHERE id = %s", run)
        with running.platform.truths.materialise(key) as path, in_a_pipe(path) as pipe:
            running.ask("UPDATE class_score SET low = NULL, high = NULL")
            running.ask(
                "UPDATE outbox SET delivered_at = NULL, attempt = 0, not_before = now() WHERE topic = 'intervals'"
            )
            [[_]] = awaited(
                lambda: running.ask("SELECT id FROM outbox WHERE attempt = 1 AND topic = 'intervals'")
            )
            os.kill(running.pool()[0], signal.SIGKILL)
            pipe.put_back()

        assert eventually(lambda: bounds(running, run) == expected, LONGEST)
        [[attempt]] = running.ask("SELECT attempt FROM outbox WHERE topic = 'intervals'")
        assert attempt == 2
        assert len(expected) == 3


def of_board(platform: Platform, key: str) -> None:
    with platform.transaction() as session:
        outbox.add_once(session, Topic.BOARD, key, {"run_id": 7})


def test_messages_with_the_same_key_are_delivered_together(alone: Installation, platform: Platform) -> None:
    for key in ("7/3", "7/3", "7/4", "7/3"):
        of_board(platform, key)
    seen: list[int] = []

    while delivery.deliver_next(platform, {Topic.BOARD: lambda _, payload: seen.append(payload["run_id"])}):
        pass

    assert len(seen) == 2
    assert [attempt for _, attempt, *_ in states(alone)] == [1, 0, 1, 0]
    assert all(is_delivered for *_, is_delivered, _ in states(alone))


def test_what_is_written_while_its_key_is_delivered_is_delivered_afterwards(platform: Platform) -> None:
    seen: list[bool] = []

    def handle(*_: object) -> None:
        if not seen:
            of_board(platform, "7/3")
            seen.append(delivery.deliver_next(platform, {Topic.BOARD: handle}))  # another worker, meanwhile
        else:
            seen.append(True)

    of_board(platform, "7/3")
    while delivery.deliver_next(platform, {Topic.BOARD: handle}):
        pass

    assert seen == [False, True]


def test_writers_of_the_same_key_do_not_wait_for_each_other(platform: Platform) -> None:
    with platform.transaction() as session:
        outbox.add_once(session, Topic.BOARD, "7/3", {})
        session.flush()
        of_board(platform, "7/3")  # a second connection, while the first is not committed

        assert delivery.deliver_next(platform, {Topic.BOARD: lambda *_: None})

    assert delivery.deliver_next(platform, {Topic.BOARD: lambda *_: None})
    assert not delivery.deliver_next(platform)
