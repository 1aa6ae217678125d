"""An installation in its own process, for tests that kill it: prints its pids, then waits for a signal."""

import json
import signal
import sys
from datetime import timedelta
from pathlib import Path

from app.operations.embedded import embedded_servers
from app.operations.supervisor import Child, interrupted_by_signals, supervised

DEAF = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.pause()"


def main(data: Path) -> None:
    with (
        interrupted_by_signals(),
        embedded_servers(data, report=_report) as servers,
        supervised(_report) as processes,
    ):
        log = data / "logs" / "test.log"
        web = Child("web", [sys.executable, "-c", DEAF], {}, log, stop_timeout=timedelta(seconds=0.2))
        processes.start(web, lambda: True)
        processes.start(Child("worker", ["sleep", "600"], {}, log), lambda: True)
        pids = [processes.pid("web"), processes.pid("worker")]
        pids += [servers.processes.pid("postgres"), servers.processes.pid("valkey")]
        print(json.dumps({"pids": pids, "database_url": servers.migration_database_url}), flush=True)  # noqa: T201 - a program for tests
        signal.pause()


def _report(line: str) -> None:
    print(line, file=sys.stderr, flush=True)  # noqa: T201 - a program for tests


if __name__ == "__main__":
    main(Path(sys.argv[1]))
