import math
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from heldout_scoring import (
    ConfusionMatrix,
    GroundTruth,
    LabelMaps,
    Result,
    SubmissionError,
    evaluate,
    read_tree,
)
from heldout_scoring.archives.png import labels_to_png
from heldout_scoring.data.arrays import Bytes
from heldout_scoring.data.label_maps import LabelMap, LabelRuns
from heldout_scoring.data.matches import ImageCounts, open_matches
from heldout_scoring.evaluation import columns_of
from heldout_scoring.scores import ClassResult, Scores, ScoreTable
from heldout_scoring.tasks.segmentation import (
    BY_CLASS_ACCURACY,
    BY_IOU,
    NOWHERE,
    SegmentationRules,
    SegmentationTruth,
    match,
    score,
)
from heldout_scoring.tasks.task import Keyed
from tests.scoring.builders import kit

LABELS = ("background", "cat", "dog")
SIZES = {"a_1": (40, 50), "a_2": (40, 50), "z_9": (2, 3)}
IMAGES = ("z_9", "a_1", "a_2")


def truth_of(folder: Path, **images: Bytes) -> GroundTruth:
    """A kit with two images in its Main set and a third one only in the Segmentation set."""
    tree = kit(folder / "kit").write(
        "ImageSets/Segmentation/test.txt", "".join(f"{name}\n" for name in IMAGES)
    )
    for name, size in SIZES.items():
        tree.mask(name, images.get(name, np.zeros(size, np.uint8)))
    return read_tree(tree.root, "test")


def results(folder: Path, **images: Bytes) -> Path:
    place = folder / "results" / "VOC2012" / "Segmentation" / "comp5_test_cls"
    place.mkdir(parents=True)
    for name, size in SIZES.items():
        (place / f"{name}.png").write_bytes(labels_to_png(images.get(name, np.zeros(size, np.uint8))))
    return folder


def small(*rows: str) -> Bytes:
    """An image of 3 x 2 pixels, v for void."""
    return np.array([[255 if label == "v" else int(label) for label in row] for row in rows], np.uint8)


def scored(
    folder: Path,
    truth: Bytes,
    prediction: Bytes,
    *,
    protocol: str = "voc2012",
    classes: tuple[str, ...] | None = None,
) -> Result:
    known = truth_of(folder, z_9=truth)
    return evaluate(
        results(folder, z_9=prediction),
        known,
        competition=5,
        protocol=protocol,
        classes=classes,
        statistics=folder / "kept",
    )


TRUTH = small("01v", "112")
PREDICTION = small("012", "100")
"""Beside 4000 background pixels: one cat taken for background, the only dog missed."""


def test_a_report_has_a_value_for_each_label_their_mean_and_the_matrix(tmp_path: Path) -> None:
    report = scored(tmp_path, TRUTH, PREDICTION)

    assert report.measure == "Intersection over union"
    assert report.classes == (
        ClassResult("background", 4001 / 4003, None, 4001, 4003),
        ClassResult("cat", 2 / 3, None, 3, 2),
        ClassResult("dog", 0.0, None, 1, 0),
    )
    assert report.headline == pytest.approx((4001 / 4003 + 2 / 3) / 3, abs=1e-15)
    assert report.exhibits == (
        ScoreTable("Intersection over union", tuple((each.name, each.value) for each in report.classes)),
        ConfusionMatrix(LABELS, ((4001, 0, 0), (1, 2, 0), (1, 0, 0))),
    )
    assert Result.from_json(report.to_json()) == report


def test_the_measure_of_2007_is_pixel_accuracy_by_class_with_the_total_beside(tmp_path: Path) -> None:
    report = scored(tmp_path, TRUTH, PREDICTION, protocol="voc2007")

    assert [each.value for each in report.classes] == [1.0, 2 / 3, 0.0]
    assert report.exhibits[1] == ScoreTable("Pixel accuracy", (("all pixels", 4003 / 4005),))


