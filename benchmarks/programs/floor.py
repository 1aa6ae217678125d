"""The lower bound: unpack and parse into arrays, in two threads, and nothing else. `floor.py TRUTH ARCHIVE`."""

import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
from serving import serve
from unpacking import members

from heldout_scoring import GroundTruth
from heldout_scoring.readers.image_index import Words

_COLUMNS = ("image", "confidence", "left", "top", "right", "bottom")


def _main(truth_file: str, archive: str) -> None:
    truth = GroundTruth.open(Path(truth_file))
    words = Words.of(image.id for image in truth.description.images)
    schema = dict.fromkeys(_COLUMNS, pl.Float64) | {"image": words.type}

    def parse(data: bytes) -> int:
        table = pl.read_csv(data, separator=" ", has_header=False, quote_char=None, schema=schema)
        return sum(len(column.to_physical().to_numpy()) for column in table)

    def run() -> Mapping[str, float]:
        with ThreadPoolExecutor(2) as pool:
            parsed = [pool.submit(parse, data) for _, data in members(archive)]
            return {"numbers": float(sum(each.result() for each in parsed))}

    serve(run)


_main(*sys.argv[1:])
