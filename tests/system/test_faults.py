import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.core.access import Actor
from app.core.notifier import TASK, celery_of
from app.models import Queue
from app.platform import platform_of
from app.submissions import submitting
from app.submissions.submitting import NewSubmission
from tests.system.damage import damaged
from tests.system.holds import away, broken, in_a_pipe
from tests.system.installations import (
    LONGEST,
    STATEMENT,
    Client,
    Installation,
    awaited,
    good,
    installation,
    is_healthy,
    stored_file,
)
from tests.system.kits import results, small_kit
from tests.system.process_trees import has_open, is_alive, kill_all, stopped, tree_of, working_children
from tests.system.servers import OwnServers, eventually, free_port, kill

pytestmark = [pytest.mark.slow, pytest.mark.system]

PHASE = "faults/test"
METHODS = count(1)


@dataclass(frozen=True, slots=True)
class Scene:
    """A web server, a worker, and a participant with an archive whose mean is 0.5."""

    running: Installation
    someone: Client
    upload: str

    @property
    def truth(self) -> Path:
        return self.running.truth(PHASE)

    def confirm(self, method: str | None = None) -> int:
        """A new, acknowledged submission."""
        return int(good(self.someone.confirm(self.upload, method or f"Method {next(METHODS)}"))["id"])

    def scoring_child(self, worker: str = "worker") -> int:
        """The process that is scoring at the moment."""
        return awaited(lambda: next(iter(working_children(self.running.pid(worker))), None))

    def reasons_of_retries(self, submission_id: int) -> list[tuple[int, str]]:
        """The failed attempts to score a submission and their reasons, as organisers see them."""
        organiser = self.running.organiser(str(self.someone.http.base_url))
        [result] = organiser.submission(submission_id)["results"]
        return [(each["attempt"], each["reason"]) for each in result["shown"]["retries"]]

    def attempts(self, *submission_ids: int) -> list[int]:
        """The number of attempts for each submission, after asserting that all were scored correctly."""
        for submission_id in submission_ids:
            self.someone.final(submission_id)
        found = self.running.ask(RESULTS, list(submission_ids))
        assert [tuple(row[1:]) for row in found] == [("scored", 1, 1, 3, 3, True, 0.5)] * len(submission_ids)
        return [row[0] for row in found]


# of each result: attempts, state; runs, scored ones among them; rows of scores, different ones; are there exhibits; the mean
RESULTS = """
SELECT max(r.attempt), e.state, count(*), count(*) FILTER (WHERE r.state = 'scored' AND e.published_run_id = r.id),
       sum((SELECT count(*) FROM class_score s WHERE s.run_id = r.id)),
       sum((SELECT count(DISTINCT coalesce(class_name, '')) FROM class_score s WHERE s.run_id = r.id)),
       bool_and(EXISTS (SELECT 1 FROM exhibit x WHERE x.run_id = r.id)),
       round(max((SELECT value FROM class_score s WHERE s.run_id = r.id AND class_name IS NULL))::numeric, 12)
FROM result e JOIN run r ON r.result_id = e.id
WHERE e.submission_id = ANY(%s) GROUP BY e.id ORDER BY e.submission_id
"""


