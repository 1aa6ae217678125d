"""PostgreSQL and Valkey of an installation that brings its own, from the programs in two wheels."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from app.embedded.errors import EmbeddedError
from app.embedded.folder import opened
from app.embedded.postgres import start_postgres
from app.embedded.valkey import start_valkey
from app.supervisor import NotReadyError, Supervisor, supervised

__all__ = ["EmbeddedError", "Servers", "embedded_servers"]


@dataclass(frozen=True, slots=True, repr=False)  # what is not shown cannot get into a log
class Servers:
    """Where the servers answer, and the signing key that was generated with their passwords."""

    database_url: str
    broker_url: str
    secret_key: str
    processes: Supervisor = field(compare=False)  # runs "postgres" and "valkey"


@contextmanager
def embedded_servers(data: Path, *, say: Callable[[str], None]) -> Iterator[Servers]:
    """Run PostgreSQL and Valkey on what lies in `data`, which is made if there is nothing.

    Both listen on free ports of 127.0.0.1 and ask for a password; both are started again when they die, and are
    stopped at the end. Raises EmbeddedError when they cannot be had, or when they already run on this folder.
    """
    with ExitStack() as until_the_end:
        with _told_in_words(data):
            folder = until_the_end.enter_context(opened(data))
            processes = until_the_end.enter_context(supervised(say))
            database_url = start_postgres(folder, processes, say)
            broker_url = start_valkey(folder, processes, say)
        yield Servers(database_url, broker_url, folder.secrets.signing_key, processes)


@contextmanager
def _told_in_words(data: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise EmbeddedError(f"{error.filename or data} cannot be used: {error.strerror or error}") from error
    except (NotReadyError, psycopg.Error) as error:
        raise EmbeddedError(str(error)) from error
