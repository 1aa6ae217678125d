from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from heldout_scoring.analysis.images import Count, count_objects
from heldout_scoring.data.description import Image
from heldout_scoring.data.truth import GroundTruth
from heldout_scoring.readers.voc_tree import TreeError, dataset_of, read_public, read_tree
from tests.scoring.builders import Kit, annotation, kit, part, thing
from tests.scoring.conftest import ReadTruth
from tests.scoring.test_annotations import OF_2006

PERSON = thing("person", parts=part("head") + part("hand", (3, 3, 4, 4)))


def full(folder: Path) -> Kit:
    """All five tasks, with images that are only in the Layout and Action sets, as in VOC2012."""
    tree = kit(folder)
    tree.write("Annotations/b_1.xml", annotation(thing("dog"), PERSON)).write(
        "Annotations/b_2.xml", annotation(PERSON)
    )
    tree.write("ImageSets/Main/person_test.txt", "a_1 -1\na_2 -1\n")
    tree.write("ImageSets/Layout/test.txt", "b_1  2\n")
    tree.write("ImageSets/Action/phoning_test.txt", "b_2  1  1\nb_1  2 -1\n")
    tree.write("ImageSets/Action/jumping_test.txt", "b_1  2  1\n")
    tree.write("ImageSets/Action/other_test.txt", "b_1  2  1\n")
    tree.write("ImageSets/Segmentation/test.txt", "a_2\nc_1\n")
    return tree.mask("a_2", np.zeros((40, 50), np.uint8)).mask("c_1", np.full((3, 4), 3, np.uint8))


def wrong(tree: Kit, image_set: str = "test") -> list[str]:
    with pytest.raises(TreeError) as refused:
        read_tree(tree.root, image_set)
    return str(refused.value).splitlines()


def test_the_description_of_a_tree_leaves_out_the_annotation(tmp_path: Path) -> None:
    description = read_tree(kit(tmp_path).root, "test").description

    assert (description.dataset, description.image_set) == ("VOC2012", "test")
    assert description.classes == ("cat", "dog")
    assert description.images == (Image("a_1", 50, 40), Image("a_2", 50, 40))
    assert (description.actions, description.segmentation, description.persons) == ((), (), ())


def test_objects_keep_the_order_of_images_and_files(tmp_path: Path) -> None:
    objects = read_tree(kit(tmp_path).root, "test").tables.objects

    assert objects.image.tolist() == [0, 0, 1, 1]
    assert objects.name.tolist() == [0, 1, 1, 0]
    assert objects.difficult.tolist() == [False, False, False, True]
    assert objects.truncated.tolist() == [False, False, False, True]
    assert objects.boxes[1].tolist() == [20, 5, 40, 30]


def test_one_read_serves_all_five_tasks(tmp_path: Path) -> None:
    truth = read_tree(full(tmp_path).root, "test")

    lists, tables = truth.lists, truth.tables
    assert (lists.images, lists.main) == (("a_1", "a_2", "b_1", "b_2"), 2)
    assert lists.actions == ("jumping", "phoning")
    assert lists.persons == (("b_1", 2),)
    assert lists.acting == (("b_1", 2), ("b_2", 1))
    assert tables.labels.tolist() == [[1, 0], [1, 1], [-1, -1]]
    assert tables.parts.owner.tolist() == [5, 5, 6, 6]
    assert tables.parts.kind.tolist() == [0, 1, 0, 1]
    assert tables.acts.action.tolist() == [0, 1, 1]
    assert tables.acts.owner.tolist() == [5, 6, 5]
    assert tables.acts.label.tolist() == [1, 1, -1]
    assert lists.segmentation == ("a_2", "c_1")
    assert tables.masks[1].tolist() == [[3] * 4] * 3


def test_saved_ground_truth_opens_unchanged(tmp_path: Path) -> None:
    truth = read_tree(full(tmp_path).root, "test")

    truth.save(tmp_path / "truth")
    again = GroundTruth.open(tmp_path / "truth")

    assert again.fingerprint == truth.fingerprint
    assert again.description == truth.description
    assert again.lists == truth.lists
    assert np.array_equal(again.tables.objects.boxes, truth.tables.objects.boxes)


def test_the_fingerprint_depends_on_the_boxes_and_not_on_the_path(tmp_path: Path) -> None:
    first = read_tree(full(tmp_path / "one").root, "test").fingerprint
    other = full(tmp_path / "two")

    assert read_tree(other.root, "test").fingerprint == first
    other.write("Annotations/b_2.xml", annotation(thing("person", (1, 1, 10, 11))))
    assert read_tree(other.root, "test").fingerprint != first


def test_without_masks_the_segmentation_set_is_left_out(tmp_path: Path) -> None:
    tree = kit(tmp_path).write("ImageSets/Segmentation/test.txt", "a_1\n")

    assert read_tree(tree.root, "test").description.segmentation == ()


