"""requirements.lock is enough to run a server without developer tools."""

import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.test_library import ALONE, packages_of, plain

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
LOCKED = re.compile(r"^([\w.-]+)==", re.MULTILINE)
IMPORT_ALL = """
import importlib, pkgutil, os
os.environ |= {"HELDOUT_DATABASE_URL": "postgresql://nowhere/heldout", "HELDOUT_BROKER_URL": "redis://nowhere"}
for name in ("app", "sample", "worker"):
    package = importlib.import_module(name)
    for module in pkgutil.walk_packages(package.__path__, f"{name}."):
        importlib.import_module(module.name)
importlib.import_module("kombu.transport.redis")
importlib.import_module("celery.concurrency.prefork")
importlib.import_module("alembic.command")
"""


def locked(name: str) -> set[str]:
    return {plain(each) for each in LOCKED.findall((ROOT / name).read_text())}


def test_a_server_starts_without_developer_tools() -> None:
    there = packages_of(locked("requirements.lock")) | {"app", "sample", "heldout_scoring", "worker"}
    missing = {*importlib.metadata.packages_distributions()} - there

    done = subprocess.run(
        [sys.executable, "-c", ALONE + IMPORT_ALL, ",".join(missing)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert {"pytest", "mypy"} <= missing
    assert (done.returncode, done.stderr) == (0, "")


def test_developers_have_everything_a_server_has() -> None:
    assert locked("requirements.lock") < locked("requirements-dev.lock")


def test_both_lock_files_have_hashes_and_name_no_index() -> None:
    for name in ("requirements.lock", "requirements-dev.lock"):
        text = (ROOT / name).read_text()
        entries = re.split(r"\n(?=[\w.-]+==)", text)[1:]

        assert all("--hash=sha256:" in entry for entry in entries)
        assert "://" not in text
        assert "index-url" not in text.replace("--no-emit-index-url", "")
