"""Child processes start even if the fork server dies, and say nothing of hidden annotation."""

import json
import operator
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from app.jobs.sandbox import score
from heldout_scoring import GroundTruth, Limits, labels_to_png, read_tree
from tests.pages.data_sets import zipped
from tests.scoring.builders import Kit, annotation, thing
from tests.shared import ROOT
from worker.handlers import IN_CHILDREN

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


CALL = re.compile(r"run_in_subprocess\(\s*[\w.()]+, ([\w.]+)")


def test_what_children_of_workers_run_is_imported_before_they_start() -> None:
    used = set()
    for path in sorted(Path(ROOT, "app").rglob("*.py")):
        text = path.read_text()
        names = CALL.findall(text)
        assert len(names) == text.count("run_in_subprocess(") - text.count("def run_in_subprocess("), path
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        used |= {
            operator.attrgetter(name)(import_module(module)).__module__ for name in names if name != "make"
        }

    assert used == {"app.jobs.sandbox", *IN_CHILDREN}


@pytest.mark.sampled
def test_a_child_starts_even_if_the_fork_server_is_killed_meanwhile(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)

    done = subprocess.run(
        [sys.executable, program], cwd=ROOT, env={"PYTHONPATH": str(ROOT)}, capture_output=True, check=False
    )

    assert done.stdout.endswith(b"ZG9uZQ=="), done.stderr.decode()


ANNOTATED = {
    "few": (annotation(thing("cat")), annotation(thing("dog", said="difficult")), "1 -1", "-1 1", 1),
    "many": (annotation(thing("dog", (7, 7, 9, 9)), thing("cat", (2, 3, 30, 30))), annotation(thing("cat")), "1 1", "1 -1", 2),
}  # fmt: skip
PLACE = "results/VOC2012"
INVALID = {
    "another image": (3, f"{PLACE}/Main/comp3_det_test_cat.txt", b"a_9 0.9 1 1 10 10\n"),
    "no number": (3, f"{PLACE}/Main/comp3_det_test_cat.txt", b"a_1 much 1 1 10 10\n"),
    "no box": (3, f"{PLACE}/Main/comp3_det_test_cat.txt", b"a_1 0.9\n"),
    "no class": (3, f"{PLACE}/Main/comp3_det_test_emu.txt", b"a_1 0.9 1 1 10 10\n"),
    "no ranking": (1, f"{PLACE}/Main/comp1_cls_test_cat.txt", b"a_1\n"),
    "another size": (5, f"{PLACE}/Segmentation/comp5_test_cls/a_1.png", labels_to_png(np.ones((3, 3), np.uint8))),
    "a label too many": (5, f"{PLACE}/Segmentation/comp5_test_cls/a_1.png", labels_to_png(np.full((40, 50), 9, np.uint8))),
    "no picture": (5, f"{PLACE}/Segmentation/comp5_test_cls/a_1.png", b"a_1"),
}  # fmt: skip


@pytest.fixture(scope="module")
def truths(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Annotation that differs in everything but what is public of it."""
    made = []
    for name, (one, two, cat, dog, label) in ANNOTATED.items():
        folder = tmp_path_factory.mktemp(name)
        tree = Kit(folder / "VOC2012").main({"a_1": one, "a_2": two}, {"cat": cat, "dog": dog})
        tree.mask("a_1", np.full((40, 50), label, np.uint8))
        read_tree(tree.root, "test").save(folder / "truth")
        made.append(folder / "truth")
    assert GroundTruth.open(made[0]).description == GroundTruth.open(made[1]).description
    return made


@pytest.mark.parametrize("what", INVALID)
def test_why_an_archive_is_refused_does_not_depend_on_what_is_hidden(
    what: str, truths: list[Path], tmp_path: Path
) -> None:
    competition, name, content = INVALID[what]
    archive = tmp_path / "sent.zip"
    archive.write_bytes(zipped({name: content}))

    said = {score(archive, each, competition, "voc2012", tmp_path / "matches", Limits()) for each in truths}

    [refused] = said
    assert json.loads(refused.removeprefix(b"!"))["code"]
