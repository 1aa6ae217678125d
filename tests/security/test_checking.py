"""A check cannot read hidden annotation, so neither its report nor its duration can reveal any of it."""

import json
import subprocess
import sys
from pathlib import Path

import heldout_scoring
from tests.system.kits import IMAGES, line, packed, small_kit

BOX = (1, 1, 10, 10)
CHECK = """
import json, sys
from pathlib import Path
from app.jobs import sandbox

opened = []
watching = False

def watch(event, arguments):
    if watching and event in ("open", "os.listdir", "os.scandir", "socket.connect", "subprocess.Popen"):
        opened.append(f"{event} {arguments[0]}")

sys.addaudithook(watch)
archive, description = map(Path, sys.argv[1:])
sandbox.check(archive, archive.name, description, None)  # imports what it needs
watching = True
sandbox.check(archive, archive.name, description, None)
watching = False
print(json.dumps(opened))
"""


def test_a_check_opens_only_the_archive_and_the_public_description(tmp_path: Path) -> None:
    kit = small_kit(tmp_path / "kit")
    archive, description = tmp_path / "results.tar.gz", tmp_path / "description.json"
    archive.write_bytes(packed({"comp3_det_test_cat.txt": b"wrong\n" + line(IMAGES[0], 0.5, BOX).encode()}))
    description.write_text(heldout_scoring.read_tree(kit, "test").description.to_json())

    done = subprocess.run(
        [sys.executable, "-c", CHECK, archive, description], capture_output=True, check=True, timeout=60
    )

    assert set(json.loads(done.stdout)) == {f"open {archive}", f"open {description}"}


def test_the_public_description_does_not_depend_on_hidden_annotation(tmp_path: Path) -> None:
    trees = [small_kit(tmp_path / "all"), small_kit(tmp_path / "fewer", without=3)]

    truths = [heldout_scoring.read_tree(tree, "test") for tree in trees]

    assert heldout_scoring.count_objects(truths[0]) != heldout_scoring.count_objects(truths[1])
    assert truths[0].description == truths[1].description
