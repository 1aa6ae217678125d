"""PostgreSQL and Valkey of an installation that brings its own, from the programs in two wheels."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from app.data_folder import DataFolderError, folder_error
from app.embedded.errors import EmbeddedError
from app.embedded.folder import open_folder
from app.embedded.postgres import start_postgres
from app.embedded.valkey import start_valkey
from app.supervisor import NotReadyError, Supervisor, supervised

__all__ = ["EmbeddedError", "Servers", "embedded_servers"]


@dataclass(frozen=True, slots=True, repr=False)  # what is not shown cannot get into a log
class Servers:
    """Where the servers answer."""

    database_url: str
    migration_database_url: str  # with the role that owns the tables
    broker_url: str
    processes: Supervisor = field(compare=False)  # runs "postgres" and "valkey"


@contextmanager
def embedded_servers(data: Path, *, report: Callable[[str], None]) -> Iterator[Servers]:
    """Run PostgreSQL and Valkey on what lies in `data`, which is made if there is nothing.

    Both listen on free ports of 127.0.0.1 and ask for a password; both are started again when they die, and are
    stopped at the end. Raises EmbeddedError when they cannot be had, or when they already run on this folder.
    """
    with ExitStack() as stack:
        with _as_embedded_error(data):
            folder = stack.enter_context(open_folder(data))
            processes = stack.enter_context(supervised(report))
            database = start_postgres(folder, processes, report)
            broker_url = start_valkey(folder, processes, report)
        yield Servers(database.url, database.migration_url, broker_url, processes)


@contextmanager
def _as_embedded_error(data: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise EmbeddedError(folder_error(error, data)) from error
    except (DataFolderError, NotReadyError, psycopg.Error) as error:
        raise EmbeddedError(str(error)) from error
