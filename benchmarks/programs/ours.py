"""The scorer itself: `ours.py COMPETITION TRUTH RESULTS [validate|both]`."""

import sys
from collections.abc import Mapping
from pathlib import Path

from serving import serve

from heldout_scoring import GroundTruth, evaluate, validate


def _main(competition: str, truth_file: str, results: str, how: str = "evaluate") -> None:
    truth = GroundTruth.open(Path(truth_file))
    number, archive = int(competition), Path(results)

    def score() -> Mapping[str, float]:
        report = evaluate(archive, truth, competition=number, protocol="voc2012")
        return {each.name: -1.0 if each.value is None else each.value for each in report.classes}

    def check() -> Mapping[str, float]:
        found = validate(archive, truth.description, competitions=(number,))
        return {"problems": float(len(found.problems))}

    def both() -> Mapping[str, float]:
        check()
        return score()

    serve({"evaluate": score, "validate": check, "both": both}[how])


_main(*sys.argv[1:])
