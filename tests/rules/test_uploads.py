"""Which files belong to a phase, by name and competitions."""

from dataclasses import replace

import pytest

from app.submissions.uploads import mismatch
from app.web.transfers import parse_range
from heldout_scoring.archives.members import Names
from heldout_scoring.competitions import result_path
from heldout_scoring.data.description import Limits
from heldout_scoring.errors import Problems
from tests.rules.test_submissions import phase


@pytest.mark.parametrize(
    ("filename", "numbers"),
    [("results.zip", ()), ("results.zip", (3, 4)), ("comp3_det_test_car.txt", (3,)), ("COMP.TAR.GZ", ())],
)
def test_archives_and_result_files_belong_to_a_phase(filename: str, numbers: tuple[int, ...]) -> None:
    assert mismatch(phase(), filename, numbers) is None


def test_a_competition_that_the_phase_lacks_is_named() -> None:
    refusal = mismatch(phase(), "results.zip", (3, 99))

    assert refusal
    assert refusal.startswith("there is no competition 99 in VOC2012 test; expected some of 1, 2, 3")


def test_the_refusal_of_a_misnamed_file_lists_the_expected_names() -> None:
    refusal = mismatch(phase(), "car.txt", ())

    assert refusal
    assert "car.txt is not the name of a prediction file" in refusal
    assert "comp3_det_test_<class>.txt" in refusal


def test_a_file_of_another_image_set_is_refused() -> None:
    assert mismatch(phase(), "comp3_det_val_car.txt", ()) is not None


@pytest.mark.parametrize(
    "filename",
    ["good.json", "good.json.gz", "my results (2).JSON", f"{'long' * 26}….json", "._ä/é.json", "-.json.xz"],
)
def test_json_of_any_name_is_accepted_for_coco_and_gets_a_safe_path(
    filename: str,
) -> None:
    path = result_path(filename, "COCO", "test")

    assert mismatch(replace(phase(), dataset="COCO"), filename, ()) is None
    assert path is not None
    assert Names(Limits(), Problems()).accept(path, folder=False) == path
    assert len(path.rpartition("/")[2].encode()) <= 100
    assert path.lower().endswith((".json", ".json.gz", ".json.xz"))
    assert "is not the name of a prediction file" in (mismatch(phase(), filename, ()) or "")


@pytest.mark.parametrize("header", ["bytes=10-", "bytes=5-4", "bytes=-0"])
def test_a_range_outside_the_content_is_refused(header: str) -> None:
    with pytest.raises(ValueError, match="bytes"):
        parse_range(header, 10)
