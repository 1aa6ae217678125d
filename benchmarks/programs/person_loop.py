"""Action classification as a plain loop over lines and persons: VOCevalaction.m (2010 to 2012) in our own words.

`person_loop.py PEOPLE FOLDER`.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from known import class_files
from label_loop import average_precision
from serving import serve


def _main(people: str, folder: str) -> None:
    with np.load(Path(people)) as arrays:
        names, actions, labels = (arrays[name].tolist() for name in ("names", "actions", "labels"))
    known = dict(zip(actions, labels, strict=True))

    def value(action: str, path: Path) -> float:
        confidence_of = {}
        for line in path.read_text().splitlines():
            name, _, confidence = line.rpartition(" ")
            confidence_of[name] = float(confidence)
        return average_precision(known[action], [confidence_of[name] for name in names])

    def run() -> Mapping[str, float]:
        return {action: value(action, path) for action, path in class_files(folder).items()}

    serve(run)


if __name__ == "__main__":
    _main(*sys.argv[1:])
