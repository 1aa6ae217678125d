"""Pictures of a data set: which image each of them shows, and which of them cannot be used."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from PIL import Image

from app.intake.inspecting import CHOSEN
from tests.pages.data_sets import coco_file, jpeg
from tests.rules.formats.builders import Read, png, read, saved
from tests.scoring.builders import annotation, thing

SIZE = {"width": 50, "height": 40}


def shown(folder: Path, role: str = "hidden") -> Mapping[str, bytes]:
    """The picture of each image of the only set."""
    return {path.name: path.read_bytes() for path in (folder / "work" / CHOSEN / f"{role}-0").iterdir()}


def with_files(*names: str) -> bytes:
    """COCO's JSON, whose images count from 1."""
    images = [{"id": number, "file_name": name, **SIZE} for number, name in enumerate(names, 1)]
    return coco_file(images=images)


def message(found: Read, code: str) -> str:
    """The only problem or warning of a kind."""
    [words] = [str(each) for each in (*found.report.problems, *found.report.warnings) if each.code == code]
    return words


def test_annotation_that_names_files_is_never_matched_by_their_numbers(tmp_path: Path) -> None:
    files = {f"frame_{number:04}.png": png([[number] * 50] * 40) for number in (1, 2, 3)}

    read(
        tmp_path,
        {
            "test.json": with_files(
                r"images\frame_0002.jpg", r"images\frame_0003.jpg", r"images\frame_0004.jpg"
            )
        },
        role="hidden",
        images=files,
    )

    assert shown(tmp_path) == {"1.png": files["frame_0002.png"], "2.png": files["frame_0003.png"]}


def test_pictures_of_one_name_in_two_folders_are_told_apart_by_their_paths(tmp_path: Path) -> None:
    files = {f"V/cam{number}/0001.jpg": jpeg(shade=number) for number in (1, 2)}

    found = read(
        tmp_path,
        {"test.json": with_files("cam2/0001.jpg", "cam1/0001.jpg")},
        role="hidden",
        images=files,
    )

    assert found.problems == []
    assert shown(tmp_path) == {"1.jpg": files["V/cam2/0001.jpg"], "2.jpg": files["V/cam1/0001.jpg"]}


@pytest.mark.parametrize(
    ("names", "images", "code", "words"),
    [
        (
            ["0001.jpg", "b.jpg"],
            ["cam1/0001.jpg", "cam2/0001.jpg"],
            "two-pictures",
            "cam1/0001.jpg: this file and cam2/0001.jpg both fit the image 0001.jpg of val; ",
        ),
        (
            ["cam1/0001.jpg", "cam2/0001.jpg"],
            ["x/0001.jpg"],
            "two-images",
            "x/0001.jpg: this file fits the images cam1/0001.jpg and cam2/0001.jpg of val; ",
        ),
    ],
    ids=["two files", "two images"],
)
def test_what_fits_two_is_a_problem_that_names_both(
    tmp_path: Path, names: list[str], images: list[str], code: str, words: str
) -> None:
    pictures = {name: jpeg(shade=number) for number, name in enumerate(images)}

    found = read(tmp_path, {"val.json": with_files(*names)}, images=pictures)

    assert message(found, code) == (
        f"{words}name each file with its folder in the annotation, or give it a name of its own"
    )


def test_pictures_of_other_kinds_and_other_files_are_left_out_with_their_count(tmp_path: Path) -> None:
    others = {f"{number}.webp": b"x" for number in range(5)}

    found = read(
        tmp_path,
        {"test.json": with_files("a.jpg", "b.jpg")},
        images={**others, "a.jpg": jpeg(), "b.JFIF": jpeg(shade=1), "notes.txt": b"x", "list.json": b"{}"},
    )

    assert found.problems == []
    assert message(found, "picture-kind") == (
        "0.webp: left out, as 5 files are: images have to be JPEG or PNG; convert them without changing their names or sizes"
    )
    assert message(found, "not-a-picture").startswith("notes.txt: left out, as 2 files are: ")
    assert sorted(shown(tmp_path, "public")) == ["1.jpg", "2.jpg"]


def large(kind: str) -> bytes:
    """A picture of noise."""
    return saved(Image.effect_noise((50, 40), 90).convert("RGB"), kind)


