import json
import math
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from scoring.command_line.main import main
from tests.scoring.conftest import Unpack

pytestmark = pytest.mark.shared

SYNTHETIC = "synthetic_seed2012.tar.xz"
EXACT = 1e-12
RESULTS = {"VOC2006": "results2006", "VOC2007": "results2007", "VOC2012": "results"}
VALID = [
    "2006_cls", "2006_det", "2007_cls", "2007_det", "2007_layout", "2007_seg", "2008_layout", "2009_cls", "2009_det",
    "2012_action", "2012_cls", "2012_cls_on2007", "2012_det", "2012_det_on2007", "2012_layout", "2012_seg",
]  # fmt: skip
BAD = {
    "action_unknown_object": ("comp9_action_val_jumping.txt", 115, "99"),
    "cls_unknown_image": ("comp1_cls_val_car.txt", None, "2008_999999"),
    "det_unknown_image": ("comp3_det_val_car.txt", None, "2008_999999"),
    "det_missing_column": ("comp3_det_val_car.txt", None, "found 5"),
    "layout_bad_part": ("comp7_layout_val.xml", None, ""),
    "seg_label_21": ("comp5_val_cls/2008_003179.png", None, "21"),
    "seg_missing": ("comp5_val_cls/2008_003179.png", None, "2008_003179"),
    "seg_rgb": ("comp5_val_cls/2008_003179.png", None, ""),
    "seg_wrong_size": ("comp5_val_cls/2008_003179.png", None, "118"),
}


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


@pytest.mark.parametrize("name", VALID)
def test_every_task_of_every_year_gives_the_kit_s_numbers(
    name: str, shared: Path, unpacked: Unpack, capsys: pytest.CaptureFixture[str]
) -> None:
    case = golden(shared)["valid"][name]
    root = unpacked(SYNTHETIC)
    words = asked(case, root, root / RESULTS[case["dataset"]])
    entered = ["--classes", ",".join(case["classes"])] if "classes" in case else []

    code = main(["evaluate", "--protocol", f"voc{case['devkit']}", *words, *entered, "--json"])

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


@pytest.mark.parametrize("command", ["evaluate", "validate"])
@pytest.mark.parametrize("name", BAD)
def test_bad_results_are_refused_by_both_commands(
    name: str, command: str, shared: Path, unpacked: Unpack, capsys: pytest.CaptureFixture[str]
) -> None:
    root = unpacked(SYNTHETIC)
    file, line, word = BAD[name]
    case = golden(shared)["bad"][name]
    case = case if "comp" in case else {"dataset": "VOC2012", "testset": "val", "comp": "comp3"}

    code = main([command, *asked(case, root, root / "results_bad" / name), "--json"])

    said = json.loads(capsys.readouterr().out)
    assert code == 2
    assert all(problem["file"] == file for problem in said["problems"])
    assert line is None or said["problems"][0]["line"] == line
    assert word in said["problems"][0]["message"]
