"""The watchdog of a worker's process: ends it when a database call does not come back."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import structlog

log = structlog.get_logger()

EXIT_CODE = 75  # temporary failure: what started the process starts another


def _end_process() -> None:
    os._exit(EXIT_CODE)  # no cleaning up: that would wait for the same connection


class Watchdog:
    """Ends this process as soon as a guarded block takes longer than `seconds`.

    A connection whose other end went silent, after a fail-over or behind a firewall, blocks a thread for ever, and
    nothing in Python can interrupt it. What the process worked on is found by its lease.
    """

    def __init__(self, seconds: float, end: Callable[[], None] = _end_process) -> None:
        self._seconds = seconds
        self._end = end
        self._started: dict[object, float] = {}  # guarded blocks, and when each was entered
        threading.Thread(target=self._watch, name="watchdog", daemon=True).start()

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Watch over the block."""
        block = object()
        self._started[block] = time.monotonic()
        try:
            yield
        finally:
            del self._started[block]

    def _watch(self) -> None:
        while True:
            time.sleep(min(1.0, self._seconds / 4))
            oldest = min(list(self._started.values()), default=None)
            if oldest is not None and time.monotonic() - oldest > self._seconds:
                log.critical("process stalled in a database call", seconds=self._seconds)
                self._end()
                return
