"""The Celery application: one task, which does the next job."""

import os
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

from app.core import logs
from app.core.database import OutageLog
from app.core.notifier import TASK, celery_of
from app.core.settings import Settings
from app.evaluation import rescoring
from app.jobs.sandbox import warm_up
from app.models import Queue
from app.operations import handlers
from app.operations.processes import sweeper_child
from app.operations.supervisor import Supervisor
from app.platform import Platform, platform_of
from worker.transport import use_forgiving_transport

log = structlog.get_logger()
settings = Settings.read()
use_forgiving_transport()
celery = celery_of(settings)
supervisor = Supervisor(lambda what: log.warning("helper process", what=what))
outages = OutageLog()

ORDINARY_PROCESS = process.current_process()
AWAY = "database unavailable"  # what a message asked for is found by the sweeper
NICE = 5  # where web server and workers share a machine, whoever reads a page goes first


@cache
def platform() -> Platform:
    """One for each process: connections do not survive a fork, so nothing is opened before."""
    return platform_of(settings)


@celery.task(name=TASK)
def work(queue: str) -> None:
    """Do the next job of a queue; there may be more than one for this message."""
    with outages.forgiving(AWAY):
        if handlers.do_next(platform(), Queue(queue)):
            platform().notifier.wake_workers(Queue(queue))
            rescoring.activate_complete(platform())


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
    supervisor.start(sweeper_child(os.getpid(), settings.workers), lambda: True)


@worker_shutdown.connect
def _stop_sweeper(**_: object) -> None:
    supervisor.stop_all()


@setup_logging.connect
def _configure_logging(**_: object) -> None:
    logs.configure()
