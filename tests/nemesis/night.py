"""One night: people submit, an organiser corrects the ground truth, things break, and everything is recorded."""

import sys
import threading
import time
from collections import defaultdict
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from random import Random

import httpx2
from sqlalchemy.exc import SQLAlchemyError

import heldout_scoring
from app.core.errors import DomainError
from tests.confirming import confirm_rescores
from tests.nemesis.all_faults import FAULTS, KINDS
from tests.nemesis.ending import end_of, seconds_until, under_way
from tests.nemesis.history import Fault, History, Promise, Response
from tests.nemesis.people import COMPETITION, PHASE, Notebook, Person
from tests.nemesis.schedule import Planned, schedule
from tests.nemesis.site import Site
from tests.system.installations import Client
from tests.system.kits import DATASET, results, small_kit

PARTICIPANTS = ("oak", "elm", "ash")
MOST = 150  # submissions in a night: the follow-up jobs of each take half a second
SHORTEST_PAUSE = 2.5  # seconds between two submissions of a person
REQUEST_SECONDS = 25.0  # a response takes at most 18, when the database does not answer
WITHOUT = (0, 5, 3, 8, 1, 6)  # dogs missing from each version of the ground truth


@dataclass
class Night:
    """Everything that happens at the site for `seconds`, drawn from `seed`."""

    site: Site
    folder: Path
    seed: int
    seconds: float
    notebook: Notebook = field(default_factory=Notebook)
    over: threading.Event = field(default_factory=threading.Event)
    faults: list[Fault] = field(default_factory=list)
    ground_truth: int = 1
    taken: defaultdict[str, threading.Lock] = field(default_factory=lambda: defaultdict(threading.Lock))

    def run(self) -> History:
        """Run the night and return its history."""
        planned = schedule(self.seed, self.seconds, KINDS[self.site.store])
        _report(f"nemesis: seed {self.seed}, {self.seconds:g} s, {len(planned)} faults", *map(str, planned))
        self.site.running.load(self.kit(1), PHASE.partition("/")[0])
        team = {
            name: self._client(self.site.running.participant(self.site.direct, name)) for name in PARTICIPANTS
        }
        organiser = self._client(self.site.running.organiser(self.site.direct))
        pause = max(SHORTEST_PAUSE, self.seconds * len(team) / MOST)
        people = [
            Person(name, client, self.notebook, Random(f"{self.seed} {name}"), self.over)
            for name, client in team.items()
        ]
        correcting = Person("organiser", organiser, self.notebook, Random(self.seed), self.over)
        calm = self._calm(people)
        self.notebook.looks.clear()  # times are measured from here
        self.notebook.begun = time.monotonic()
        with ThreadPoolExecutor(len(people) + 1) as together:
            sending = [together.submit(each.take_part, pause) for each in people]
            sending.append(together.submit(self._correct, correcting))
            try:
                self._break(planned)
            finally:
                self.over.set()
            recovered = seconds_until(self.site.is_complete)
            for each in sending:
                each.result()
        begun = time.monotonic()
        calm += self._calm(people)
        settled = None if under_way(self.site) else round(time.monotonic() - begun, 1)
        direct = {name: self._client(client, self.site.direct) for name, client in team.items()}
        end = end_of(self.site, direct, recovered, settled)
        return History(
            self.seed, tuple(self.faults), tuple(self.notebook.responses), self._promises(),
            tuple(self.notebook.refused), tuple(self.notebook.looks), calm, self.ground_truth, end,
        )  # fmt: skip

    def _calm(self, people: list[Person]) -> tuple[Response, ...]:
        """A participant submits and reads without faults until all is done: before the faults, so that no disk is full
        when Python compiles what it imports for the first time, and after them."""
        before = len(self.notebook.responses)
        for person in people:
            person.send_one()
            person.look()
        seconds_until(lambda: not under_way(self.site))
        calm = tuple(self.notebook.responses[before:])
        del self.notebook.responses[before:]
        return calm

    def _client(self, client: Client, address: str = "") -> Client:
        """A client of the same person, through the proxy or at another address."""
        http = httpx2.Client(
            base_url=address or self.site.address, headers=client.http.headers, timeout=REQUEST_SECONDS
        )
        return Client(self.site.running.stack.enter_context(http))

    def _break(self, planned: tuple[Planned, ...]) -> None:
        """Break things as planned, several at a time."""
        begun = time.monotonic()
        with ThreadPoolExecutor(len(FAULTS[self.site.store])) as together:
            breaking: list[Future[None]] = []
            for each in planned:
                time.sleep(max(0.0, begun + each.at - time.monotonic()))
                breaking.append(together.submit(self._break_one, each))
        for done in breaking:
            done.result()
        time.sleep(max(0.0, begun + self.seconds - time.monotonic()))

    def _break_one(self, planned: Planned) -> None:
        fault = FAULTS[self.site.store][planned.name]
        with self.taken[fault.kind.takes]:  # a server may take longer to restart than planned
            begun = self.notebook.now()
            with fault.breaking(self.site, planned.choice) as what:
                time.sleep(planned.lasts)
            self.faults.append(Fault(planned.name, begun, self.notebook.now(), what))

    def _correct(self, organiser: Person) -> None:
        """Correct the ground truth and rescore after a quarter and after half of the night."""
        for version in (2, 3):
            self.over.wait(self.seconds / 4)
            organiser.insist(partial(self._imported, version), "an import")
            address = f"/api/v1/organise/{PHASE}/rescore"
            organiser.insist(partial(organiser.good, "POST", address), "a re-scoring")
            organiser.insist(self._confirmed, "to have confirmed it")
            self.ground_truth = version

    def _confirmed(self) -> bool | None:
        try:
            confirm_rescores(self.site.running.platform)
        except SQLAlchemyError:
            return None
        return True

    def _imported(self, version: int) -> bool | None:
        try:
            imported = self.site.running.load(self.kit(version), PHASE.partition("/")[0])
        except (SQLAlchemyError, DomainError, OSError):
            return None
        assert imported.version == version
        return True

    def kit(self, version: int) -> Path:
        """The tree for a version of the ground truth."""
        folder = self.folder / str(version)
        return folder / DATASET if folder.exists() else small_kit(folder, without=WITHOUT[version - 1])

    def _promises(self) -> tuple[Promise, ...]:
        """The acknowledged submissions with the means computed by the library."""

        @cache
        def mean(found: tuple[int, int], version: int) -> float:
            archive = self.folder / f"{found}.tar.gz"
            archive.write_bytes(results(cat=found[0], dog=found[1]))
            result = heldout_scoring.evaluate(
                archive,
                truths[version],
                protocol=heldout_scoring.default_protocol(DATASET),
                competition=COMPETITION,
            )
            assert result.headline is not None
            return result.headline

        versions = range(1, self.ground_truth + 1)
        truths = {version: heldout_scoring.read_tree(self.kit(version), "test") for version in versions}
        return tuple(
            replace(promise, means={version: mean(found, version) for version in versions})
            for promise, found in self.notebook.promises
        )


def _report(*lines: str) -> None:
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()
