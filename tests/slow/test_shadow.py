"""300 results over four competitions are scored again under corrected annotation, beside a participant and two killed workers."""

import os
import signal
import statistics
import time
from pathlib import Path

import pytest

from tests.system.installations import Client, awaited, good, installation
from tests.system.kits import DATASET, IMAGES, packed, results, small_kit
from tests.system.servers import OwnServers, eventually

pytestmark = [pytest.mark.slow, pytest.mark.system, pytest.mark.timeout(1800)]

PHASE = "shadow/test"
COMPETITIONS = (1, 2, 3, 4)
SUBMISSIONS, IN_SHORT = 75, 8
LIVE, LIVE_IN_SHORT = 20, 5  # submissions of which the waits are compared
LONGEST = 900.0


def archive(cats: int) -> bytes:
    """Results for two competitions of classification and two of detection."""
    lines = "".join(f"{image} {0.9 - place / 100:.6f}\n" for place, image in enumerate(IMAGES)).encode()
    classified = {
        f"results/{DATASET}/Main/comp{number}_cls_test_{name}.txt": lines
        for number in (1, 2)
        for name in ("cat", "dog")
    }
    detected = {
        f"results/{DATASET}/Main/comp{number}_det_test_{name}.txt": "".join(
            f"{image} {0.9 - place / 100:.6f} {box}\n" for place, image in enumerate(IMAGES[:found])
        ).encode()
        for number in (3, 4)
        for name, box, found in (("cat", "1 1 10 10", cats), ("dog", "20 5 40 30", 5))
    }
    return packed(classified | detected)


def p95_of_waits(person: Client, name: str, live: int) -> float:
    """Seconds from confirming to the score: all but the slowest twentieth."""
    waits = []
    for number in range(live):
        upload = person.upload(PHASE, results(cat=number % 10 + 1, dog=5))
        begun = time.perf_counter()
        person.final(int(good(person.confirm(upload, f"{name} {number}"))["id"]))
        waits.append(time.perf_counter() - begun)
    return statistics.quantiles(waits, n=20)[-1]


def test_results_are_scored_in_the_shadow_beside_participants_and_killed_workers(
    own_servers: OwnServers, tmp_path: Path, *, is_short: bool
) -> None:
    submissions, live = (IN_SHORT, LIVE_IN_SHORT) if is_short else (SUBMISSIONS, LIVE)
    with installation(own_servers, workers=1) as running:
        running.load(small_kit(tmp_path / "first"), "shadow", quota=2000)
        address = running.start_web()
        running.start_worker()
        oak, organiser = running.participant(address, "Oak"), running.organiser(address)
        for number in range(submissions):
            oak.submit(PHASE, archive(number % 10 + 1), f"Method {number}")
        scored = "SELECT count(*) FROM result WHERE state = 'scored'"
        assert eventually(lambda: running.ask(scored) == [(submissions * len(COMPETITIONS),)], LONGEST)
        alone = p95_of_waits(oak, "Before", live)
        before = {number: oak.means(PHASE, number) for number in COMPETITIONS}
        running.load(small_kit(tmp_path / "second", without=5), "shadow")

        begun = time.perf_counter()
        number = good(organiser.http.post(f"/api/v1/organise/{PHASE}/rescore"))["rescore"]
        of_rescore = "SELECT count(*) FROM run WHERE rescore_id = %s AND state "

        def scored_again(least: int) -> None:
            """Wait until so many runs of the re-scoring are scored, of four times as many as there are submissions."""
            condition = f"{of_rescore} = 'scored'"
            assert eventually(lambda: running.ask(condition, number)[0][0] >= least, LONGEST)

        for kill in (1, 2):
            scored_again(submissions * kill)
            os.kill(running.pid("worker"), signal.SIGKILL)
        scored_again(submissions * 2 + 2)  # by the third worker
        [(left,)] = running.ask(f"{of_rescore} IN ('queued', 'running')", number)
        assert left > 0
        beside = p95_of_waits(oak, "Beside", live)

        def preview() -> dict[str, object] | None:
            found = good(organiser.http.get(f"/api/v1/organise/rescores/{number}"))
            return dict(found) if not found["refusal"] and not found["late"] else None

        found = awaited(preview, LONGEST)
        took = time.perf_counter() - begun
        runs = running.ask(
            "SELECT count(*), count(DISTINCT result_id) FROM run WHERE rescore_id = %s", number
        )
        shown = {number: oak.means(PHASE, number) for number in COMPETITIONS}
        begun = time.perf_counter()
        published = organiser.http.post(
            f"/api/v1/organise/rescores/{number}/publish", json={"seen": found["seen"]}
        )
        switched = time.perf_counter() - begun
        print(  # noqa: T201 - the figures of docs/decisions
            f"{runs[0][0]} runs in {took:.0f} s with two kills, switched in {switched:.2f} s;"
            f" confirm to score, p95 of {live}: {alone:.2f} s before, {beside:.2f} s beside {left} runs"
        )

        results_in_all = submissions * len(COMPETITIONS) + 2 * live
        assert published.status_code == 204, published.text
        assert runs == [(results_in_all, results_in_all)]  # none lost, none twice
        assert all(
            before[each].items() <= shown[each].items() for each in COMPETITIONS
        )  # nothing changed until then
        versions = "SELECT DISTINCT g.version FROM result e JOIN run r ON r.id = e.published_run_id JOIN ground_truth g ON g.id = r.ground_truth_id"
        assert running.ask(versions) == [(2,)]
        assert oak.means(PHASE, 3) != before[3]
        assert beside <= 2 * alone + 0.5, (beside, alone)
