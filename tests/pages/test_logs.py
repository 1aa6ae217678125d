"""Logs contain no personal data or secrets, and writing them never fails."""

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy.exc import IntegrityError

from app.core.logs import processors
from app.models import User
from app.platform import Platform
from tests.pages.conftest import Browser
from tests.pages.test_accounts import registered
from tests.shared import ROOT


def logged(**event: Any) -> str:
    """An event as it is written to the log."""
    written: Any = event
    for process in processors():
        written = process(None, "error", written)
    return json.dumps(written)


def refusal_of(platform: Platform) -> IntegrityError:
    try:
        with platform.transaction() as session:
            taken = {"email": "willow.tree@example.org", "name": "Willow", "verified_at": datetime.now(UTC)}
            session.add_all([User(**taken), User(**taken)])
    except IntegrityError as error:
        return error
    raise AssertionError("the row was accepted")


def test_a_database_error_is_logged_without_addresses_or_values(platform: Platform, browser: Browser) -> None:
    registered(browser(), "willow.tree@example.org")
    error = refusal_of(platform)
    assert "willow" in str(error)  # PostgreSQL repeats it

    for line in (
        logged(event="unhandled error", exc_info=error),
        logged(event="sweep failed", error=str(error)),
    ):
        assert "uq_user_account_email" in line
        assert "willow" not in line
        assert "example.org" not in line


def test_addresses_and_secrets_in_any_field_are_masked() -> None:
    line = logged(
        event="x", path="/grant?to=willow.tree@example.org", url="postgresql://me:secret@db/heldout"
    )

    assert "willow" not in line
    assert "secret" not in line


def test_a_program_continues_if_its_log_cannot_be_written() -> None:
    program = "import structlog; from app.core import logs; logs.configure(); structlog.get_logger().info('confirmed'); print('went on')"
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=full,
            text=True,
            check=False,
        )

    assert done.stdout == "went on\n"


MANY_EVENTS = """
import structlog
from app.core import logs
logs.configure()
for number in range(2000):
    structlog.get_logger().info("claimed", number=number, text="x" * 100)
"""


def test_processes_that_share_a_log_do_not_mix_their_lines(tmp_path: Path) -> None:
    log = tmp_path / "shared.log"
    with log.open("ab") as file:
        writers = [
            subprocess.Popen([sys.executable, "-u", "-c", MANY_EVENTS], cwd=ROOT, stderr=file)
            for _ in range(3)
        ]
        assert [each.wait() for each in writers] == [0, 0, 0]

    lines = log.read_text().splitlines()

    assert len(lines) == 3 * 2000
    assert {json.loads(line)["event"] for line in lines} == {"claimed"}
