"""The commands in the documentation run as written, page by page, on an installation with the sample challenge."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

import sample
from app.intake.importing import TreeImport, import_tree
from app.models import Disclosure
from app.operations.data_folder import lock_data_folder, published_settings
from tests.documents import DOCUMENTS, NOT_RUN, blocks
from tests.people import confirm_address
from tests.scoring.archives import gz, tar
from tests.scoring.builders import Kit, annotation, thing
from tests.system.installations import Installation, installation, registered
from tests.system.kits import small_kit
from tests.system.servers import OwnServers

pytestmark = [pytest.mark.slow, pytest.mark.system]

MINUTES = 3
ADDRESS = "http://127.0.0.1:8000"  # of the documents
WITH_COMMANDS = sorted(
    {block.file for block in blocks(*DOCUMENTS) if block.language == "sh" and block.mark != NOT_RUN}
)
ASH = "ash@example.org"


@dataclass(frozen=True, slots=True)
class Place:
    """Where the commands run: a folder with the files they name, and the server they connect to."""

    folder: Path
    address: str
    variables: dict[str, str]

    def run(self, script: str) -> str:
        """Run commands as a reader would paste them, and return what they print."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script.replace(ADDRESS, self.address)],
            cwd=self.folder,
            env=self.variables,
            capture_output=True,
            text=True,
            timeout=MINUTES * 60,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def place(own_servers: OwnServers) -> Iterator[Place]:
    with (
        tempfile.TemporaryDirectory(prefix="heldout documents ") as name,
        installation(own_servers, sweep_seconds=5) as running,
        lock_data_folder(running.settings.data),
        published_settings(running.settings),
    ):
        folder = Path(name)
        tree = sample.draw_challenge(folder, images=24).tree
        import_tree(
            running.platform,
            TreeImport(tree, sample.NAME, "val", protocol="voc2012", disclosure=Disclosure.FULL),
        )
        write_files(folder)
        address = running.start_web()
        running.start_worker()
        running.start_sender()
        register_ash(running, address)
        yield Place(folder, address, variables(running, registered(running.platform, address, "Reader")))


def write_files(folder: Path) -> None:
    """Write the files named in the documentation: trees, archives, tables, COCO's JSON."""
    devkit = folder / "VOCdevkit"
    small_kit(devkit).rename(devkit / "VOC2007")
    for image_set, name in (("val", "VOC2007"), ("val", "VOC2012")):
        images = {"a_1": annotation(thing("cat")), "a_2": annotation(thing("dog", (5, 5, 30, 30)))}
        Kit(devkit / name, image_set).main(images, {"cat": "1 -1", "dog": "-1 1"})
    ours = {"results/VOC2012/Main/comp3_det_val_cat.txt": b"a_1 0.9 1 1 10 10\n"}
    (folder / "ours.tar.gz").write_bytes(gz(tar(ours)))
    (folder / "table.csv").write_text("method,car,cat\nours,0.9,0.8\ntheirs,0.1,0.2\n")
    box = {"image_id": 1, "category_id": 1, "bbox": [0, 0, 10, 10]}
    image = {"id": 1, "file_name": "1.jpg", "width": 50, "height": 40}
    corners = [[0, 0, 10, 0, 10, 10, 0, 10]]
    truth = {
        "images": [image],
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [box | {"id": 1, "area": 100, "iscrowd": 0, "segmentation": corners}],
    }
    for file in ("instances.json", "instances_val.json"):
        (folder / file).write_text(json.dumps(truth))
    (folder / "detections.json").write_text(json.dumps([box | {"score": 0.5}]))


def register_ash(running: Installation, address: str) -> None:
    """Register the account that the documentation mentions."""
    with httpx2.Client(base_url=address) as browser:
        person = {"email": ASH, "name": "Ash", "password": "a long password"}
        assert browser.post("/register", data=person).status_code == 303
    confirm_address(running.platform, ASH)


def variables(running: Installation, token: str) -> dict[str, str]:
    """The variables of a reader's shell."""
    programs = [str(Path(sys.executable).parent), str(Path(shutil.which("curl") or "").parent), os.defpath]
    return {
        "PATH": os.pathsep.join(programs),
        "HELDOUT_DATA": str(running.settings.data),
        "HELDOUT_TOKEN": token,
    }


@pytest.mark.parametrize("file", WITH_COMMANDS)
def test_the_commands_of_a_document_run_as_written(place: Place, file: str) -> None:
    commands = [block.text for block in blocks(file) if block.language == "sh" and block.mark != NOT_RUN]

    printed = place.run("\n".join(commands))

    assert printed


def test_the_example_in_python_runs_after_the_one_with_curl(place: Place) -> None:
    curl, python = [block.text for block in blocks("docs/api.md") if block.language in {"sh", "python"}]

    printed = place.run(f"{curl}\npython3 - <<'END'\n{python}\nEND\n")

    assert printed.splitlines()[-1].startswith("3 scored 0.")
