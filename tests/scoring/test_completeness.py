"""The public description alone tells which results are complete."""

from pathlib import Path

import pytest

from heldout_scoring import Description, Image, competition_of, validate
from heldout_scoring.protocols import TASKS
from heldout_scoring.tasks.files import files_of
from tests.scoring.archives import gz, tar, written

PHASE = Description(
    "VOC2012", "test", ("car", "cat"), ("running",), tuple(Image(name, 50, 40) for name in ("a", "b")),
    segmentation=("a",), persons=(("a", 1), ("b", 1), ("b", 2)), acting=(("a", 1),),
)  # fmt: skip


@pytest.mark.parametrize(
    ("task", "fewest"),
    [("classification", 4), ("detection", 4), ("segmentation", 0), ("layout", 3), ("action", 1)],
)
def test_each_task_knows_how_many_predictions_are_complete(task: str, fewest: int) -> None:
    assert files_of(TASKS[task]).fewest_lines(PHASE) == fewest


@pytest.mark.parametrize(
    ("files", "complete"),
    [
        ({"car": "a 1\nb 2\n", "cat": "a 1\nb 2\n"}, True),
        ({"car": "a 1\nb 2\n", "cat": "b 2\n"}, False),
        ({"car": "a 1\nb 2\n", "cat": ""}, False),
        ({"car": "a 1\nb 2\n"}, False),
    ],
)
def test_a_classification_is_complete_with_a_line_per_image_and_class(
    tmp_path: Path, files: dict[str, str], *, complete: bool
) -> None:
    members = {
        f"results/VOC2012/Main/comp1_cls_test_{name}.txt": text.encode() for name, text in files.items()
    }

    [found] = validate(written(tmp_path, gz(tar(members)), "r.tar.gz"), PHASE).competitions

    assert competition_of("VOC2012", found.number).task == "classification"
    assert found.is_complete is complete
