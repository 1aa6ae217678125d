"""The Celery application, with one task: do the next job."""

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
from app.jobs.sandbox import preload, warm_up
from app.operations.processes import sweeper_child
from app.operations.supervisor import Supervisor
from app.platform import Platform, platform_of
from worker import handlers
from worker.transport import use_best_effort_transport

log = structlog.get_logger()
settings = Settings.read()
use_best_effort_transport()
celery = celery_of(settings)
supervisor = Supervisor(lambda what: log.warning("helper process", what=what))
outages = OutageLog()

MAIN_PROCESS = process.current_process()
OUTAGE_EVENT = "database unavailable"  # the sweeper will find the job that the message was about
NICE = 5  # pages take precedence if web server and workers share a machine


@cache
def platform() -> Platform:
    """Return the platform of this process, created on first use: connections do not survive a fork."""
    return platform_of(settings)


@celery.task(name=TASK)
def work(_queue: str) -> None:
    """Do the next job, and wake a worker for the one after it. The argument is for workers of the release before."""
    with outages.tolerating_outages(OUTAGE_EVENT):
        if handlers.do_next(platform()):
            platform().notifier.wake_workers()
            rescoring.activate_complete(platform())


@worker_process_init.connect
def _allow_children(**_: object) -> None:
    """Let this pool process have children, and give it a lower priority than the web server.

    The standard library takes billiard's processes for daemons, which may not have children; ours exit with their parent.
    """
    os.nice(NICE)
    process._current_process = MAIN_PROCESS  # type: ignore[attr-defined]  # noqa: SLF001
    preload(*handlers.IN_CHILDREN)
    warm_up()


@task_prerun.connect
def _name_task_in_logs(task_id: str, **_: object) -> None:
    """Add the task to everything that this process and its children log during it."""
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
