"""PostgreSQL and Valkey for `make run`, from the programs in two wheels."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from app.data_folder import EMBEDDED_DATABASE, exclusive, load_secrets, os_errors_explained
from app.embedded.postgres import NAME, OWNER, create_cluster, start_postgres
from app.embedded.programs import HOST
from app.embedded.valkey import start_valkey
from app.settings import Settings
from app.supervisor import Supervisor, supervised


@dataclass(frozen=True, slots=True, repr=False)  # without a repr no password gets into a log
class Servers:
    """The addresses of running servers, and their processes "postgres" and "valkey"."""

    database_url: str
    migration_database_url: str  # with the role that owns the tables
    broker_url: str
    processes: Supervisor

    def applied_to(self, settings: Settings) -> Settings:
        """The settings with these addresses, and with a private storage in the data folder if none is set."""
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
    """Run PostgreSQL and Valkey on a data folder, which is created if there is none, until the end of the block.

    Both listen on free ports of 127.0.0.1, ask for a password, and are restarted when they die. Raises
    InstallationError, NotReadyError or psycopg.Error if they cannot be started.
    """
    with ExitStack() as stack:
        with os_errors_explained(data):
            lock = stack.enter_context(exclusive(data))
            secrets = load_secrets(data)
            processes = stack.enter_context(supervised(report))
            cluster = data / EMBEDDED_DATABASE
            if not cluster.exists():
                report(f"making a database in {cluster}")
                create_cluster(cluster, secrets.superuser)
            report("starting PostgreSQL")
            postgres = start_postgres(data, lock, secrets, processes)
            report("starting Valkey")
            valkey = start_valkey(data, lock, secrets.broker, processes)
        place = f"{HOST}:{postgres}/{NAME}?sslmode=disable"
        yield Servers(
            f"postgresql+psycopg://{NAME}:{secrets.database}@{place}",
            f"postgresql+psycopg://{OWNER}:{secrets.owner}@{place}",
            f"redis://:{secrets.broker}@{HOST}:{valkey}/0",
            processes,
        )
