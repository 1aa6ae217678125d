"""A complete installation on one machine: servers, worker, web, and the sample challenge."""

import socket
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path

import httpx2
import redis
from rich.console import Console

from app.core.settings import Settings
from app.operations.command_settings import require_servers
from app.operations.data_folder import explaining_os_errors, lock_data_folder, published_settings
from app.operations.embedded import embedded_servers
from app.operations.migrating import migrate
from app.operations.processes import sender_child, shared_counters_folder, web_child, worker_child
from app.operations.sampling import Drawing, drawing, fill_sample
from app.operations.serving import listen
from app.operations.setup import SAMPLE_CHALLENGE
from app.operations.startup import message_for
from app.operations.supervisor import Supervisor, interrupted_by_signals, supervised
from app.organising import roles
from app.platform import Platform, platform_of

Report = Callable[[str], None]

INTERRUPTED = 130  # exit code if Ctrl-C interrupts `--once`
START_TIMEOUT = timedelta(minutes=5)  # a busy machine is slow; a process that dies is reported at once


def run_installation(console: Console, *, once: bool) -> int:
    """Start everything, create the sample challenge, and serve; return the exit code.

    `once`: stop when the sample boards are complete instead of serving until Ctrl-C.
    """

    def report(line: str) -> None:
        console.print(line, highlight=False, markup=False, soft_wrap=True)

    started = time.monotonic()
    try:
        settings = Settings.read()
        with (
            explaining_os_errors(settings.data),
            interrupted_by_signals(),
            _installation(settings, report) as (platform, drawn),
        ):
            setup = _setup_link(platform)
            if setup:  # the sample takes minutes on a slow machine, and nobody has to wait for it
                report(f"set up this server: {setup}  (works once)")
            fill_sample(platform, console, drawn)
            _report_addresses(platform, report, time.monotonic() - started, setup)
            if once:
                report("the sample boards are complete")
            else:
                report("Ctrl-C stops everything; all data is kept for the next start")
                threading.Event().wait()
    except KeyboardInterrupt:
        return INTERRUPTED if once else 0
    except Exception as error:  # noqa: BLE001 - users never see a traceback
        report(message_for(error) or _log_unexpected(error, settings.data))
        return 1
    return 0


def _log_unexpected(error: Exception, data: Path) -> str:
    """Log the traceback of an unexpected error and return a message for the user."""
    log = data / "logs" / "run.log"
    with log.open("a", encoding="utf-8") as file:
        traceback.print_exception(error, file=file)
    return f"unexpected error, {type(error).__name__}; its traceback is in {log}"


@contextmanager
def _installation(settings: Settings, report: Report) -> Iterator[tuple[Platform, Drawing]]:
    """Run an installation, web and worker included, until the end of the block; yield its platform, and what draws its sample."""
    with ExitStack() as stack:
        try:
            # first: if the port is taken, nothing needs to start
            listener = stack.enter_context(listen(settings))
            settings = stack.enter_context(_with_servers(settings, report))
            settings = settings.model_copy(update={"port": listener.getsockname()[1]})
            drawn = stack.enter_context(drawing(settings.data))
            report("database: bringing the schema up to date")
            migrate(settings)
            platform = platform_of(settings)
            stack.callback(platform.engine.dispose)
            stack.enter_context(published_settings(settings))
            counters = stack.enter_context(shared_counters_folder(settings))
            processes = stack.enter_context(supervised(report))
            stack.callback(listener.close)  # before they stop, or new connections would wait until they have
            _start(processes, settings, listener, counters, report)
            yield platform, drawn
        except KeyboardInterrupt:
            report("stopping; the next start continues from here")
            raise


@contextmanager
def _with_servers(settings: Settings, report: Report) -> Iterator[Settings]:
    """Yield the settings; start embedded servers and add their URLs if none are set."""
    if settings.database_url is None and settings.broker_url is None:
        with embedded_servers(settings.data, report=report) as servers:
            yield servers.settings_with_addresses(settings)
        return
    require_servers(settings)
    with lock_data_folder(settings.data):
        with redis.Redis.from_url(
            str(settings.broker_url), socket_timeout=5, socket_connect_timeout=5
        ) as broker:
            broker.ping()
        private = settings.private_storage or settings.data / "private"
        yield settings.model_copy(update={"private_storage": private})


def _start(
    processes: Supervisor, settings: Settings, listener: socket.socket, counters: Path | None, report: Report
) -> None:
    report(f"worker: {settings.workers} processes")
    report(f"web: {settings.address}")
    worker = worker_child(settings)
    processes.launch(worker)
    processes.launch(sender_child(settings))
    # one client for all requests: creating it costs more than a request, and the web server needs the CPU now
    with httpx2.Client(base_url=settings.local_address, timeout=2) as http:
        processes.start(
            web_child(settings, listener, counters=counters), lambda: _is_ready(http), START_TIMEOUT
        )
        processes.wait_until_ready(worker.name, lambda: _has_worker(http), START_TIMEOUT)
    for number in range(2, settings.web_processes + 1):
        processes.start(web_child(settings, listener, f"web-{number}", counters), lambda: True)


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


def _setup_link(platform: Platform) -> str | None:
    """Return the link with which the first admin sets up this server; None if there is an admin already."""
    code = roles.create_setup_code(platform)
    return f"{platform.settings.address}/setup?code={code}" if code else None


def _report_addresses(platform: Platform, report: Report, seconds: float, setup: str | None) -> None:
    """Report where everything is; setup: the link that sets up this server, unless it is void."""
    address = platform.settings.address
    report("")
    report(f"ready in {seconds:.0f} s")
    report(f"  pages         {address}/")
    report(f"  leaderboard   {address}/leaderboards/{SAMPLE_CHALLENGE}/test/3")
    report(f"  API           {address}/api/docs")
    if not roles.organiser_exists(platform, SAMPLE_CHALLENGE):
        report(
            f"  organiser     {address}/role-links/{roles.create_organiser_link(platform, SAMPLE_CHALLENGE)}  (works once)"
        )
    if setup:
        report(f"  set up        {setup}  (works once)")
