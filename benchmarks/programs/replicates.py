"""The bootstrap of a scored archive: `replicates.py ours|naive TRUTH ARCHIVE REPLICATES`.

Naive is what everybody would write: draw images, repeat their predictions, score each class anew. Nothing is matched again.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from serving import serve

from heldout_scoring import GroundTruth, evaluate
from heldout_scoring.data.matches import open_rankings
from heldout_scoring.metrics.ranking import average_precision
from heldout_scoring.statistics.bootstrap import bootstrap
from heldout_scoring.tasks.detection import load


def _main(how: str, truth_file: str, archive: str, replicates: str) -> None:
    truth, count = GroundTruth.open(Path(truth_file)), int(replicates)
    images = len(truth.description.images)
    with TemporaryDirectory(prefix="heldout-") as folder:
        kept = Path(folder, "statistics")
        report = evaluate(Path(archive), truth, competition=4, protocol="voc2012", statistics=kept)
        _, rankings = open_rankings(kept)
        ground_truth = load(truth)

        def ours() -> Mapping[str, float]:
            drawn = bootstrap(report, truth, replicates=count)
            return dict(zip(drawn.names, drawn.values[:-1].mean(axis=1).tolist(), strict=True))

        def naive() -> Mapping[str, float]:
            random, means = np.random.default_rng(1), dict.fromkeys(ground_truth, 0.0)
            for _ in range(count):
                weights = np.bincount(random.integers(0, images, images), minlength=images)
                for each in rankings:
                    objects = ground_truth[each.class_name]
                    image = np.repeat(np.arange(images), objects.count)[~objects.difficult]
                    outcomes = np.repeat(each.outcomes, weights[each.image])
                    means[each.class_name] += average_precision(outcomes, int(weights[image].sum())) / count
            return means

        serve(ours if how == "ours" else naive)


_main(*sys.argv[1:])
