"""A drill as documented for Compose: a backup taken while people submit is restored to an empty machine."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest

import heldout_scoring
from app.evaluation.scoring import HANDLER
from app.jobs import queue
from app.models import Queue
from tests.system.compose_site import PHASE, WORKERS, Site, composed, documented_run
from tests.system.installations import LONGEST, Client, good
from tests.system.kits import results
from tests.system.process_trees import stopped, tree_of
from tests.system.servers import OwnServers, eventually

pytestmark = [
    pytest.mark.slow,
    pytest.mark.system,
    pytest.mark.skipif("HELDOUT_SHORT" in os.environ, reason="two installations of Compose take a minute"),
]

WORKER = 10002  # the user who has to own the folder, as documented
BEFORE, MEANWHILE = 3, 5  # board changes
PRIVATE = 25  # results that do not appear on the board
LEASE = timedelta(minutes=1)


@dataclass(slots=True)
class Crowd:
    """Submits public results one after another and private ones as fast as possible."""

    people: tuple[Client, Client]
    boards: list[Any] = field(default_factory=list)  # every state of the board, in order
    archives: dict[str, bytes] = field(default_factory=dict)
    stop: threading.Event = field(default_factory=threading.Event)
    errors: list[Exception] = field(default_factory=list)

    def publish(self) -> None:
        number = len(self.boards)
        archive = results(cat=number % 10 + 1, dog=number % 7 + 1)
        upload = self.people[0].upload(PHASE, archive)
        self.archives[upload] = archive
        self.people[0].final(int(good(self.people[0].confirm(upload, f"Public {number}"))["id"]))
        self.boards.append(self.people[0].board(PHASE))

    def run_public(self) -> None:
        while not self.stop.is_set():
            self._attempt(self.publish)

    def run_private(self) -> None:
        for number in range(PRIVATE):
            if not self.stop.is_set():
                self._attempt(partial(self.send_privately, number))

    def send_privately(self, number: int) -> None:
        upload = self.people[1].upload(PHASE, results(cat=number % 10 + 1, dog=3))
        good(self.people[1].confirm(upload, f"Private {number}", make_public=False))

    def _attempt(self, step: Callable[[], None]) -> None:
        try:
            step()
        except (AssertionError, httpx2.HTTPError) as error:
            self.errors.append(error)
            self.stop.set()


def claim_one(site: Site, send: Callable[[], None]) -> None:
    """Claim a run for a worker that does not finish before its lease expires."""
    workers = [pid for name in WORKERS for pid in tree_of(site.project.pid(name))]
    with stopped(workers):
        send()
        with site.platform.transaction() as session:
            claim = queue.claim_next(session, Queue.RUNS, LEASE, heldout_scoring.SCORER)
            assert claim
            HANDLER.on_claim(session, claim)


@contextmanager
def started(threads: list[threading.Thread], stop: threading.Event) -> Iterator[None]:
    """Threads that run during the block and have ended after it."""
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_a_backup_taken_under_load_restores_to_a_bare_machine_as_documented(
    own_servers: OwnServers, tmp_path: Path
) -> None:
    backups = tmp_path / "backups"
    backups.mkdir(mode=0o700)
    os.chown(backups, WORKER, WORKER)
    for name in ("old", "new", "kit"):
        (tmp_path / name).mkdir()

    with composed(own_servers, tmp_path / "old") as old:
        old.start()
        old.load(tmp_path / "kit")
        token = old.participant("Oak")
        with old.client(token) as oak, old.client(old.participant("Ash")) as ash:
            crowd = Crowd((oak, ash))
            for _ in range(BEFORE):
                crowd.publish()
            claim_one(old, partial(crowd.send_privately, PRIVATE))
            threads = [threading.Thread(target=run) for run in (crowd.run_public, crowd.run_private)]
            with started(threads, crowd.stop):
                documented_run("worker", "backup").start(old.project, {"/backups": backups})
                eventually(lambda: len(crowd.boards) >= BEFORE + MEANWHILE or crowd.stop.is_set(), LONGEST)
            assert crowd.errors == []

    with composed(own_servers, tmp_path / "new") as new:
        secrets = new.project.folder / "deploy" / "secrets" / "owner_password"
        places = {"/backups": backups, "./deploy/secrets/owner_password": secrets}
        said = documented_run("worker", "restore").start(new.project, places)
        unfinished = new.ask("SELECT count(*) FROM run WHERE state IN ('queued', 'running')")[0][0]
        assert f"{unfinished} runs continue once a worker is running" in said
        assert unfinished > 0
        new.start(workers=())
        with new.client(token) as oak:
            assert oak.board(PHASE) in crowd.boards
            known = {str(upload) for (upload,) in new.ask("SELECT id FROM upload WHERE state = 'checked'")}
            assert len(known & crowd.archives.keys()) >= BEFORE
            for upload in known & crowd.archives.keys():
                assert oak.http.get(f"/api/v1/uploads/{upload}/archive").content == crowd.archives[upload]
            new.project.up("worker", "worker-1")
            ended = "SELECT FROM run WHERE state IN ('queued', 'running')"
            assert eventually(lambda: not new.ask(ended), 2 * LONGEST)
            assert new.ask("SELECT FROM run WHERE state <> 'scored'") == []
