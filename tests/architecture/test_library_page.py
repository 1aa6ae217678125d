"""Run the examples in the documentation of the library."""

import inspect
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import heldout_scoring
import heldout_scoring.analysis
from heldout_scoring.command_line import main
from tests.documents import blocks
from tests.scoring.archives import gz, tar, zip_of
from tests.scoring.builders import Kit, annotation, thing
from tests.shared import ROOT

PAGE = "docs/library.md"
LIBRARY = (ROOT / PAGE).read_text()
WITH_ARRAYS, WITH_MASKS, WITH_OWN_RULES, WITH_FILES, WITH_ERRORS = (
    block.text for block in blocks(PAGE) if block.language == "python"
)
[OF_README] = (block.text for block in blocks("README.md") if block.language == "python")
[OF_LIBRARY_README] = (block.text for block in blocks("scoring/README.md") if block.language == "python")
COMMAND_LINE = LIBRARY.partition("## Command line\n")[2].partition("\n## ")[0]
TREES, _, COCO = COMMAND_LINE.partition("### COCO's JSON\n")
COMMANDS = re.findall(r"^heldout-scoring (.+)$", TREES, re.MULTILINE)
TABLES = LIBRARY.partition("## Functions\n")[2].partition("\n## Types")[0]
CALLS = re.findall(r"`([\w.]+)\(([^()`]*)\)`", TABLES)
PLACE = "results/VOC2012/Main/comp3_det_val"
OURS = {f"{PLACE}_cat.txt": b"a_1 0.9 1 1 10 10\n", f"{PLACE}_dog.txt": b"a_2 0.8 5 5 30 30\n"}
THEIRS = OURS | {f"{PLACE}_cat.txt": b"a_2 0.9 1 1 10 10\na_1 0.2 1 1 10 10\n"}


