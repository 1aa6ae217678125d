"""The scorer without a single check: unpacked, parsed and scored as if nothing could be wrong. `unchecked.py TRUTH ARCHIVE`."""

import io
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl
from serving import serve
from unpacking import members

from heldout_scoring import PROTOCOLS, GroundTruth
from heldout_scoring.data.predictions import ClassDetections
from heldout_scoring.parallel import parallel_map
from heldout_scoring.readers.image_index import Words
from heldout_scoring.tasks.detection import DETECTION, load

_COLUMNS = ("image", "confidence", "left", "top", "right", "bottom")


def _main(truth_file: str, archive: str) -> None:
    truth = GroundTruth.open(Path(truth_file))
    rules, ground_truth = PROTOCOLS["voc2012"].rules_of(DETECTION), load(truth)
    words = Words.of(image.id for image in truth.description.images)
    schema = dict.fromkeys(_COLUMNS, pl.Float64) | {"image": words.type}

    def value(content: tuple[str, bytes]) -> tuple[str, float]:
        name, data = content
        table = pl.read_csv(io.BytesIO(data), separator=" ", has_header=False, quote_char=None, schema=schema)
        image = table["image"].to_physical().to_numpy().astype(np.int32)
        predictions = ClassDetections(
            image, table["confidence"].to_numpy(), table.select(_COLUMNS[2:]).to_numpy()
        )
        matched = rules.match_class(predictions, ground_truth[name])
        return name, rules.measure.of(matched.outcomes, ground_truth[name].positives)

    def run() -> Mapping[str, float]:
        return dict(parallel_map(value, members(archive)))

    serve(run)


_main(*sys.argv[1:])
