"""`python -m tests.nemesis --minutes 10 --seed 1`: break an installation at random and check the outcome."""

import argparse
import sys
import tempfile
from pathlib import Path

from app.operations.embedded import embedded_servers
from app.operations.supervisor import interrupted_by_signals
from tests.nemesis.checker import figures, violations
from tests.nemesis.history import HISTORY, History
from tests.nemesis.night import Night
from tests.nemesis.site import Store, site
from tests.system.servers import OwnServers

KEPT = Path("build/nemesis")


def broken_night(
    servers: OwnServers, folder: Path, seed: int, seconds: float, store: Store = Store.FOLDER
) -> tuple[History, list[str]]:
    """The history of a night and its violations."""
    with site(servers, store) as running:
        history = Night(running, folder, seed, seconds).run()
        found = violations(history)
        sys.stdout.write(figures(history) + "\n")
        if found:
            keep(history, running.running.settings.data / "logs", KEPT / str(seed))
    return history, found


def keep(history: History, logs: Path, folder: Path) -> None:
    """Store a history and the logs of the processes, to find the cause of a violation."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "history.json").write_bytes(HISTORY.dump_json(history, indent=1))
    for log in logs.glob("*.log"):
        (folder / log.name).write_bytes(log.read_bytes())


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.nemesis")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--store", type=Store, choices=list(Store), default=Store.FOLDER, help="where archives are"
    )
    parser.add_argument("--check", type=Path, help="check a history that was kept, and break nothing")
    options = parser.parse_args()
    if options.check:
        found = violations(HISTORY.validate_json(options.check.read_bytes()))
    else:
        with (
            interrupted_by_signals(),
            tempfile.TemporaryDirectory(prefix="heldout nemesis ") as folder,
            embedded_servers(Path(folder, "data"), report=print) as urls,
        ):
            servers = OwnServers(Path(folder, "data"), urls)
            kits = Path(folder, "kits")
            kits.mkdir()
            _, found = broken_night(servers, kits, options.seed, options.minutes * 60, options.store)
    sys.stdout.write("\n".join(found or ["nothing is wrong"]) + "\n")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
