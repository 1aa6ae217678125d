"""How many runs a second workers claim from a long queue: `python -m benchmarks.claims --runs 100000 --claimers 16`.

Each claimer is a process that commits every claim, as a worker does, on servers of its own. On a quiet machine only: a claim
ends with a write to disk, so the rate is that of commits, shared by those that wait together.
"""

import argparse
import multiprocessing
import tempfile
import time
import uuid
from datetime import timedelta
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

from sqlalchemy import BigInteger, cast, func, insert, literal, select, text
from sqlalchemy.orm import Session

import heldout_scoring
from app.core.settings import Settings
from app.evaluation.scoring import HANDLER
from app.jobs import queue
from app.models import (
    Challenge,
    Disclosure,
    GroundTruth,
    Method,
    Phase,
    Queue,
    Result,
    Run,
    Submission,
    Team,
    Upload,
    User,
)
from app.operations.embedded import embedded_servers
from app.operations.migrating import migrate
from app.people.teams import add_team
from app.platform import platform_of

LEASE = timedelta(minutes=5)


def fill(session: Session, runs: int, teams: int) -> None:
    """Queue runs of one result, in turns of so many teams."""
    challenge, user = (
        Challenge(code="queue", title="Queue", dataset="VOC2012"),
        User(email="a@example.org", name="Ash"),
    )
    session.add_all((challenge, user))
    session.flush()
    for each in range(teams):
        add_team(session, challenge.id, f"Team {each}")
    first = session.scalars(select(func.min(Team.id))).one()
    phase = Phase(
        challenge_id=challenge.id,
        image_set="test",
        disclosure=Disclosure.FULL,
        protocol="voc2012",
        description_key="none",
        opens_at=func.now(),
    )
    session.add(phase)
    session.flush()
    truth = GroundTruth(phase_id=phase.id, version=1, fingerprint="truth", statistics={})
    method = Method(challenge_id=challenge.id, team_id=first, name="Oak", name_key="oak")
    upload = Upload(
        id=uuid.uuid4(), phase_id=phase.id, team_id=first, user_id=user.id, filename="results.zip", size=1
    )
    session.add_all((truth, method, upload))
    session.flush()
    submission = Submission(
        upload_id=upload.id,
        phase_id=phase.id,
        method_id=method.id,
        user_id=user.id,
        request_digest=b"",
        training={},
    )
    session.add(submission)
    session.flush()
    result = Result(submission_id=submission.id, method_id=method.id, phase_id=phase.id, competition=3)
    session.add(result)
    session.flush()
    number = cast(func.generate_series(0, runs - 1).column_valued("number"), BigInteger)
    queued: dict[str, Any] = {
        "result_id": literal(result.id),
        "ground_truth_id": literal(truth.id),
        "protocol": literal("voc2012"),
        "scorer": literal(heldout_scoring.SCORER),
        "team_id": number % teams + first,
    }
    made = insert(Run).from_select(list(queued), select(*queued.values())).returning(Run.id)
    queue.add_runs(session, session.scalars(made).all())


def claim_run(session: Session) -> bool:
    """Claim a run as a worker does."""
    found = queue.claim_next(session, Queue.RUNS, LEASE, heldout_scoring.SCORER)
    if found:
        HANDLER.on_claim(session, found)
    return found is not None


def claim(settings: Settings, start: Barrier, count: int) -> None:
    """Claim so many runs, each in a transaction of its own."""
    platform = platform_of(settings)
    for _ in range(5):  # the connection, and the statement once it is prepared
        with platform.transaction() as session:
            assert claim_run(session)
    start.wait()
    for _ in range(count):
        with platform.transaction() as session:
            assert claim_run(session)
    start.wait()


def measure(settings: Settings, claimers: int, each: int) -> float:
    """Claims a second of so many processes together."""
    start = multiprocessing.Barrier(claimers + 1)
    processes = [
        multiprocessing.Process(target=claim, args=(settings, start, each), daemon=True)
        for _ in range(claimers)
    ]
    for process in processes:
        process.start()
    start.wait(120)
    began = time.perf_counter()
    start.wait(600)
    seconds = time.perf_counter() - began
    for process in processes:
        process.join()
    return claimers * each / seconds


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=100_000)
    options.add_argument("--teams", type=int, default=1000)
    options.add_argument("--claimers", type=int, default=16)
    options.add_argument("--each", type=int, default=200)
    chosen = options.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        embedded_servers(Path(folder, "data"), report=print) as servers,
    ):
        settings = Settings(
            data=Path(folder, "data"),
            database_url=servers.database_url,
            migration_database_url=servers.migration_database_url,
            broker_url=servers.broker_url,
        )
        migrate(settings)
        platform = platform_of(settings)
        with platform.transaction() as session:
            session.execute(text("SET LOCAL statement_timeout = 0"))
            fill(session, chosen.runs, chosen.teams)
        platform.engine.dispose()
        for claimers in sorted({1, chosen.claimers}):
            rate = measure(settings, claimers, chosen.each)
            print(
                f"{claimers} claimers, {chosen.runs} runs, {chosen.teams} teams: {rate:.0f} claims a second"
            )


if __name__ == "__main__":
    main()
