"""What the protocols do, in words."""

import math
from dataclasses import replace

import pytest

from app.challenges.protocols import WORDS, TaskDescription, describe_protocol, protocols
from heldout_scoring.metrics.matching import CONFIDENCE_FLOOR, MAX_DETECTIONS
from heldout_scoring.protocols import PROTOCOLS
from heldout_scoring.tasks.detection import DETECTION
from heldout_scoring.tasks.task import TaskRules

ROWS = {row.name: row for row in PROTOCOLS.values()}


def described(protocol: str, task: str) -> TaskDescription:
    [found] = [each for each in describe_protocol(PROTOCOLS[protocol]).tasks if each.task == task]
    return found


def test_every_protocol_and_every_task_of_it_is_described() -> None:
    found = {row.name: [each.task for each in row.tasks] for row in protocols()}

    assert found == {name: [each.task.name for each in row.tasks] for name, row in ROWS.items()}


@pytest.mark.parametrize("protocol", ROWS)
def test_a_description_says_what_counts_the_measure_the_mean_and_the_source(protocol: str) -> None:
    for task, rules in zip(describe_protocol(ROWS[protocol]).tasks, ROWS[protocol].tasks, strict=True):
        assert all((task.title, task.counts, task.measure, task.mean, task.sources)), task
        lowest = getattr(rules.rules, "iou_thresholds", [getattr(rules.rules, "iou_threshold", None)])[0]
        assert task.iou_threshold == lowest
        assert (task.threshold is None) == (task.iou_threshold is None)
        assert task.boxes is None or task.threshold is not None


def test_a_protocol_is_described_with_its_own_threshold() -> None:
    rules = replace(PROTOCOLS["voc2012"].rules_of(DETECTION), iou_threshold=0.75)
    row = PROTOCOLS["voc2012"].with_rules("own2026", "Our challenge", TaskRules(DETECTION, rules))

    [detection] = [each for each in describe_protocol(row).tasks if each.task == "detection"]

    assert (detection.iou_threshold, detection.threshold) == (0.75, "IoU of at least 0.75")


def test_a_threshold_of_the_next_float_is_described_as_above() -> None:
    task = described("pascal_voc_detection_metrics-documented", "detection")

    assert task.iou_threshold == math.nextafter(0.5, 1)
    assert task.threshold == "IoU above 0.5"


def test_all_of_several_thresholds_are_described() -> None:
    threshold = described("coco", "coco-detection").threshold

    assert threshold == "IoU of at least 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95"
    assert described("coco", "coco-segmentation").boxes is None


def test_the_described_box_convention_is_that_of_the_rules() -> None:
    assert "inside the box" in str(described("voc2012", "detection").boxes)
    assert "inside the box" in str(described("voc2012", "layout").boxes)
    assert "without conversion" in str(described("oid_V2_detection_metrics", "detection").boxes)
    assert described("voc2012", "segmentation").boxes is None


def test_descriptions_repeat_shared_sentences_in_full() -> None:
    of_2006, of_2012 = (described(name, "detection").counts for name in ("voc2006", "voc2012"))

    assert of_2006.startswith(of_2012.removesuffix(" Detections of difficult objects are ignored."))
    assert "unlike in later years, further ones are false positives" in of_2006


def test_all_words_are_in_a_description() -> None:
    """A word of a function that no protocol uses any more would stand there unread."""
    described = [
        text
        for row in protocols()
        for task in row.tasks
        for text in (task.counts, task.measure, task.mean, *task.sources)
    ]

    assert [text for text in described if "  " in text] == []
    texts = {words.text: name for name, words in WORDS.items()}
    assert [name for text, name in texts.items() if not any(text in each for each in described)] == []


def test_the_words_name_the_limits_that_tensorflow_drops_detections_by() -> None:
    counts = described("pascal_voc_detection_metrics", "detection").counts

    assert f"confidences of {CONFIDENCE_FLOOR:g} or less" in counts
    assert f"all but the {MAX_DETECTIONS:,} most confident" in counts


def test_a_pooled_headline_is_described_by_its_pool() -> None:
    assert "pooled" in described("weighted_pascal_voc_detection_metrics", "detection").mean


def test_a_protocol_is_found_by_its_former_names() -> None:
    row = describe_protocol(PROTOCOLS["open_images_metrics"])

    assert (row.name, row.other_names) == ("oid_V2_detection_metrics", ("open_images_metrics",))


@pytest.mark.parametrize("protocol", ROWS)
def test_no_source_is_named_again_without_its_remark(protocol: str) -> None:
    for task in describe_protocol(ROWS[protocol]).tasks:
        repeated = [each for each in task.sources if any(f"{each};" in other for other in task.sources)]
        assert not repeated, task
