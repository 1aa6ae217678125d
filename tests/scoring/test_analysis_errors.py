"""Kinds of detection errors, compared to a naive implementation."""

import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from heldout_scoring.analysis.errors import (
    BACKGROUND_IOU,
    ERROR_KINDS,
    SIMILAR_CLASSES,
    ErrorBreakdown,
    ErrorKind,
    RankedDetections,
    break_down,
    find_errors,
    objects_of_classes,
    with_boxes,
)
from heldout_scoring.data.matches import RankedPredictions
from heldout_scoring.data.truth import GroundTruth
from heldout_scoring.protocols import PROTOCOLS
from heldout_scoring.readers.voc_tree import read_tree
from heldout_scoring.stored import from_plain, to_plain
from heldout_scoring.tasks.detection import DETECTION, DetectionRules
from tests.scoring import oracles
from tests.scoring.builders import annotation, detections, kit, thing
from tests.scoring.oracles import Corners, Prediction

RULES = PROTOCOLS["voc2012"].rules_of(DETECTION)
OPEN_IMAGES = PROTOCOLS["oid_V2_detection_metrics"].rules_of(DETECTION)
CLASSES = ("cat", "dog", "sofa")


def truth_of(folder: Path, *images: str) -> GroundTruth:
    names = [f"i{number}" for number in range(len(images))]
    labels = dict.fromkeys(CLASSES, " ".join(["1"] * len(images)))
    for name in CLASSES:
        labels[name] = " ".join(label_of(image, name) for image in images)
    return read_tree(kit(folder).main(dict(zip(names, images, strict=True)), labels).root, "test")


def label_of(image: str, name: str) -> str:
    found = [each for each in image.split("<object>") if f"<name>{name}</name>" in each]
    if not found:
        return "-1"
    return "0" if all("<difficult>1" in each for each in found) else "1"


def placed(
    predictions: list[Prediction], truth: GroundTruth, rules: DetectionRules = RULES
) -> RankedDetections:
    objects, lines = objects_of_classes(truth, {"cat"}, rules.select_positives), detections(predictions)
    matched = rules.match_class(lines, objects)
    ranked = RankedPredictions(
        "cat",
        objects.positives,
        lines.image[matched.order],
        lines.confidence[matched.order],
        matched.outcomes,
    )
    return with_boxes(ranked, lines)


def kinds(predictions: list[Prediction], truth: GroundTruth) -> list[ErrorKind | None]:
    found = find_errors(placed(predictions, truth), truth, RULES).kinds.tolist()
    return [None if kind < 0 else ERROR_KINDS[kind] for kind in found]


def rows(found: ErrorBreakdown) -> dict[ErrorKind, tuple[int, float | None]]:
    return {row.error: (row.count, row.gain) for row in found.rows}


CAT, DOG, SOFA = (1, 1, 20, 20), (31, 1, 50, 20), (61, 1, 80, 20)


def scene(folder: Path) -> GroundTruth:
    image = annotation(
        thing("cat", CAT), thing("dog", DOG), thing("sofa", SOFA), thing("cat", (1, 41, 20, 60)), width=100
    )
    return truth_of(folder, image)


def test_every_kind_of_error_is_reported(tmp_path: Path) -> None:
    predictions = [
        Prediction(0, 0.9, CAT),
        Prediction(0, 0.8, (2, 1, 20, 20)),
        Prediction(0, 0.7, (1, 10, 20, 29)),
        Prediction(0, 0.6, DOG),
        Prediction(0, 0.5, SOFA),
        Prediction(0, 0.4, (81, 81, 90, 90)),
    ]

    assert kinds(predictions, scene(tmp_path)) == [
        None,
        ErrorKind.DUPLICATE,
        ErrorKind.LOCALISATION,
        ErrorKind.SIMILAR,
        ErrorKind.OTHER,
        ErrorKind.BACKGROUND,
    ]


def test_the_cost_of_an_error_is_the_gain_from_fixing_it(tmp_path: Path) -> None:
    misplaced = (1, 41, 20, 48)  # on the second cat, which nobody else finds
    predictions = [Prediction(0, 0.9, DOG), Prediction(0, 0.8, misplaced), Prediction(0, 0.7, CAT)]
    truth = scene(tmp_path)

    found = break_down(placed(predictions, truth), truth, RULES)

    value = 1 / 3 / 2
    assert found.value == pytest.approx(value)
    assert rows(found) == {
        ErrorKind.DUPLICATE: (0, 0.0),
        ErrorKind.LOCALISATION: (1, pytest.approx(2 / 3 - value)),
        ErrorKind.SIMILAR: (1, pytest.approx(1 / 2 / 2 - value)),
        ErrorKind.OTHER: (0, 0.0),
        ErrorKind.BACKGROUND: (0, 0.0),
        ErrorKind.MISSED: (1, pytest.approx(1 / 3 - value)),
    }


def test_a_misplaced_prediction_for_an_object_found_by_another_is_removed(tmp_path: Path) -> None:
    predictions = [Prediction(0, 0.9, (1, 1, 20, 7)), Prediction(0, 0.8, CAT)]
    truth = scene(tmp_path)

    found = rows(break_down(placed(predictions, truth), truth, RULES))

    count, cost = found[ErrorKind.LOCALISATION]
    assert count == 1
    assert cost == pytest.approx(0.5 - 0.25)


