"""Every migration after the first follows the rules in CONTRIBUTING.md, so that it does not block a live site."""

import io
import re
import subprocess
import sys
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from alembic.script import Script, ScriptDirectory

from tests.later_versions import EXAMPLE, FIRST, later_version, migration
from tests.shared import ROOT

SQUAWK = Path(sys.executable).with_name("squawk")
STYLE = {  # squawk's rules about names, types and defaults, one about statements that Alembic runs only once, and one about
    "ban-drop-constraint",  # checks, which the code of no release depends on
    "prefer-text-field", "prefer-bigint-over-int", "prefer-bigint-over-smallint", "prefer-identity",
    "prefer-robust-stmts", "prefer-timestamp-tz", "require-timeout-settings", "transaction-nesting",
    "require-table-schema",
}  # fmt: skip


def problems(checkout: Path) -> dict[str, list[str]]:
    """The rules broken by each migration after the first."""
    scripts = ScriptDirectory(str(checkout / "migrations"))
    return {
        script.revision: broken_rules(checkout, script)
        for script in scripts.walk_revisions()
        if script.down_revision is not None
    }


def broken_rules(checkout: Path, script: Script) -> list[str]:
    sql = sql_of(checkout, f"{script.down_revision}:{script.revision}")
    is_contract = getattr(script.module, "contract", False)  # drops what the previous release no longer uses
    excluded = sorted(STYLE | ({"ban-drop-column", "ban-drop-table"} if is_contract else set()))
    done = subprocess.run(
        [
            SQUAWK,
            "--pg-version=18",
            f"--exclude={','.join(excluded)}",
            "--reporter=gcc",
            "--stdin-filepath=it.sql",
        ],
        input=sql,
        capture_output=True,
        text=True,
        check=False,
    )
    return sorted(set(re.findall(r"(?:error|warning): ([\w-]+)", done.stdout)))


def sql_of(checkout: Path, revisions: str) -> str:
    """The SQL that Alembic would send to the database."""
    written = io.StringIO()
    config = Config(ROOT / "alembic.ini", output_buffer=written)
    config.set_main_option("script_location", str(checkout / "migrations"))
    command.upgrade(config, revisions, sql=True)
    return written.getvalue()


@pytest.fixture(autouse=True)
def _needs_squawk() -> None:
    if not SQUAWK.exists():
        pytest.skip("squawk has no program for this machine")


def test_no_migration_blocks_a_live_site() -> None:
    assert {name: found for name, found in problems(ROOT).items() if found} == {}


@pytest.mark.sampled
def test_the_example_of_an_expansion_follows_the_rules(tmp_path: Path) -> None:
    checkout = later_version(tmp_path / "later", EXAMPLE.read_text())

    assert [found for found in problems(checkout).values() if found] == []
    assert "SET lock_timeout = '2s'" in sql_of(checkout, f"{FIRST}:head")


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("statement", "rule"),
    [
        ('op.create_index("ix", "run", ["receipt"])', "require-concurrent-index-creation"),
        ('op.alter_column("run", "receipt", new_column_name="proof")', "renaming-column"),
        ('op.rename_table("run", "job")', "renaming-table"),
        ('op.drop_column("run", "receipt")', "ban-drop-column"),
        ('op.drop_table("run")', "ban-drop-table"),
        ('op.add_column("run", sa.Column("note", sa.Text(), nullable=False))', "adding-required-field"),
        ('op.alter_column("run", "receipt", nullable=False)', "adding-not-nullable-field"),
        ('op.alter_column("run", "receipt", type_=sa.Integer())', "changing-column-type"),
        ('op.create_check_constraint("short", "run", "length(receipt) < 9")', "constraint-missing-not-valid"),
    ],
)
def test_statements_that_would_block_a_live_site_are_found(tmp_path: Path, statement: str, rule: str) -> None:
    checkout = later_version(tmp_path / "later", migration("b1", statement))

    assert rule in problems(checkout)["b1"]


def test_a_marked_step_may_drop_what_the_previous_release_no_longer_uses(tmp_path: Path) -> None:
    statement = 'op.drop_column("run", "receipt")'
    checkout = later_version(tmp_path / "later", migration("b1", statement, contract=True))

    assert problems(checkout)["b1"] == []
