"""Keeping what a worker has claimed for as long as it works on it, and no longer."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import structlog
from sqlalchemy.exc import SQLAlchemyError

log = structlog.get_logger()


@contextmanager
def extended(extend: Callable[[], bool], lease: timedelta, what: str) -> Iterator[None]:
    """Extend a lease while the block runs, from a thread: three times in its length, until `extend` says that it was lost."""
    done = threading.Event()

    def beat() -> None:
        while not done.wait(lease.total_seconds() / 3):
            try:
                is_held = extend()
            except SQLAlchemyError:
                log.warning("heartbeat failed", of=what)
                continue
            if not is_held:
                return

    thread = threading.Thread(target=beat, name=f"heartbeat of {what}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
