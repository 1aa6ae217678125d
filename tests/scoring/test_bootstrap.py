"""The bootstrap of every task: if all images are identical, every replicate equals the score."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from heldout_scoring.data.truth import GroundTruth
from heldout_scoring.evaluation import evaluate
from heldout_scoring.protocols import PROTOCOLS
from heldout_scoring.readers.voc_tree import read_tree
from heldout_scoring.results import Result
from heldout_scoring.statistics.bootstrap import Interval, IntervalTable, bootstrap, intervals_of
from heldout_scoring.stored import ForeignFileError, Packed, pack, unpack
from tests.scoring.builders import Kit, annotation, thing
from tests.scoring.layout_builders import truth_of, truth_of_images, xml_of
from tests.scoring.layout_oracles import Given, Limb, Person

ALIKE = [f"i_{number}" for number in range(5)]
SCENE = annotation(
    thing("cat"),
    thing("cat", (1, 21, 10, 30)),
    thing("dog", (21, 1, 30, 10)),
    thing("person", (31, 1, 40, 9)),
)


def tree_of(folder: Path, dataset: str = "VOC2012") -> Kit:
    """Five identical images and an empty one without predictions."""
    images = dict.fromkeys(ALIKE, SCENE)
    labels = {"cat": "1 1 1 1 1", "dog": "1 1 1 1 1", "person": "1 1 1 1 1"}
    return Kit(folder / dataset).main(images, labels)


def put(folder: Path, task: str, **files: str) -> Path:
    place = folder / "sent" / "results" / "VOC2012" / task
    place.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (place / f"{name}.txt").write_text(content)
    return folder / "sent"


def lines(*each: str) -> str:
    return "".join(f"{image} {line}\n" for image in ALIKE for line in each)


def bounds(
    sent: Path, truth: GroundTruth, competition: int, protocol: str = "voc2012"
) -> tuple[Result, IntervalTable]:
    kept = sent.parent / "kept"
    report = evaluate(sent, truth, competition=competition, protocol=protocol, statistics=kept)
    return report, intervals_of(report, truth, statistics=kept, replicates=40)


def assert_certain(report: Result, table: IntervalTable) -> None:
    """Assert that every interval has no width and that the rows are those of the result."""
    values = [each.value for each in report.classes if each.predictions] + [report.headline]
    assert values
    assert [row.value for row in table.rows] == values
    for row in table.rows:
        assert row.value is not None
        assert row.low == pytest.approx(row.value, abs=1e-12)
        assert row.high == pytest.approx(row.value, abs=1e-12)


@pytest.mark.parametrize("protocol", [name for name in PROTOCOLS if name not in {"coco", "lvis"}])
def test_detections_in_identical_images_have_zero_width_intervals(protocol: str, tmp_path: Path) -> None:
    truth = read_tree(tree_of(tmp_path).root, "test")
    box = "1 1 10 10"
    sent = put(
        tmp_path,
        "Main",
        comp3_det_test_cat=lines(f"0.9 {box}", f"0.8 {box}", "0.7 1 21 10 30"),
        comp3_det_test_dog=lines(f"0.9 {box}", "0.8 21 1 30 10"),
        comp3_det_test_person=lines(f"0.9 {box}"),
    )

    report, table = bounds(sent, truth, 3, protocol)

    assert_certain(report, table)
    assert 0 < (report.headline or 0) < 1


@pytest.mark.parametrize("protocol", ["voc2006", "voc2007", "voc2012"])
def test_images_of_two_kinds_are_ranked_with_an_interval(protocol: str, tmp_path: Path) -> None:
    kit = Kit(tmp_path / "VOC2012")
    names = [f"i_{number:02}" for number in range(40)]
    images = {name: annotation(thing("cat" if number % 2 else "dog")) for number, name in enumerate(names)}
    kit.main(images, {"cat": "-1 1 " * 20, "dog": "1 -1 " * 20})
    cats = "".join(f"{name} {number * 7 % 11 + number % 2 * 4}\n" for number, name in enumerate(names))
    dogs = "".join(f"{name} {number * 5 % 13 - number % 2 * 6}\n" for number, name in enumerate(names))
    sent = put(tmp_path, "Main", comp1_cls_test_cat=cats, comp1_cls_test_dog=dogs)

    report, table = bounds(sent, read_tree(kit.root, "test"), 1, protocol)

    assert [row.name for row in table.rows] == ["cat", "dog", "mean"]
    for row, value in zip(
        table.rows, [*(each.value for each in report.classes), report.headline], strict=True
    ):
        assert row.value == value
        assert None not in (row.low, row.value, row.high)
        assert (row.low or 0) < (row.value or 0) < (row.high or 0)


def test_actions_are_resampled_from_the_images_of_the_action_set(tmp_path: Path) -> None:
    kit = tree_of(tmp_path)
    for number in range(3):  # three more, not in the Main set
        kit.write(f"Annotations/x_{number}.xml", annotation(thing("person"), thing("person")))
    persons = [f"x_{image} {person}" for image in range(3) for person in (1, 2)]
    labels = "".join(f"{person} {1 if person.endswith('1') else -1}\n" for person in persons)
    kit.write("ImageSets/Action/reading_test.txt", labels)
    predictions = "".join(f"{person} {0.5 if person.endswith('1') else 0.9}\n" for person in persons)

    report, table = bounds(
        put(tmp_path, "Action", comp9_action_test_reading=predictions), read_tree(kit.root, "test"), 9
    )

    assert_certain(report, table)
    assert report.headline == pytest.approx(0.5)


TWO = (Limb("head", (1, 1, 10, 10)), Limb("hand", (12, 1, 14, 4)), Limb("foot", (1, 20, 10, 30)))
FALSE_POSITIVE = (Limb("head", (20, 20, 29, 29)), Limb("hand", (12, 1, 14, 4)), Limb("foot", (1, 20, 10, 30)))


@pytest.mark.parametrize("protocol", ["voc2008", "voc2010", "voc2012"])
def test_layouts_of_identical_persons_have_zero_width_intervals(protocol: str, tmp_path: Path) -> None:
    people = {(image, number): Person((1, 1, 30, 30), TWO) for image in ("a", "b", "c") for number in (2, 3)}
    given = [
        Given(image, 0.9 - number / 10, FALSE_POSITIVE if number == 2 else TWO, number)
        for image, number in people
    ]
    file = put(tmp_path, "Layout") / "results" / "VOC2012" / "Layout" / "comp7_layout_val.xml"
    file.write_bytes(xml_of(sorted(given, key=lambda each: -each.confidence)))

    report, table = bounds(tmp_path / "sent", truth_of(people), 7, protocol)

    assert_certain(report, table)


def test_layouts_of_boxed_persons_have_zero_width_intervals(tmp_path: Path) -> None:
    hard = Person((1, 1, 30, 30), TWO, difficult=True)
    truth = truth_of_images({image: [hard, Person((35, 1, 49, 39), TWO)] for image in ("a", "b")})
    given = [Given(image, 0.5, TWO, box=(35, 1, 49, 39)) for image in ("a", "b")]
    file = put(tmp_path, "Layout") / "results" / "VOC2012" / "Layout" / "comp7_layout_val.xml"
    file.write_bytes(xml_of(given))

    report, table = bounds(tmp_path / "sent", truth, 7, "voc2007")

    assert_certain(report, table)
    assert report.headline == pytest.approx(1)


@pytest.fixture
def segmented(tmp_path: Path) -> tuple[Path, GroundTruth]:
    """Five identical masks with a cat, a dog and some void; the prediction finds half of the cat."""
    kit = tree_of(tmp_path)
    kit.write("ImageSets/Segmentation/test.txt", "".join(f"{name}\n" for name in ALIKE))
    place = put(tmp_path, "Segmentation") / "results" / "VOC2012" / "Segmentation" / "comp5_test_cls"
    place.mkdir()
    truth = np.zeros((40, 50), np.uint8)
    truth[:10, :10], truth[20:30, :10], truth[35:], truth[10:12, :10] = 1, 2, 3, 255
    prediction = np.where(truth == 255, 2, truth).astype(np.uint8)
    prediction[:5, :10] = 0
    for name in ALIKE:
        kit.mask(name, truth)
        picture = Image.fromarray(prediction)
        picture.putpalette(bytes(range(256)) * 3)
        picture.save(place / f"{name}.png")
    return tmp_path / "sent", read_tree(kit.root, "test")


def test_segmentations_of_identical_images_have_zero_width_intervals(
    segmented: tuple[Path, GroundTruth],
) -> None:
    sent, truth = segmented

    report, table = bounds(sent, truth, 5)

    assert_certain(report, table)
    assert [row.name for row in table.rows] == ["background", "cat", "dog", "person", "mean"]
    assert table.rows[1].value == 0.5


def test_only_the_requested_classes_of_a_segmentation_have_intervals(
    segmented: tuple[Path, GroundTruth], tmp_path: Path
) -> None:
    sent, truth = segmented
    kept = tmp_path / "some"
    report = evaluate(sent, truth, competition=5, protocol="voc2012", classes=["cat"], statistics=kept)

    table = intervals_of(report, truth, statistics=kept, replicates=40)

    assert [row.name for row in table.rows] == ["background", "cat", "mean"]
    assert_certain(report, table)


def test_classes_not_entered_have_no_row_and_the_mean_is_missing(tmp_path: Path) -> None:
    truth = read_tree(tree_of(tmp_path).root, "test")
    sent = put(tmp_path, "Main", comp3_det_test_dog=lines("0.8 21 1 30 10"))

    _, table = bounds(sent, truth, 3)

    dog, mean = table.rows
    assert dog == Interval("dog", 1.0, 1.0, 1.0, None, 40)
    assert (mean.value, mean.low) == (None, None)


def test_two_runs_are_resampled_in_pairs(tmp_path: Path) -> None:
    truth = read_tree(tree_of(tmp_path).root, "test")
    sent = put(tmp_path, "Main", comp3_det_test_dog=lines("0.8 21 1 30 10"))
    report = evaluate(sent, truth, competition=3, protocol="voc2012", statistics=tmp_path / "kept")

    one, other = (bootstrap(report, truth, statistics=tmp_path / "kept", replicates=20) for _ in range(2))

    assert one.draws == other.draws
    np.testing.assert_array_equal(one.values, other.values)
    assert one.draws.images == 5


def test_matches_of_another_ground_truth_are_refused(
    tmp_path: Path, segmented: tuple[Path, GroundTruth]
) -> None:
    sent, truth = segmented
    put(tmp_path, "Main", comp3_det_test_dog=lines("0.8 21 1 30 10"))
    boxes = evaluate(sent, truth, competition=3, protocol="voc2012", statistics=tmp_path / "boxes")
    pixels = evaluate(sent, truth, competition=5, protocol="voc2012", statistics=tmp_path / "pixels")
    other = truth_of({("a", 1): Person((1, 1, 30, 30), TWO)})

    for report, kept in ((boxes, "boxes"), (pixels, "pixels")):
        with pytest.raises(ValueError, match="another ground truth"):
            bootstrap(report, other, statistics=tmp_path / kept)


def test_statistics_of_another_report_are_refused(tmp_path: Path) -> None:
    truth = read_tree(tree_of(tmp_path).root, "test")
    sent = put(tmp_path, "Main", comp3_det_test_dog=lines("0.8 21 1 30 10"))
    one = evaluate(sent, truth, competition=3, protocol="voc2012", statistics=tmp_path / "one")
    put(tmp_path, "Main", comp3_det_test_dog=lines("0.8 21 1 30 12"))
    other = evaluate(sent, truth, competition=3, protocol="voc2012", statistics=tmp_path / "other")
    by_another_protocol = evaluate(sent, truth, competition=3, protocol="voc2007")

    for report, kept in ((one, "other"), (other, "one"), (by_another_protocol, "other")):
        with pytest.raises(ValueError, match="statistics of another result: expected the receipt"):
            intervals_of(report, truth, statistics=tmp_path / kept)


def test_statistics_without_a_receipt_are_refused(tmp_path: Path) -> None:
    truth = read_tree(tree_of(tmp_path).root, "test")
    sent = put(tmp_path, "Main", comp3_det_test_dog=lines("0.8 21 1 30 10"))
    report = evaluate(sent, truth, competition=3, protocol="voc2012", statistics=tmp_path / "kept")
    packed = unpack("matches", (tmp_path / "kept").read_bytes())
    facts = {name: value for name, value in packed.facts.items() if name != "receipt"}
    (tmp_path / "kept").write_bytes(pack("matches", Packed(facts, packed.arrays)))

    with pytest.raises(ForeignFileError, match=r"has no .receipt"):
        bootstrap(report, truth, statistics=tmp_path / "kept")


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    truth = read_tree(tree_of(tmp_path).root, "test")
    sent = put(tmp_path, "Main", comp3_det_test_dog=lines("0.8 21 1 30 10"))
    report = evaluate(sent, truth, competition=3, protocol="voc2012")
    (tmp_path / "kept").write_bytes(b"something else\n")

    with pytest.raises(ForeignFileError):
        bootstrap(report, truth, statistics=tmp_path / "kept")