@pytest.fixture(scope="module")
def whole(own_servers: OwnServers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with installation(own_servers, scoring_seconds=30) as running:
        with ThreadPoolExecutor() as together:
            worker = together.submit(running.start_worker)
            address = running.start_web()
        worker.result()
        running.load(small_kit(tmp_path_factory.mktemp("faults")), "faults")
        running.forget_follow_ups()
        someone = running.participant(address, "oak")
        yield Scene(running, someone, someone.upload(PHASE, results(cat=5, dog=5)))


@pytest.fixture
def scene(whole: Scene) -> Scene:
    """The installation once it has recovered from the previous test."""
    running = whole.running
    assert eventually(lambda: is_healthy(whole.someone.http), LONGEST)
    assert eventually(lambda: len(running.pool()) == running.settings.workers, LONGEST)
    assert eventually(lambda: not working_children(running.pid("worker")), LONGEST)
    return whole


def test_a_run_whose_pool_process_is_killed_is_scored_by_another(scene: Scene) -> None:
    with in_a_pipe(scene.truth) as pipe:
        submission_id = scene.confirm()
        child = scene.scoring_child()
        [holder] = [pid for pid in scene.running.pool() if child in tree_of(pid)]

        kill_all([holder])

        assert eventually(lambda: not is_alive(child))  # scoring stops with the process that started it
        pipe.put_back()
    assert scene.attempts(submission_id) == [2]
    assert scene.reasons_of_retries(submission_id) == [(1, "the worker was lost")]
    assert scene.someone.submission(submission_id)["results"][0]["shown"]["retries"] == []


def test_a_run_whose_scoring_process_is_killed_is_scored_again(scene: Scene) -> None:
    with in_a_pipe(truth := scene.truth) as pipe:
        submission_id = scene.confirm()
        child = scene.scoring_child()
        assert eventually(
            lambda: has_open(child, truth)
        )  # it waits for the pipe and cannot finish before it is killed
        pipe.put_back()

        kill_all([child])

    assert scene.attempts(submission_id) == [2]


def test_a_worker_killed_with_all_its_children_loses_nothing(scene: Scene) -> None:
    with in_a_pipe(scene.truth) as pipe:
        submission_id = scene.confirm()
        scene.scoring_child()
        waiting = scene.confirm()
        everybody = tree_of(scene.running.pid("worker"))

        kill_all(everybody)

        pipe.put_back()
    assert scene.attempts(submission_id, waiting)[0] == 2


def test_a_worker_stopped_for_longer_than_its_lease_writes_nothing(scene: Scene) -> None:
    running = scene.running
    with in_a_pipe(scene.truth) as pipe:
        submission_id = scene.confirm()
        scene.scoring_child()
        with stopped(tree_of(running.pid("worker"))):
            pipe.put_back()
            running.start_worker("second worker")
            attempts = scene.attempts(submission_id)
            running.processes.stop("second worker")
            before = everything_about(running, submission_id)
            logged_before = log_of(running, "worker").count('"claim lost"')
            pipe.deliver()

        is_logged = eventually(
            lambda: log_of(running, "worker").count('"claim lost"') == logged_before + 1, LONGEST
        )
    assert is_logged, log_of(running, "worker")[-3000:]
    assert attempts == scene.attempts(submission_id) == [2]
    assert everything_about(running, submission_id) == before


def everything_about(running: Installation, submission_id: int) -> list[list[tuple[Any, ...]]]:
    """Every row that belongs to a submission."""
    runs = "SELECT r.id FROM run r JOIN result e ON r.result_id = e.id WHERE e.submission_id = %s"
    return [
        running.ask("SELECT * FROM result WHERE submission_id = %s", submission_id),
        running.ask(f"SELECT * FROM run WHERE id IN ({runs})", submission_id),
        running.ask(f"SELECT * FROM class_score WHERE run_id IN ({runs}) ORDER BY id", submission_id),
        running.ask(f"SELECT * FROM exhibit WHERE run_id IN ({runs}) ORDER BY position", submission_id),
        running.ask("SELECT * FROM publication ORDER BY id"),
    ]


def log_of(running: Installation, name: str) -> str:
    return (running.settings.data / "logs" / f"{name}.log").read_text()


def test_twenty_runs_survive_a_broker_that_forgets_everything(scene: Scene) -> None:
    with stopped(scene.running.pool()):
        submission_ids = [scene.confirm() for _ in range(20)]
        assert {queued(scene, submission_id) for submission_id in submission_ids} == {"queued"}

        with scene.running.servers.broker_down(loses=True):
            pass

    assert scene.attempts(*submission_ids) == [1] * 20
    assert scene.attempts(scene.confirm()) == [1]


def queued(scene: Scene, submission_id: int) -> str:
    [result] = scene.someone.submission(submission_id)["results"]
    return str(result["shown"]["state"])


def test_a_submission_is_acknowledged_without_waiting_for_a_silent_broker(scene: Scene) -> None:
    with scene.running.servers.broker_paused():
        began = time.monotonic()
        submission_ids = [scene.confirm() for _ in range(3)]
        took = time.monotonic() - began

    assert took < 6  # three times the timeout of the broker
    assert scene.attempts(*submission_ids) == [1] * 3


def test_submissions_acknowledged_around_a_database_kill_are_scored_once(scene: Scene) -> None:
    names = [f"Load {submission_id}" for submission_id in range(24)]

    def confirm(name: str) -> int:
        """Retry until there is a response, as a program does; the idempotency key makes that safe."""
        return awaited(lambda: acknowledged(scene, name))

    with ThreadPoolExecutor(4) as crowd:
        asked = [crowd.submit(confirm, name) for name in names]
        awaited(lambda: any(one.done() for one in asked))
        scene.running.servers.kill_database()
        submission_ids = [one.result() for one in asked]

    assert len(set(submission_ids)) == len(names)
    assert len(scene.attempts(*sorted(submission_ids))) == len(names)


def acknowledged(scene: Scene, name: str) -> int | None:
    try:
        response = scene.someone.confirm(scene.upload, name, key=name)
    except httpx2.HTTPError:
        return None
    assert response.is_success or response.status_code >= 500, response.text
    return int(response.json()["id"]) if response.is_success else None


def test_an_upload_resumes_after_a_kill_of_the_web_server(scene: Scene) -> None:
    running, http = scene.running, scene.someone.http
    archive = results(cat=5, dog=5)
    half = len(archive) // 2
    before = running.ask("SELECT count(*) FROM submission")
    where = scene.someone.create(PHASE, len(archive))
    assert scene.someone.append(where, archive[:half], 0).status_code == 204

    def dying() -> Iterator[bytes]:
        yield archive[half : half + 10]
        kill(running.pid("web"))
        yield archive[half + 10 :]

    with pytest.raises(httpx2.HTTPError):
        scene.someone.append(where, dying(), half)

    assert eventually(lambda: is_healthy(http), LONGEST)
    offset = scene.someone.offset(where)
    assert offset >= half
    assert scene.someone.append(where, archive[offset:], offset).status_code == 204
    finished = good(http.get(where))
    assert (finished["state"], finished["valid"]) == ("checked", True)
    assert running.ask("SELECT count(*) FROM submission") == before
    assert good(scene.someone.confirm(finished["id"], f"Method {next(METHODS)}"))


def test_a_check_interrupted_by_the_death_of_its_web_server_is_repeated(scene: Scene) -> None:
    running, http = scene.running, scene.someone.http
    [[key]] = running.ask("SELECT description_key FROM phase")
    [[others]] = running.ask("SELECT count(*) FROM upload")
    with in_a_pipe(stored_file(running.platform.descriptions, key)), ThreadPoolExecutor(1) as sender:
        response = sender.submit(scene.someone.send, PHASE, results(cat=1, dog=1))
        child = awaited(lambda: next(iter(working_children(running.pid("web"))), None))

        kill(running.pid("web"))

        assert isinstance(response.exception(), httpx2.HTTPError)
        assert eventually(lambda: not is_alive(child))
    assert eventually(lambda: is_healthy(http), LONGEST)
    [[upload]] = running.ask("SELECT id FROM upload ORDER BY started_at OFFSET %s", others)
    assert good(http.get(f"/api/v1/uploads/{upload}"))["state"] == "received"
    assert scene.someone.confirm(str(upload), "Unchecked").status_code == 409
    checked = good(http.post(f"/api/v1/uploads/{upload}/check"))
    assert (checked["state"], checked["valid"]) == ("checked", True)


def test_a_message_delivered_20_times_causes_one_scoring(scene: Scene) -> None:
    celery = celery_of(scene.running.settings)
    with stopped(scene.running.pool()):
        submission_id = scene.confirm()
        for _ in range(20):
            celery.send_task(TASK, (Queue.RUNS.value,), task_id="the same")
    celery.close()

    assert scene.attempts(submission_id) == [1]


def test_a_submission_is_scored_if_the_web_server_dies_before_notifying(scene: Scene) -> None:
    with scene.running.servers.broker_paused():
        submission_id = scene.confirm()
        kill(scene.running.pid("web"))

    assert eventually(lambda: is_healthy(scene.someone.http), LONGEST)
    assert scene.attempts(submission_id) == [1]


def test_a_submission_without_any_notification_is_scored(scene: Scene) -> None:
    nowhere = f"redis://127.0.0.1:{free_port()}/0"
    unnotified = platform_of(scene.running.settings.model_copy(update={"broker_url": nowhere}))
    [[user, team]] = scene.running.ask("SELECT user_id, team_id FROM upload WHERE id = %s", scene.upload)
    request = {"upload": scene.upload, "method": {"name": "Quiet"}, "training": STATEMENT}

    submission_id, _ = submitting.confirm(
        unnotified,
        Actor(user, frozenset({team}), is_verified=True),
        NewSubmission.model_validate(request),
    )
    unnotified.engine.dispose()

    assert scene.attempts(submission_id) == [1]


def test_a_run_that_crashes_three_times_fails_and_can_be_submitted_again(scene: Scene) -> None:
    method = f"Method {next(METHODS)}"
    with broken(scene.running, PHASE):
        submission_id = scene.confirm(method)

        [result] = scene.someone.final(submission_id)["results"]

    assert (result["state"], result["shown"]["state"], result["shown"]["attempt"]) == ("failed", "failed", 3)
    assert result["shown"]["failure_message"] == (
        "scoring failed 3 times because of an error on our side; this does not count, and the organisers see it"
    )
    assert method not in scene.someone.means(PHASE)
    assert scene.attempts(scene.confirm(method)) == [1]
    confirmed = [line for line in logged(scene, "web") if line.get("submission") == submission_id]
    started = [line for line in logged(scene, "worker") if line.get("submission") == submission_id]
    assert [line["event"] for line in confirmed] == ["submission confirmed"]
    assert confirmed[0]["request"]
    assert [(line["event"], line["attempt"]) for line in started] == [
        ("run started", each) for each in (1, 2, 3)
    ]
    tasks = {line["task"] for line in started}
    crashed = [
        line for line in logged(scene, "worker") if line.get("run") == started[0]["run"] and line.get("child")
    ]
    assert [line["event"] for line in crashed] == ["child crashed"] * 3
    assert {line["task"] for line in crashed} == tasks


def logged(scene: Scene, process: str) -> list[dict[str, Any]]:
    """The events logged by a process."""
    lines = (scene.running.settings.data / "logs" / f"{process}.log").read_text().splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]


