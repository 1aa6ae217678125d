"""The programs that measure speed run, and what they race against comes to the same numbers."""

import re
import subprocess
import sys
from pathlib import Path

from benchmarks.races import RACES


def test_every_race_is_run_and_agrees_with_its_oracle(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--quick", "--folder", str(tmp_path)],
        check=True,
        capture_output=True,
        text=True,
    )

    titles = re.findall(r"^### (\w+)", done.stdout, re.MULTILINE)
    assert {title.lower() for title in titles} == set(RACES)
    differences = [
        float(each) for each in re.findall(r"^Largest difference .*: (\S+)\.$", done.stdout, re.MULTILINE)
    ]
    assert len(differences) == 5
    assert max(differences) < 1e-12
    assert "not run" not in done.stdout
