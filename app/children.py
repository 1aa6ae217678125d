"""What runs apart, in a child with limits: checking an archive, scoring an archive."""

import json
import os
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # idle BLAS threads spin and take the second core

from scoring import Description, GroundTruth, Limits, SubmissionError, evaluate, intervals_of, validate


def check(archive: Path, filename: str, description: Path, competitions: tuple[int, ...] | None) -> bytes:
    """The validation report of an archive that was sent as `filename`, meant for some competitions or for all, as JSON."""
    public = Description.from_json(description.read_text())
    return json.dumps(validate(archive, public, competitions=competitions, name=filename).as_json()).encode()


def score(
    archive: Path, truth: Path, competition: int, protocol: str, statistics: Path, limits: Limits
) -> bytes:
    """The report of an archive and its intervals as JSON, or the first sentence of a refusal after a `!`.

    What they were computed from is written to `statistics`; `limits` are those that the archive was checked under.
    """
    known = GroundTruth.open(truth)
    try:
        report = evaluate(
            archive, known, competition=competition, protocol=protocol, statistics=statistics, limits=limits
        )
    except SubmissionError as error:
        return b"!" + str(error.problems[0]).encode()
    intervals = intervals_of(report, statistics, known)
    return json.dumps({"report": report.to_json(), "intervals": intervals.to_plain()}).encode()