@pytest.mark.parametrize(
    ("protocol", "headline", "reason"), [("voc2008", None, "a class has no value"), ("voc2007", 1 / 3, None)]
)
def test_an_absent_class_has_no_value_and_the_mean_follows_the_kit(
    protocol: str, headline: float | None, reason: str | None, tmp_path: Path
) -> None:
    report = scored(tmp_path, small("000", "000"), small("000", "000"), protocol=protocol)

    said, counted_as = ("", None) if headline is None else ("; the mean counts it as 0", 0.0)
    assert report.classes[1:] == (
        ClassResult("cat", None, NOWHERE + said, 0, 0, counted_as),
        ClassResult("dog", None, NOWHERE + said, 0, 0, counted_as),
    )
    assert (report.headline, report.headline_reason) == (headline, reason)


def test_a_class_that_is_only_predicted_scores_0(tmp_path: Path) -> None:
    report = scored(tmp_path, small("000", "001"), small("000", "021"))

    assert report.classes[2] == ClassResult("dog", 0.0, None, 0, 1)


def test_nothing_has_a_value_if_everything_is_void() -> None:
    void = small("vvv", "vvv")

    scores = score_of([void], [small("000", "012")], BY_CLASS_ACCURACY)

    assert {each.value for each in scores.classes} == {None}
    assert scores.exhibits[1] == ScoreTable("Pixel accuracy", (("all pixels", None),))


def test_a_subset_is_scored_with_the_background_and_without_other_classes(
    tmp_path: Path,
) -> None:
    everything = scored(tmp_path / "1", TRUTH, PREDICTION)
    subset = scored(tmp_path / "2", TRUTH, PREDICTION, classes=("cat",))

    assert subset.classes == everything.classes[:2]
    assert subset.headline == pytest.approx((4001 / 4003 + 2 / 3) / 2, abs=1e-15)
    assert subset.exhibits[0] == ScoreTable(subset.measure, (("background", 4001 / 4003), ("cat", 2 / 3)))
    assert subset.receipt != everything.receipt


def test_an_unknown_class_cannot_be_chosen(tmp_path: Path) -> None:
    with pytest.raises(LookupError, match="comp5 has no unicorn; it has background, cat, dog"):
        scored(tmp_path, TRUTH, PREDICTION, classes=("unicorn",))


def test_the_columns_of_a_board_are_the_background_and_the_classes(tmp_path: Path) -> None:
    assert columns_of(truth_of(tmp_path).description, 5) == LABELS


def test_counts_are_stored_by_image_in_the_order_of_the_set(tmp_path: Path) -> None:
    report = scored(tmp_path, TRUTH, PREDICTION)

    origin, counts = open_matches(tmp_path / "kept")
    assert isinstance(counts, ImageCounts)
    assert (origin.task, origin.protocol, counts.labels) == ("segmentation", "voc2012", LABELS)
    assert counts.by_image()[0].tolist() == [[1, 0, 0], [1, 2, 0], [1, 0, 0]]
    assert counts.by_image()[1:, 0, 0].tolist() == [2000, 2000]
    assert report.exhibits[-1] == ConfusionMatrix(LABELS, tuple(map(tuple, counts.total().tolist())))


def test_invalid_and_missing_masks_are_all_reported_at_once(tmp_path: Path) -> None:
    sent = results(tmp_path, a_1=np.zeros((4, 4), np.uint8), z_9=small("000", "003"))
    next(sent.rglob("a_2.png")).unlink()

    with pytest.raises(SubmissionError) as refused:
        evaluate(sent, truth_of(tmp_path), competition=5, protocol="voc2012")

    assert {problem.code for problem in refused.value.problems} == {
        "wrong-size",
        "label-range",
        "missing-files",
    }
    assert str(refused.value.problems[-1]).endswith(
        "1 of 3 images are missing; every image needs its mask: a_2"
    )
    assert refused.value.problems[-1].file == "comp5_test_cls/a_2.png"


