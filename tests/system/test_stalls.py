"""Stopped processes, silent connections and dead sweepers do not hold up anybody else."""

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import psycopg
import pytest
import redis
from sqlalchemy import make_url, text

import heldout_scoring
from app.core.notifier import worker_queue
from app.operations.processes import worker_child
from tests.patience import START
from tests.system.holds import broken, in_a_pipe
from tests.system.installations import Client, Installation, awaited, good, installation
from tests.system.kits import results, small_kit
from tests.system.process_trees import is_alive, kill_all, stopped, sweepers_of, tree_of
from tests.system.proxies import proxy
from tests.system.servers import OwnServers, eventually, plain

pytestmark = [pytest.mark.slow, pytest.mark.system]

PHASE = "stalls/test"
METHODS = count(1)
AWAY = ("database unavailable", "sweep failed")  # logged by a worker
PATIENCE = 180  # seconds; each of these tests restarts processes
IDLE_SECONDS = 10  # after which the server ends a session idle in a transaction


@dataclass(frozen=True, slots=True)
class Scene:
    """A web server, a worker, and a participant with a valid archive."""

    running: Installation
    someone: Client
    upload: str

    def confirm(self, upload: str | None = None) -> int:
        """A new submission."""
        return int(good(self.someone.confirm(upload or self.upload, f"Method {next(METHODS)}"))["id"])

    def run(self, submission: int) -> tuple[str, int]:
        """The state and the attempts of a submission's run."""
        [row] = self.running.ask(
            "SELECT r.state, r.attempt FROM run r JOIN result e ON r.result_id = e.id WHERE e.submission_id = %s",
            submission,
        )
        return row[0], row[1]

    def is_scored(self, submission: int) -> bool:
        return eventually(lambda: self.run(submission)[0] == "scored", PATIENCE)

    def sweeper(self, worker: str = "worker") -> int | None:
        """The pid of a worker's sweeper, if it is running."""
        found = sweepers_of(self.running.pid(worker))
        return found[0] if found else None

    def is_reported(self, worker: str) -> bool:
        """Whether a worker's sweeper has reported it as alive."""
        names = self.running.ask("SELECT name FROM heartbeat WHERE service = 'worker'")
        return any(name.endswith(f":{self.running.pid(worker)}") for [name] in names)

    def sweep_status(self) -> str:
        return str(self.someone.http.get("/health").json()["sweep"]["status"])


