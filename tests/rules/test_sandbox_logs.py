"""A child process logs lines of JSON that name the request or run it works for."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAM = """
import sys
from pathlib import Path
from structlog.contextvars import bound_contextvars
from app.jobs import sandbox
from app.jobs.sandbox import ChildError, ChildLimits, run_in_subprocess

if __name__ == "__main__":
    limits, nowhere = ChildLimits(seconds=60, memory=8 << 30), Path("nowhere")
    with bound_contextvars(run=7, attempt=2):
        for work in ((sandbox.groups, ((1, b"no replicates"),)), (sandbox.check, nowhere, "a.zip", nowhere, None)):
            try:
                run_in_subprocess(limits, *work)
            except ChildError as error:
                sys.stdout.write(f"{error}\\n")
"""


@pytest.mark.sampled
def test_a_failed_child_logs_the_reason_and_the_run(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    root = Path(__file__).parents[2]

    done = subprocess.run(
        [sys.executable, program],
        cwd=root,
        env={"PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=True,
    )

    lines: list[dict[str, Any]] = [json.loads(line) for line in done.stderr.splitlines()]
    crashed, without_file = lines
    assert [(line["run"], line["attempt"]) for line in lines] == [(7, 2), (7, 2)]
    assert (crashed["event"], crashed["child"]) == ("child crashed", "groups")
    assert crashed["exception"][-1]["exc_type"] == "ForeignFileError"
    assert "locals" not in crashed["exception"][-1]["frames"][-1]
    assert (without_file["event"], without_file["child"]) == ("child could not use a file", "check")
    assert "nowhere" in without_file["error"]
    assert done.stdout.splitlines() == [
        "the child process ended with code 1",
        "a file could not be read or written: No such file or directory",
    ]