every_rules = st.sampled_from([BY_IOU, BY_CLASS_ACCURACY])
pictures = st.integers(1, 3).flatmap(
    lambda count: st.lists(
        arrays(np.uint8, (3, 4), elements=st.sampled_from([0, 1, 2])), min_size=count, max_size=count
    )
)


def score_of(truth: list[Bytes], predictions: list[Bytes], rules: SegmentationRules = BY_IOU) -> Scores:
    names = [str(number) for number in range(len(truth))]
    truth_maps = SegmentationTruth(
        LABELS, {name: place for place, name in enumerate(names)}, LabelRuns.of(truth), LABELS
    )
    entered: Iterator[Keyed[LabelMap | None]] = (
        Keyed(name, LabelMap(name, prediction, grey=False, recoloured=False))
        for name, prediction in zip(names, predictions, strict=False)
    )
    return score(match(entered, truth_maps, rules), truth_maps, rules)


@given(pictures, pictures, every_rules, st.randoms())
def test_the_order_of_images_changes_nothing(
    truth: list[Bytes], predictions: list[Bytes], rules: SegmentationRules, random: Random
) -> None:
    pairs = list(zip(truth, predictions, strict=False))
    shuffled = pairs.copy()
    random.shuffle(shuffled)

    one, other = (
        score_of([true for true, _ in some], [prediction for _, prediction in some], rules)
        for some in (pairs, shuffled)
    )

    assert one.classes == other.classes
    assert one.headline == other.headline


@given(pictures, every_rules)
def test_perfect_predictions_score_1_and_no_prediction_scores_more(
    truth: list[Bytes], rules: SegmentationRules
) -> None:
    perfect = score_of(truth, truth, rules)
    worse = score_of(truth, [np.zeros_like(each) for each in truth], rules)

    assert {each.value for each in perfect.classes} <= {1.0, None}
    for each in worse.classes:
        assert each.value is None or 0 <= each.value <= 1


def test_images_of_more_than_a_million_pixels_are_counted_like_small_ones() -> None:
    large, little = np.zeros((1 << 10, (1 << 10) + 1), np.uint8), np.ones((2, 3), np.uint8)

    scores = score_of([large, little, large], [large, little, np.full_like(large, 2)], BY_CLASS_ACCURACY)

    assert [(each.value, each.positives) for each in scores.classes] == [
        (0.5, 2 * large.size),
        (1, 6),
        (0, 0),
    ]


@given(pictures, pictures)
def test_values_equal_those_of_a_plain_loop(truth: list[Bytes], predictions: list[Bytes]) -> None:
    count = min(len(truth), len(predictions))
    true, given_labels = (
        [label for image in images[:count] for label in image.ravel().tolist()]
        for images in (truth, predictions)
    )

    scores = score_of(truth[:count], predictions[:count])

    for label, each in enumerate(scores.classes):
        both = sum(t == label == g for t, g in zip(true, given_labels, strict=True))
        either = sum(label in {t, g} for t, g in zip(true, given_labels, strict=True))
        assert each.value == (both / either if either else None)
    assert (scores.headline is None) == any(each.value is None for each in scores.classes)
    assert scores.headline is None or math.isclose(
        scores.headline, sum(c.value or 0 for c in scores.classes) / 3
    )


def test_memory_grows_with_the_label_pairs_that_occur() -> None:
    labels, images = 151, 200
    rng = np.random.default_rng(5)
    maps = [rng.integers(0, labels, (2, 2), np.uint8).repeat(8, 0).repeat(8, 1) for _ in range(images)]
    truth = GroundTruth.from_label_maps(maps, classes=[f"class {label}" for label in range(1, labels)])
    found = LabelMaps.from_arrays([np.roll(each, 1, axis=1) for each in maps])

    tracemalloc.start()
    result = evaluate(found, truth, protocol="voc2012")
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert isinstance(result.matches, ImageCounts)
    assert int(result.matches.total().sum()) == images * 16 * 16
    assert most < images * labels * labels * 8 / 2  # half of the confusion matrices of all images, 36 MB
