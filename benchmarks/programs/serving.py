"""How every timed program talks to the one that times it: a line asks for a run, a line tells how it went."""

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

Run = Callable[[], Mapping[str, float]]
"""One run, from files to numbers: a value for each class."""


# whatever a library prints from now on is thrown away
_REPLIES = os.fdopen(os.dup(1), "w")
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _peak() -> int:
    """The most memory so far, in bytes; getrusage would count that of the parent, too."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])


def serve(run: Run) -> None:
    """Run once for each line of standard input."""
    for _ in sys.stdin:
        start, busy = time.perf_counter(), time.process_time()
        values = run()
        reply: dict[str, Any] = {
            "seconds": time.perf_counter() - start,
            "processor": time.process_time() - busy,
            "peak": _peak(),
            "values": dict(values),
        }
        print(json.dumps(reply), file=_REPLIES, flush=True)
