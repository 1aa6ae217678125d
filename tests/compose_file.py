"""What Docker Compose makes of docker-compose.yml, without an engine."""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import pytest

from tests.shared import ROOT

COMPOSE = Path(sys.executable).with_name("docker-compose")


def configuration(settings: str = "") -> dict[str, Any]:
    """The file with everything put in its place: what is inherited, and variables, which `settings` has in place of `.env`.

    A variable that Compose would not give to a service is left out.
    """
    found: dict[str, Any] = json.loads(_configuration(settings))
    for service in found["services"].values():
        given = service.get("environment", {})
        service["environment"] = {name: value for name, value in given.items() if value is not None}
    return found


@cache
def _configuration(settings: str) -> str:
    if not COMPOSE.exists():
        pytest.skip("Docker Compose has no program for this machine")
    with NamedTemporaryFile("w", encoding="utf-8") as file:
        file.write(settings)
        file.flush()
        done = subprocess.run(
            [COMPOSE, "--env-file", file.name, "config", "--format", "json"],
            cwd=ROOT,
            env={"PATH": os.defpath, "HOME": os.defpath},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    return done.stdout
