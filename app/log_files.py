"""Log files of children: appended to by the children, kept short by their supervisor."""

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import IO

LINES_SHOWN = 5


@dataclass(frozen=True, slots=True)
class LogLimit:
    """How long a log may grow, and how often that is looked at."""

    max_bytes: int = 10 << 20
    interval: timedelta = timedelta(seconds=30)


@contextmanager
def appended(log: Path | None) -> Iterator[IO[bytes] | None]:
    """A log, opened for appending and made if there is none; none where there is no log."""
    if log is None:
        yield None
        return
    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with log.open("ab") as file:
        yield file


def last_lines(log: Path | None, start: int) -> str:
    """The last lines behind a byte offset, each on a line of its own; empty where there are none."""
    if log is None or not log.exists():
        return ""
    with log.open(encoding="utf-8", errors="replace") as file:
        file.seek(start)
        lines = file.read().splitlines()[-LINES_SHOWN:]
    return f"; the end of {log}:\n    " + "\n    ".join(lines) if lines else ""


def keep_short(logs: Callable[[], Iterable[Path]], limit: LogLimit, stopping: threading.Event) -> None:
    """Look after logs until `stopping` is set."""
    while not stopping.wait(limit.interval.total_seconds()):
        for log in logs():
            shorten(log, limit.max_bytes)


def shorten(log: Path, max_bytes: int) -> None:
    """Move the end of a log that is too long to a file beside it, which is replaced, and empty the log.

    It is emptied in place, because its writers keep it open; what they write in that moment can be lost.
    """
    if not log.exists() or log.stat().st_size <= max_bytes:
        return
    with log.open("r+b") as file:
        file.seek(-max_bytes, os.SEEK_END)
        log.with_name(f"{log.name}.1").write_bytes(file.read(max_bytes))
        file.truncate(0)