def test_without_label_files_classes_and_labels_come_from_the_objects(tmp_path: Path) -> None:
    tree = Kit(tmp_path / "VOC").main(
        {
            "a": annotation(thing("dog"), thing("dog", said="difficult")),
            "b": annotation(thing("ant", said="difficult")),
        }
    )

    truth = read_tree(tree.root, "test")

    assert truth.lists.classes == ("ant", "dog")
    assert truth.tables.labels.tolist() == [[-1, 0], [1, -1]]


def test_a_tree_with_only_masks_can_be_read(tmp_path: Path) -> None:
    tree = Kit(tmp_path / "VOC").write("ImageSets/Segmentation/test.txt", "c\n")

    truth = read_tree(tree.mask("c", np.full((2, 2), 255, np.uint8)).root, "test")

    assert truth.description.images == ()
    assert truth.lists.segmentation == ("c",)


def test_the_layout_set_of_2007_lists_whole_images(tmp_path: Path) -> None:
    tree = kit(tmp_path, "VOC2007").write("ImageSets/Layout/test.txt", "a_2\n")

    assert read_tree(tree.root, "test").description.persons == (("a_2", 0),)


def test_a_tree_of_2006_has_no_task_folders_and_may_lack_the_plain_list(tmp_path: Path) -> None:
    tree = Kit(tmp_path / "VOC2006").write("Annotations/000003.txt", OF_2006)
    tree.write("ImageSets/car_val.txt", "000003  0\n").write("ImageSets/cow_val.txt", "000003  1\n")

    truth = read_tree(tree.root, "val")

    assert truth.description.images == (Image("000003", 640, 480),)
    assert truth.tables.objects.name.tolist() == [0, 1]
    assert truth.tables.labels.tolist() == [[0], [1]]


def test_a_class_may_have_the_name_of_an_image_set(tmp_path: Path) -> None:
    tree = Kit(tmp_path / "VOC", "train").main({"a": annotation(thing("train"))}, {"train": "1"})

    assert read_tree(tree.root, "train").lists.classes == ("train",)


def test_the_table_counts_difficult_objects_separately(tmp_path: Path) -> None:
    table = count_objects(read_tree(full(tmp_path).root, "test"))

    assert table.rows == (Count("cat", 1, 1, 1), Count("dog", 2, 2, 0), Count("person", 0, 0, 0))
    assert table.total == Count("total", 2, 3, 1)


Spoil = Callable[[Kit], object]


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (
            lambda t: t.write("Annotations/a_1.xml", "<a>"),
            "Annotations/a_1.xml:1: this is not plain XML: no element",
        ),
        (
            lambda t: (t.root / "Annotations/a_2.xml").unlink(),
            "Annotations/a_2.xml: this file cannot be read (No such file or directory)",
        ),
        (
            lambda t: t.write("Annotations/a_1.xml", annotation(thing("catt"))),
            "Annotations/a_1.xml: 'catt' is no class that has a label file",
        ),
        (
            lambda t: t.write("Annotations/a_1.xml", annotation(thing("cat", parts=part("tail")))),
            "Annotations/a_1.xml: 'tail' is neither a head nor a hand nor a foot",
        ),
        (
            lambda t: t.write("ImageSets/Main/test.txt", "a_1\na_2\na_2\n"),
            "ImageSets/Main/test.txt:3: 'a_2' is repeated",
        ),
        (
            lambda t: t.write("ImageSets/Main/cat_test.txt", "a_2 1\na_1 1\n"),
            "ImageSets/Main/cat_test.txt: expected the images of 'test' in their order",
        ),
        (
            lambda t: t.write("ImageSets/Main/cat_test.txt", "a_1 1\na_2 2\n"),
            "ImageSets/Main/cat_test.txt: a label is neither 1 nor 0 nor -1",
        ),
        (
            lambda t: t.write("ImageSets/Layout/test.txt", "a_1 1 1\n"),
            "ImageSets/Layout/test.txt: 1 line with too few or too many columns",
        ),
        (
            lambda t: t.write("ImageSets/Layout/test.txt", "a_1 3\n"),
            "ImageSets/Layout/test.txt: the annotation of 'a_1' has no object 3",
        ),
        (
            lambda t: t.write("ImageSets/Action/running_test.txt", "a_1 0 1\n"),
            "ImageSets/Action/running_test.txt: the annotation of 'a_1' has no object 0",
        ),
        (
            lambda t: t.write("ImageSets/Segmentation/test.txt", "a_1\n").mask(
                "a_1", np.zeros((5, 7), np.uint8)
            ),
            "SegmentationClass/a_1.png: expected 50 x 40 pixels, found 7 x 5",
        ),
        (
            lambda t: t.write("ImageSets/Segmentation/test.txt", "a_1\n").mask(
                "a_1", np.full((40, 50), 3, np.uint8)
            ),
            "SegmentationClass/a_1.png: expected labels from 0 to 2, and 255, found 3: 0 is the background, k the k-th class, 255 void",
        ),
        (
            lambda t: t.write("ImageSets/Segmentation/test.txt", "a_1\n").mask(
                "a_1", np.ones((40, 50), np.uint8), "RGB"
            ),
            "SegmentationClass/a_1.png: expected an indexed PNG of 8 bits, found one of mode RGB",
        ),
        (
            lambda t: t.write("ImageSets/Segmentation/test.txt", "a_1\n").mask(
                "a_2", np.ones((40, 50), np.uint8)
            ),
            "SegmentationClass/a_1.png: this file cannot be read (No such file or directory)",
        ),
    ],
)
def test_an_invalid_file_is_reported(spoil: Spoil, sentence: str, tmp_path: Path) -> None:
    tree = kit(tmp_path)

    spoil(tree)

    assert wrong(tree)[0].startswith(sentence)


