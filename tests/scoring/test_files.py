"""Paths passed to the library by its callers."""

import errno
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from heldout_scoring import (
    Detections,
    GroundTruth,
    PathError,
    bootstrap,
    create_segmentations_from_detections,
    evaluate,
    evaluate_coco,
    read_public,
    read_tree,
    validate,
)
from heldout_scoring.command_line import main
from heldout_scoring.data.description import Limits
from heldout_scoring.errors import SubmissionError, named
from heldout_scoring.readers.voc_tree import TreeError
from heldout_scoring.stored import ForeignFileError
from tests.scoring.archives import tar

LISTS: dict[str, Any] = {"images": [{"id": 1}], "categories": [{"id": 1, "name": "cat"}], "annotations": []}
COCO = GroundTruth.from_coco(LISTS)
BOX = [[1, 1, 10, 10]]
ARRAYS = GroundTruth.from_arrays(["a"], ["cat"], BOX, convention="inclusive")
TRUTH = GroundTruth.of(replace(ARRAYS.lists, dataset="VOC2012", image_set="val"), ARRAYS.tables)
RESULT = evaluate(Detections.from_arrays(["a"], ["cat"], [0.5], BOX), TRUTH, protocol="voc2012")
PHASE = TRUTH.description
NAME = "no such \u00e9.json"

READERS: dict[str, Callable[[Any], object]] = {
    "evaluate": lambda path: evaluate(path, TRUTH, protocol="voc2012", competition=3),
    "validate": lambda path: validate(path, PHASE),
    "segmentations": lambda path: create_segmentations_from_detections(path, PHASE, "painted"),
    "open": GroundTruth.open,
    "ground truth": GroundTruth.from_coco,
    "detections": lambda path: Detections.from_coco(path, COCO),
    "both": lambda path: evaluate_coco(path, LISTS),
    "matches": lambda path: bootstrap(RESULT, TRUTH, statistics=path),
}
WRITERS: dict[str, Callable[[Any], object]] = {
    "truth": TRUTH.save,
    "matches": RESULT.save_matches,
}


@pytest.mark.parametrize("kind", [Path, str])
@pytest.mark.parametrize("reader", READERS)
def test_a_missing_file_is_reported_in_a_sentence(
    reader: str, kind: Callable[[Path], Any], tmp_path: Path
) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        READERS[reader](kind(tmp_path / NAME))

    assert str(caught.value) == f"there is no file '{tmp_path / NAME}'"
    assert (caught.value.errno, caught.value.filename) == (errno.ENOENT, str(tmp_path / NAME))


@pytest.mark.parametrize("text", ["", "a\0b"])
@pytest.mark.parametrize(
    "reader", [*READERS.values(), *WRITERS.values(), lambda path: read_tree(path, "val")]
)
def test_a_string_that_is_not_a_path_is_refused(reader: Callable[[Any], object], text: str) -> None:
    with pytest.raises(PathError, match="expected a path, found "):
        reader(text)


@pytest.mark.parametrize(
    "act", [READERS["open"], READERS["ground truth"], READERS["matches"], *WRITERS.values()]
)
def test_a_folder_in_place_of_a_file_is_refused(act: Callable[[Any], object], tmp_path: Path) -> None:
    with pytest.raises(PathError) as caught:
        act(str(tmp_path))

    assert str(caught.value) == f"expected a file, found the folder '{tmp_path}'"


@pytest.mark.parametrize("write", WRITERS.values())
def test_writing_into_a_missing_folder_is_refused(write: Callable[[Any], object], tmp_path: Path) -> None:
    with pytest.raises(PathError) as caught:
        write(tmp_path / "gone" / "kept")

    assert str(caught.value) == f"there is no folder '{tmp_path / 'gone'}' for 'kept'"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (PermissionError(errno.EACCES, "Permission denied"), "may not be opened: permission denied"),
        (OSError(errno.EIO, "Input/output error"), "cannot be read or written: Input/output error"),
    ],
)
def test_system_errors_are_reported_with_the_path(error: OSError, words: str) -> None:
    with pytest.raises(PathError) as caught, named(Path("kept")):
        raise error

    assert str(caught.value) == f"'kept' {words}"
    assert caught.value.errno == error.errno


