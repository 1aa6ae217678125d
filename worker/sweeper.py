"""The sweeper: recovers lost jobs, finishes and cleans up, and sends heartbeats for its worker."""

import argparse
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

import structlog
from celery import platforms
from sqlalchemy.exc import SQLAlchemyError

import heldout_scoring
from app.challenges import kits, same_labels, versions
from app.core import logs
from app.core.database import OutageLog, is_unavailable
from app.core.errors import StorageUnavailableError
from app.core.settings import Settings
from app.evaluation import publishing, rescoring, similarity
from app.figures import board_figures
from app.home import trying
from app.images import archives, making
from app.intake import annotated_pictures, for_one, intakes, keys, label_edits, version_diffs
from app.intake import reading as intake_reading
from app.jobs import attempts, heartbeats, mail, outages
from app.models import Service
from app.notifications import dates, mailing, reading, webhook_deliveries
from app.operations import alarms
from app.organising import drafts
from app.people import sessions
from app.platform import Platform, platform_of
from app.results import personal_data, receipts
from app.submissions import retention
from worker import handlers

log = structlog.get_logger()

PAUSE = 15.0  # seconds between two looks at the stores
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
# every sweep calls each; what is due once an hour or a day asks `heartbeats.start_if_due` first
STEPS = (
    handlers.recover_lost_jobs,
    versions.complete,
    same_labels.fill_in,
    publishing.complete_previews,
    publishing.expire_previews,
    rescoring.activate_complete,
    rescoring.queue_outdated,
    making.show_due,
    board_figures.queue_outdated,
    archives.queue_missing,
    kits.queue_outdated,
    retention.sweep_uploads,
    sessions.delete_expired_sessions,
    retention.sweep_contents,
    receipts.publish_plain_receipts,
    mail.delete_expired_requests,
    personal_data.delete_unconfirmed_accounts,
    similarity.delete_pairs_of_withdrawn,
    intakes.remove_untouched,
    keys.delete_unused,
    intake_reading.remove_leftovers,
    for_one.delete_expired,
    annotated_pictures.delete_left,
    label_edits.delete_old,
    version_diffs.delete_expired,
    dates.record_dates,
    alarms.record_alarms,
    mailing.queue_due,
    reading.delete_old,
    drafts.open_due,
    trying.delete_old,
    webhook_deliveries.turn_off_those_of_teams,
)


def main() -> None:
    """Sweep until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(prog="worker.sweeping")
    parser.add_argument(
        "--worker", type=int, default=0, help="id of the worker process to report alive and to exit with"
    )
    parser.add_argument(
        "--slots", type=int, default=0, help="number of runs that this worker scores at the same time"
    )
    options = parser.parse_args()
    logs.configure()
    if options.worker:
        _end_with(options.worker)
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    worker = f"{socket.gethostname()}:{options.worker}" if options.worker else None
    run(platform_of(Settings.read()), worker, options.slots)


def run(platform: Platform, worker: str | None, slots: int) -> None:
    """Send heartbeats for a worker, if there is one, and sweep when it is due, until a stop signal arrives."""
    stop = threading.Event()
    if worker:
        _report(platform, worker, slots, stop)
    was_away = True  # unknown before this process started
    has_checked_keys = platform.truth_key is None  # without private storage there is nothing to check
    database = OutageLog()
    while True:
        try:
            with database.tolerating_outages("sweep failed"):
                outages.note_scoring(platform)
                was_away = check_recovery(platform, was_away=was_away)
                has_checked_keys = has_checked_keys or _check_keys(platform)
                attempts.check_damaged(platform)
                sweep(platform)
        except SQLAlchemyError:
            log.exception("sweep failed")
        was_away |= database.is_away
        if signal.sigtimedwait(STOP_SIGNALS, min(PAUSE, platform.settings.sweep_seconds)):
            break
    stop.set()
    if worker:
        with suppress(SQLAlchemyError), platform.transaction() as session:
            heartbeats.delete_heartbeat(session, worker)


def _report(platform: Platform, worker: str, slots: int, stop: threading.Event) -> None:
    """Write heartbeats of a worker with this scorer version from a thread, because a sweep may take a minute."""

    def write() -> None:
        while True:
            with suppress(SQLAlchemyError), platform.transaction() as session:
                if stop.is_set():
                    return
                heartbeats.write_heartbeat(
                    session, worker, Service.WORKER, scorer=heldout_scoring.SCORER, slots=slots
                )
            if stop.wait(heartbeats.EVERY.total_seconds()):
                return

    threading.Thread(target=write, name="heartbeats", daemon=True).start()


def _check_keys(platform: Platform) -> bool:
    """Check the keys of data sets once; return whether that was possible."""
    try:
        keys.check(platform)
    except StorageUnavailableError:
        return False
    return True


def _acquire_sweep(platform: Platform) -> bool:
    """Whether this process should sweep now; if so, no other process does before the next sweep is due."""
    every = timedelta(seconds=0.9 * platform.settings.sweep_seconds)
    with platform.transaction() as session:
        return heartbeats.try_acquire_sweep(session, every)


def check_recovery(platform: Platform, *, was_away: bool) -> bool:
    """Check the stores of this process and return whether any is unavailable; once all are back, end the pauses of jobs.

    Every sweeper does this, even if it is another one's turn to sweep: all of them notice an outage that is long enough for
    long pauses.
    """
    is_away = not attempts.stores_available(platform)
    if was_away and not is_away:
        attempts.end_pauses(platform)
    return is_away


def sweep(platform: Platform) -> bool:
    """Sweep if it is due and no other process does; return whether every step succeeded.

    If a step fails, the others still run.
    """
    if not _acquire_sweep(platform):
        return False
    failed = [step for step in STEPS if not _succeeds(step, platform)]
    if not failed:
        with platform.transaction() as session:
            heartbeats.record_sweep(session)
    return not failed


def _succeeds(step: Callable[[Platform], object], platform: Platform) -> bool:
    try:
        step(platform)
    except Exception as error:
        name = f"{step.__module__}.{step.__name__}"
        if is_unavailable(error):
            log.warning("step of the sweep failed", step=name, error=str(error))
        else:
            log.exception("step of the sweep failed", step=name)
        return False
    return True


def _end_with(worker: int) -> None:
    """Make the kernel kill this process as soon as its worker exits."""
    platforms.set_pdeathsig("SIGKILL")  # type: ignore[attr-defined]  # the stubs lack it
    if os.getppid() != worker:
        sys.exit("the worker has exited")
