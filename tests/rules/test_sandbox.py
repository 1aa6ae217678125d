"""Child processes start even if the fork server dies."""

import subprocess
import sys
from pathlib import Path

from tests.shared import ROOT

PROGRAM = """
import base64, os, signal, sys, threading
from multiprocessing import forkserver
from app.jobs.sandbox import ChildLimits, run_in_subprocess, warm_up

if __name__ == "__main__":
    warm_up()
    server = forkserver._forkserver._forkserver_pid
    os.kill(server, signal.SIGSTOP)  # it accepts the connection but does not answer
    threading.Timer(0.3, os.kill, (server, signal.SIGKILL)).start()
    sys.stdout.buffer.write(run_in_subprocess(ChildLimits(seconds=60, memory=8 << 30), base64.b64encode, b"done"))
"""


def test_a_child_starts_even_if_the_fork_server_is_killed_meanwhile(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)

    done = subprocess.run(
        [sys.executable, program], cwd=ROOT, env={"PYTHONPATH": str(ROOT)}, capture_output=True, check=False
    )

    assert done.stdout.endswith(b"ZG9uZQ=="), done.stderr.decode()
