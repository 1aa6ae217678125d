"""Made-up results of every task are scored as those of participants are, and nearly right ones score nearly everything."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.intake import trial_results
from app.intake.trial_results import KINDS, TrialTask, score_trials, trials_of_truth
from heldout_scoring import GroundTruth

RANDOM = np.random.default_rng(1)
IMAGES = tuple(f"i{number}" for number in range(30))
CORNERS = RANDOM.uniform(1, 60, (90, 2))
BOXES = np.hstack([CORNERS, CORNERS + RANDOM.uniform(20, 39, (90, 2))])
COLUMNS = ([*IMAGES] * 3, ["cat", "dog", "cow"] * 30, BOXES)
MAPS = [np.kron(RANDOM.integers(0, 3, (3, 3)), np.ones((20, 20), int)).astype(np.uint8) for _ in range(6)]
MAPS[0][:5] = 255
MASKS = [np.pad(np.ones((30, 30), bool), ((each, 20 - each), (5, 15))) for each in range(12)]
PARTS = BOXES[:60] / 2 + np.tile([40, 40, 40, 40], (60, 1))
LAYOUTS = [
    GroundTruth.from_layouts(
        [f"i{each // 2}" for each in range(20)], [1 + each % 2 for each in range(20)], owner=[*range(20)] * 3,
        kind=["head"] * 20 + ["hand"] * 20 + ["foot"] * 20, parts=PARTS, convention="inclusive", boxes=boxes,
    )
    for boxes in (None, BOXES[:20])
]  # fmt: skip

TRUTHS = {
    "detection": (
        GroundTruth.from_arrays(*COLUMNS, convention="inclusive", images=IMAGES, sizes=[(100, 100)] * 30),
        "voc2012",
    ),
    "classification": (GroundTruth.from_labels(RANDOM.integers(0, 2, (60, 3)), classes=["a", "b", "c"]), "voc2007"),
    "segmentation": (GroundTruth.from_label_maps(MAPS, classes=["cat", "dog"]), "voc2012"),
    "action": (
        GroundTruth.from_actions(
            RANDOM.integers(0, 2, (40, 2)), image=[f"i{each // 2}" for each in range(40)],
            person=[1 + each % 2 for each in range(40)], actions=["reading", "running"],
        ),
        "voc2012",
    ),
    "layout": (LAYOUTS[0], "voc2012"),
    "layout by boxes": (LAYOUTS[1], "voc2007"),
    "coco-detection": (
        GroundTruth.from_coco({
            "images": [{"id": each, "width": 100, "height": 100} for each in range(1, 31)],
            "categories": [{"id": 7, "name": "cat"}],
            "annotations": [
                {"id": each, "image_id": each, "category_id": 7, "bbox": [5, 5, 30 + each, 40], "area": 900, "iscrowd": 0}
                for each in range(1, 31)
            ],
        }),
        "coco",
    ),
    "coco-segmentation": (
        GroundTruth.from_masks([f"i{each}" for each in range(12)], ["cat", "dog"] * 6, MASKS),
        "coco",
    ),
}  # fmt: skip


def tried(task: str) -> TrialTask:
    truth, protocol = TRUTHS[task]
    if protocol == "coco":
        truth = GroundTruth.of(replace(truth.lists, dataset="COCO"), truth.tables)
    return next(each for each in trials_of_truth(truth, protocol, 7) if each.task == task.partition(" ")[0])


@pytest.mark.parametrize("task", TRUTHS)
def test_results_are_made_up_for_every_task(task: str) -> None:
    found = tried(task)

    assert found.problem == ""
    assert [each.kind for each in found.results] == list(KINDS)
    empty, random, jittered = (each.mean or 0 for each in found.results)
    assert max(empty, random) + 0.2 < jittered
    assert jittered > 0.55  # masks shifted by two pixels lose the highest overlaps
    assert all(len(each.classes) == len(found.results[0].classes) for each in found.results)


def test_a_task_without_made_up_results_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(trial_results.MAKERS, "layout")

    assert tried("layout").problem == "no result is made up for this task"


def test_masks_too_large_for_memory_are_not_made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial_results, "MOST_PIXELS", 100)

    assert "too large" in tried("segmentation").problem
    assert "too large" in tried("coco-segmentation").problem


def test_an_error_says_nothing_of_the_annotation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    truth, protocol = TRUTHS["detection"]
    path = tmp_path / "truth"
    truth.save(path)
    assert "jittered" in json.loads(score_trials(path, protocol, 7))[0]["results"][2]["kind"]

    def fails(*_: object) -> None:
        raise ValueError("SECRET")

    monkeypatch.setitem(trial_results.MAKERS, "classification", fails)
    with pytest.raises(SystemExit) as caught:
        score_trials(path, protocol, 7)
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    logged = "".join(capsys.readouterr())
    assert "SECRET" not in logged
    assert "ValueError" in logged
