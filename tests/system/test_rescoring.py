from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.confirming import confirm_rescores
from tests.system.conftest import SharedSite
from tests.system.holds import broken, in_a_pipe, run_locked
from tests.system.installations import LONGEST, Client, awaited, good
from tests.system.kits import results, small_kit
from tests.system.process_trees import stopped, working_children
from tests.system.servers import eventually

pytestmark = pytest.mark.system

CHALLENGES = count(1)
ARCHIVES = {"Acorn": results(cat=5, dog=5), "Beech": results(cat=10, dog=5), "Cedar": results(cat=1, dog=1)}
LATE = results(cat=10, dog=4)
BEFORE = {"Acorn": 0.5, "Beech": 0.75, "Cedar": 0.1}
AFTER = {
    "Acorn": 0.75,
    "Beech": 1.0,
    "Cedar": 0.15,
}  # half of the dogs are removed, none of those that were detected


@dataclass(frozen=True, slots=True)
class Scene:
    """A phase with three results on its board, and a corrected tree."""

    site: SharedSite
    challenge: str
    someone: Client
    corrected: Path

    @property
    def phase(self) -> str:
        return f"{self.challenge}/test"

    def correct(self) -> int:
        """Import the corrected tree and return its version."""
        return self.site.installation.load(self.corrected, self.challenge).version

    def board(self) -> dict[str, Any]:
        return dict(self.someone.board(self.phase))

    def means(self) -> dict[str, float | None]:
        return self.someone.means(self.phase)

    def soon_shows(self, means: dict[str, float]) -> bool:
        """Whether the board soon shows these means, because a cached board may be shown for a second."""
        return eventually(lambda: self.means() == means)

    def rescore(self) -> int:
        """Score everything again, with boards that switch by themselves; returns the number of the rescoring."""
        number = good(self.site.organiser.http.post(f"/api/v1/organise/{self.phase}/rescore"))["rescore"]
        confirm_rescores(self.site.installation.platform)
        return int(number)

    def overview(self) -> dict[str, Any]:
        """The phase as organisers see it."""
        [found] = [
            dict(one)
            for one in good(self.site.organiser.http.get("/api/v1/organise"))
            if one["phase"]["challenge"] == self.challenge
        ]
        return found

    def progress(self, rescore: int) -> tuple[int, int]:
        """The number of scored runs of a rescoring, and of all its runs."""
        [[scored, every]] = self.site.installation.ask(
            "SELECT count(*) FILTER (WHERE state = 'scored'), count(*) FROM run WHERE rescore_id = %s",
            rescore,
        )
        return scored, every

    def newest_run(self) -> int:
        [[number]] = self.site.installation.ask("SELECT max(id) FROM run")
        return int(number)

    @contextmanager
    def one_run_held(self) -> Iterator[int]:
        """Start a rescoring whose last run waits until the end of the block; returns its id."""
        with run_locked(self.site.installation) as lock:
            with stopped(self.site.installation.pool()):
                number = self.rescore()
                lock(self.newest_run())
            scored, every = awaited(lambda: now if (now := self.progress(number))[0] == now[1] - 1 else None)
            assert (scored, every) == (len(BEFORE) - 1, len(BEFORE))
            yield number

    def switched(self) -> bool:
        return eventually(lambda: not self.board()["rescoring"], LONGEST)


@pytest.fixture(scope="module")
def oak(site: SharedSite) -> Client:
    return site.participant("oak")


@pytest.fixture
def scene(site: SharedSite, oak: Client, tmp_path: Path) -> Scene:
    challenge = f"again{next(CHALLENGES)}"
    site.installation.load(small_kit(tmp_path / "first"), challenge)
    scene = Scene(site, challenge, oak, small_kit(tmp_path / "corrected", without=5))
    for number in [oak.submit(scene.phase, archive, name) for name, archive in ARCHIVES.items()]:
        oak.final(number)
    assert scene.means() == BEFORE
    return scene


def test_a_board_switches_to_new_values_all_at_once(
    scene: Scene,
) -> None:
    scene.correct()
    version = scene.board()["version"]
    seen: set[tuple[int, tuple[tuple[str, float | None], ...]]] = set()

    def look() -> bool:
        board = scene.board()
        seen.add((board["version"], tuple(sorted((row["method"], row["mean"]) for row in board["rows"]))))
        return not board["rescoring"]

    with scene.one_run_held():
        assert not look()
        assert scene.board()["rows"]

    assert eventually(look, LONGEST)
    assert seen == {(version, tuple(BEFORE.items())), (version + len(AFTER), tuple(AFTER.items()))}
    assert scene.board()["ground_truth"] == 2


