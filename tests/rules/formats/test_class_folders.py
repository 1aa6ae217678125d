"""Folders of classes: their sets, and what is wrong with pictures and names."""

from pathlib import Path

import pytest

from tests.pages.data_sets import jpeg
from tests.rules.formats.builders import Read, read


def sent(folder: Path, *names: str, role: str = "public") -> Read:
    """Pictures of these names, each with a shade of its own."""
    return read(folder, {name: jpeg(shade=number) for number, name in enumerate(names)}, role=role)


def test_sets_are_named_by_whole_words_and_never_joined(tmp_path: Path) -> None:
    found = sent(tmp_path, *(f"x/{folder}/{name}/{folder}-{name}.jpg" for folder in ("Training", "valid", "contest") for name in ("cat", "dog")))  # fmt: skip

    [said] = found.problems
    assert [(each.name, each.images) for each in found.report.sets] == [("train", 2), ("val", 2)]
    assert (
        said
        == "x/contest/cat/contest-cat.jpg: 2 files like this one are in no folder of an image set, though others are in Training, valid; put them into one"
    )


def test_two_folders_that_mean_one_set_are_a_problem(tmp_path: Path) -> None:
    [said] = sent(tmp_path, "train/cat/a.jpg", "Training/dog/b.jpg").problems

    assert (
        said
        == "train: this folder and Training would both be the image set train; send one of them, or call them otherwise"
    )


def test_two_folders_that_mean_one_class_are_a_problem(tmp_path: Path) -> None:
    [said] = sent(tmp_path, "day/cat/a.jpg", "night/cat/b.jpg", "day/dog/c.jpg").problems

    assert said.startswith("night/cat/b.jpg: the folder of this image and day/cat have the name of one class")


def test_a_class_within_a_class_is_a_problem(tmp_path: Path) -> None:
    [said] = sent(tmp_path, "cat/a.jpg", "cat/tom/b.jpg", "dog/c.jpg").problems

    assert said.startswith("cat/tom/b.jpg: the folder of this image is in cat, which has images of its own")


def test_pictures_beside_the_folders_are_a_problem(tmp_path: Path) -> None:
    [said] = sent(tmp_path, "cat/a.jpg", "dog/c.jpg", "d.jpg", "e.jpg").problems

    assert said.startswith("d.jpg: 2 files like this one are in no folder of a class")


def test_pictures_of_other_kinds_are_left_out_with_their_count(tmp_path: Path) -> None:
    found = sent(tmp_path, "cat/a.jpg", "dog/b.jpg", "dog/c.ppm", "dog/d.ppm")

    assert (
        "2 files are left out, such as dog/c.ppm: images are read as .jpg, .jpeg, .jfif, .png"
        in found.warnings
    )


def test_classes_have_any_letters_and_blanks_and_images_have_not(tmp_path: Path) -> None:
    found = sent(tmp_path, "traffic light/a.jpg", "ampel grün/b.jpg", "ampel grün/c d.jpg", role="hidden")

    [said] = found.problems
    assert said.startswith("1 of the images of test have names that cannot stand in the lines of results")
    assert [row.name for row in found.report.sets[0].classes] == ["ampel grün", "traffic light"]


def test_two_pictures_of_one_name_stay_two_images(tmp_path: Path) -> None:
    found = sent(tmp_path, "train/cat/0.jpg", "train/dog/0.png", "test/dog/0.jpg")

    assert found.problems == []
    assert {each.name: each.images for each in found.report.sets} == {"train": 2, "test": 1}
    assert found.truths["public-1"].lists.images == ("cat_0", "dog_0")
    assert [each.without_picture for each in found.report.sets] == [0, 0]


def test_the_folder_of_a_hidden_picture_never_stands_in_its_name(tmp_path: Path) -> None:
    [said] = sent(tmp_path, "cat/0.jpg", "cat/1.jpg", "dog/0.png", role="hidden").problems

    assert said == (
        "2 of the images of test would be called by their folders, which are their classes, because other files have the same names,"
        " such as …; give each file a name of its own, or give hidden images neutral names"
    )


def test_the_folder_of_a_picture_stands_in_no_name_of_a_public_set_that_is_treated_as_hidden(
    tmp_path: Path,
) -> None:
    names = ("train/cat/0.jpg", "train/dog/0.png", "test/cat/1.jpg", "test/dog/1.png")

    [said] = sent(tmp_path, *names).problems

    assert said.startswith("test: 2 of the images of test would be called by their folders")


