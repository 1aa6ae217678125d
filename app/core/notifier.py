"""Messages that wake workers; the job rows in the database say what there is to do."""

import os
import threading
from dataclasses import dataclass, field
from queue import Full
from queue import Queue as Pending

import structlog
from celery import Celery
from kombu import Queue as BrokerQueue

import heldout_scoring
from app.core.settings import Settings
from app.models import Queue

log = structlog.get_logger()

MAX_PENDING = 1000  # messages that wait for a slow broker; more are dropped, and the sweeper sends new ones
MAX_AGE = 3600  # seconds after which a message that no worker has received is dropped


TASK = "work"  # the only task: do the next job
ANY = (
    Queue.RUNS.value
)  # the argument of the task: workers of the release before take a job of this queue only


def celery_of(settings: Settings) -> Celery:
    """Return the Celery application that web processes and workers share."""
    celery = Celery("heldout", broker=settings.broker_url)
    celery.conf.update(
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_connection_timeout=2,
        broker_pool_limit=2,
        broker_transport_options={
            "socket_timeout": 2,
            "socket_connect_timeout": 2,
            "health_check_interval": 5,  # a hanging connection is dropped after twice that
            "visibility_timeout": 4 * settings.scoring_seconds,
            # kombu looks for unacknowledged messages only every 100 s by default
            "unacked_restore_interval": 5,
            "unacked_restore_throttle": 1,
        },
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        task_ignore_result=True,
        task_queues=[BrokerQueue(worker_queue(heldout_scoring.SCORER))],
        task_default_queue=worker_queue(heldout_scoring.SCORER),
        task_time_limit=2 * settings.scoring_seconds,
        worker_prefetch_multiplier=1,
        # workers would listen for commands on a connection without read timeouts; when it went silent, they hung forever
        worker_enable_remote_control=False,
        worker_hijack_root_logger=False,
    )
    return celery


def worker_queue(scorer: str) -> str:
    """The broker queue for workers with this scorer version, so that workers with another one do not receive its messages."""
    return f"runs-{scorer}"


@dataclass(slots=True)
class Notifier:
    """Sends messages from its own thread, so that a stopped broker does not block callers.

    A message is the scorer version of the workers that should look at the job table.
    """

    celery: Celery
    pending: Pending[str] = field(default_factory=lambda: Pending(MAX_PENDING))
    lock: threading.Lock = field(default_factory=threading.Lock)
    process: int | None = None

    def wake_workers(self, *, count: int = 1, scorer: str = heldout_scoring.SCORER) -> None:
        """Wake up to `count` workers in the background; never blocks and never raises."""
        self._start()
        try:
            for _ in range(count):
                self.pending.put_nowait(scorer)
        except Full:
            log.warning("notification dropped", scorer=scorer)

    def flush(self, timeout: float) -> None:
        """Wait at most `timeout` seconds until all messages are sent, for programs that exit right after."""
        with self.pending.all_tasks_done:
            self.pending.all_tasks_done.wait_for(lambda: not self.pending.unfinished_tasks, timeout)

    def _start(self) -> None:
        """Start the thread of this process: threads do not survive a fork."""
        with self.lock:
            if self.process != os.getpid():
                self.process = os.getpid()
                self.pending = Pending(MAX_PENDING)
                threading.Thread(
                    target=self._serve, args=(self.pending,), daemon=True, name="notifier"
                ).start()

    def _serve(self, pending: Pending[str]) -> None:
        while True:
            self._send(pending.get())
            pending.task_done()

    def _send(self, scorer: str) -> None:
        try:
            self.celery.send_task(
                TASK,
                args=(ANY,),
                queue=worker_queue(scorer),
                expires=MAX_AGE,
                retry=False,
            )
        except Exception as error:  # noqa: BLE001 - whatever the broker's client raises, the sweeper will notify again
            log.warning("notification failed", scorer=scorer, error=str(error))
