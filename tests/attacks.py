"""The corpus of hostile uploads, made once by the generator beside the project."""

import fcntl
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from heldout_scoring import Description, Validation, validate
from tests.shared import SHARED

GENERATOR = SHARED / "attacks" / "make_attacks.py"
CLASSES = (
    "aeroplane bicycle bird boat bottle bus car cat chair cow diningtable dog horse motorbike person pottedplant sheep"
    " sofa train tvmonitor"
)
ACTIONS = "jumping phoning playinginstrument reading ridingbike ridinghorse running takingphoto usingcomputer walking"

ASKED_FOR = {"mixed_competitions": (1,)}
"""An archive may hold results for several competitions; sent to one of them, the others are refused."""

DECIDED = {"missing_half_images_cls": "accept_warn", "txt_empty_class_file_cls": "accept_warn"}
"""Where the corpus leaves the choice: an image without a line is noted, for the kits rank it behind all others."""


@dataclass(frozen=True)
class Upload:
    """One case of the corpus."""

    name: str
    path: Path
    competition: int | None
    expected: str  # accept, accept_warn, reject or bounded
    must_name: list[list[str]]

    def validate(self, phase: Description) -> Validation:
        return validate(self.path, phase, competitions=self.asked_for())

    def asked_for(self) -> tuple[int, ...] | None:
        """The competitions that it is sent to; none: all that it has files for."""
        return (self.competition,) if self.competition else ASKED_FOR.get(self.name)


@pytest.fixture(scope="session")
def attacks(pytestconfig: pytest.Config) -> Path:
    """The folder of the corpus, which takes 20 s to make: it is kept for later runs until the generator changes."""
    if not GENERATOR.is_file():
        pytest.skip(f"the generator of attacks is not at {GENERATOR}")
    kept = pytestconfig.cache.mkdir("attacks")
    folder = kept / sha256(GENERATOR.read_bytes()).hexdigest()[:16]
    with (kept / "lock").open("w") as lock:  # several processes and runs share it
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            unfinished = folder.with_suffix(".new")
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            subprocess.run([sys.executable, str(GENERATOR), str(unfinished)], check=True, capture_output=True)
            unfinished.rename(folder)
    return folder


def read_manifest(folder: Path) -> Iterator[Upload]:
    for case in json.loads((folder / "manifest.json").read_text())["cases"]:
        if case["sha256"] is not None and case["field"] == "archive":
            fields: dict[str, Any] = {name: case[name] for name in ("name", "competition", "must_name")}
            yield Upload(path=folder / case["file"], expected=case["verdict"], **fields)


def failure_of(upload: Upload, validation: Validation) -> str | None:
    problems = validation.problems
    hints = validation.warnings + validation.notes
    outcome = "reject" if problems else "accept_warn" if hints else "accept"
    text = "\n".join(map(str, problems or hints))
    expected = DECIDED.get(upload.name, upload.expected)
    if expected == "bounded":
        return None
    if outcome != expected and (outcome, expected) != ("accept_warn", "accept"):
        return f"{outcome} instead of {expected}: {text}"
    missing = [
        words for words in upload.must_name if not any(re.search(word, text, re.IGNORECASE) for word in words)
    ]
    return f"{missing} is not in: {text}" if missing else None
