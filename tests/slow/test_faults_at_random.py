"""Participants send results while processes are killed: what was acknowledged is scored, once and exactly."""

import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TypeVar

import httpx2
import pytest

from tests.system.installations import Client, Installation, good, installation
from tests.system.kits import results, small_kit
from tests.system.process_trees import kill_all
from tests.system.servers import OwnServers, eventually

pytestmark = pytest.mark.slow

PHASE = "slow/test"
PARTICIPANTS = 3
BETWEEN_FAULTS = 3.0  # seconds
RECOVERY = 240.0  # seconds in which all must be scored once nothing is killed any more


Answer = TypeVar("Answer")


@dataclass
class Acknowledged:
    """What was acknowledged to participants: the submission's id and the mean that it must get, by method."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    means: dict[str, tuple[int, float]] = field(default_factory=dict)

    def add(self, method: str, submission_id: int, mean: float) -> None:
        with self.lock:
            self.means[method] = (submission_id, mean)


@pytest.fixture
def running(own_servers: OwnServers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with installation(own_servers, scoring_seconds=30) as running:
        running.start_worker()
        running.load(small_kit(tmp_path_factory.mktemp("slow")), "slow")
        yield running


def test_nothing_that_was_acknowledged_is_lost_or_scored_twice(
    running: Installation, duration: timedelta
) -> None:
    address = running.start_web()
    people = [running.participant(address, f"person {number}") for number in range(PARTICIPANTS)]
    acknowledged, end = Acknowledged(), time.monotonic() + duration.total_seconds()

    with ThreadPoolExecutor() as together:
        sending = [
            together.submit(send_until, end, person, f"method {number}", acknowledged)
            for number, person in enumerate(people)
        ]
        kill_until(end, running, random.Random(2012))
        for each in sending:
            each.result()

    assert len(acknowledged.means) >= PARTICIPANTS
    expected = {method: mean for method, (_, mean) in acknowledged.means.items()}
    assert eventually(lambda: means(people[0]) == pytest.approx(expected), RECOVERY), means(people[0])
    counted = running.ask(
        "SELECT count(*), count(DISTINCT submission_id), bool_and(state = 'scored') FROM entry"
        " WHERE submission_id = ANY(%s)",
        [submission_id for submission_id, _ in acknowledged.means.values()],
    )
    assert counted == [(len(expected), len(expected), True)]


def send_until(end: float, person: Client, name: str, acknowledged: Acknowledged) -> None:
    """Send one result after the other; each is repeated until it is acknowledged."""
    number = 0
    while time.monotonic() < end:
        number += 1
        method, found = f"{name} {number}", number % 11
        upload = persistently(partial(person.upload, PHASE, results(cat=found, dog=found)))
        acknowledged.add(method, persistently(partial(confirm, person, upload, method)), found / 10)


def confirm(person: Client, upload: str, method: str) -> int:
    """The id of the submission, the same one however often this is asked."""
    return int(good(person.confirm(upload, method, key=method))["id"])


def persistently(call: Callable[[], Answer]) -> Answer:
    """What a call returns, repeated as long as the server is away."""
    give_up = time.monotonic() + RECOVERY
    while True:
        try:
            return call()
        except (httpx2.HTTPError, AssertionError):
            if time.monotonic() > give_up:
                raise
            time.sleep(0.2)


def kill_until(end: float, running: Installation, chance: random.Random) -> None:
    """Kill something every few seconds, whatever it is doing."""
    faults = (
        running.servers.kill_database,
        running.servers.kill_broker,
        lambda: kill_all([running.pid("web")]),
        lambda: kill_all([running.pid("worker")]),
        lambda: kill_all(running.pool()[:1]),
    )
    pause = threading.Event()
    while time.monotonic() < end:
        pause.wait(BETWEEN_FAULTS)
        chance.choice(faults)()


def means(person: Client) -> dict[str, float | None]:
    """The board, empty while the server is away."""
    try:
        return person.means(PHASE)
    except (httpx2.HTTPError, AssertionError):
        return {}
