"""Names of images from the paths of their files."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from app.intake.formats.image_names import image_names
from heldout_scoring import Problems
from tests.pages.data_sets import jpeg
from tests.rules.formats.builders import read

ODD: Mapping[str, Mapping[str, bytes]] = {
    "YOLO": {"classes.txt": b"cat", "a é.jpg": jpeg(), "a é.txt": b"0 0.5 0.5 0.2 0.5"},
    "table": {
        "boxes.csv": "image,class,left,top,right,bottom\na é.jpg,cat,1,1,9,9\n".encode(),
        "a é.jpg": jpeg(),
    },
    "folders": {"cat/a é.jpg": jpeg(), "dog/b.jpg": jpeg(shade=9)},
}


@pytest.mark.parametrize("kind", ODD)
def test_names_that_results_cannot_have_are_a_problem_unless_hidden_images_get_others(
    kind: str, tmp_path: Path
) -> None:
    folders = {name: tmp_path / name for name in ("public", "hidden", "neutral")}
    for folder in folders.values():
        folder.mkdir()

    public = read(folders["public"], ODD[kind], role="public")
    hidden = read(folders["hidden"], ODD[kind], role="hidden")
    neutral = read(folders["neutral"], ODD[kind], role="hidden", secret=b"secret")

    assert (public.report.total, public.report.has_odd_names) == (1, False)
    assert (hidden.report.total, hidden.report.has_odd_names) == (1, True)
    assert "or give hidden images neutral names" in hidden.problems[0]
    assert (neutral.problems, neutral.truth.lists.images[0].isdigit()) == ([], True)


def test_files_that_share_a_name_are_called_by_their_folders_and_a_warning_says_so() -> None:
    found = image_names(["V/cam1/0001.jpg", "V/cam2/0001.JPG", "V/cam2/0002.jpg"])
    problems = Problems()

    found.tell(problems)

    assert list(found.of.values()) == ["cam1_0001", "cam2_0001", "0002"]
    assert problems.listed == ()
    (warning,) = problems.warnings
    assert str(warning.message) == (
        "2 files have the name of another, such as V/cam1/0001.jpg: its image is called by folder and name, cam1_0001, "
        "which everybody sees"
    )


def test_files_whose_images_would_have_one_name_nevertheless_are_a_problem_that_names_both() -> None:
    in_one_folder = image_names(["x/a.jpg", "x/A.png", "y/b.jpg"])
    by_path = image_names(["cat/0.jpg", "dog/0.jpg", "cat_0.png"])
    problems = Problems()

    in_one_folder.tell(problems)
    by_path.tell(problems)

    assert [str(each.message) for each in problems.listed] == [
        "the images of x/a.jpg and x/A.png would both be called x_a; rename one of these files",
        "the images of cat/0.jpg and cat_0.png would both be called cat_0; rename one of these files",
    ]


def test_one_file_written_in_two_ways_is_one_image() -> None:
    found = image_names(["./images/a.jpg", "images\\a.jpg", "b.jpg"])

    assert list(found.of.values()) == ["a", "a", "b"]
    assert found.clashes == ()