def test_neutral_names_let_hidden_pictures_have_one_name_in_several_folders(tmp_path: Path) -> None:
    files = {f"{name}/0.jpg": jpeg(shade=number) for number, name in enumerate(("cat", "dog"))}

    found = read(tmp_path, files, role="hidden", secret=b"secret")

    assert found.problems == []
    assert all(name.isdigit() for name in found.truth.lists.images)


def test_a_list_of_the_folders_gives_the_classes_their_order(tmp_path: Path) -> None:
    files = {"dog/a.jpg": jpeg(), "cat/b.jpg": jpeg(shade=1), "classes.txt": b"dog\r\ncat\r\n"}

    found = read(tmp_path, files)

    assert (found.problems, found.truth.lists.classes) == ([], ("dog", "cat"))


def test_a_list_of_other_classes_is_a_problem_that_quotes_none(tmp_path: Path) -> None:
    files = {"dog/a.jpg": jpeg(), "cat/b.jpg": jpeg(shade=1), "classes.txt": b"dog\nSECRET\n"}

    [said] = read(tmp_path, files, role="hidden").problems

    assert said == (
        "classes.txt: expected the names of the 2 folders, each in a line; 1 lines name no folder, and 1 folders are in no line"
    )


def test_folders_and_files_of_systems_are_no_classes(tmp_path: Path) -> None:
    names = ["cat/.ipynb_checkpoints/a.jpg", ".hidden/c.jpg", "__MACOSX/cat/._a.jpg"]
    files = {name: jpeg(shade=number) for number, name in enumerate(["cat/a.jpg", "dog/b.jpg", *names])}

    found = read(tmp_path, {**files, "cat/Thumbs.db": b"x", "dog/desktop.ini": b"x"})

    assert found.problems == []
    assert found.truth.lists.classes == ("cat", "dog")
    assert found.truth.lists.images == ("a", "b")


def test_classes_that_are_called_by_numbers_alone_are_warned_of(tmp_path: Path) -> None:
    found = sent(tmp_path, "0001/a.jpg", "0002/b.jpg", "0003/c.jpg")

    assert (
        "the names of all 3 folders are numbers, each taken for a class; numbers of sequences or persons are none"
        in found.warnings
    )


@pytest.mark.parametrize("role", ["public", "hidden"])
@pytest.mark.parametrize("stray", ["cat/list.txt", "notes/a.txt"])
def test_a_text_file_among_the_pictures_is_named(stray: str, role: str, tmp_path: Path) -> None:
    files = {"cat/a.jpg": jpeg(), "dog/b.jpg": jpeg(shade=9), stray: b"a line"}

    found = read(tmp_path, files, role=role)

    words = "this file is in a folder of images or called like one of them, so that folders are not taken for classes"
    name = stray.rpartition("/")[2] if role == "hidden" else stray
    assert found.problems[0].startswith(f"{name}: {words}")
    assert found.report.sets == ()


def test_a_readme_in_the_folder_of_a_class_is_left_out(tmp_path: Path) -> None:
    found = read(tmp_path, {"cat/a.jpg": jpeg(), "dog/b.jpg": jpeg(shade=9), "cat/README.txt": b"of cats"})

    assert (found.problems, found.truth.lists.classes) == ([], ("cat", "dog"))
    assert "1 file is left out, called README: neither annotation nor images" in found.warnings


def test_a_set_comes_from_the_folder_above_its_classes(tmp_path: Path) -> None:
    found = sent(
        tmp_path, "birds/train/cat/a.jpg", "birds/train/dog/b.jpg", "birds/test/dog/c.jpg", role="hidden"
    )

    assert {each.name: each.source for each in found.report.sets} == {
        "test": "birds/test",
        "train": "birds/train",
    }


def test_no_file_lies_in_the_folder_of_another_class_that_differs_in_case(tmp_path: Path) -> None:
    found = sent(tmp_path, "cat/a.jpg", "Cat/b.jpg", "dog/c.jpg")

    assert "other-folder" not in found.codes
    assert "like-names" in found.codes


@pytest.mark.parametrize(
    ("above", "is_told"), [(("animal", "car"), True), (("train", "val"), False), (("x", "x"), False)]
)
def test_folders_above_classes_that_are_no_sets_are_told(
    above: tuple[str, str], *, is_told: bool, tmp_path: Path
) -> None:
    found = sent(
        tmp_path,
        *(
            f"{folder}/{name}/{name}{folder}.jpg"
            for folder, names in zip(above, (("cat", "dog"), ("bus", "van")), strict=True)
            for name in names
        ),
    )

    assert found.problems == []
    assert ("class-groups" in found.codes) == is_told
