"""Action classification as a plain loop over lines and persons: VOCevalaction.m (2010 to 2012) in our own words.

`person_loop.py PEOPLE FOLDER`.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from known import class_files
from label_loop import area_below
from serving import serve


def _main(people: str, folder: str) -> None:
    with np.load(Path(people)) as arrays:
        names, actions, labels = (arrays[name].tolist() for name in ("names", "actions", "labels"))
    known = dict(zip(actions, labels, strict=True))

    def value(action: str, path: Path) -> float:
        said = {}
        for line in path.read_text().splitlines():
            name, _, confidence = line.rpartition(" ")
            said[name] = float(confidence)
        return area_below(known[action], [said[name] for name in names])

    def run() -> Mapping[str, float]:
        return {action: value(action, path) for action, path in class_files(folder).items()}

    serve(run)


if __name__ == "__main__":
    _main(*sys.argv[1:])
