"""The work of child processes with limits: everything that opens what participants sent, or ground truth."""

import base64
import json
import os
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # idle BLAS threads spin and take the second core

from scoring import (
    Description,
    GroundTruth,
    Limits,
    Result,
    SubmissionError,
    bootstrap,
    evaluate,
    intervals_of,
    standard_error_of_difference,
    standings,
    to_plain,
    validate,
)
from scoring.analysis.diagnosis import Files, diagnose
from scoring.analysis.image_outcomes import outcomes_by_image, pack_outcomes
from scoring.analysis.near_duplicates import compare_archives, sketch_of
from scoring.saved_matches import open_matches
from scoring.statistics.bootstrap import sample_of
from scoring.statistics.kept_replicates import pack_replicates, read_replicates


def check(archive: Path, filename: str, description: Path, competitions: tuple[int, ...] | None) -> bytes:
    """The validation report, as JSON, of an archive uploaded as `filename` for some competitions or for all."""
    public = Description.from_json(description.read_text())
    return json.dumps(validate(archive, public, competitions=competitions, name=filename).as_json()).encode()


def score(
    archive: Path, truth: Path, competition: int, protocol: str, statistics: Path, limits: Limits
) -> bytes:
    """The report of an archive as JSON, or the first problem of a refused one after a `!`.

    The per-image statistics are written to `statistics`; `limits` are those that the archive was checked under.
    """
    ground_truth = GroundTruth.open(truth)
    try:
        report = evaluate(
            archive,
            ground_truth,
            competition=competition,
            protocol=protocol,
            statistics=statistics,
            limits=limits,
        )
    except SubmissionError as error:
        return b"!" + str(error.problems[0]).encode()
    return report.to_json().encode()


def intervals(statistics: Path, truth: Path, report: str) -> bytes:
    """The confidence intervals of a report (its exhibits are not needed) as JSON of an `IntervalTable`."""
    table = intervals_of(_result(report, statistics), GroundTruth.open(truth), statistics=statistics)
    return json.dumps(to_plain(table)).encode()


def _result(report: str, statistics: Path) -> Result:
    """A report from the database, which lacks what identifies the ground truth, with that of its statistics."""
    origin, _ = open_matches(statistics)
    return replace(Result.from_json(report), truth=origin.truth, receipt=origin.receipt)


def analyse(
    archive: Path, limits: Limits, statistics: Path, truth: Path, report: str, truth_id: str
) -> bytes:
    """The analysis of a report (its exhibits are not needed) as JSON: its diagnosis; replicates and outcomes by image in base64.

    The replicates name the ground truth by `truth_id` in place of its fingerprint, because the database keeps them.
    """
    ground_truth, result = GroundTruth.open(truth), _result(report, statistics)
    replicates = bootstrap(result, ground_truth, statistics=statistics)
    replicates = replace(replicates, setup=replace(replicates.setup, truth=truth_id))
    kept = {
        "replicates": pack_replicates(replicates),
        "image_outcomes": pack_outcomes(
            outcomes_by_image(sample_of(result, ground_truth, statistics=statistics))
        ),
    }
    diagnosis = diagnose(result, ground_truth, Files(archive, limits, statistics))
    encoded = {name: base64.b64encode(content).decode() for name, content in kept.items()}
    return json.dumps({"diagnosis": to_plain(diagnosis), **encoded}).encode()


def groups(replicates: tuple[tuple[int, bytes], ...]) -> bytes:
    """The letters of runs that cannot be told apart by their headlines, by run, as JSON; runs without a headline have none.

    replicates: the number of each run, and its replicates as they are kept. Only runs that are paired with most others are
    compared: the same ground truth, protocol and classes.
    """
    drawn = {str(run): read_replicates(content) for run, content in replicates}
    comparable = {run: each for run, each in drawn.items() if each.scores[-1] is not None}
    kinds = Counter((each.setup, each.draws, each.names) for each in comparable.values())
    most = max(kinds, key=kinds.__getitem__, default=None)
    paired = {run: each for run, each in comparable.items() if (each.setup, each.draws, each.names) == most}
    try:
        found = standings(paired)
    except ValueError:  # too few replicates have a value for every method
        return b"{}"
    return json.dumps({each.name: each.letters for each in found.methods}).encode()


def standard_error(truth: Path, results: tuple[tuple[Path, str], tuple[Path, str]]) -> bytes:
    """The standard error of the difference of two results' means as JSON; each is its statistics and its report as JSON."""
    ground_truth = GroundTruth.open(truth)
    one, other = (
        bootstrap(_result(report, statistics), ground_truth, statistics=statistics)
        for statistics, report in results
    )
    return json.dumps(standard_error_of_difference(one, other)).encode()


def sketch(archive: Path, description: Path, competition: int) -> bytes:
    """The sketch of an archive's results of a competition, which hidden annotation has no part in."""
    return sketch_of(archive, Description.from_json(description.read_text()), competition)


def likeness(one: Path, other: Path, description: Path, competition: int) -> bytes:
    """How alike two archives' results of a competition are, as JSON of a `Likeness`."""
    public = Description.from_json(description.read_text())
    return json.dumps(asdict(compare_archives(one, other, public, competition))).encode()