def test_only_one_of_two_misplaced_predictions_for_an_object_is_corrected(tmp_path: Path) -> None:
    predictions = [Prediction(0, 0.9, (1, 1, 20, 7)), Prediction(0, 0.8, (1, 1, 20, 8))]
    truth = scene(tmp_path)

    found = rows(break_down(placed(predictions, truth), truth, RULES))

    assert found[ErrorKind.LOCALISATION] == (2, 0.5)
    assert found[ErrorKind.MISSED] == (
        2,
        None,
    )  # nothing was found: without the missed ones there is no score


def test_a_misplaced_prediction_near_a_difficult_object_is_not_corrected(tmp_path: Path) -> None:
    truth = truth_of(
        tmp_path,
        annotation(thing("cat", CAT, said="difficult"), thing("cat", (1, 41, 20, 60)), thing("dog", DOG)),
    )

    found = rows(break_down(placed([Prediction(0, 0.9, (1, 1, 20, 7))], truth), truth, RULES))

    assert found[ErrorKind.LOCALISATION] == (1, 0.0)


def test_without_objects_there_are_counts_but_no_costs(tmp_path: Path) -> None:
    truth = truth_of(tmp_path, annotation(thing("cat", CAT, said="difficult"), thing("dog", DOG)))

    found = break_down(placed([Prediction(0, 0.9, DOG)], truth), truth, RULES)

    assert found.value is None
    assert rows(found)[ErrorKind.SIMILAR] == (1, None)
    assert rows(found)[ErrorKind.MISSED] == (0, None)


def test_a_box_on_a_group_is_not_an_error_where_groups_need_not_be_found(tmp_path: Path) -> None:
    group = thing("cat", (1, 1, 40, 40)).replace("<bndbox>", "<groupof>1</groupof><bndbox>")
    truth = truth_of(tmp_path, annotation(group, thing("cat", (50, 1, 59, 10)), width=90, height=90))
    predictions = [Prediction(0, 0.9, (1, 1, 60, 90)), Prediction(0, 0.8, (50, 1, 59, 10))]

    found = break_down(placed(predictions, truth, OPEN_IMAGES), truth, OPEN_IMAGES)

    assert rows(found)[ErrorKind.LOCALISATION][0] == 0
    assert found.value == 0.5


def test_error_kinds_match_a_naive_implementation(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    for number in range(15):
        things = [(str(rng.choice(CLASSES)), some_box(rng)) for _ in range(rng.integers(1, 7))]
        things += [(name, (90 + place, 90, 95 + place, 95)) for place, name in enumerate(CLASSES)]
        truth = truth_of(
            tmp_path / str(number), annotation(*(thing(*each) for each in things), width=120, height=120)
        )
        predictions = [
            Prediction(0, float(rng.integers(0, 9) / 8), jittered(rng, things[rng.integers(len(things))][1]))
            for _ in range(12)
        ]

        found = break_down(placed(predictions, truth), truth, RULES)

        said = naive_kinds(predictions, things)
        assert Counter(kinds(predictions, truth)) == Counter(said)
        positives = sum(name == "cat" for name, _ in things)
        outcomes = [1 if kind is None else 0 for kind in said]
        value = oracles.area(outcomes, positives)
        assert found.value == pytest.approx(value)
        for kind in (ErrorKind.DUPLICATE, ErrorKind.SIMILAR, ErrorKind.OTHER, ErrorKind.BACKGROUND):
            left = [outcome for outcome, each in zip(outcomes, said, strict=True) if each != kind]
            cost = oracles.area(left, positives) - value
            count, found_cost = rows(found)[kind]
            assert count == said.count(kind)
            assert found_cost == pytest.approx(cost, abs=1e-12)
        assert all(row.gain is None or row.gain >= -1e-12 for row in found.rows)


def some_box(rng: np.random.Generator) -> Corners:
    left, top = rng.integers(1, 60, 2).tolist()
    return (left, top, left + 19, top + 19)


def jittered(rng: np.random.Generator, box: Corners) -> Corners:
    x, y = rng.integers(-14, 15, 2).tolist()
    return (box[0] + x, box[1] + y, box[2] + x, box[3] + y)


def naive_kinds(predictions: list[Prediction], things: list[tuple[str, Corners]]) -> list[ErrorKind | None]:
    cats = [oracles.Thing(0, box) for name, box in things if name == "cat"]
    said: list[ErrorKind | None] = []
    for number, outcome in zip(
        oracles.ranked(predictions), oracles.outcomes(predictions, cats, 0.5), strict=True
    ):
        most = {
            name: max(
                (oracles.iou(predictions[number].box, box) for n, box in things if n == name),
                default=-math.inf,
            )
            for name in CLASSES
        }
        if outcome == 1:
            said.append(None)
        elif most["cat"] >= 0.5:
            said.append(ErrorKind.DUPLICATE)
        elif most["cat"] >= BACKGROUND_IOU:
            said.append(ErrorKind.LOCALISATION)
        elif most["dog"] >= BACKGROUND_IOU:
            said.append(ErrorKind.SIMILAR)
        else:
            said.append(ErrorKind.OTHER if most["sofa"] >= BACKGROUND_IOU else ErrorKind.BACKGROUND)
    return said


def test_the_twenty_classes_are_each_in_one_family() -> None:
    assert sum(map(len, SIMILAR_CLASSES)) == len(frozenset[str]().union(*SIMILAR_CLASSES)) == 20


def test_a_breakdown_survives_a_round_trip_through_json(tmp_path: Path) -> None:
    truth = scene(tmp_path)
    found = break_down(placed([Prediction(0, 0.9, DOG)], truth), truth, RULES)

    assert from_plain(ErrorBreakdown, to_plain(found)) == found
    assert replace(found, value=None) != found
