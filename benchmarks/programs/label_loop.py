"""Classification as a plain loop over lines and images: the kit's VOCevalcls.m (2010 to 2012) in our own words.

`label_loop.py KNOWN FOLDER`. With `--sklearn` the measure is scikit-learn's average precision instead.
"""

import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from known import Known, class_files, read_known
from serving import serve


def _labels(known: Known, number: int) -> list[int]:
    labels = [-1] * len(known.ids)
    for image, name, difficult in zip(known.image, known.name, known.difficult, strict=True):
        if name == number:
            labels[image] = max(labels[image], 0 if difficult else 1)
    return labels


def _confidences(path: Path, places: dict[str, int]) -> list[float]:
    confidences = [-math.inf] * len(places)
    for line in path.read_text().splitlines():
        image, confidence = line.split()
        confidences[places[image]] = float(confidence)
    return confidences


def average_precision(labels: list[int], confidences: Sequence[float], positives: int | None = None) -> float:
    """The area under the PR curve of a ranking with precision made monotone; a label is 1, 0 (not counted) or -1.

    positives: by default as many as there are labels of 1.
    """
    order = sorted(range(len(labels)), key=lambda place: -confidences[place])
    positives = labels.count(1) if positives is None else positives
    true_positives = false_positives = 0
    points = [(0.0, 0.0)]
    for place in order:
        true_positives += labels[place] == 1
        false_positives += labels[place] == -1
        if true_positives + false_positives:
            points.append((true_positives / positives, true_positives / (true_positives + false_positives)))
    best, area, beyond = 0.0, 0.0, 1.0
    for recall, precision in reversed(points):
        area += (beyond - recall) * best
        best, beyond = max(best, precision), recall
    return area


def _main(known_file: str, folder: str, *options: str) -> None:
    known = read_known(known_file)
    places = {image: place for place, image in enumerate(known.ids)}
    labels = {name: _labels(known, number) for number, name in enumerate(known.classes)}

    def loop() -> Mapping[str, float]:
        files = class_files(folder)
        return {
            name: average_precision(labels[name], _confidences(path, places)) for name, path in files.items()
        }

    def sklearn() -> Mapping[str, float]:
        from sklearn.metrics import average_precision_score  # noqa: PLC0415 - only there with the peers

        values = {}
        for name, path in class_files(folder).items():
            pairs = [
                (label, confidence)
                for label, confidence in zip(labels[name], _confidences(path, places), strict=True)
                if label
            ]
            values[name] = float(
                average_precision_score(
                    [label > 0 for label, _ in pairs], [confidence for _, confidence in pairs]
                )
            )
        return values

    serve(sklearn if "--sklearn" in options else loop)


if __name__ == "__main__":
    _main(*sys.argv[1:])
