"""What claims, a re-scoring and the way from confirming to a score cost."""

import math
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sqlalchemy import text

from app.evaluation import rescoring
from app.platform import platform_of
from benchmarks import claims
from benchmarks.server.goals import Goal, Wanted
from benchmarks.server.rows import add_scored, place_of
from benchmarks.server.sites import TWO
from tests.system.installations import Installation, good, installation
from tests.system.kits import results, small_kit
from tests.system.servers import OwnServers

CLAIMERS: Final = 16
BACKLOG: Final = 40  # submissions that wait at one time

CLAIMS = Wanted(
    "16 claimers on so many runs that are queued at one time",
    "≥ 600/s", 600, "25/s", "{:,.0f} claims/s", more_is_better=True,
)  # fmt: skip
BOOKKEEPING = Wanted(
    "bookkeeping of a re-scoring of so many results",
    "linear, ≤ 30 s at 10,000",
    30,
    "n², 3,700 s",
    "{:.1f} s",
)
TO_SCORE = Wanted(
    "confirm → score on the page, small archive, idle worker",
    "≤ 2 s, stretch 1 s",
    2,
    "230 ms of processor",
    "{:.2f} s",
)
SWEEP = Wanted(
    "longest time without a sweep during a backlog, one a second", "≤ 5 s", 5, "starved", "{:.1f} s"
)


def measure_queue(servers: OwnServers, runs: int, results: int) -> Iterator[Goal]:
    """The rows of the table on the queue; runs: that wait; results: that are scored again."""
    yield _claims(servers, runs)
    yield _bookkeeping(servers, results)


def _claims(servers: OwnServers, runs: int) -> Goal:
    each = max(1, min(200, runs // CLAIMERS - 10))
    with installation(servers) as running:
        with running.platform.transaction() as session:
            session.execute(text("SET LOCAL statement_timeout = 0"))
            claims.fill(session, runs, max(1, runs // 100))
        running.ask("VACUUM ANALYZE run")
        running.platform.engine.dispose()
        rate = claims.measure(running.settings, CLAIMERS, each)
    return CLAIMS.measured(rate, f" of {runs:,} runs")


def _bookkeeping(servers: OwnServers, results: int) -> Goal:
    few, many = (_rescore(servers, count) for count in (max(10, results // 10), results))
    exponent = math.log(many / few) / math.log(10)
    return BOOKKEEPING.measured(many, f" at {results:,}; results to the power of {exponent:.2f}")


def _rescore(servers: OwnServers, results: int) -> float:
    """Seconds for everything around the scoring: queueing, a look after every run, the switch of the boards."""
    with installation(servers) as running, tempfile.TemporaryDirectory() as folder:
        running.load(small_kit(Path(folder)), "again")
        owner = platform_of(
            running.settings.model_copy(update={"database_url": running.settings.migration_database_url})
        )
        with owner.transaction() as session:
            place = place_of(session, "again")
            add_scored(session, place, results, classes=TWO)
        owner.engine.dispose()
        running.ask("VACUUM ANALYZE")
        begun = time.perf_counter()
        rescoring.rescore_phase(running.platform, None, place.phase_id)
        requested = time.perf_counter() - begun
        _score_all(running, but=1)
        looks = min(100, results)
        begun = time.perf_counter()
        for _ in range(looks):
            assert rescoring.activate_complete(running.platform) == 0
        looked = (time.perf_counter() - begun) * results / looks
        _score_all(running, but=0)
        begun = time.perf_counter()
        assert rescoring.activate_complete(running.platform) == 1
        return requested + looked + time.perf_counter() - begun


def _score_all(running: Installation, but: int) -> None:
    """End the queued runs but so many with the scores that their results have."""
    running.ask(
        "WITH ended AS (UPDATE run SET state = 'scored', finished_at = now(), measure = 'AP' WHERE id IN"
        " (SELECT id FROM run WHERE state = 'queued' ORDER BY id OFFSET %s) RETURNING id, result_id)"
        " INSERT INTO class_score (run_id, class_name, position, value, held_out_value)"
        " SELECT ended.id, s.class_name, s.position, s.value, s.held_out_value FROM ended"
        " JOIN result e ON e.id = ended.result_id JOIN class_score s ON s.run_id = e.published_run_id",
        but,
    )


def measure_worker(servers: OwnServers) -> Iterator[Goal]:
    """The rows of the table for which a worker has to score."""
    with installation(servers) as running, tempfile.TemporaryDirectory() as folder:
        running.load(small_kit(Path(folder)), "small")
        address = running.start_web()
        running.start_worker()
        oak = running.participant(address, "Oak")
        oak.final(oak.submit("small/test", results(cat=5, dog=5), "Warm"))
        waits = []
        for number in range(5):
            upload = oak.upload("small/test", results(cat=5, dog=5))
            begun = time.perf_counter()
            oak.final(int(good(oak.confirm(upload, f"Acorn {number}"))["id"]))
            waits.append(time.perf_counter() - begun)
        yield TO_SCORE.measured(statistics.median(waits))
        last, ages = 0, []
        for number in range(BACKLOG):  # the worker is busy from the first on
            last = oak.submit("small/test", results(cat=number % 10, dog=5), f"Late {number}")
            ages.append(_sweep_age(running))
        while not oak.submission(last)["is_final"]:
            ages.append(_sweep_age(running))
            time.sleep(0.1)
        yield SWEEP.measured(max(ages))


def _sweep_age(running: Installation) -> float:
    """Seconds since the last sweep."""
    [[age]] = running.ask(
        "SELECT extract(epoch FROM clock_timestamp() - seen_at) FROM heartbeat WHERE name = 'sweep'"
    )
    return float(age)
