"""The bootstrap of COCO's figures, compared to scoring the images of a replicate again."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heldout_scoring import (
    Detections,
    GroundTruth,
    evaluate,
)
from heldout_scoring.data.matches import open_rankings
from heldout_scoring.evaluation import evaluate_coco
from heldout_scoring.metrics.coco import COCO_RULES
from heldout_scoring.statistics.bootstrap import Draws, bootstrap, intervals_of
from heldout_scoring.tasks.coco import COCO_DETECTION
from heldout_scoring.tasks.task import RankingSample
from tests.scoring.coco_sets import Plain, draw_coco_set

CLOSE = 1e-12
SEEDS = range(300, 312)


def as_json(value: Any) -> bytes:
    return json.dumps(value).encode()


def truth_of(instances: Plain) -> GroundTruth:
    return GroundTruth.from_coco(instances, image_set="val")


@pytest.mark.parametrize("seed", SEEDS)
def test_a_replicate_with_every_image_once_gives_the_scores_themselves(seed: int, tmp_path: Path) -> None:
    instances, found = draw_coco_set(seed)
    truth = truth_of(instances)
    result = evaluate(Detections.from_coco(found, truth), truth, protocol="coco")
    result.save_matches(tmp_path / "matches")
    matches = open_rankings(tmp_path / "matches")[1]

    sample = COCO_DETECTION.resample(matches, truth, COCO_RULES)
    assert isinstance(sample, RankingSample)
    once = np.ones((truth.lists.main, 1), np.uint8)
    values = [
        np.mean([sample.weighted_metric(each, counts)(once).item() for each in rankings])
        for counts, *rankings in zip(
            sample.positives, *(sample.rankings[n :: sample.together] for n in range(10)), strict=True
        )
    ]

    expected = [np.nan if each.value is None else each.value for each in result.classes]
    assert values == pytest.approx(expected, abs=CLOSE, nan_ok=True)


def test_a_replicate_scores_what_its_drawn_images_score() -> None:
    """Scores the drawn images again, each as often as it was drawn, under new ids and without ties."""
    instances, found = draw_coco_set(301)
    found = [each | {"score": each["score"] + place * 1e-9} for place, each in enumerate(found)]
    truth = truth_of(instances)
    replicates = bootstrap(
        evaluate(Detections.from_coco(found, truth), truth, protocol="coco"), truth, replicates=5
    )
    ids = sorted(each["id"] for each in instances["images"])

    for number, weights in enumerate(Draws(len(ids), 5).weights(0, 5).T.tolist()):
        again, detected = drawn_anew(instances, found, dict(zip(ids, weights, strict=True)))
        expected = evaluate_coco(as_json(detected), as_json(again))
        values = [np.nan if each.value is None else each.value for each in expected.classes]
        assert replicates.values[:-1, number] == pytest.approx(values, abs=CLOSE, nan_ok=True)
        assert replicates.values[-1, number] == pytest.approx(
            np.nan if expected.headline is None else expected.headline, abs=CLOSE, nan_ok=True
        )


def drawn_anew(instances: Plain, found: list[Plain], weights: dict[int, int]) -> tuple[Plain, list[Plain]]:
    copies = [(image, 1000 * image + n) for image, times in weights.items() for n in range(times)]

    def placed(entries: list[Plain]) -> list[Plain]:
        return [
            each | {"image_id": new} for old, new in copies for each in entries if each["image_id"] == old
        ]

    annotations = [each | {"id": n} for n, each in enumerate(placed(instances["annotations"]), 1)]
    images = [{"id": new} for _, new in copies]
    return instances | {"images": images, "annotations": annotations}, placed(found)


def test_a_mean_has_an_interval() -> None:
    instances, found = draw_coco_set(305)
    truth = truth_of(instances)

    *_, mean = intervals_of(
        evaluate(Detections.from_coco(found, truth), truth, protocol="coco"), truth, replicates=100
    ).rows

    assert mean.low is not None
    assert mean.high is not None
    assert 0 <= mean.low <= (mean.value or 0) <= mean.high <= 1