def test_a_run_whose_scoring_process_is_killed_three_times_fails(scene: Scene) -> None:
    with in_a_pipe(truth := scene.truth) as pipe:
        submission_id = scene.confirm()
        child = scene.scoring_child()
        assert eventually(lambda: has_open(child, truth))
        scene.running.ask("UPDATE job SET failures = 2 WHERE lease_until IS NOT NULL")
        pipe.put_back()

        kill_all([child])

    [result] = scene.someone.final(submission_id)["results"]
    assert (result["state"], result["shown"]["attempt"]) == ("failed", 1)


def test_a_run_survives_ground_truth_missing_for_more_than_three_attempts(scene: Scene) -> None:
    with away(scene.truth):
        submission_id = scene.confirm()
        assert eventually(lambda: retries(scene, submission_id) > 3, LONGEST)
        assert queued(scene, submission_id) in ("queued", "running")

    assert scene.attempts(submission_id)[0] > 3


def test_a_run_continues_by_itself_once_damage_is_repaired(scene: Scene) -> None:
    with damaged(scene.running.platform.truths, scene.truth.name, "flipped"):
        submission_id = scene.confirm()
        assert eventually(lambda: "ground truth damaged" in waits_for(scene, submission_id), LONGEST)

    assert scene.attempts(submission_id) == [2]
    assert scene.running.ask("SELECT FROM damaged_content") == []


def waits_for(scene: Scene, submission_id: int) -> str:
    """What the team is told that a submission waits for; empty if it does not wait."""
    [result] = scene.someone.submission(submission_id)["results"]
    wait = result["shown"]["waits_for"]
    return str(wait["text"]) if wait else ""


def retries(scene: Scene, submission_id: int) -> int:
    """How often the run of a submission was put back into the queue."""
    statement = "SELECT postponements FROM job j JOIN run r ON j.run_id = r.id JOIN result e ON r.result_id = e.id WHERE e.submission_id = %s"
    [[count]] = scene.running.ask(statement, submission_id)
    return int(count)


def test_a_run_whose_worker_is_killed_four_times_is_scored(scene: Scene) -> None:
    with in_a_pipe(scene.truth) as pipe:
        submission_id = scene.confirm()
        for _ in range(4):
            child = scene.scoring_child()
            [holder] = [pid for pid in scene.running.pool() if child in tree_of(pid)]
            kill_all([holder, child])
        pipe.put_back()

    assert scene.attempts(submission_id) == [5]
