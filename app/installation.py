"""A whole installation on one machine: servers, worker, web, and the sample edition."""

import socket
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path

import httpx2
import redis
from rich.console import Console

from app.data_folder import advertised, exclusive, folder_error
from app.embedded import embedded_servers
from app.migrating import migrate
from app.platform import Platform, platform_of
from app.processes import counted_together, web_child, worker_child
from app.roles import service as roles
from app.sampling import EDITION, fill_sample
from app.serving import listen
from app.settings import Settings, SettingsError, variable
from app.startup import explanation
from app.supervisor import Supervisor, interrupted_by_signals, supervised

Report = Callable[[str], None]

INTERRUPTED = 130  # exit code of what Ctrl-C has ended too early
PATIENCE = timedelta(
    minutes=5
)  # on a busy machine a process starts slowly; one that ends is reported at once


def run_installation(console: Console, *, once: bool) -> int:
    """Start everything, fill the sample edition, and serve; returns the exit code.

    `once`: end when the sample boards are complete instead of serving until Ctrl-C.
    """

    def report(line: str) -> None:
        console.print(line, highlight=False, markup=False, soft_wrap=True)

    started = time.monotonic()
    try:
        settings = Settings.read()
        with interrupted_by_signals(), _installation(settings, report) as platform:
            fill_sample(platform, console)
            _report_addresses(platform, report, time.monotonic() - started)
            if once:
                report("the sample boards are complete")
            else:
                report("Ctrl-C stops everything; the next start finds it again")
                _wait_for_interrupt()
    except KeyboardInterrupt:
        return INTERRUPTED if once else 0
    except OSError as error:
        report(folder_error(error, settings.data))
        return 1
    except Exception as error:  # noqa: BLE001 - nobody is shown a trace
        report(explanation(error) or _with_trace(error, settings.data))
        return 1
    return 0


def _with_trace(error: Exception, data: Path) -> str:
    """The message for a fault of this program, whose trace is in a log."""
    log = data / "logs" / "run.log"
    with log.open("a", encoding="utf-8") as file:
        traceback.print_exception(error, file=file)
    return f"an unexpected error, {type(error).__name__}; its trace is in {log}"


def _wait_for_interrupt() -> None:
    while True:
        time.sleep(3600)


@contextmanager
def _installation(settings: Settings, report: Report) -> Iterator[Platform]:
    """The platform of an installation that runs, web and worker included, until the end of the block."""
    with ExitStack() as stack:
        try:
            # first: nothing need be started when the port is taken
            listener = stack.enter_context(listen(settings))
            settings = stack.enter_context(_with_servers(settings, report))
            settings = settings.model_copy(update={"port": listener.getsockname()[1]})
            report("database: bringing the schema up to date")
            migrate(settings)
            platform = platform_of(settings)
            stack.callback(platform.engine.dispose)
            stack.enter_context(advertised(settings))
            counting = stack.enter_context(counted_together(settings))
            processes = stack.enter_context(supervised(report))
            _start(processes, settings, listener, counting, report)
            yield platform
        except KeyboardInterrupt:
            report("stopping; the next start goes on from here")
            raise


@contextmanager
def _with_servers(settings: Settings, report: Report) -> Iterator[Settings]:
    """The settings, completed: with servers of our own where none are set."""
    private = {"private_storage": settings.private_storage or settings.data / "private"}
    with ExitStack() as stack:
        if _are_external(settings):
            stack.enter_context(exclusive(settings.data))
            _check_broker(str(settings.broker_url))
            yield settings.model_copy(update=private)
            return
        servers = stack.enter_context(embedded_servers(settings.data, report=report))
        addresses = {
            "database_url": servers.database_url,
            "migration_database_url": servers.migration_database_url,
            "broker_url": servers.broker_url,
        }
        yield settings.model_copy(update=private | addresses)


def _are_external(settings: Settings) -> bool:
    """Whether servers are given; raises SettingsError when only one of them is."""
    names = ("database_url", "broker_url")
    missing = [name for name in names if getattr(settings, name) is None]
    if len(missing) == 1:
        [given] = set(names) - set(missing)
        raise SettingsError(
            f"{variable(given)} is set and {variable(missing[0])} is not; expected both, or neither, "
            "which starts a PostgreSQL and a Valkey here"
        )
    return not missing


def _check_broker(url: str) -> None:
    with redis.Redis.from_url(url, socket_timeout=5, socket_connect_timeout=5) as broker:
        broker.ping()


def _start(
    processes: Supervisor, settings: Settings, listener: socket.socket, counting: Path | None, report: Report
) -> None:
    report(f"worker: {settings.workers} processes")
    report(f"web: {settings.address}")
    worker = worker_child(settings)
    processes.launch(worker)
    # one client for all questions: making one costs more than asking, and the web server needs the processor now
    with httpx2.Client(base_url=settings.local_address, timeout=2) as http:
        processes.start(web_child(settings, listener, counters=counting), lambda: _is_ready(http), PATIENCE)
        processes.wait_until_ready(worker.name, lambda: _has_worker(http), PATIENCE)
    for number in range(2, settings.web_processes + 1):
        processes.start(web_child(settings, listener, f"web-{number}", counting), lambda: True)


def _is_ready(http: httpx2.Client) -> bool:
    try:
        return http.get("/ready").is_success
    except httpx2.HTTPError:
        return False


def _has_worker(http: httpx2.Client) -> bool:
    try:
        return bool(http.get("/health").json()["workers"]["value"])
    except (httpx2.HTTPError, ValueError):
        return False


def _report_addresses(platform: Platform, report: Report, seconds: float) -> None:
    address = platform.settings.address
    report("")
    report(f"everything runs, after {seconds:.0f} seconds")
    report(f"  pages         {address}/")
    report(f"  leaderboard   {address}/leaderboards/{EDITION}/test/3")
    report(f"  API           {address}/api/docs")
    if not roles.is_there_an_organiser(platform, EDITION):
        report(
            f"  organiser     {address}/role-links/{roles.create_organiser_link(platform, EDITION)}  (works once)"
        )
    if not roles.is_there_an_admin(platform):
        report(f"  admin         {address}/role-links/{roles.create_admin_link(platform)}  (works once)")
