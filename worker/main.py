"""The Celery application: one task per job."""

import os
import sys
from functools import cache
from multiprocessing import process

import structlog
from celery.signals import (
    setup_logging,
    task_postrun,
    task_prerun,
    worker_process_init,
    worker_ready,
    worker_shutdown,
)

from app import logs
from app.database_errors import OutageLog
from app.delivery import service as delivery
from app.evaluation import service as evaluation
from app.platform import Platform, platform_of
from app.queue import Job, celery_of
from app.rescoring import service as rescoring
from app.sandbox import warm_up
from app.settings import Settings
from worker.restarting import RestartingProcess
from worker.transport import use_forgiving_transport

settings = Settings.read()
use_forgiving_transport()
celery = celery_of(settings)
sweeper = RestartingProcess()
outages = OutageLog()

ORDINARY_PROCESS = process.current_process()
AWAY = "database unavailable"  # what a message asked for is found by the sweeper
NICE = 5  # where web server and workers share a machine, whoever reads a page goes first


@cache
def platform() -> Platform:
    """One for each process: connections do not survive a fork, so nothing is opened before."""
    return platform_of(settings)


@celery.task(name=Job.EVALUATE.value)
def evaluate() -> None:
    """Score the next run; there may be more than one for this message."""
    with outages.forgiving(AWAY):
        if evaluation.evaluate_next(platform()):
            platform().notifier.wake_workers()
            platform().notifier.wake_workers(Job.DELIVER)
            rescoring.activate_complete(platform())


@celery.task(name=Job.MAIL.value)
def send_mail() -> None:
    """Send the next mail of the outbox; there may be more than one for this message."""
    _deliver(Job.MAIL)


@celery.task(name=Job.DELIVER.value)
def deliver() -> None:
    """Do the next thing that follows from a score; there may be more than one for this message."""
    _deliver(Job.DELIVER)


def _deliver(job: Job) -> None:
    with outages.forgiving(AWAY):
        if delivery.deliver_next(platform(), delivery.JOBS[job]):
            platform().notifier.wake_workers(job)


@worker_process_init.connect
def _allow_children(**_: object) -> None:
    """Make a process of the pool an ordinary one for the standard library, behind the web server for the operating system.

    billiard's daemons count as the library's own, which may not have children; ours end with their parent.
    """
    os.nice(NICE)
    process._current_process = ORDINARY_PROCESS  # type: ignore[attr-defined]  # noqa: SLF001
    warm_up()


@task_prerun.connect
def _name_task_in_logs(task_id: str, **_: object) -> None:
    """Have all that this process and its children log until the end of the task name it."""
    structlog.contextvars.bind_contextvars(task=task_id)


@task_postrun.connect
def _end_of_task(**_: object) -> None:
    structlog.contextvars.clear_contextvars()


@worker_ready.connect
def _start_sweeper(**_: object) -> None:
    options = {"--worker": os.getpid(), "--slots": settings.workers}
    words = [str(word) for option in options.items() for word in option]
    sweeper.start([sys.executable, "-m", "worker.sweeping", *words])


@worker_shutdown.connect
def _stop_sweeper(**_: object) -> None:
    sweeper.stop()


@setup_logging.connect
def _configure_logging(**_: object) -> None:
    logs.configure()