@pytest.fixture(autouse=True)
def _in_a_folder_with_everything_it_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cat in one image, a dog in the other, and two methods, one of which detects a cat in both."""
    images = {"a_1": annotation(thing("cat")), "a_2": annotation(thing("dog", (5, 5, 30, 30)))}
    tree = Kit(tmp_path / "VOCdevkit" / "VOC2012", "val").main(images, {"cat": "1 -1", "dog": "-1 1"})
    tree.write("ImageSets/Segmentation/val.txt", "a_1\na_2\n")
    for number, image in enumerate(images):
        labels = np.zeros((40, 50), np.uint8)
        labels[: 10 + 20 * number, : 10 + 20 * number] = number + 1
        tree.mask(image, labels)
    (tmp_path / "ours.tar.gz").write_bytes(gz(tar(OURS)))
    (tmp_path / "theirs.zip").write_bytes(zip_of(THEIRS))
    (tmp_path / "table.csv").write_text("method,car,cat\nours,0.9,0.8\ntheirs,0.1,0.2\n")
    monkeypatch.chdir(tmp_path)


def test_the_example_of_the_readme_runs_and_prints_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(OF_README, "README.md", "exec"), {})

    *_, car, cat, mean = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in (car, cat, mean)] == [
        ["car", "1.0000"],
        ["cat", "0.0000"],
        ["mean", "0.5000"],
    ]


def test_the_example_of_the_library_readme_prints_a_mean_inside_of_its_interval(
    capsys: pytest.CaptureFixture[str],
) -> None:
    exec(compile(OF_LIBRARY_README, "scoring/README.md", "exec"), {})

    [said] = capsys.readouterr().out.splitlines()
    numbers = re.fullmatch(r"mAP (0\.\d+), 95 % interval from (0\.\d+) to (0\.\d+)", said)
    assert numbers is not None
    value, low, high = map(float, numbers.groups())
    assert 0 < low < value < high < 1


def test_the_library_readme_names_existing_protocols_and_the_evaluations_that_are_tested() -> None:
    text = (ROOT / "scoring/README.md").read_text()
    table = re.findall(r"^\| (?!evaluation)(.+?) \| (`.+?) \| (.+?) \|$", text, re.MULTILINE)
    locked = (ROOT / "requirements-dev.lock").read_text()

    named = [name for _, protocols, _ in table for name in re.findall(r"`([^`]+)`", protocols)]
    versions = re.findall(r"(pycocotools|lvis|TensorFlow Object Detection API) (\d[\d.]*\d)", text)

    assert len(table) == 4
    assert [name for name in named if name not in heldout_scoring.PROTOCOLS] == []
    assert {"voc2006", "voc2012", "coco", "lvis"} < set(named)
    assert len(versions) == 3
    for name, version in versions:
        package = "tf-models-research-object-detection" if name.startswith("TensorFlow") else name
        assert re.search(rf"^{package}=={re.escape(version)}(\.post\d+)? ", locked, re.MULTILINE), name


def test_the_example_with_files_runs_and_prints_the_documented_output(
    capsys: pytest.CaptureFixture[str],
) -> None:
    names: dict[str, object] = {}

    exec(compile(WITH_FILES, PAGE, "exec"), names)

    output = capsys.readouterr().out.splitlines()
    assert output[:3] == ["cat 1.0 1 1", "dog 1.0 1 1", "1.000, on other images 1.000 to 1.000"]
    assert [line.split()[0] for line in output[3:6]] == ["cat", "dog", "mean"]
    assert 0 < float(output[6]) < 1


def test_the_example_with_masks_runs_and_prints_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(WITH_ARRAYS + WITH_MASKS, PAGE, "exec"), {})

    table = capsys.readouterr().out.partition("masks, IoU 0.50:0.95")[2]
    assert "car" in table
    assert "cat" in table


def test_the_example_with_custom_rules_runs_and_names_its_measure(
    capsys: pytest.CaptureFixture[str],
) -> None:
    exec(compile(WITH_ARRAYS + WITH_MASKS + WITH_OWN_RULES, PAGE, "exec"), {})

    first, second = capsys.readouterr().out.splitlines()[-2:]
    measure, _, figures = first.rpartition("0.90 ")
    assert measure == "Average precision of masks, IoU 0.75:"
    ap75, mean = map(float, figures.split())
    assert 0 <= mean <= ap75 <= 1
    assert second == "coco(iou=[0.75, 0.9], max_detections=[300]) (300,)"


def test_the_example_with_errors_runs_and_prints_them_by_kind(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(WITH_ARRAYS + WITH_ERRORS, PAGE, "exec"), {})

    *kinds, car, cat = capsys.readouterr().out.splitlines()[-14:]
    errors = [row.split() for row in kinds]
    assert [(name, kind) for name, kind, count, _ in errors if count != "0"] == [("cat", "localisation")]
    assert (car, cat[:8]) == ("()", "(Example")


def test_every_analysis_is_on_the_page() -> None:
    functions = {
        name
        for name in heldout_scoring.analysis.__all__
        if inspect.isfunction(getattr(heldout_scoring.analysis, name))
    }

    assert {name for name in functions if f"`{name}(" not in LIBRARY} == {"detections_of", "find_errors"}


def called(name: str) -> Callable[..., object]:
    """The function that a page calls: of the library, of its analyses, or of a type."""
    owner, _, method = name.rpartition(".")
    homes = [getattr(heldout_scoring, owner)] if owner else [heldout_scoring, heldout_scoring.analysis]
    found: Callable[..., object] = next(getattr(home, method) for home in homes if hasattr(home, method))
    return found


@pytest.mark.sampled
@pytest.mark.parametrize(("name", "arguments"), CALLS, ids=[name for name, _ in CALLS])
def test_a_call_in_the_tables_has_the_arguments_of_the_code(name: str, arguments: str) -> None:
    parameters = [each for each in inspect.signature(called(name)).parameters.values() if each.name != "self"]
    by_place = [each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]
    needed = {each.name for each in parameters if each.default is each.empty}
    given = [each for each in arguments.split(", ") if each]
    placed = [each for each in given if "=" not in each]
    named = {each.partition("=")[0] for each in given} - {*placed}

    assert placed == by_place[: len(placed)]
    assert named <= {each.name for each in parameters} - {*by_place}
    assert needed <= {*placed} | named


def test_the_example_with_arrays_runs_and_prints_the_documented_output(
    capsys: pytest.CaptureFixture[str],
) -> None:
    exec(compile(WITH_ARRAYS, PAGE, "exec"), {})

    *table, cat, low = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in table[2:]] == [
        ["car", "1.0000"],
        ["cat", "0.5000"],
        ["mean", "0.7500"],
    ]
    assert cat == "0.5 [0, 1]"
    assert 0 <= float(low) <= 0.75


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.split()[0])
def test_documented_commands_run_and_print_the_documented_keys(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = shlex.split(command, comments=True)
    named = re.search(rf"^- {words[0]}: (.+?)(?=^- |\Z)", TREES, re.MULTILINE | re.DOTALL)

    code = main(words)

    prediction = json.loads(capsys.readouterr().out)
    assert code == 0
    assert named is not None
    assert re.findall(r"`(\w+)`", named[1].partition(";")[0]) == list(prediction)


def test_the_documented_coco_command_runs_and_prints_the_documented_keys(
    capsys: pytest.CaptureFixture[str],
) -> None:
    common = {"image_id": 1, "category_id": 1, "bbox": [0, 0, 10, 10]}
    truth = {"images": [{"id": 1}], "categories": [{"id": 1, "name": "cat"}]}
    annotations = [common | {"id": 1, "area": 100, "iscrowd": 1}]
    Path("instances.json").write_text(json.dumps(truth | {"annotations": annotations}))
    Path("detections.json").write_text(json.dumps([common | {"score": 0.5}]))
    [command] = re.findall(r"^heldout-scoring (.+)$", COCO, re.MULTILINE)

    code = main(shlex.split(command))

    said = json.loads(capsys.readouterr().out)
    keys = [*said, *said["figures"], *said["classes"]["cat"], *said["explanations"][0]]
    assert code == 0
    assert set(re.findall(r"`(\w+)`", COCO)) == set(keys)


def test_the_page_names_all_commands() -> None:
    assert [command.split()[0] for command in COMMANDS] == [
        "validate",
        "evaluate",
        "statistics",
        "significance",
        "protocols",
    ]


def test_every_public_name_is_on_the_page() -> None:
    names = {*heldout_scoring.__all__, *heldout_scoring.analysis.__all__}

    assert names - {*re.findall(r"`(?:\w+\.)?(\w+)\b", LIBRARY), *re.findall(r"`(\w+)\b", LIBRARY)} == set()


def test_errors_are_printed_with_the_documented_keys(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["statistics", "nowhere", "--image-set", "val"])

    [problem] = json.loads(capsys.readouterr().out)["problems"]
    shape = re.sub(r"\s+", " ", LIBRARY)
    assert code == 2
    assert '{"problems": [{' + ", ".join(f'"{key}"' for key in problem) + "}]}" in shape
