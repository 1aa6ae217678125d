"""Ways to pause scoring at a known point so that a test can break it there."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from app.storage import digest_of, owner_of
from tests.system.installations import Installation
from tests.system.servers import plain


@dataclass(slots=True)
class Pipe:
    """A named pipe in place of a file that a child needs, which makes the child wait for the bytes."""

    path: Path
    aside: Path
    end: int

    def put_back(self) -> None:
        """Restore the file for new readers; those already waiting keep waiting."""
        self.aside.replace(self.path)

    def deliver(self) -> None:
        """Give the content to the waiting reader."""
        os.write(self.end, self.path.read_bytes())
        os.close(self.end)
        self.end = -1


@contextmanager
def in_a_pipe(file: Path) -> Iterator[Pipe]:
    """Make readers of this ground truth or description wait until the end of the block, which restores it."""
    aside = file.rename(file.with_suffix(".aside"))
    os.mkfifo(file)
    # opened for reading and writing, so that readers wait for bytes and not for a writer
    pipe = Pipe(file, aside, os.open(file, os.O_RDWR))
    try:
        yield pipe
    finally:
        if aside.exists():
            pipe.put_back()
        if pipe.end != -1:
            os.close(pipe.end)


@contextmanager
def away(file: Path) -> Iterator[None]:
    """Move a ground truth away, as if its storage were unavailable."""
    aside = file.rename(file.with_suffix(".aside"))
    try:
        yield
    finally:
        aside.replace(file)


@contextmanager
def broken(running: Installation, phase: str) -> Iterator[None]:
    """Store something that is not ground truth under a correct hash, so that scoring crashes."""
    right = digest_of(running.truth(phase).name)
    public_id = owner_of(running.truth(phase).name)
    wrong = digest_of(running.platform.truths.put(b"no ground truth", public_id))
    change = "UPDATE ground_truth SET fingerprint = %s WHERE public_id = %s"
    running.ask(change, wrong, public_id)
    try:
        yield
    finally:
        running.ask(change, right, public_id)


@contextmanager
def run_locked(running: Installation) -> Iterator[Callable[[int], None]]:
    """Lock queued runs so that no worker claims them until the end of the block."""
    with psycopg.connect(plain(str(running.settings.database_url))) as connection:

        def lock(run: int) -> None:
            statement = "SELECT 1 FROM run WHERE id = %s AND state = 'queued' FOR UPDATE NOWAIT"
            assert connection.execute(statement, (run,)).fetchone()

        yield lock