def with_thumbnail(content: bytes) -> bytes:
    """A JPEG whose EXIF data has another one."""
    exif = b"Exif\0\0" + jpeg(8, 8)
    return content[:2] + b"\xff\xe1" + (len(exif) + 2).to_bytes(2, "big") + exif + content[2:]


@pytest.mark.parametrize(
    ("change", "is_whole"),
    [
        (lambda content: content, True),
        (lambda content: content + b"more", True),
        (lambda content: content[:-20], False),
        (lambda content: content[:-400], False),
    ],
    ids=["whole", "with more behind", "without its end", "without more"],
)
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "thumbnail"])
def test_a_picture_that_is_cut_off_is_a_problem(
    tmp_path: Path, kind: str, change: Callable[[bytes], bytes], *, is_whole: bool
) -> None:
    content = with_thumbnail(large("JPEG")) if kind == "thumbnail" else large(kind)

    found = read(tmp_path, {"test.json": with_files("a.jpg")}, images={"a.jpg": change(content)})

    expected = (
        [] if is_whole else ["a.jpg: the file ends before the image does; it was not copied completely"]
    )
    assert [str(each) for each in found.report.problems if each.code == "bad-picture"] == expected


def test_rotated_pictures_are_told_once_with_their_count(tmp_path: Path) -> None:
    pictures = {f"{name}.jpg": jpeg(rotated=True, shade=number) for number, name in enumerate("abc")}

    found = read(tmp_path, {"test.json": with_files(*pictures)}, images=pictures)

    assert message(found, "exif-rotation").startswith(
        "a.jpg: rotated by its EXIF data, as 3 images are, which is ignored: "
    )


def test_files_that_systems_put_beside_others_are_left_out_without_a_word(tmp_path: Path) -> None:
    rubbish = (
        "cat/.ipynb_checkpoints/a-checkpoint.jpg",
        "cat/Thumbs.db",
        "dog/desktop.ini",
        "__MACOSX/cat/._a.jpg",
        ".DS_Store",
    )

    found = read(
        tmp_path,
        {"cat/a.jpg": jpeg(), "dog/b.jpg": jpeg(shade=1), **{name: jpeg(shade=9) for name in rubbish}},
    )

    assert (found.problems, found.codes) == ([], set())
    assert found.truth.description.classes == ("cat", "dog")


OF_ONE_SET: dict[str, dict[str, bytes]] = {
    "table": {"boxes.csv": b"image,class,left,top,right,bottom\na.jpg,cat,1,1,9,9\nb.jpg,cat,1,1,9,9\n"},
    "VOC": {f"Annotations/{name}.xml": annotation(thing("cat")).encode() for name in "ab"},
}


@pytest.mark.parametrize("layout", OF_ONE_SET)
def test_images_of_one_set_in_folders_of_several_are_told(layout: str, tmp_path: Path) -> None:
    images = {"images/train/a.jpg": jpeg(500, 375), "images/test/b.jpg": jpeg(500, 375, shade=9)}

    found = read(tmp_path, {**OF_ONE_SET[layout], **images})

    assert (
        "files of the one image set val lie in folders of other image sets: 1 in test and 1 in train; if these are sets, send the annotation "
        "of each apart"
    ) in found.warnings


def test_a_set_whose_images_lie_in_a_folder_to_test_on_is_told(tmp_path: Path) -> None:
    found = read(tmp_path, {"val.json": coco_file(), "test2017/one.jpg": jpeg(50, 40)})

    assert any(
        "of the one image set val lie in folders of other image sets: 1 in test;" in each
        for each in found.warnings
    )


def test_a_folder_of_the_same_set_is_not_told(tmp_path: Path) -> None:
    found = read(tmp_path, {"val.json": coco_file(), "val2017/one.jpg": jpeg(50, 40)})

    assert "folders-of-sets" not in found.codes


def test_folders_of_sets_are_told_where_annotation_alone_names_them(tmp_path: Path) -> None:
    rows = b"image,class,left,top,right,bottom\ntrain/a.jpg,cat,1,1,9,9\ntest/b.jpg,cat,1,1,9,9\n"

    found = read(tmp_path, {"boxes.csv": rows})

    assert "folders-of-sets" in found.codes
