"""The doorbell: messages that wake a worker. The row in the database is the truth."""

import enum
import os
import queue
import threading
import time
from dataclasses import dataclass, field

import structlog
from celery import Celery

from app.settings import Settings

log = structlog.get_logger()

MOST_WAITING = 1000  # rings that wait for a slow broker; more are dropped, the sweeper rings again


class Job(enum.StrEnum):
    """What a worker can be woken for."""

    EVALUATE = "evaluate"
    SWEEP = "sweep"


def celery_of(settings: Settings) -> Celery:
    """The Celery application of web and workers alike."""
    celery = Celery("heldout", broker=settings.broker_url)
    celery.conf.update(
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_connection_timeout=2,
        broker_pool_limit=2,
        broker_transport_options={
            "socket_timeout": 2,
            "socket_connect_timeout": 2,
            "health_check_interval": 5,  # a connection that hangs is dropped after twice that
            "visibility_timeout": 4 * settings.scoring_seconds,
            # kombu looks for unacknowledged messages only every 100 s by default
            "unacked_restore_interval": 5,
            "unacked_restore_throttle": 1,
        },
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        task_ignore_result=True,
        task_default_queue="live",
        task_time_limit=2 * settings.scoring_seconds,
        worker_prefetch_multiplier=1,
        worker_hijack_root_logger=False,
        beat_schedule={
            "sweep": {
                "task": Job.SWEEP.value,
                "schedule": settings.sweep_seconds,
                "options": {"expires": settings.sweep_seconds},
            }
        },
    )
    return celery


@dataclass(slots=True)
class Doorbell:
    """Rings in a thread of its own, so that a stopped broker holds nobody up."""

    celery: Celery
    waiting: queue.Queue[Job] = field(default_factory=lambda: queue.Queue(MOST_WAITING))
    lock: threading.Lock = field(default_factory=threading.Lock)
    process: int | None = None

    def ring(self, job: Job = Job.EVALUATE) -> None:
        """Wake a worker, soon; never waits and never fails."""
        self._start()
        try:
            self.waiting.put_nowait(job)
        except queue.Full:
            log.warning("ring dropped", job=job)

    def flush(self, longest: float) -> None:
        """Wait until all rings have been sent, at most `longest` seconds: for programs that end right after."""
        end = time.monotonic() + longest
        while self.waiting.unfinished_tasks and time.monotonic() < end:
            time.sleep(0.05)

    def _start(self) -> None:
        """A thread does not survive a fork, so each process starts its own."""
        with self.lock:
            if self.process != os.getpid():
                self.process = os.getpid()
                self.waiting = queue.Queue(MOST_WAITING)
                threading.Thread(
                    target=self._serve, args=(self.waiting,), daemon=True, name="doorbell"
                ).start()

    def _serve(self, waiting: "queue.Queue[Job]") -> None:
        while True:
            self._send(waiting.get())
            waiting.task_done()

    def _send(self, job: Job) -> None:
        try:
            self.celery.send_task(job.value, retry=False)
        except Exception as error:  # noqa: BLE001 - whatever the broker's client raises, the sweeper rings again
            log.warning("ring failed", job=job, error=str(error))
