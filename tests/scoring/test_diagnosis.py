"""The analyses of one result and its outcomes in each image."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heldout_scoring import VOC2012, Confidences, DataError, Detections
from heldout_scoring.analysis.errors import Diagnosis, Files, NoDiagnosisError, diagnose
from heldout_scoring.analysis.images import ImageOutcomes, outcomes_by_image, outcomes_of_sample
from heldout_scoring.data.description import Limits
from heldout_scoring.data.matches import ImageCounts, RankedPredictions
from heldout_scoring.data.truth import GroundTruth
from heldout_scoring.evaluation import evaluate
from heldout_scoring.metrics.labels import class_accuracy
from heldout_scoring.metrics.ranking import AP_AREA, mean_of_classes
from heldout_scoring.readers.voc_tree import read_tree
from heldout_scoring.results import Result
from heldout_scoring.statistics.bootstrap import KIND, Replicates, bootstrap
from heldout_scoring.statistics.comparison import compare
from heldout_scoring.stored import ForeignFileError, Packed, from_plain, pack, to_plain
from heldout_scoring.tasks.detection import DETECTION
from heldout_scoring.tasks.task import PixelSample, RankingSample, TaskRules
from tests.scoring.builders import kit

CATS, DOGS = "a_1 0.9 1 1 10 10\na_1 0.8 1 1 10 10\n", "a_1 0.9 20 5 40 30\na_2 0.7 40 5 49 9\n"


def truth_in(folder: Path) -> GroundTruth:
    return read_tree(kit(folder).root, "test")


def scored(folder: Path, number: int, **files: str) -> tuple[Result, GroundTruth, Files]:
    """A result of VOC2012 with its archive and its matches file."""
    truth, sent, kept = truth_in(folder), folder / "sent" / "results" / "VOC2012" / "Main", folder / "kept"
    sent.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (sent / f"{name}.txt").write_text(content)
    result = evaluate(
        folder / "sent",
        truth,
        protocol="voc2012",
        competition=number,
        statistics=kept,
        classes=("cat", "dog"),
    )
    return result, truth, Files(folder / "sent", Limits(), kept)


def detected(folder: Path, cats: str = CATS) -> tuple[Result, GroundTruth, Files]:
    return scored(folder, 3, comp3_det_test_cat=cats, comp3_det_test_dog=DOGS)


def test_detections_have_error_kinds_and_both_sweeps_of_every_class(tmp_path: Path) -> None:
    result, truth, files = detected(tmp_path)

    found = diagnose(result, truth, files)

    assert [each.class_name for each in found.errors] == ["cat", "dog"]
    kinds = [{row.error.value: row.count for row in each.rows if row.count} for each in found.errors]
    assert kinds == [{"duplicate": 1}, {"background": 1, "missed": 1}]
    assert [(each.class_name, each.swept.value) for each in found.sweeps] == [
        ("cat", "iou"), ("cat", "area"), ("dog", "iou"), ("dog", "area"),
    ]  # fmt: skip
    at_half = [point.value for point in found.sweeps[2].points if point.level == 0.5]
    assert at_half == [result.classes[1].value]
    assert from_plain(Diagnosis, to_plain(found)) == found


def detections_as_arrays(lines: str, label: str) -> Detections:
    rows = [line.split() for line in lines.splitlines()]
    boxes = [[float(edge) for edge in row[2:]] for row in rows]
    return Detections.from_arrays(
        [row[0] for row in rows], [label] * len(rows), [float(row[1]) for row in rows], boxes
    )


def test_detections_in_memory_and_in_an_archive_get_the_same_diagnosis(tmp_path: Path) -> None:
    sent, truth, files = scored(tmp_path, 3, comp3_det_test_cat=CATS)
    found = detections_as_arrays(CATS, "cat")

    result = evaluate(found, truth, protocol="voc2012", classes=["cat"])

    assert diagnose(result, truth, found) == diagnose(sent, truth, files)
    assert diagnose(result, truth, found).errors[0].rows[0].count == 1


def test_labels_in_memory_and_in_an_archive_get_the_same_diagnosis(tmp_path: Path) -> None:
    sent, truth, files = scored(
        tmp_path, 1, comp1_cls_test_cat="a_1 0.9\na_2 0.1\n", comp1_cls_test_dog="a_1 0.1\na_2 0.9\n"
    )
    found = Confidences.from_matrix([[0.9, 0.1], [0.1, 0.9]], images=["a_1", "a_2"], classes=["cat", "dog"])

    result = evaluate(found, truth, protocol="voc2012")

    assert diagnose(result, truth) == diagnose(sent, truth, files)


def test_detections_in_memory_are_diagnosed_by_the_rules_of_the_result() -> None:
    truth = GroundTruth.from_arrays(["a"], ["cat"], [[1, 1, 10, 10]], convention="inclusive")
    found = Detections.from_arrays(["a"], ["cat"], [0.5], [[1, 1, 10, 6]])
    strict = replace(VOC2012.rules_of(DETECTION), iou_threshold=0.75)
    row = VOC2012.with_rules("own", "Ours", TaskRules(DETECTION, strict))

    official, own = (evaluate(found, truth, protocol=protocol) for protocol in ("voc2012", row))

    kinds = [
        {
            each.error.value: (each.count, each.gain)
            for each in diagnose(result, truth, found).errors[0].rows
            if each.count
        }
        for result in (official, own)
    ]
    assert kinds == [{}, {"localisation": (1, 1.0), "missed": (1, None)}]


def test_without_image_sizes_there_is_no_sweep_over_areas() -> None:
    boxes: Any = {"image": ["a"], "label": ["cat"], "boxes": [[1, 1, 10, 10]]}
    found = Detections.from_arrays(**boxes, score=[0.5])
    labels = GroundTruth.from_labels([[1], [0]], images=["a", "b"], classes=["cat"])
    confidences = Confidences.from_matrix([[0.9], [0.1]], images=["a", "b"], classes=["cat"])

    def swept(truth: GroundTruth) -> list[str]:
        result = evaluate(found, truth, protocol="voc2012")
        return [each.swept.value for each in diagnose(result, truth, found).sweeps]

    assert swept(GroundTruth.from_arrays(**boxes, convention="inclusive")) == ["iou"]
    assert swept(GroundTruth.from_arrays(**boxes, convention="inclusive", sizes=[[50, 40]])) == [
        "iou",
        "area",
    ]
    with pytest.raises(NoDiagnosisError, match="expected the sizes of all images"):
        diagnose(evaluate(confidences, labels, protocol="voc2012"), labels)


def test_only_evaluated_detections_are_diagnosed(tmp_path: Path) -> None:
    truth, found = truth_in(tmp_path), detections_as_arrays(CATS, "cat")
    result = evaluate(found, truth, protocol="voc2012")

    with pytest.raises(
        DataError, match="expected the Detections that were evaluated, or Files, found NoneType"
    ):
        diagnose(result, truth)
    with pytest.raises(ValueError, match="not the detections that the ranking of 'cat' was made from"):
        diagnose(result, truth, detections_as_arrays("a_2 0.1 1 1 5 5\n", "cat"))


def test_outcomes_by_image_survive_being_stored(tmp_path: Path) -> None:
    result, truth, files = detected(tmp_path)

    found = outcomes_by_image(result, truth, statistics=files.statistics)
    again = ImageOutcomes.of_bytes(found.content)

    assert again.images == found.images == ("a_1", "a_2")
    assert again.positives.tolist() == [2, 1]
    assert (again.found.tolist(), again.errors().tolist()) == ([2, 0], [0, 1])
    with pytest.raises(ForeignFileError, match="has no 'names'"):
        ImageOutcomes.of_bytes(pack("image-outcomes", Packed({}, {})))


def test_diagnosing_a_result_in_memory_needs_its_detections(tmp_path: Path) -> None:
    result, truth, files = detected(tmp_path)

    with pytest.raises(ValueError, match="expected the result of an archive"):
        diagnose(replace(result, competition=None), truth, files)


def test_the_archive_of_another_result_is_refused(tmp_path: Path) -> None:
    result, truth, files = detected(tmp_path)
    detected(tmp_path / "other", cats="a_2 0.1 1 1 5 5\n")

    with pytest.raises(ValueError, match="not the detections that the ranking of 'cat' was made from"):
        diagnose(result, truth, Files(tmp_path / "other" / "sent", Limits(), files.statistics))


def test_classifications_have_a_sweep_over_size(tmp_path: Path) -> None:
    result, truth, files = scored(
        tmp_path, 1, comp1_cls_test_cat="a_1 0.9\na_2 0.1\n", comp1_cls_test_dog="a_1 0.1\na_2 0.9\n"
    )

    found = diagnose(result, truth, files)

    assert found.errors == ()
    assert [(each.class_name, each.points[0].value) for each in found.sweeps] == [("cat", 1.0), ("dog", 1.0)]


@pytest.mark.parametrize(
    ("task", "protocol"),
    [
        ("layout", "voc2012"),
        ("segmentation", "voc2012"),
        ("coco-detection", "coco"),
        ("coco-segmentation", "coco"),
        ("lvis-detection", "lvis"),
    ],
)
def test_results_of_other_tasks_are_refused_in_a_sentence(tmp_path: Path, task: str, protocol: str) -> None:
    result, truth, files = detected(tmp_path)
    other = Result(7, task, protocol, "AP", 0.5, None, result.classes, (), "1", result.truth, result.receipt)

    with pytest.raises(
        NoDiagnosisError, match=f"VOC and TensorFlow.*found a result of {task} by '{protocol}'"
    ):
        diagnose(other, truth, files)


def test_predictions_are_counted_down_to_the_confidence_with_the_best_f1() -> None:
    cat = RankedPredictions(
        "cat", 2, np.array([0, 1, 0, 1], np.int32), np.linspace(1, 0, 4), np.array([1, 0, 1, 0], np.int8)
    )
    missed = RankedPredictions("dog", 1, np.array([1], np.int32), np.ones(1), np.zeros(1, np.int8))
    nothing = RankedPredictions("cow", 0, np.empty(0, np.int32), np.empty(0), np.empty(0, np.int8))
    positives = np.array([[2, 0, 0], [0, 1, 0], [0, 0, 0]], np.int32)
    sample = RankingSample(
        [cat, missed, nothing], positives, AP_AREA.weighted, mean_of_classes, ("a", "b", "c")
    )

    found = outcomes_of_sample(sample)

    assert found.images == ("a", "b", "c")
    assert found.positives.tolist() == [2, 1, 0]
    assert (found.found.tolist(), found.false.tolist()) == ([2, 0, 0], [0, 1, 0])
    assert found.errors().tolist() == [0, 2, 0]


def test_outcomes_of_a_segmentation_count_correct_and_wrong_pixels() -> None:
    counts = ImageCounts.of(["background", "cat"], [np.array([[5, 1], [2, 2]]), np.array([[0, 0], [0, 3]])])

    found = outcomes_of_sample(PixelSample(counts, class_accuracy, mean_of_classes, ("a", "b")))

    assert (found.positives.tolist(), found.found.tolist()) == ([10, 3], [7, 3])
    assert found.errors().tolist() == [3, 0]


def test_comparing_stored_replicates_equals_comparing_the_results(tmp_path: Path) -> None:
    drawn = []
    for name, cats in (("one", CATS), ("other", "a_1 0.9 1 1 10 4\n")):
        result, truth, files = detected(tmp_path / name, cats)
        drawn.append(bootstrap(result, truth, statistics=files.statistics, replicates=100))

    kept = [Replicates.of_bytes(each.content) for each in drawn]

    for now, before in zip(compare(*kept), compare(*drawn), strict=True):
        assert (now.name, now.better) == (before.name, before.better)
        assert now.difference.value == before.difference.value
        assert now.difference.low == pytest.approx(before.difference.low, abs=1e-6)


def test_a_damaged_file_of_replicates_is_refused() -> None:
    with pytest.raises(ForeignFileError, match="has no 'task'"):
        Replicates.of_bytes(pack(KIND, Packed({}, {})))
