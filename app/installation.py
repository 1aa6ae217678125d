"""A whole installation on one machine: servers, worker, web, and the sample edition."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta

import httpx2
from rich.console import Console

from app.accounts import service as accounts
from app.embedded import EmbeddedError, embedded_servers
from app.migrating import migrate
from app.platform import Platform, platform_of
from app.processes import web_child, worker_child
from app.sampling import EDITION, BaselineError, fill_sample
from app.settings import NOTE, NOTED, Settings, free_port
from app.supervisor import NotReadyError, Supervisor, interrupted_by_signals, supervised

Say = Callable[[str], None]


def run_installation(console: Console, *, once: bool) -> int:
    """Start everything, fill the sample edition, print its board, and serve; returns the exit code.

    `once`: end when the board is complete instead of serving until Ctrl-C.
    """

    def say(line: str) -> None:
        console.print(line, highlight=False, markup=False, soft_wrap=True)

    started = time.monotonic()
    try:
        with interrupted_by_signals(), _installation(Settings(), say) as platform:
            fill_sample(platform, console)
            _greet(platform, say, time.monotonic() - started)
            if not once:
                _until_interrupted()
    except (EmbeddedError, NotReadyError, BaselineError, ValueError) as error:
        say(str(error))
        return 1
    except KeyboardInterrupt:
        return 0
    return 0


def _until_interrupted() -> None:
    while True:
        time.sleep(3600)


@contextmanager
def _installation(settings: Settings, say: Say) -> Iterator[Platform]:
    """The platform of an installation that runs, web and worker included, until the end of the block."""
    with ExitStack() as running:
        settings = running.enter_context(_with_servers(settings, say))
        say("database: bringing the schema up to date")
        platform = platform_of(settings)
        migrate(platform.engine)
        processes = running.enter_context(supervised(say))
        _start(processes, settings, say)
        yield platform


@contextmanager
def _with_servers(settings: Settings, say: Say) -> Iterator[Settings]:
    """The settings, completed: with servers of our own where none are set, and noted for the other commands."""
    settings.data.mkdir(parents=True, exist_ok=True, mode=0o700)
    known: dict[str, object] = {
        "data": settings.data.absolute(),
        "private_storage": (settings.private_storage or settings.data / "private").absolute(),
        "port": settings.port or free_port(settings.host),
    }
    with ExitStack() as running:
        if settings.database_url is None and settings.broker_url is None:
            servers = running.enter_context(embedded_servers(settings.data, say=say))
            known |= {"database_url": servers.database_url, "broker_url": servers.broker_url}
            known |= {"secret_key": settings.secret_key or servers.secret_key}
        complete = settings.model_copy(update=known)
        note = settings.data / NOTE
        note.touch(mode=0o600)
        note.write_text(json.dumps(complete.model_dump(mode="json", include=set(NOTED))))
        try:
            yield complete
        finally:
            note.unlink(missing_ok=True)


def _start(processes: Supervisor, settings: Settings, say: Say) -> None:
    say(f"worker: {settings.workers} processes")
    processes.start(worker_child(settings), lambda: True)
    say(f"web: {settings.address}")
    # one client for all questions: making one costs more than asking, and the web server needs the processor now
    with httpx2.Client(base_url=settings.local_address, timeout=2) as http:
        processes.start(web_child(settings), lambda: _is_healthy(http), timedelta(seconds=60))


def _is_healthy(http: httpx2.Client) -> bool:
    try:
        return http.get("/health").is_success
    except httpx2.HTTPError:
        return False


def _greet(platform: Platform, say: Say, seconds: float) -> None:
    address = platform.settings.address
    say("")
    say(f"everything runs, after {seconds:.0f} seconds")
    say(f"  pages         {address}/")
    say(f"  leaderboard   {address}/leaderboards/{EDITION}/test/3")
    say(f"  API           {address}/api/docs")
    if not accounts.is_there_an_organiser(platform):
        say(
            f"  organiser     {address}/first-organiser/{accounts.create_organiser_link(platform)}  (works once)"
        )
    say("Ctrl-C stops everything; the next start finds it again")
