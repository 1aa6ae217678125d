"""A running installation with data is migrated to a newer schema, and versions check their schema."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest
from sqlalchemy import create_engine

from app.core.settings import Settings
from app.models import Base
from app.operations import migrating
from app.operations.migrating import START_AFRESH, MigrationError, migrate
from app.operations.processes import environment_of
from tests.later_versions import EXAMPLE, later_version
from tests.system.every_table import fill_empty_tables
from tests.system.installations import LONGEST, Client, Installation, installation
from tests.system.kits import results, small_kit
from tests.system.servers import OwnServers, eventually, plain

pytestmark = [pytest.mark.slow, pytest.mark.system]

PHASE = "older/test"


@dataclass(frozen=True, slots=True)
class Site:
    """An installation of this version with scored results, whose web server and worker keep running."""

    running: Installation
    address: str
    person: Client
    later: Path  # a checkout of a later version

    def later_command(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run the later version's `heldout-server`."""
        variables = {
            **environment_of(self.running.settings, without=set()),
            "PYTHONPATH": str(self.later),
            "PYTHONDONTWRITEBYTECODE": "",
            "PYTHONPYCACHEPREFIX": str(self.running.servers.data / "bytecode"),
        }
        command = [sys.executable, "-m", "app", *words]
        return subprocess.run(
            command,
            cwd=self.later,
            env=variables,
            capture_output=True,
            text=True,
            timeout=LONGEST,
            check=False,
        )

    def counts(self) -> dict[str, int]:
        """The number of rows in each table."""
        tables = self.running.ask("SELECT relname FROM pg_stat_user_tables WHERE schemaname = 'public'")
        return {name: self.running.ask(f"SELECT count(*) FROM {name}")[0][0] for (name,) in tables}

    def contents(self) -> dict[str, list[dict[str, Any]]]:
        """The rows of each table in this version's models."""
        return {
            name: [row for (row,) in self.running.ask(f'SELECT to_jsonb(one) FROM "{name}" one')]
            for name in Base.metadata.tables
        }

    def ready(self) -> tuple[int, str]:
        response = httpx2.get(f"{self.address}/ready", timeout=LONGEST)
        return response.status_code, response.text


