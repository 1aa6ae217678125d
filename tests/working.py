"""Workers in a test's own process."""

from collections.abc import Callable, Mapping
from typing import Any

from app.jobs import attempts
from app.jobs.attempts import Handlers, on_payload
from app.models import JobKind, Queue
from app.platform import Platform
from worker.handlers import HANDLERS


def do_all(platform: Platform, *queues: Queue, handlers: Handlers = HANDLERS) -> None:
    """Do all jobs of these queues that are due, or of all but that of runs."""
    for queue in queues or (Queue.MAIL, Queue.WEBHOOKS, Queue.ORGANISING, Queue.FOLLOW_UPS):
        while attempts.do_next(platform, queue, handlers):
            pass


def handling(kind: JobKind, work: Callable[[Platform, Mapping[str, Any]], None]) -> Handlers:
    """What workers do with jobs of one kind, in place of what they do."""
    return {**HANDLERS, kind: on_payload(work)}
