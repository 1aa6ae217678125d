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
    assert len(differences) == 6
    assert max(differences) < 1e-12
    assert "not run" not in done.stdout


def test_what_a_peer_s_program_imports_is_named_among_the_peers() -> None:
    root = Path(__file__).parents[2] / "benchmarks"
    named = re.findall(r"^[\w-]+", (root / "requirements.txt").read_text(), re.MULTILINE)

    assert "pillow" in named  # pixel_loop.py, which the peers' Python runs for scikit-learn
    assert "from PIL import Image" in (root / "programs" / "pixel_loop.py").read_text()