@pytest.fixture(scope="module")
def later(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return later_version(tmp_path_factory.mktemp("later") / "later", EXAMPLE.read_text())


@pytest.fixture(scope="module")
def site(own_servers: OwnServers, later: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("older")
    with installation(own_servers) as running:
        running.start_worker()
        address = running.start_web()
        running.load(small_kit(folder), "older")
        person = running.participant(address, "Ash")
        person.final(person.submit(PHASE, results(cat=5, dog=5), "Before"))
        yield Site(running, address, person, later)


@pytest.fixture(scope="module")
def older(own_servers: OwnServers, later: Path) -> Iterator[Site]:
    """A site without running processes that no test migrates."""
    with installation(own_servers) as running:
        yield Site(running, "", running.client(""), later)


@pytest.mark.parametrize("part", ["serve", "worker", "beat"])
def test_a_later_version_does_not_start_on_the_older_schema(older: Site, part: str) -> None:
    done = older.later_command(part)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.strip() == (
        "the database has the schema of an older version; run `heldout-server migrate`"
    )


@dataclass(slots=True)
class Sender:
    """A participant who submits results continuously and reads the board in between."""

    person: Client
    stop: threading.Event = field(default_factory=threading.Event)
    sent: list[int] = field(default_factory=list)
    errors: list[Any] = field(default_factory=list)

    def run(self) -> None:
        while not self.stop.is_set():
            number = len(self.sent) % 9 + 1
            try:
                self.sent.append(
                    self.person.submit(PHASE, results(cat=number, dog=number), f"Meanwhile {len(self.sent)}")
                )
                self.person.board(PHASE)
            except (AssertionError, httpx2.HTTPError) as error:
                self.errors.append(error)
                return


def test_both_versions_keep_working_while_the_schema_is_expanded(
    site: Site,
) -> None:
    before = site.counts()
    sender = Sender(site.person)
    thread = threading.Thread(target=sender.run)
    with psycopg.connect(plain(str(site.running.settings.database_url))) as reader:
        reader.execute("SELECT FROM run")  # a long transaction that a migration of this table has to wait for
        thread.start()
        assert eventually(lambda: len(sender.sent) > 0)
        release = threading.Timer(2.5, reader.commit)
        release.start()
        done = site.later_command("migrate")
        release.join()
    sent = len(sender.sent)
    assert eventually(lambda: len(sender.sent) > sent or bool(sender.errors))
    sender.stop.set()
    thread.join()

    assert (done.returncode, sender.errors) == (0, []), done.stderr
    assert {site.person.final(each)["results"][0]["state"] for each in sender.sent} == {"scored"}
    assert site.running.ask("SELECT FROM run WHERE attempt > 1") == []
    after = site.counts()
    assert {name for name, count in before.items() if after[name] < count and name != "job"} == set()
    assert site.running.ask("SELECT indisvalid FROM pg_index WHERE indexrelid = 'ix_run_note'::regclass") == [
        (True,)
    ]
    expected = {f"Meanwhile {each}": (each % 9 + 1) / 10 for each in range(len(sender.sent))}
    assert eventually(lambda: bool(site.person.means(PHASE) == pytest.approx({"Before": 0.5, **expected})))
    assert site.ready()[0] == 200
    assert site.later_command("admin-link").returncode == 0
    assert site.running.command("admin-link").returncode == 0


def test_rows_of_every_table_survive_the_migrations_of_a_later_version(
    own_servers: OwnServers, later: Path
) -> None:
    with installation(own_servers) as running:
        site = Site(running, "", running.client(""), later)
        engine = create_engine(str(running.settings.migration_database_url))
        with engine.begin() as connection:
            fill_empty_tables(connection)
        engine.dispose()
        before = site.contents()
        done = site.later_command("migrate")
        after = site.contents()

    assert done.returncode == 0, done.stderr
    assert {name for name, rows in before.items() if not rows} == set()
    known = {name: [*rows[0]] for name, rows in before.items()}
    assert before == {
        name: [{column: row.get(column) for column in known[name]} for row in rows]
        for name, rows in after.items()
    }


def test_a_migration_that_cannot_get_its_lock_changes_nothing_and_says_so(
    own_servers: OwnServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = own_servers.owners_url(own_servers.fresh_database())
    migrate(Settings(database_url=url))
    monkeypatch.setattr(migrating, "ATTEMPTS", 1)
    monkeypatch.setattr(migrating, "PAUSE", 0.0)
    with psycopg.connect(plain(url)) as other:
        other.execute("LOCK TABLE alembic_version IN ACCESS EXCLUSIVE MODE")

        with pytest.raises(
            MigrationError, match="another transaction held the lock of a table in 1 attempts"
        ):
            migrate(Settings(database_url=url))

    own_servers.drop_database(url)


def test_older_versions_refuse_a_schema_that_was_contracted(own_servers: OwnServers, later: Path) -> None:
    with installation(own_servers) as running:
        address = running.start_web()
        site = Site(running, address, running.client(address), later)
        running.ask("UPDATE alembic_version SET version_num = 'c0ffee'")
        before = site.ready()[0], running.command("admin-link").returncode
        running.ask("ALTER TABLE run DROP COLUMN plain_receipt")

        status, words = site.ready()
        refused = running.command("worker")

    sentence = (
        f"the data was written by another version of heldout (run.plain_receipt is missing); {START_AFRESH}"
    )
    assert before == (200, 0)
    assert (status, sentence in words) == (503, True)
    assert (refused.returncode, refused.stderr.strip()) == (1, sentence)
