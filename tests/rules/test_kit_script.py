"""The command that a development kit's README proposes states all that a competition asks for, whatever its task and its training data."""

import json
import os
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from app.challenges.kit_readme import KitPhase, submit_script, submitting
from app.submissions.methods import Training, training_refusals
from heldout_scoring.competitions import competition_of
from tests.pages.views import PHASE

VOC = "VOC2012"
CURL = """#!/bin/sh
while [ $# -gt 0 ]; do
    case $1 in -o) answer=$2; shift ;; -d) printf %s "$2" > sent.json; shift ;; esac
    shift
done
printf '{"id":"7f","valid":true,"problems":[]}' > "$answer"
printf 201
"""


def submitted(folder: Path, command: str) -> tuple[str, Training]:
    """Run a command beside the script with a curl that keeps what it sends; return what is said, and the statement that was sent."""
    (folder / "curl").write_text(CURL)
    (folder / "curl").chmod(0o755)
    (folder / "submit.sh").write_text(submit_script("https://voc.example.org", "birds"))
    there = {"PATH": f"{folder}:{os.defpath}", "HELDOUT_TOKEN": "x"}
    done = subprocess.run(
        ["sh", "-c", command], cwd=folder, env=there, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    sent = json.loads((folder / "sent.json").read_text())
    return done.stdout, Training.model_validate(sent["training"])


@pytest.mark.parametrize("number", range(1, 11))
def test_the_proposed_command_leaves_no_statement_out(tmp_path: Path, number: int) -> None:
    info = competition_of(VOC, number)
    phase = KitPhase(replace(PHASE, dataset=VOC), (info,), has_examples=True, has_annotation=False)
    block = next(each for each in submitting((phase,)) if each.startswith("```sh"))

    said, training = submitted(tmp_path, block.splitlines()[1])

    assert training_refusals(training, [info]) == ()
    assert said.endswith("Submitted. The score will be at https://voc.example.org/submissions/7f\n")


def test_other_data_is_named_as_it_is_written(tmp_path: Path) -> None:
    data = 'ImageNet "21k", C:\\own'

    _, training = submitted(tmp_path, f"OTHER_DATA={shlex.quote(data)} sh submit.sh a.zip val 4 M")

    assert training == Training(other_data=data, no_excluded_data=True)
