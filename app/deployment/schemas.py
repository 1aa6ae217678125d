"""What is found of a deployment, and what is said about it."""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path


class Part(StrEnum):
    """Whose settings are checked."""

    WEB = "web"
    WORKER = "worker"


class State(StrEnum):
    """The outcome of a check."""

    OK = "ok"
    FAILED = "failed"
    SKIPPED = "not checked"


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the table; advice: what to do about a failure; listed: what stands below the table, a line each."""

    name: str
    state: State
    finding: str
    advice: str = ""
    listed: tuple[str, ...] = ()


def passed(name: str, finding: str) -> Check:
    """A check that found what is expected."""
    return Check(name, State.OK, finding)


def failed(name: str, finding: str, advice: str, listed: tuple[str, ...] = ()) -> Check:
    """A check that found a fault, and what to do about it."""
    return Check(name, State.FAILED, finding, advice, listed)


def skipped(name: str, reason: str) -> Check:
    """A check that could not be made."""
    return Check(name, State.SKIPPED, reason)


@dataclass(frozen=True, slots=True)
class Role:
    """What the application's role may do in the database."""

    name: str
    is_superuser: bool
    may_manage: bool  # make roles or databases, replicate, or pass row security
    owned_tables: int  # by itself, or by a role that it belongs to
    may_create: bool  # tables in the schema
    may_rewrite: tuple[str, ...]  # tables of history whose rows it may change or delete


@dataclass(frozen=True, slots=True)
class Broker:
    """How the broker treats what it holds when its memory is full."""

    policy: str  # of eviction, as Redis and Valkey name it
    limit: int  # bytes; 0 for none


@dataclass(frozen=True, slots=True)
class WebSecrets:
    """What a web process knows or reaches that it should not."""

    variables: tuple[str, ...]
    folder: Path | None = None  # where ground truth lies, and this user can read
    bucket: str | None = None  # which its keys open, though ground truth is in it


@dataclass(frozen=True, slots=True)
class Truths:
    """What a worker finds of ground truth: how many the database names, and which of them are not there."""

    named: int
    missing: tuple[str, ...] = ()
    error: str | None = None  # why the store cannot be used
    exposure: str | None = None  # how others can read it


@dataclass(frozen=True, slots=True)
class Disk:
    """The free bytes of the disk of a folder."""

    folder: Path
    free: int


@dataclass(frozen=True, slots=True)
class SecretFile:
    """A file that holds a secret, with its permission bits; is_reachable: by other users of this machine."""

    path: Path
    mode: int
    is_reachable: bool


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret of the settings; its text is in no message."""

    variable: str
    text: str = field(repr=False)
    user: str | None = None  # whose it is
    file: SecretFile | None = None


@dataclass(frozen=True, slots=True)
class Address:
    """How people reach the server."""

    url: str
    proxies: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mail:
    """How mail leaves; error: why the mail server cannot be used."""

    host: str | None
    sender: str
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Announced:
    """What answered the announcement of the largest archive: a status, nothing in time, or why there was no answer."""

    status: int | None = None
    error: str | None = None