@pytest.fixture(scope="module")
def whole(own_servers: OwnServers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with installation(own_servers, scoring_seconds=30) as running:
        running.start_worker()
        address = running.start_web()
        running.load(small_kit(tmp_path_factory.mktemp("stalls")), "stalls")
        running.forget_follow_ups()
        someone = running.participant(address, "oak")
        yield Scene(running, someone, someone.upload(PHASE, results(cat=5, dog=5)))


@pytest.fixture
def scene(whole: Scene) -> Scene:
    """The installation once it works again after the previous test."""
    assert eventually(lambda: whole.sweep_status() == "ok", PATIENCE)
    assert eventually(lambda: len(whole.running.pool()) == whole.running.settings.workers, PATIENCE)
    return whole


@contextmanager
def result_locked(running: Installation, submission: int) -> Iterator[None]:
    """Lock a result, so that a worker recording its score waits inside a transaction."""
    with psycopg.connect(plain(str(running.settings.database_url))) as connection:
        connection.execute("SELECT 1 FROM result WHERE submission_id = %s FOR UPDATE", (submission,))
        yield


def waits_for_lock(running: Installation) -> bool:
    """Whether a process of the application waits for a lock, which only its own role can see."""
    statement = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    with running.platform.transaction() as session:
        return bool(session.scalar(text(statement)))


def test_a_worker_stopped_inside_a_transaction_blocks_nobody(scene: Scene) -> None:
    running = scene.running
    with ExitStack() as standstill:
        with in_a_pipe(running.truth(PHASE)) as pipe:
            submission_id = scene.confirm()
            awaited(lambda: scene.run(submission_id)[0] == "running", PATIENCE)
            with result_locked(running, submission_id):
                pipe.put_back()
                pipe.deliver()
                awaited(lambda: waits_for_lock(running), PATIENCE)  # it has claimed the run by now
                standstill.enter_context(stopped(tree_of(running.pid("worker"))))
        began = time.monotonic()
        others = [scene.confirm() for _ in range(3)]
        assert time.monotonic() - began < IDLE_SECONDS
        running.start_worker("second worker")

        assert all(scene.is_scored(other) for other in others)
        assert scene.is_scored(submission_id)

    assert scene.run(submission_id) == ("scored", 2)
    running.processes.stop("second worker")


def test_a_worker_recovers_from_silent_database_connections(scene: Scene) -> None:
    running = scene.running
    server = make_url(str(running.settings.database_url))
    assert server.host
    assert server.port
    with proxy(server.host, server.port) as between:
        running.processes.stop("worker")
        through = server.set(host="127.0.0.1", port=between.port).render_as_string(hide_password=False)
        running.start_worker("silent worker", database_url=through, stall_seconds=3)
        assert scene.is_scored(scene.confirm())
        awaited(lambda: scene.is_reported("silent worker"), PATIENCE)

        between.go_silent()
        submission_id = scene.confirm()
        time.sleep(4)  # longer than a worker's database timeout
        between.serve_new_connections()

        assert scene.is_scored(submission_id)
        running.processes.stop("silent worker")
    running.start_worker()


def test_every_connection_of_a_worker_has_a_read_timeout(scene: Scene) -> None:
    assert scene.is_scored(scene.confirm())
    with redis.Redis.from_url(str(scene.running.settings.broker_url)) as broker:
        number = str(make_url(str(scene.running.settings.broker_url)).database)
        listening = [each for each in broker.client_list(_type="pubsub") if each["db"] == number]

    assert listening == []


def test_a_stopped_sweeper_shows_in_health_and_a_killed_one_is_restarted(
    scene: Scene,
) -> None:
    sweeper = awaited(scene.sweeper, PATIENCE)
    with stopped([sweeper]):
        assert eventually(lambda: scene.sweep_status() == "late", PATIENCE)
        kill_all([sweeper])

    assert eventually(lambda: scene.sweep_status() == "ok", PATIENCE)
    assert awaited(scene.sweeper, PATIENCE) != sweeper


def test_a_sweeper_survives_an_outage_of_database_and_broker(scene: Scene) -> None:
    sweeper = awaited(scene.sweeper, PATIENCE)
    with scene.running.servers.broker_down(), scene.running.servers.database_down():
        log = scene.running.settings.data / "logs" / "worker.log"
        assert eventually(lambda: '"sweep failed"' in log.read_text(), PATIENCE)

    submission_id = scene.confirm()
    assert scene.is_scored(submission_id)
    assert scene.sweeper() == sweeper


def test_a_database_outage_logs_one_line_of_each_kind_and_no_traceback(scene: Scene) -> None:
    running = scene.running
    running.processes.stop("worker")
    running.start_worker("lone worker")
    awaited(lambda: scene.is_reported("lone worker"), PATIENCE)
    start = len(log_of(running, "lone worker"))
    with running.servers.database_down():
        running.platform.notifier.wake_workers(count=30)
        running.platform.notifier.flush(PATIENCE)
        assert eventually(lambda: are_done(running), PATIENCE)
        assert eventually(
            lambda: all(word in log_of(running, "lone worker")[start:] for word in AWAY), PATIENCE
        )
        time.sleep(2 * running.settings.sweep_seconds)
    lines = log_of(running, "lone worker")[start:].splitlines()
    events = [json.loads(line) for line in lines if line.startswith("{")]
    running.processes.stop("lone worker")
    running.start_worker()

    assert [event for event in events if "exception" in event] == []
    counts = {word: sum(event["event"] == word for event in events) for word in AWAY}
    assert counts["sweep failed"] == 1
    assert 1 <= counts["database unavailable"] <= running.settings.workers  # once per process


def are_done(running: Installation) -> bool:
    """Whether no message for workers of this version is waiting or being handled."""
    with redis.Redis.from_url(str(running.settings.broker_url)) as broker:
        return not broker.exists(worker_queue(heldout_scoring.SCORER), "unacked")


def test_a_sweeper_ends_with_its_worker(scene: Scene) -> None:
    sweeper = awaited(scene.sweeper, PATIENCE)

    kill_all([scene.running.pid("worker")])

    assert eventually(lambda: not is_alive(sweeper))


def test_workers_of_two_scorer_versions_each_score_their_own_runs(scene: Scene) -> None:
    running = scene.running
    with stopped(running.pool()):
        newer, older = scene.confirm(), scene.confirm()
        runs = "SELECT r.id FROM run r JOIN result e ON r.result_id = e.id WHERE e.submission_id = %s"
        running.ask(f"UPDATE run SET scorer = 'next' WHERE id IN ({runs})", newer)
        running.ask(f"UPDATE job SET scorer = 'next' WHERE run_id IN ({runs})", newer)
    assert scene.is_scored(older)
    assert scene.run(newer) == ("queued", 0)
    [result] = scene.someone.submission(newer)["results"]
    assert not result["shown"]["has_worker"]

    child = worker_child(running.settings)
    command = ["tests.system.other_scorer" if word == "worker.main" else word for word in child.command]
    other = replace(running.named("next worker", child), command=command)
    running.processes.start(
        other, lambda: len(running.pool("next worker")) == running.settings.workers, START
    )
    try:
        running.platform.notifier.wake_workers(scorer="next")  # as a sweeper of that version would

        assert scene.is_scored(newer)
        assert eventually(lambda: '"job ended"' in log_of(running, "next worker"))
    finally:
        running.processes.stop("next worker")


def log_of(running: Installation, name: str) -> str:
    return (running.settings.data / "logs" / f"{name}.log").read_text()


def test_a_result_that_failed_on_the_server_does_not_count_towards_the_quota(
    scene: Scene, tmp_path: Path
) -> None:
    scene.running.load(small_kit(tmp_path), "scarce", quota=1)
    # another participant than in earlier tests, whose uploads count wherever the ground truth is the same
    someone = scene.running.participant(str(scene.someone.http.base_url), "larch")
    upload = someone.upload("scarce/test", results(cat=5, dog=5))
    with broken(scene.running, "scarce/test"):
        failed = int(good(someone.confirm(upload, "Broken"))["id"])
        assert someone.final(failed)["results"][0]["state"] == "failed"

    scored = someone.final(int(good(someone.confirm(upload, "Whole"))["id"]))
    assert scored["results"][0]["state"] == "scored"
    assert someone.confirm(upload, "One too many").status_code == 429
