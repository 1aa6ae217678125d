"""The command line `heldout-server`.

It has to be named `__main__` because multiprocessing would import any other main program again in each child.
"""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 130  # exit code after Ctrl-C


def main() -> None:
    """Run the command line."""
    with _left_at_once_by_ctrl_c():
        from app.operations.commands import main as run  # noqa: PLC0415 - takes a second, in which Ctrl-C has to work

        if sys.argv[1:2] == ["run"]:
            from app.operations import installation  # noqa: F401, PLC0415 - needed by no other command
    run()


@contextmanager
def _left_at_once_by_ctrl_c() -> Iterator[None]:
    """Let Ctrl-C end the program without a traceback while it is being imported, before anything is started."""
    before = signal.getsignal(signal.SIGINT)
    if before != signal.SIG_IGN:
        signal.signal(signal.SIGINT, _leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _leave(_number: int, _frame: FrameType | None) -> None:
    os.write(sys.stderr.fileno(), b"stopped before anything was started\n")
    # Ctrl-C is the normal end of `run`; after any other exit code make would print an error
    is_run = sys.argv[1:] == ["run"]
    os._exit(os.EX_OK if is_run else INTERRUPTED)


if __name__ == "__main__":
    main()
