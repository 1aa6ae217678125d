import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image as Picture

from heldout_scoring import Image, TreeError, read_public, read_tree
from heldout_scoring.data.description import UNKNOWN_SIDE
from heldout_scoring.readers.image_index import ImageIndex
from tests.scoring.builders import Kit, annotation, kit, thing
from tests.scoring.conftest import Unpack
from tests.scoring.test_annotations import OF_2006
from tests.shared import ROOT

UNKNOWN = (UNKNOWN_SIDE, UNKNOWN_SIDE)


def full(folder: Path) -> Kit:
    """A challenge with every set; a_3 and a_4 are in no Main set."""
    tree = kit(folder).write("ImageSets/Segmentation/test.txt", "a_4\n")
    tree.write("ImageSets/Layout/test.txt", "a_3 1\na_1 2\n").write("ImageSets/Action/test.txt", "a_3\na_2\n")
    tree.write("ImageSets/Action/running_test.txt", "a_3 1 1\na_2 1 -1\n")
    tree.write("ImageSets/Action/other_test.txt", "a_3 1 -1\na_2 1 1\n")
    tree.write("Annotations/a_3.xml", annotation(thing("dog"), width=7, height=9))
    return tree


def paint(tree: Kit, name: str, width: int, height: int) -> None:
    (tree.root / name).parent.mkdir(exist_ok=True)
    Picture.new("RGB", (width, height)).save(tree.root / name)


@pytest.mark.parametrize(("tree", "image_set"), [("VOC2012", "val"), ("VOC2007", "test"), ("VOC2006", "val")])
@pytest.mark.shared
def test_the_public_tree_gives_the_description_of_the_ground_truth(
    tree: str, image_set: str, unpacked: Unpack
) -> None:
    root = unpacked("synthetic_seed2012.tar.xz") / tree

    # without annotation, the competitions that lack it are unknown; the server's description lists them
    assert read_public(root, image_set) == replace(read_tree(root, image_set).description, not_offered=())


def test_the_public_tree_of_a_small_set_gives_the_same_description() -> None:
    root = ROOT / "tests" / "golden" / "sample"

    assert read_public(root, "test") == replace(read_tree(root, "test").description, not_offered=())


def test_without_annotation_and_labels_only_image_sizes_are_missing(tmp_path: Path) -> None:
    tree = full(tmp_path)
    whole = read_public(tree.root, "test")

    shutil.rmtree(tree.root / "Annotations")
    for name in ("cat", "dog"):
        tree.write(f"ImageSets/Main/{name}_train.txt", "b_1 1\n")
        (tree.root / f"ImageSets/Main/{name}_test.txt").unlink()
    tree.write("ImageSets/Main/train.txt", "b_1\n").write(
        "ImageSets/Action/running_test.txt", "a_3 1\na_2 1\n"
    )
    bare = read_public(tree.root, "test")

    assert whole.images == (Image("a_1", 50, 40), Image("a_2", 50, 40))
    assert whole.further == (Image("a_3", 7, 9), Image("a_4", *UNKNOWN))
    assert (whole.classes, whole.actions) == (("cat", "dog"), ("running",))
    assert (whole.persons, whole.acting) == ((("a_3", 1), ("a_1", 2)), (("a_2", 1), ("a_3", 1)))
    assert bare.images == (Image("a_1", *UNKNOWN), Image("a_2", *UNKNOWN))
    for name in ("classes", "actions", "segmentation", "persons", "acting"):
        assert getattr(bare, name) == getattr(whole, name)


def test_a_challenge_without_any_label_file_has_the_classes_of_its_year(tmp_path: Path) -> None:
    tree = Kit(tmp_path / "VOC2012").write("ImageSets/Main/test.txt", "a_1\n")
    foreign = Kit(tmp_path / "birds").write("ImageSets/Main/test.txt", "a_1\n")

    assert len(read_public(tree.root, "test").classes) == 20
    assert read_public(foreign.root, "test").classes == ()


def test_without_the_plain_list_images_are_read_from_label_files(tmp_path: Path) -> None:
    tree = kit(tmp_path)
    (tree.root / "ImageSets/Main/test.txt").unlink()

    assert [image.id for image in read_public(tree.root, "test").images] == ["a_1", "a_2"]


def test_sizes_come_from_the_images_if_present(tmp_path: Path) -> None:
    tree = kit(tmp_path)
    paint(tree, "JPEGImages/a_1.jpg", 30, 20)
    paint(tree, "PNGImages/a_2.png", 11, 12)

    assert read_public(tree.root, "test").images == (Image("a_1", 30, 20), Image("a_2", 11, 12))


def test_in_a_tree_of_2006_missing_images_get_sizes_from_the_annotation(tmp_path: Path) -> None:
    tree = Kit(tmp_path / "VOC2006").write("ImageSets/cow_test.txt", "000003 1\n")
    tree.write("Annotations/000003.txt", OF_2006)

    description = read_public(tree.root, "test")

    assert (description.images, description.classes) == ((Image("000003", 640, 480),), ("cow",))


def test_persons_of_the_action_set_may_be_listed_without_any_label_file(tmp_path: Path) -> None:
    tree = kit(tmp_path).write("ImageSets/Action/test.txt", "a_2 1\na_1 2\na_1 1\n")

    assert read_public(tree.root, "test").acting == (("a_1", 1), ("a_1", 2), ("a_2", 1))


def test_a_mask_for_an_image_of_unknown_size_may_have_any_size(tmp_path: Path) -> None:
    tree = full(tmp_path)
    index = ImageIndex.of(read_public(tree.root, "test"))

    assert set(index.anywhere) == {"a_1", "a_2", "a_3"}


@pytest.mark.parametrize(
    ("file", "content", "sentence"),
    [
        ("ImageSets/Main/test.txt", "", "no image of the set 'test' here"),
        ("ImageSets/Layout/test.txt", "a_1 1 1\n", "1 line with too few or too many columns"),
        ("ImageSets/Segmentation/test.txt", "a b\n", "expected an image and at most two whole numbers"),
    ],
)
def test_an_invalid_image_set_is_reported(file: str, content: str, sentence: str, tmp_path: Path) -> None:
    tree = Kit(tmp_path / "VOC2012").write("ImageSets/Main/test.txt", "a_1\n").write(file, content)

    with pytest.raises(TreeError, match=sentence):
        read_public(tree.root, "test")
