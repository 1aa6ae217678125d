"""A helper process of a worker, started again whenever it ends."""

import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress

import structlog

log = structlog.get_logger()

PAUSE = 1.0  # seconds before it is started again
GRACE = 5.0  # seconds between asking it to end and killing it


class RestartingProcess:
    """One process that is started again whenever it ends, until it is stopped.

    Its thread lives as long as the process, which the kernel takes for orphaned when the thread that started it ends.
    """

    def __init__(self) -> None:
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, command: Sequence[str]) -> None:
        """Start the process."""
        self._thread = threading.Thread(
            target=self._restart, args=(command,), name="restarting process", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Stop the process for good."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()

    def _restart(self, command: Sequence[str]) -> None:
        while not self._stopping.is_set():
            try:
                code = self._run(command)
            except OSError as error:
                log.warning("helper process could not be started", error=str(error))
            else:
                if not self._stopping.is_set():
                    log.warning("helper process ended and is started again", exit_code=code)
            self._stopping.wait(PAUSE)

    def _run(self, command: Sequence[str]) -> int:
        with subprocess.Popen(command) as process:
            while not self._stopping.is_set():
                with suppress(subprocess.TimeoutExpired):
                    return process.wait(0.5)
            process.terminate()
            try:
                return process.wait(GRACE)
            except subprocess.TimeoutExpired:
                process.kill()
                return process.wait()
