"""The worker: a name, a call. What is to be done stands in the database."""

from functools import cache
from multiprocessing import process

from celery import platforms
from celery.signals import beat_embedded_init, setup_logging, worker_process_init

from app import logs
from app.evaluation import service as evaluation
from app.platform import Platform, platform_of
from app.queue import Job, celery_of
from app.rescoring import service as rescoring
from app.sandbox import warm_up
from app.settings import Settings
from app.uploads import service as uploads

settings = Settings()
celery = celery_of(settings)

ORDINARY = process.current_process()


@cache
def platform() -> Platform:
    """One for each process: connections do not survive a fork, so nothing is opened before."""
    return platform_of(settings)


@celery.task(name=Job.EVALUATE.value)
def evaluate() -> None:
    """Score the next run that waits, if there is one."""
    if evaluation.evaluate_next(platform()):
        platform().doorbell.ring()  # one ring may have been for several runs, of two competitions or a re-scoring
        rescoring.publish_complete(platform())


@celery.task(name=Job.SWEEP.value)
def sweep() -> None:
    """Find what was lost, and finish what is complete."""
    evaluation.sweep(platform())
    rescoring.publish_complete(platform())
    uploads.sweep(platform())


@worker_process_init.connect
def _let_children_start(**_: object) -> None:
    """Make a process of the pool an ordinary one for the standard library.

    billiard passes its daemons off as the library's, which forbids them children; ours end with their parent.
    """
    process._current_process = ORDINARY  # type: ignore[attr-defined]  # noqa: SLF001
    warm_up()


@beat_embedded_init.connect
def _end_with_the_worker(**_: object) -> None:
    """Leave no clock behind when the worker is killed: Celery ties its pool to it, but not this process."""
    platforms.set_pdeathsig("SIGKILL")  # type: ignore[attr-defined]  # the stubs lack it


@setup_logging.connect
def _log_as_we_do(**_: object) -> None:
    logs.configure()