def test_all_invalid_files_are_reported_not_only_the_first(tmp_path: Path) -> None:
    tree = kit(tmp_path).write("Annotations/a_1.xml", "").write("Annotations/a_2.xml", "<annotation/>")
    tree.write("ImageSets/Layout/test.txt", "a_1 7\n")

    assert [line.partition(":")[0] for line in wrong(tree)] == [
        "Annotations/a_1.xml",
        *["Annotations/a_2.xml"] * 2,
    ]


def test_the_message_names_twenty_invalid_files_and_the_error_has_all(tmp_path: Path) -> None:
    tree = Kit(tmp_path / "VOC").write(
        "ImageSets/Main/test.txt", "".join(f"{number}\n" for number in range(25))
    )

    with pytest.raises(TreeError) as refused:
        read_tree(tree.root, "test")

    assert len(refused.value.problems) == 25
    assert str(refused.value).splitlines()[-1] == "and 5 more"


def test_a_folder_that_is_not_a_challenge_is_refused_with_what_was_expected(tmp_path: Path) -> None:
    [sentence] = wrong(Kit(tmp_path))

    assert sentence == (
        "ImageSets/Main/test.txt: no image of the set 'test' here; "
        "expected the folder of a challenge, such as VOCdevkit/VOC2007"
    )


@pytest.mark.shared
@pytest.mark.parametrize(
    ("dataset", "image_set", "counts"),
    [("voc2007", "test", (4952, 12032, 2944)), ("voc2012", "val", (5823, 13841, 1946))],
)
def test_real_trees_have_their_known_contents(
    dataset: str, image_set: str, counts: tuple[int, int, int], real_truth: ReadTruth
) -> None:
    truth = real_truth(f"{dataset}_annotations_imagesets.tar.xz", dataset.upper(), image_set)

    total = count_objects(truth).total
    assert (total.images, total.objects, total.difficult) == counts


@pytest.mark.shared
def test_counts_of_voc2007_classes_match_the_published_ones(real_truth: ReadTruth) -> None:
    rows = count_objects(real_truth("voc2007_annotations_imagesets.tar.xz", "VOC2007", "test")).rows

    counts = {row.name: row.objects for row in rows}
    assert (counts["aeroplane"], counts["person"], counts["tvmonitor"]) == (285, 4528, 308)
    assert {row.name: row.images for row in rows}["aeroplane"] == 204


@pytest.mark.parametrize("name", ["", "../..", "/etc/passwd", "*", "**", "[a", "a\n", "v" * 101])
@pytest.mark.parametrize("read", [read_tree, read_public])
def test_an_image_set_that_cannot_be_a_file_name_is_refused(
    name: str, read: Callable[[Path, str], object], tmp_path: Path
) -> None:
    with pytest.raises(TreeError, match="expected the name of an image set") as refused:
        read(kit(tmp_path).root, name)

    assert [problem.code for problem in refused.value.problems] == ["no-image-set"]


def test_a_challenge_keeps_its_name_through_symlinks(tmp_path: Path) -> None:
    tree = kit(tmp_path).root
    (tmp_path / "moved").mkdir()
    (tmp_path / "VOC2007").symlink_to(tmp_path / "moved")
    (tmp_path / "truth").symlink_to(tree)

    assert dataset_of(tmp_path / "VOC2007") == "VOC2007"
    assert dataset_of(tmp_path / "truth") == dataset_of(tree / "ImageSets" / "..") == "VOC2012"


def test_labels_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    tree = full(tmp_path).write("ImageSets/Action/jumping_test.txt", "b_1  2  1\nb_1  2 -1\n")

    assert wrong(tree) == [
        "ImageSets/Action/jumping_test.txt: two lines give the same image or person different labels"
    ]


def test_a_refused_tree_still_says_what_could_be_read(tmp_path: Path) -> None:
    tree = full(tmp_path)
    tree.write("Annotations/a_1.xml", annotation("<object></object>"))

    with pytest.raises(TreeError) as refused:
        read_tree(tree.root, "test")

    assert [each.id for each in refused.value.images] == ["a_1", "a_2"]
    assert all(each.has_size for each in refused.value.images)
    assert "Annotations/a_1.xml" not in refused.value.annotations
    assert len(refused.value.annotations["Annotations/b_1.xml"].objects) == 2
