"""Every upload of the attack corpus is quickly accepted or refused as expected, with a helpful message, in little memory."""

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from heldout_scoring import Description, Image, Validation
from tests.attacks import ACTIONS, CLASSES, Upload, failure_of, read_manifest

pytestmark = [pytest.mark.slow, pytest.mark.shared]

MOST_SECONDS = 30
MOST_MIB = 512


@pytest.fixture(scope="module")
def phase(attacks: Path) -> Description:
    images = (attacks / "images.txt").read_text().split()
    return Description(
        dataset="VOC2012",
        image_set="test",
        classes=tuple(CLASSES.split()),
        actions=tuple(ACTIONS.split()),
        images=tuple(Image(image, 500, 375) for image in images),
        segmentation=tuple(images),
        persons=tuple((image, 1) for image in images),
        acting=tuple((image, 1) for image in images),
    )


@pytest.fixture(scope="module")
def uploads(attacks: Path) -> list[Upload]:
    return list(read_manifest(attacks))


@dataclass(frozen=True)
class Checked:
    """The validation of an upload and how many seconds it took."""

    upload: Upload
    validation: Validation
    seconds: float


@pytest.fixture(scope="module")
def checked(uploads: list[Upload], phase: Description) -> list[Checked]:
    return [check(upload, phase) for upload in uploads]


def check(upload: Upload, phase: Description) -> Checked:
    begun = time.monotonic()
    validation = upload.validate(phase)
    return Checked(upload, validation, time.monotonic() - begun)


@pytest.mark.timeout(600)
def test_every_upload_gets_the_expected_result_and_message(checked: list[Checked]) -> None:
    wrong = {
        each.upload.name: failure for each in checked if (failure := failure_of(each.upload, each.validation))
    }

    assert len(checked) > 200
    assert wrong == {}


@pytest.mark.timeout(600)
def test_no_upload_takes_long_or_leaks_into_messages(checked: list[Checked], attacks: Path) -> None:
    for each in checked:
        name = each.upload.name
        assert each.seconds < MOST_SECONDS, name
        text = json.dumps(each.validation.as_json())
        assert len(text) < 1 << 20, name
        for secret in (str(attacks), "Traceback", "root:", "\\u0000"):
            assert secret not in text, name
        for problem in each.validation.problems + each.validation.notes:
            assert str(problem).isprintable(), name
            assert len(str(problem)) < 1000, name


WATCHED = """
import sys
from pathlib import Path
from heldout_scoring import Description, validate
phase = Description.from_json(sys.stdin.read())
for path in sys.argv[1:]:
    validate(Path(path), phase)
# not getrusage: its peak begins with that of the process which started this one
print(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
"""


@pytest.mark.timeout(600)
def test_all_uploads_together_need_little_memory(uploads: list[Upload], phase: Description) -> None:
    command = [sys.executable, "-c", WATCHED, *(str(upload.path) for upload in uploads)]

    done = subprocess.run(command, input=phase.to_json(), text=True, check=True, capture_output=True)

    assert int(done.stdout) / 1024 < MOST_MIB
