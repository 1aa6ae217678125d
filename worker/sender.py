"""The sender: tells people of events, sends mail and calls webhooks.

It is the only part besides the web server that needs a way outside, and it knows no ground truth. Nothing wakes it: its threads
look into the job table every second.
"""

import os
import signal
import threading
from collections.abc import Mapping
from contextlib import suppress
from socket import gethostname
from typing import Final

import structlog
from sqlalchemy.exc import SQLAlchemyError

from app.core import logs
from app.core.database import OutageLog
from app.core.settings import Settings
from app.jobs import heartbeats, mail, queue
from app.jobs.mail import MailError
from app.models import Job, Queue, Service
from app.platform import Platform, platform_of
from worker import handlers

log = structlog.get_logger()

# a mail server that hangs holds up no notification but for a moment, and receivers that hang no other receiver
THREADS: Final[Mapping[Queue, int]] = {Queue.MAIL: 2, Queue.WEBHOOKS: 4}
PAUSE: Final = 1.0  # seconds after which a thread of a queue without work looks again, each in its turn
ENDING: Final = 10.0  # seconds for what is being sent when the process is stopped
STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


def main() -> None:
    """Send until SIGTERM or SIGINT."""
    logs.configure()
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    run(platform_of(Settings.read()))


def run(platform: Platform) -> None:
    """Send, and report alive, until a stop signal arrives."""
    stop, database = threading.Event(), OutageLog()
    name = f"{gethostname()}:{os.getpid()}"
    threads = [
        threading.Thread(
            target=_send, args=(platform, each, number, stop), name=f"{each} {number}", daemon=True
        )
        for each, count in THREADS.items()
        for number in range(count)
    ]
    threads.append(threading.Thread(target=_watch, args=(platform, stop), name="mail server", daemon=True))
    for thread in threads:
        thread.start()
    while True:
        with database.tolerating_outages("heartbeat failed"), platform.transaction() as session:
            heartbeats.write_heartbeat(session, name, Service.SENDER)
        if signal.sigtimedwait(STOP_SIGNALS, heartbeats.EVERY.total_seconds()):
            break
    stop.set()
    for thread in threads:
        thread.join(ENDING / len(threads))
    with suppress(SQLAlchemyError), platform.transaction() as session:
        heartbeats.delete_heartbeat(session, name)


def _send(platform: Platform, which: Queue, number: int, stop: threading.Event) -> None:
    """Do the jobs of a queue, one after another. number: of this thread among those of the queue."""
    database = OutageLog()
    stop.wait(PAUSE * number)
    while not stop.is_set():
        did_something = False
        try:
            with database.tolerating_outages("database unavailable"):
                did_something = handlers.do_next(platform, which)
        except Exception:  # the thread goes on
            log.exception("sending failed")
        if not did_something:
            stop.wait(PAUSE * THREADS[which])


def _watch(platform: Platform, stop: threading.Event) -> None:
    """Send what waits for the mail server as soon as it is back, not only after a pause that grew while it was away."""
    while not stop.wait(heartbeats.EVERY.total_seconds()):
        try:
            end_pauses_of_mail(platform)
        except Exception as error:  # noqa: BLE001 - whatever is away, the thread looks again
            log.info("mail server not checked", error=type(error).__name__)


def end_pauses_of_mail(platform: Platform) -> int:
    """Make mail due that pauses because the mail server was away, if it accepts our login; return how many jobs."""
    with platform.transaction() as session:
        if not queue.awaits_mail_server(session):
            return 0
    try:
        mail.check_connection(platform.settings)
    except MailError:
        return 0
    with platform.transaction() as session:
        return queue.end_pauses(session, Job.queue == Queue.MAIL)
