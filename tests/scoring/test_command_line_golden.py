import io
import json
import math
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from heldout_scoring import labels_to_png
from heldout_scoring.command_line import main
from tests.scoring.conftest import Unpack
from tests.scoring.test_golden_small import CASES, COMPETITIONS, GOLDEN, kits

SYNTHETIC = "synthetic_seed2012.tar.xz"
EXACT = 1e-12
RESULTS = {"VOC2006": "results2006", "VOC2007": "results2007", "VOC2012": "results"}
VALID = [
    "2006_cls", "2006_det", "2007_cls", "2007_det", "2007_layout", "2007_seg", "2008_layout", "2009_cls", "2009_det",
    "2012_action", "2012_cls", "2012_cls_on2007", "2012_det", "2012_det_on2007", "2012_layout", "2012_seg",
]  # fmt: skip


@cache
def golden(shared: Path) -> dict[str, Any]:
    return dict(json.loads((shared / "golden" / "synthetic.json").read_text()))


def asked(case: dict[str, Any], root: Path, results: Path) -> list[str]:
    tree = str(root / case["dataset"])
    number = case["comp"].removeprefix("comp")
    return [
        "--truth",
        tree,
        "--image-set",
        case["testset"],
        "--competition",
        number,
        "--results",
        str(results),
    ]


@pytest.mark.sampled
@pytest.mark.shared
@pytest.mark.parametrize("name", VALID)
def test_every_task_of_every_year_gives_the_kit_s_numbers(
    name: str, shared: Path, unpacked: Unpack, capsys: pytest.CaptureFixture[str]
) -> None:
    case = golden(shared)["valid"][name]
    root = unpacked(SYNTHETIC)
    words = asked(case, root, root / RESULTS[case["dataset"]])
    entered = ["--classes", ",".join(case["classes"])] if "classes" in case else []

    protocol = ["--protocol", f"voc{case['devkit']}"]

    code = main(["evaluate", *protocol, *words, *entered, "--accepted", "--json"])

    said = json.loads(capsys.readouterr().out)
    assert code == 0, said
    values = {name: row["value"] for name, row in said["classes"].items()}
    if "accuracies" in case:
        expected = [accuracy / 100 for accuracy in map(float, case["accuracies"])]
        assert said["confusion"] == case["rawcounts"]
        assert next(iter(values)) == "background"
        for value, wanted in zip(values.values(), expected, strict=True):
            assert value == pytest.approx(wanted, abs=EXACT) if not math.isnan(wanted) else value is None
    elif "ap" in case:
        assert values == {"person": pytest.approx(case["ap"], abs=EXACT)}
    else:
        for each, found in case.get("classes", case.get("parts", {})).items():
            if values[each] is None:
                assert said["classes"][each]["positives"] == 0 or math.isnan(float(found["ap"]))
            else:
                assert values[each] == pytest.approx(float(found["ap"]), abs=EXACT)


@pytest.mark.parametrize("case", CASES)
def test_the_small_set_s_tasks_give_the_kit_s_numbers(case: str, capsys: pytest.CaptureFixture[str]) -> None:
    task, _, year = case.partition("-")

    code = main(
        ["evaluate", "--protocol", f"voc{year}", *small(GOLDEN / "results", COMPETITIONS[task]), "--json"]
    )

    said = json.loads(capsys.readouterr().out)
    assert code == 0, said
    assert {name: row["value"] for name, row in said["classes"].items()} == {
        name: pytest.approx(recorded.value, abs=EXACT) for name, recorded in kits()[case].items()
    }


def small(results: Path, competition: int) -> list[str]:
    tree = ["--truth", str(GOLDEN / "sample"), "--image-set", "test"]
    return [*tree, "--competition", str(competition), "--results", str(results)]


def image(height: int = 240, label: int = 0) -> bytes:
    return labels_to_png(np.full((height, 320), label, np.uint8))


def in_colours(_: bytes) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (320, 240)).save(file, "PNG")
    return file.getvalue()


Spoil = Callable[[bytes], bytes | None]
MASK = "comp5_test_cls/2012_000002.png"
BAD: dict[str, tuple[int, str, Spoil, int | None, str]] = {
    "an object that is not there": (
        9,
        "comp9_action_test_jumping.txt",
        lambda text: b"2012_000004 99 1\n" + text,
        1,
        "99",
    ),
    "an image that is not there": (
        1,
        "comp1_cls_test_car.txt",
        lambda text: b"2012_999999 1\n" + text,
        1,
        "2012_999999",
    ),
    "a box nowhere": (3, "comp3_det_test_car.txt", lambda text: b"x 1 1 1 9 9\n" + text, 1, "'x'"),
    "a missing column": (
        3,
        "comp3_det_test_car.txt",
        lambda text: b"2012_000002 1 1 1 9\n" + text,
        1,
        "found 5",
    ),
    "an unknown part": (
        7,
        "comp7_layout_test.xml",
        lambda text: text.replace(b"head", b"tail", 1),
        None,
        "tail",
    ),
    "an unknown label": (5, MASK, lambda _: image(label=11), None, "11"),
    "a missing file": (5, MASK, lambda _: None, None, "2012_000002"),
    "a file in colours": (5, MASK, in_colours, None, "indexed"),
    "a file of another size": (5, MASK, lambda _: image(height=239), None, "239"),
}


@pytest.mark.sampled
@pytest.mark.parametrize("command", ["evaluate", "validate"])
@pytest.mark.parametrize("name", BAD)
def test_bad_results_are_refused_by_both_commands(
    name: str, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    competition, file, spoil, line, word = BAD[name]
    shutil.copytree(GOLDEN / "results", tmp_path / "results")
    [path] = tmp_path.rglob(file)
    spoilt = spoil(path.read_bytes())
    path.unlink() if spoilt is None else path.write_bytes(spoilt)

    protocol = ["--protocol", "voc2012"] if command == "evaluate" else []
    code = main([command, *protocol, *small(tmp_path / "results", competition), "--json"])

    said = json.loads(capsys.readouterr().out)
    assert code == 2
    assert [problem["file"] for problem in said["problems"]] == [file]
    assert line is None or said["problems"][0]["line"] == line
    assert word in said["problems"][0]["message"]
