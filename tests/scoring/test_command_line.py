import importlib
import json
import os
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heldout_scoring import command_line as module
from heldout_scoring.command_line import main
from heldout_scoring.protocols import PROTOCOLS
from tests.scoring.archives import gz, tar, zip_of
from tests.scoring.builders import Kit, annotation, kit, thing

CAT = b"a_1 0.9 1 1 10 10\n"
DOG = b"a_1 0.9 20 5 40 30\na_2 0.8 5 5 30 30\n"
PLACE = "results/VOC2012/Main"
FILES = {f"{PLACE}/comp3_det_test_cat.txt": CAT, f"{PLACE}/comp3_det_test_dog.txt": DOG}

ON_THESE_CORES = """
import os, sys
os.sched_setaffinity(0, map(int, sys.argv[1].split(",")))
from heldout_scoring.command_line import main
from heldout_scoring.protocols import PROTOCOLS
sys.exit(main(sys.argv[2:]))
"""

Run = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command in this process; returns its exit code and what it printed."""

    def carried_out(*words: object) -> tuple[int, dict[str, Any]]:
        code = main([str(word) for word in words])
        said = capsys.readouterr()
        assert said.err == ""
        return code, json.loads(said.out)

    return carried_out


def laid_out(folder: Path, files: dict[str, bytes] = FILES) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def about(tree: Path, results: Path, *more: object, command: str = "evaluate") -> Iterable[object]:
    asked = ("--truth", tree, "--image-set", "test", "--results", results, *more, "--json")
    return (command, *(() if "--competition" in more else ("--competition", 3)), *asked)


def codes(prediction: dict[str, Any]) -> list[str]:
    return [problem["code"] for problem in prediction["problems"]]


def test_scores_are_printed_as_one_object_with_the_documented_keys(tmp_path: Path, run: Run) -> None:
    marked = FILES | {f"{PLACE}/comp3_det_test_cat.txt": b"\xef\xbb\xbf" + CAT}
    code, said = run(*about(kit(tmp_path).root, laid_out(tmp_path / "sent", marked), "--protocol", "voc2012"))

    assert code == 0
    assert (said["protocol"], said["competition"], said["headline"], said["scorer"]) == ("voc2012", 3, 1, "1")
    assert said["measure"] == "Average precision"
    assert list(said["classes"]) == ["cat", "dog"]
    assert said["classes"]["dog"] == {
        "value": 1,
        "reason": None,
        "positives": 2,
        "predictions": 2,
        "low": None,
        "high": None,
    }
    assert len(said["receipt"]) == 64
    assert [note["code"] for note in said["notes"]] == ["byte-order-mark"]


@pytest.mark.parametrize("above", [PLACE, "results/VOC2012", "results", "", ".."])
def test_results_are_found_in_their_folder_or_any_parent(above: str, tmp_path: Path, run: Run) -> None:
    sent = laid_out(tmp_path / "work" / "sent")

    code, said = run(*about(kit(tmp_path / "elsewhere").root, sent / above))

    assert (code, said["headline"]) == (0, 1)


def test_results_may_lie_in_a_development_kit_with_images(tmp_path: Path, run: Run) -> None:
    tree = kit(tmp_path / "VOCdevkit").root
    laid_out(tmp_path / "VOCdevkit")
    laid_out(tmp_path / "VOCdevkit", {name.replace("2012", "2011"): data for name, data in FILES.items()})

    assert run(*about(tree, tmp_path))[1]["headline"] == 1


def test_two_result_folders_are_refused_as_ambiguous(tmp_path: Path, run: Run) -> None:
    for name in ("first", "second"):
        laid_out(tmp_path / "sent" / name)

    code, said = run(*about(kit(tmp_path).root, tmp_path / "sent"))

    assert (code, codes(said)) == (2, ["several-results"])
    assert str(tmp_path / "sent" / "first") in said["problems"][0]["message"]


@pytest.mark.parametrize(
    ("name", "pack"),
    [("sent.tar.gz", lambda files: gz(tar(files))), ("sent.tar", tar), ("sent.zip", zip_of)],
)
def test_an_archive_scores_the_same_as_its_folder(
    name: str, pack: Callable[[dict[str, bytes]], bytes], tmp_path: Path, run: Run
) -> None:
    tree = kit(tmp_path).root
    archive = tmp_path / name
    archive.write_bytes(pack(dict(reversed(FILES.items()))))

    assert run(*about(tree, archive)) == run(*about(tree, laid_out(tmp_path / "sent")))


def test_the_default_protocol_is_that_of_the_challenges_year(tmp_path: Path, run: Run) -> None:
    tree = kit(tmp_path, "VOC2007").root
    sent = laid_out(tmp_path, {name.replace("2012", "2007"): data for name, data in FILES.items()})

    assert run(*about(tree, sent))[1]["protocol"] == "voc2007"


def test_a_subset_of_classes_is_scored_with_its_own_mean(tmp_path: Path, run: Run) -> None:
    sent = laid_out(tmp_path / "sent", {name: data for name, data in FILES.items() if "dog" in name})
    tree = kit(tmp_path).root

    code, said = run(*about(tree, sent, "--classes", "dog"))
    _, everything = run(*about(tree, sent))

    assert (code, said["headline"], list(said["classes"])) == (0, 1, ["dog"])
    assert (everything["headline"], everything["reason"]) == (None, "not entered: cat")
    assert everything["classes"]["cat"]["reason"] == "not entered"


def test_a_bootstrap_adds_an_interval_to_every_value(tmp_path: Path, run: Run) -> None:
    tree = kit(tmp_path).root
    sent = laid_out(tmp_path / "sent", FILES | {f"{PLACE}/comp3_det_test_dog.txt": b"a_3 1 1 1 2 2\n" + DOG})
    for number in range(3, 40):
        Kit(tree).write(f"Annotations/a_{number}.xml", annotation(thing("cat"), thing("dog")))
    images = "".join(f"a_{number}\n" for number in range(1, 40))
    Kit(tree).write("ImageSets/Main/test.txt", images)
    for name in ("cat", "dog"):
        (tree / f"ImageSets/Main/{name}_test.txt").unlink()

    code, said = run(*about(tree, sent, "--bootstrap", 200))

    assert code == 0
    for found in (*said["classes"].values(), said | {"value": said["headline"]}):
        assert 0 <= found["low"] <= found["value"] <= found["high"] <= 1
    assert run(*about(tree, sent, "--bootstrap", 200))[1] == said


def test_segmentation_prints_the_background_and_the_confusion_matrix(tmp_path: Path, run: Run) -> None:
    tree = kit(tmp_path)
    labels = np.array([[0, 1, 1], [0, 2, 255]], np.uint8)
    small = annotation(thing("cat"), width=3, height=2)
    tree.write("ImageSets/Segmentation/test.txt", "a_1\n").write("Annotations/a_1.xml", small)
    tree.mask("a_1", labels)
    mask = tree.root / "SegmentationClass" / "a_1.png"
    sent = tmp_path / "sent" / "results" / "VOC2012" / "Segmentation" / "comp5_test_cls"
    sent.mkdir(parents=True)
    Kit(tmp_path / "drawn").root.mkdir()
    Kit(tmp_path / "drawn").mask("a_1", np.where(labels == 255, 0, labels).astype(np.uint8))
    shutil.copy(tmp_path / "drawn" / "SegmentationClass" / "a_1.png", sent)

    code, said = run(*about(tree.root, tmp_path / "sent", "--competition", 5))
    checked, report = run(*about(tree.root, sent.parent, "--competition", 5, command="validate"))

    assert mask.exists()
    assert (code, said["headline"]) == (0, 1)
    assert list(said["classes"]) == said["labels"] == ["background", "cat", "dog"]
    assert said["confusion"] == [[2, 0, 0], [0, 2, 0], [0, 0, 1]]
    assert (checked, report["competitions"][0]["files"]) == (0, 1)


def test_validate_needs_only_the_public_part(tmp_path: Path, run: Run) -> None:
    tree = kit(tmp_path).root
    shutil.rmtree(tree / "Annotations")

    code, said = run(*about(tree, laid_out(tmp_path / "sent"), command="validate"))

    assert (code, said["valid"], said["problems"]) == (0, True, [])
    assert [each["number"] for each in said["competitions"]] == [3]


@pytest.mark.parametrize("command", ["validate", "evaluate"])
def test_problems_in_results_are_printed_with_file_and_line(command: str, tmp_path: Path, run: Run) -> None:
    wrong = {f"{PLACE}/comp3_det_test_cat.txt": CAT + b"a_9 1 1 1 2 2\n"}
    sent = laid_out(tmp_path / "sent", FILES | wrong)

    code, said = run(*about(kit(tmp_path).root, sent, command=command))

    [problem] = said["problems"]
    assert code == 2
    assert (problem["file"], problem["line"]) == ("comp3_det_test_cat.txt", 2)
    assert "a_9" in problem["message"]


UPSIDE_DOWN = FILES | {f"{PLACE}/comp3_det_test_cat.txt": CAT + b"a_1 0.5 40 30 20 5\n"}


@pytest.mark.parametrize("pack", [None, lambda files: gz(tar(files)), zip_of])
def test_what_validate_refuses_is_not_evaluated(
    pack: Callable[[dict[str, bytes]], bytes] | None, tmp_path: Path, run: Run
) -> None:
    tree, sent = kit(tmp_path).root, laid_out(tmp_path / "sent", UPSIDE_DOWN)
    if pack is not None:
        sent = tmp_path / "sent.archive"
        sent.write_bytes(pack(UPSIDE_DOWN))

    checked, report = run(*about(tree, sent, command="validate"))
    scored, said = run(*about(tree, sent))

    assert (checked, scored) == (2, 2)
    assert said["problems"] == report["problems"]
    assert [(each["code"], each["line"]) for each in said["problems"]] == [("inverted-box", 2)]
    code, kept = run(*about(tree, sent, "--accepted"))
    assert (code, kept["classes"]["cat"]["predictions"]) == (0, 2)


def test_all_competitions_of_an_archive_are_checked_unless_one_is_asked_for(tmp_path: Path, run: Run) -> None:
    tree, sent = kit(tmp_path).root, tmp_path / "sent.zip"
    sent.write_bytes(zip_of(FILES | {f"{PLACE}/comp4_det_test_cat.txt": CAT}))

    code, report = run("validate", "--truth", tree, "--image-set", "test", "--results", sent)
    refused = [run(*about(tree, sent, command=command)) for command in ("validate", "evaluate")]

    assert (code, [each["number"] for each in report["competitions"]]) == (0, [3, 4])
    assert [(code, codes(said)) for code, said in refused] == [(2, ["other-competition"])] * 2
    assert codes(run("validate", "--truth", tree, "--image-set", "test", "--results", tmp_path)[1]) == [
        "usage"
    ]


def test_results_of_another_competition_are_not_said_to_be_further_ones(tmp_path: Path, run: Run) -> None:
    tree, sent = kit(tmp_path).root, tmp_path / "sent.zip"
    sent.write_bytes(zip_of(FILES))

    for command in ("validate", "evaluate"):
        _, said = run(*about(tree, sent, "--competition", 4, command=command))
        messages = {each["code"]: each["message"] for each in said["problems"]}
        assert messages["other-competition"] == "there are results of comp3; expected those of comp4"


def test_masks_of_a_set_without_any_are_said_to_be_for_nothing(tmp_path: Path, run: Run) -> None:
    tree, sent = kit(tmp_path).root, tmp_path / "sent.zip"
    sent.write_bytes(zip_of(FILES | {"results/VOC2012/Segmentation/comp5_test_cls/a_1.png": b"x"}))

    _, said = run("validate", "--truth", tree, "--image-set", "test", "--results", sent)

    [problem] = said["problems"]
    assert problem["message"] == "VOC2012 test has no images for comp5; leave out its files"


@pytest.mark.parametrize("more", [(), ("--competition", 3, "--image-set", "test"), ("--protocol", "voc2012")])
def test_json_in_place_of_a_tree_leads_to_its_protocols(
    tmp_path: Path, run: Run, more: tuple[object, ...]
) -> None:
    (tmp_path / "instances.json").write_text("{}")

    _, said = run("evaluate", "--truth", tmp_path / "instances.json", "--results", tmp_path, *more)

    assert said["problems"][0]["message"].endswith(
        "annotation in COCO's JSON goes with --protocol coco or lvis"
    )


def test_a_single_prediction_file_is_checked_and_scored(tmp_path: Path, run: Run) -> None:
    tree, file = kit(tmp_path).root, tmp_path / "comp3_det_test_dog.txt"
    file.write_bytes(DOG)

    checked, report = run(*about(tree, file, command="validate"))
    scored, said = run(*about(tree, file))

    assert (checked, report["valid"], scored) == (0, True, 0)
    assert said["classes"]["dog"]["value"] == 1
    assert codes(run(*about(tree, file.rename(tmp_path / "dog.txt")))[1]) == ["file-name"]


def test_statistics_count_difficult_objects_separately(tmp_path: Path, run: Run) -> None:
    code, said = run("statistics", kit(tmp_path).root, "--image-set", "test", "--json")

    assert (code, said["dataset"], said["image_set"]) == (0, "VOC2012", "test")
    assert said["classes"] == {
        "cat": {"images": 1, "objects": 1, "difficult": 1},
        "dog": {"images": 2, "objects": 2, "difficult": 0},
    }
    assert said["total"] == {"images": 2, "objects": 3, "difficult": 1}


def test_significance_ranks_methods_and_groups_them(tmp_path: Path, run: Run) -> None:
    table = tmp_path / "table.csv"
    table.write_text("method,car,cat,dog\none,0.9,0.8,0.7\ntwo,0.1,0.2,0.3\nthree,0.5,,0.5\n")

    code, said = run("significance", table, "--json")

    assert code == 0
    assert said["mean_ranks"] == {"one": 1, "two": 2}
    assert said["friedman"] == {
        "statistic": pytest.approx(3),
        "degrees": 1,
        "p": pytest.approx(0.0833, abs=1e-4),
    }
    assert said["critical_difference"] == pytest.approx(1.960 / 3**0.5, abs=1e-3)
    assert (said["groups"], said["left_out"], said["classes"]) == ([["one", "two"]], ["three"], 3)
    [pair] = said["pairs"]
    assert (pair["one"], pair["other"], pair["difference"]) == ("one", "two", 1)
    assert pair["holm"] == pytest.approx(0.0833, abs=1e-4)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("", "usage"),
        ("guess", "usage"),
        ("evaluate", "usage"),
        ("evaluate --competition three {rest}", "usage"),
        ("evaluate --competition 3 --classes cat,,dog {rest}", "usage"),
        ("evaluate --competition 3 --classes= {rest}", "usage"),
        ("evaluate --competition 3 --bootstrap 0 {rest}", "usage"),
        ("evaluate --competition 3 --bootstrap 1e3 {rest}", "usage"),
        ("evaluate --compet 3 {rest}", "usage"),
        ("evaluate --competition \uff13 {rest}", "usage"),
        ("evaluate --competition 3 --truth= --image-set test --results .", "usage"),
        ("validate --competition 3 --truth {tree} --image-set test --results=", "usage"),
        ("evaluate --competition 3 --protocol= {rest}", "unknown-protocol"),
        ("evaluate --competition 5 {rest}", "no-results"),
        ("validate --competition 5 {rest}", "no-results"),
        ("evaluate --competition 3 --truth {tree} --image-set test --results {pipe}", "special-file"),
        ("validate --competition 3 --truth {tree} --image-set test --results {pipe}", "special-file"),
        ("evaluate --competition 3 --truth {loop} --image-set test --results .", "no-tree"),
        ("statistics {tree} --image-set /etc/passwd", "no-image-set"),
        ("validate --competition 3 --truth {tree} --image-set ** --results .", "no-image-set"),
        ("evaluate --competition 3 --protocol voc1999 {rest}", "unknown-protocol"),
        ("evaluate --competition 3 --truth {own} --image-set test --results .", "no-protocol"),
        ("evaluate --competition 3 --threads 0 {rest}", "usage"),
        ("evaluate --competition 3 --threads many {rest}", "usage"),
        ("evaluate --competition 3 --threads 2 --protocol voc1999 {rest}", "unknown-protocol"),
        ("evaluate --competition 3 --truth {tree} --results .", "usage"),
        ("evaluate --competition 99 {rest}", "unknown-competition"),
        ("validate --competition 99 {rest}", "unknown-competition"),
        ("evaluate --competition 3 --classes cat,unicorn {rest}", "unknown-class"),
        ("evaluate --competition 4 {rest}", "no-results"),
        ("validate --competition 4 {rest}", "no-results"),
        ("evaluate --competition 3 --truth nowhere --image-set test --results .", "no-tree"),
        ("validate --competition 3 --truth nowhere --image-set test --results .", "no-tree"),
        ("statistics nowhere --image-set test", "no-tree"),
        ("evaluate --competition 3 --truth {tree} --image-set val --results .", "no-image-set"),
        ("validate --competition 3 --truth {tree} --image-set val --results .", "no-image-set"),
        ("statistics {tree} --image-set ../..", "no-image-set"),
        ("evaluate --competition 3 --truth {tree} --image-set test --results nowhere", "no-file"),
        ("validate --competition 3 --truth {tree} --image-set test --results nowhere", "no-file"),
        ("evaluate --competition 3 --truth {tree} --image-set test --results {text}", "unsupported-type"),
        ("significance nowhere.csv", "no-file"),
        ("significance {tree}", "no-file"),
        ("significance {text}", "encoding"),
        ("significance {empty}", "empty-table"),
        ("significance {holes}", "no-method"),
    ],
)
def test_usage_errors_are_printed_as_json(words: str, code: str, tmp_path: Path, run: Run) -> None:
    tree = kit(tmp_path).root
    for name, content in (("text", b"\xff\xfe"), ("empty", b""), ("holes", b"method,car\none,\n")):
        (tmp_path / name).write_bytes(content)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    shutil.copytree(tree, tmp_path / "own")  # the name of a folder is that of its challenge
    named = ("text", "empty", "holes", "pipe", "loop", "own")
    places = {"tree": tree, **{name: tmp_path / name for name in named}}
    rest = f"--truth {tree} --image-set test --results {laid_out(tmp_path / 'sent')}"

    exited, said = run(*words.format(rest=rest, **places).split())

    assert exited == 2
    assert codes(said)[0] == code


def test_an_empty_path_from_an_unset_variable_is_refused(run: Run) -> None:
    exited, said = run("validate", "--competition", 3, "--truth", "", "--image-set", "test", "--results", "")

    assert exited == 2
    assert "expected a path, found nothing" in said["problems"][0]["message"]


def test_an_unexpected_error_is_printed_as_json(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, run: Run
) -> None:
    monkeypatch.setattr(module, "parse", lambda _: json.loads("{"))

    exited, said = run("statistics")

    assert (exited, codes(said)) == (2, ["unexpected"])
    assert "JSONDecodeError" in said["problems"][0]["message"]


def test_a_package_that_is_not_installed_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, run: Run
) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)

    exited, said = run(*about(kit(tmp_path).root, laid_out(tmp_path / "sent")))

    assert (exited, codes(said)) == (2, ["not-installed"])
    assert "install heldout-scoring[files]" in said["problems"][0]["message"]


def test_an_undecodable_path_is_replaced_by_text_in_json(run: Run) -> None:
    code, said = run("statistics", os.fsdecode(b"/nowhere/voc\xe9"), "--image-set", "val")

    assert (code, said["problems"][0]["message"]) == (2, "there is no folder '/nowhere/voc?'")


def pipe_without_a_reader() -> int:
    reader, end = os.pipe()
    os.close(reader)
    return end


@pytest.mark.parametrize("full", [True, False])
def test_output_that_cannot_be_written_gives_exit_code_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, full: bool
) -> None:
    end = os.open("/dev/full", os.O_WRONLY) if full else pipe_without_a_reader()
    monkeypatch.setattr(sys, "stdout", os.fdopen(end, "w"))

    code = main(["statistics", str(kit(tmp_path).root), "--image-set", "test"])

    sys.stdout.close()  # what was not written is written now, to nowhere
    assert code == 2


def test_help_is_printed_as_text_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["evaluate", "--help"])

    assert left.value.code == 0
    assert "--bootstrap" in capsys.readouterr().out


@pytest.mark.sampled
@pytest.mark.parametrize("threads", ["1", "2"])
def test_one_core_and_two_give_bitwise_equal_results(threads: str, tmp_path: Path, run: Run) -> None:
    tree, sent = kit(tmp_path).root, laid_out(tmp_path / "sent")
    words = [*map(str, about(tree, sent, "--bootstrap", 100))]
    cores = sorted(os.sched_getaffinity(0))[: int(threads)]
    settings = os.environ | {"POLARS_MAX_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}

    apart = subprocess.run(
        [sys.executable, "-c", ON_THESE_CORES, ",".join(map(str, cores)), *words],
        env=settings,
        cwd=Path(__file__).parents[2],
        capture_output=True,
        check=True,
    )

    assert json.loads(apart.stdout) == run(*words)[1]
    assert apart.stderr == b""


def test_the_command_module_can_be_run_and_imported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["heldout-scoring", "statistics"])

    importlib.import_module("heldout_scoring.__main__")
    monkeypatch.delitem(sys.modules, "heldout_scoring.__main__")
    with pytest.raises(SystemExit) as left:
        runpy.run_module("heldout_scoring", run_name="__main__")

    assert left.value.code == 2
    assert codes(json.loads(capsys.readouterr().out)) == ["usage"]


def test_the_protocols_are_listed_with_their_tasks(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["protocols", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["protocols"]
    assert main(["protocols"]) == 0
    text = capsys.readouterr().out

    assert {name: list(row["tasks"]) for name, row in listed.items()} == {
        row.name: [each.task.name for each in row.tasks] for row in PROTOCOLS.values()
    }
    assert listed["oid_V2_detection_metrics"]["other_names"] == ["open_images_metrics"]
    assert text.startswith("voc2006: PASCAL VOC 2006\n  Classification; Detection; Segmentation;")
