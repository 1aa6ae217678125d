"""Installations with a history of some length, each with a database and a web server of its own, on the same servers."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sqlalchemy import make_url, select, text

from app.core.rate_limits import Limited
from app.core.settings import Settings
from app.models import User
from app.operations.embedded import embedded_servers
from app.operations.supervisor import interrupted_by_signals
from app.people import teams
from app.platform import platform_of
from benchmarks.server.rows import (
    Results,
    add_boards,
    add_queued,
    add_scored,
    give_to,
    join_submissions,
    place_of,
)
from tests.scoring.builders import Kit, annotation, thing
from tests.system.installations import Client, Installation, installation
from tests.system.kits import small_kit
from tests.system.process_trees import command_of, tree_of
from tests.system.servers import OwnServers

TWENTY: Final = (
    "aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow", "diningtable", "dog",
    "horse", "motorbike", "person", "pottedplant", "sheep", "sofa", "train", "tvmonitor",
)  # fmt: skip
TWO: Final = ("cat", "dog")
OWN: Final = 20  # results of the participant who reads the pages
WAITING: Final = 200  # runs in the queue, of whatever length the history is
LIMITS: Final = (*(f"limit_{what}" for what in Limited), "requests_at_once")
DEFAULTS: Final = {name: Settings.model_fields[name].default for name in LIMITS}  # which tests take away


@dataclass(frozen=True, slots=True)
class Site:
    """A site whose challenge `history` has so many scored runs; what else there is has the same size in every site."""

    runs: int
    running: Installation
    address: str
    anybody: Client
    participant: Client
    organiser: Client
    history: Results
    waiting: Results
    many: Results  # ten results of one submission
    board: Results  # 100 methods and 20 classes in the challenge `board`; its next board has 500
    team: int  # of the participant

    def web(self) -> list[int]:
        """The processes of the web server."""
        return tree_of(self.running.pid("web"))

    def database(self) -> list[int]:
        """The processes of PostgreSQL that work for this site."""
        name = make_url(str(self.running.settings.database_url)).database
        server = self.running.servers.urls.processes.pid("postgres")
        return [pid for pid in tree_of(server or 0) if f" {name} " in command_of(pid)]


@contextmanager
def own_servers() -> Iterator[OwnServers]:
    """A database server and a broker for one benchmark, which ends all that it has started when it is stopped."""
    with interrupted_by_signals(), tempfile.TemporaryDirectory(prefix="heldout benchmark ") as folder:
        data = Path(folder, "data")
        with embedded_servers(data, report=print) as urls:
            yield OwnServers(data, urls)


@contextmanager
def site(servers: OwnServers, runs: int, board: int = 100) -> Iterator[Site]:
    """A site with a web server that nobody else uses, and no worker."""
    with installation(servers) as running, tempfile.TemporaryDirectory() as folder:
        running.load(small_kit(Path(folder)), "history")
        running.load(_large_kit(Path(folder, "large")), "board")
        address = running.start_web()
        participant, organiser = running.participant(address, "Oak"), running.organiser(address)
        with running.platform.transaction() as session:
            user = session.scalars(select(User.id).where(User.name == "Oak")).one()
            history = place_of(session, "history")
            teams.own_or_new_team(session, user, history.challenge_id)
        found, team = _fill(running, runs, board, user)
        yield Site(runs, running, address, running.client(address), participant, organiser, *found, team)


def _fill(
    running: Installation, runs: int, board: int, user: int
) -> tuple[tuple[Results, Results, Results, Results], int]:
    owner = running.settings.model_copy(update={"database_url": running.settings.migration_database_url})
    platform = platform_of(owner)
    with platform.transaction() as session:
        place = place_of(session, "history")
        team = session.execute(
            text("SELECT team_id FROM member WHERE user_id = :user"), {"user": user}
        ).scalar_one()
        scored = add_scored(session, place, runs, classes=TWO)
        waiting = add_queued(session, place, WAITING)
        give_to(session, scored, team, OWN)
        give_to(session, waiting, team, 1)
        large = place_of(session, "board")
        shown = add_scored(session, large, board, classes=TWENTY, competition=3)
        add_scored(session, large, 5 * board, classes=TWENTY, competition=4)
        add_boards(session, large, range(1, 11))
        many = add_scored(session, place_of(session, "board"), 10, classes=TWENTY)
        join_submissions(session, many)
    platform.engine.dispose()
    running.ask("VACUUM ANALYZE")
    return (scored, waiting, many, shown), team


def _large_kit(folder: Path) -> Path:
    """Ten images with an object of each of twenty classes."""
    folder.mkdir()
    images = {f"{number:06d}": annotation(*(thing(name) for name in TWENTY)) for number in range(10)}
    return Kit(folder / "VOC2012").main(images, dict.fromkeys(TWENTY, "1 " * 10)).root
