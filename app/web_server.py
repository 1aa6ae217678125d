"""The web server as a command: one process, or several that share a socket."""

import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace

from rich.console import Console

from app.processes import counted_together, web_child, web_command, web_environment
from app.serving import listen
from app.settings import Settings
from app.supervisor import interrupted_by_signals, supervised


def serve(settings: Settings, console: Console) -> None:
    """Serve until a signal; several processes are started again when they die.

    Raises ListenError.
    """
    listener = listen(settings)
    if settings.web_processes == 1:
        listener.set_inheritable(True)
        known = web_environment(settings)
        os.execve(sys.executable, web_command(listener), known)  # noqa: S606 - becomes that process
    report: Callable[[str], None] = console.print
    try:
        with (
            interrupted_by_signals(),
            counted_together(settings) as counting,
            supervised(report) as processes,
        ):
            for number in range(1, settings.web_processes + 1):
                child = web_child(settings, listener, f"web-{number}", counting)
                processes.start(replace(child, log=None), lambda: True)
            signal.pause()
    except KeyboardInterrupt:
        return