def test_boards_show_a_corrected_tree_after_a_rescoring(scene: Scene, oak: Client) -> None:
    assert scene.correct() == 2
    assert scene.correct() == 2

    oak.final(oak.submit(scene.phase, LATE, "Dogwood"))
    assert scene.soon_shows({**BEFORE, "Dogwood": 0.7})
    board, phase = scene.board(), scene.overview()
    assert board["ground_truth"] == 1
    assert (phase["ground_truth"], phase["shown_ground_truth"]) == (2, 1)

    scene.rescore()

    assert scene.switched()
    board, phase = scene.board(), scene.overview()
    assert (board["ground_truth"], scene.means()) == (2, {**AFTER, "Dogwood": 0.9})
    assert (phase["ground_truth"], phase["shown_ground_truth"]) == (2, 2)


@pytest.mark.sampled
def test_a_failed_rescoring_delays_the_switch_until_it_is_retried(scene: Scene) -> None:
    scene.correct()
    with broken(scene.site.installation, scene.phase):
        number = scene.rescore()
        assert eventually(lambda: scene.overview()["rescore"]["failed"] == len(BEFORE), LONGEST)
        assert (scene.board()["rescoring"], scene.means()) == (True, BEFORE)

    response = scene.site.organiser.http.post(f"/organise/rescores/{number}/retry")

    assert response.status_code == 303
    assert scene.switched()
    assert scene.means() == AFTER


@pytest.mark.sampled
def test_an_abandoned_rescoring_changes_nothing_but_the_next_one_does(scene: Scene) -> None:
    running = scene.site.installation
    scene.correct()
    board = scene.board()
    with in_a_pipe(running.truth(scene.phase)) as pipe:
        number = scene.rescore()
        awaited(lambda: working_children(running.pid("worker")))
        assert scene.site.organiser.http.post(f"/organise/rescores/{number}/abandon").status_code == 303
        pipe.put_back()
        pipe.deliver()
        assert eventually(lambda: not working_children(running.pid("worker")))

    assert scene.progress(number) == (0, len(BEFORE))
    assert scene.board() == board
    again = scene.site.organiser.http.post(f"/organise/rescores/{number}/abandon")
    assert (again.status_code, "its new scores were discarded" in again.text) == (409, True)
    scene.rescore()
    assert scene.switched()
    assert scene.means() == AFTER


@pytest.mark.sampled
def test_results_published_during_a_rescoring_are_switched_with_the_rest(scene: Scene, oak: Client) -> None:
    scene.correct()
    with scene.one_run_held():
        late = oak.final(oak.submit(scene.phase, LATE, "Dogwood"))
        assert late["results"][0]["shown"]["ground_truth"] == 1
        assert scene.soon_shows({**BEFORE, "Dogwood": 0.7})

    assert scene.switched()
    assert scene.means() == {**AFTER, "Dogwood": 0.9}
    assert scene.board()["ground_truth"] == 2
    assert oak.submission(late["id"])["results"][0]["shown"]["ground_truth"] == 2


@pytest.mark.sampled
def test_a_run_that_finishes_after_the_switch_is_scored_again(scene: Scene, oak: Client) -> None:
    running = scene.site.installation
    upload = oak.upload(scene.phase, LATE)
    scene.correct()
    with run_locked(running) as lock:
        with stopped(running.pool()):
            number = good(oak.confirm(upload, "Dogwood"))["id"]
            lock(scene.newest_run())
        scene.rescore()
        assert scene.switched()
        assert scene.means() == AFTER

    assert eventually(lambda: "Dogwood" in scene.means(), LONGEST)
    assert scene.means() == {**AFTER, "Dogwood": 0.9}
    [result] = oak.submission(number)["results"]
    assert (result["runs"], result["shown"]["ground_truth"], result["shown"]["state"]) == (2, 2, "scored")


@pytest.mark.sampled
def test_only_organisers_rescore_a_phase_and_only_once_at_a_time(scene: Scene, oak: Client) -> None:
    with scene.one_run_held():
        again = scene.site.organiser.http.post(f"/api/v1/organise/{scene.phase}/rescore")
        assert again.status_code == 409
        assert "already being scored again" in again.json()["detail"]
    assert scene.switched()

    assert oak.http.post(f"/api/v1/organise/{scene.phase}/rescore").status_code == 403
    assert scene.site.anybody.http.post(f"/api/v1/organise/{scene.phase}/rescore").status_code == 401


@pytest.mark.sampled
def test_a_single_result_is_rescored_only_under_the_boards_version(scene: Scene) -> None:
    organiser = scene.site.organiser
    row = scene.board()["rows"][0]
    [result] = scene.someone.submission(row["submission"])["results"]

    assert organiser.http.post(f"/api/v1/organise/results/{result['id']}/rescore").status_code == 202
    assert scene.switched()
    [again] = scene.someone.submission(row["submission"])["results"]
    assert (again["runs"], again["shown"]["is_rescore"]) == (2, True)
    assert again["shown"]["receipt"] == result["shown"]["receipt"]

    scene.correct()
    refused = organiser.http.post(f"/api/v1/organise/results/{result['id']}/rescore")
    assert refused.status_code == 409
    assert "score the whole phase again" in refused.json()["detail"]
