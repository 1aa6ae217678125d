"""What Docker Compose makes of docker-compose.yml, without an engine."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.shared import ROOT

COMPOSE = Path(sys.executable).with_name("docker-compose")


def configuration() -> dict[str, Any]:
    """The file with everything put in its place: what is inherited, and the defaults of variables."""
    if not COMPOSE.exists():
        pytest.skip("Docker Compose has no program for this machine")
    done = subprocess.run(
        [COMPOSE, "config", "--format", "json"],
        cwd=ROOT,
        env={"PATH": os.defpath, "HOME": os.defpath},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found