def test_an_empty_file_is_reported_as_empty(tmp_path: Path) -> None:
    empty = tmp_path / "a b.json"
    empty.write_bytes(b"")

    for read in (READERS["open"], READERS["matches"]):
        with pytest.raises(
            ForeignFileError, match=r"a b\.json': expected a file of the kind '\w+', found an empty one"
        ):
            read(empty)
    for read in (READERS["ground truth"], READERS["detections"]):
        with pytest.raises(SubmissionError, match=r"a b\.json: this is not JSON: the file is empty"):
            read(str(empty))
    with pytest.raises(SubmissionError, match="the archive is empty: 0 bytes"):
        READERS["evaluate"](empty.rename(tmp_path / "a b.tar"))


@pytest.mark.parametrize("read", [read_tree, read_public])
def test_a_tree_that_is_missing_or_a_file_is_reported(
    read: Callable[[Any, str], object], tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(b"")

    for name in ("gone", "file"):
        with pytest.raises(TreeError, match=f"there is no folder '.*{name}'"):
            read(str(tmp_path / name), "val")


def test_file_names_may_have_blanks_and_letters_of_any_script(tmp_path: Path) -> None:
    folder = tmp_path / "b\u00e9b\u00e9 \u732b"
    folder.mkdir()

    TRUTH.save(str(folder / "the truth"))
    RESULT.save_matches(str(folder / "the matches"))
    (folder / "all annotations.json").write_text(json.dumps(LISTS))

    assert GroundTruth.open(str(folder / "the truth")).fingerprint == TRUTH.fingerprint
    assert (
        bootstrap(RESULT, TRUTH, statistics=str(folder / "the matches"), replicates=2).draws.replicates == 2
    )
    assert GroundTruth.from_coco(str(folder / "all annotations.json")).fingerprint == COCO.fingerprint


def test_the_command_line_reports_missing_files_with_the_path(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "truth.json").write_text(json.dumps(LISTS))
    files = ("--truth", str(tmp_path / "truth.json"), "--results", str(tmp_path / NAME))

    for words in (("evaluate", "--protocol", "coco", *files), ("significance", str(tmp_path / NAME))):
        assert main(words) == 2
        [problem] = json.loads(capsys.readouterr().out)["problems"]
        assert (problem["code"], problem["message"]) == ("no-file", f"there is no file '{tmp_path / NAME}'")


def test_the_command_line_reports_other_system_errors_with_the_path(
    capsys: pytest.CaptureFixture[str],
) -> None:
    name = "x" * 5000

    assert main(["statistics", name, "--image-set", "val"]) == 2

    [problem] = json.loads(capsys.readouterr().out)["problems"]
    assert (problem["code"], problem["file"]) == ("no-file", name)
    assert problem["message"] == "this cannot be read (File name too long)"


def test_local_files_have_no_limit_of_lines_or_bytes_by_default(tmp_path: Path) -> None:
    lines = b"a 0.5 1 1 10 10\n" * 3
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "comp3_det_val_cat.txt").write_bytes(lines)
    (tmp_path / "sent.tar").write_bytes(tar({"comp3_det_val_cat.txt": lines}))
    narrow = replace(TRUTH, description=replace(PHASE, limits=Limits(max_lines=2)))
    tight = replace(TRUTH, description=replace(PHASE, limits=Limits(max_file_bytes=2)))

    for path, truth in (("sent.tar", narrow), ("folder", narrow), ("folder", tight)):
        result = evaluate(tmp_path / path, truth, competition=3, protocol="voc2012")
        assert result.classes[0].predictions == 3
    for path in ("sent.tar", "folder"):
        assert not validate(tmp_path / path, narrow.description).valid
