"""`evaluate`: scores of result files, and of COCO's JSON."""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from scoring.coco_evaluation import NAMES, PROTOCOL, evaluate_coco
from scoring.codec import to_plain
from scoring.command_line.requirements import (
    WrongUseError,
    competition_in,
    existing_tree,
    find_results,
    require,
)
from scoring.errors import Problem, Problems, SubmissionError
from scoring.evaluation import columns_of, evaluate
from scoring.exhibits import ConfusionMatrix
from scoring.protocols import PROTOCOLS, default_protocol
from scoring.readers.voc.kit_files import dataset_of
from scoring.readers.voc.tree import read_tree
from scoring.results import Result
from scoring.scores import ClassResult
from scoring.statistics.bootstrap import intervals_of
from scoring.statistics.intervals import Interval


def score(options: Namespace) -> Mapping[str, Any]:
    """Score results against a tree; with `bootstrap` each value has an interval of 95 %."""
    if options.protocol in NAMES:
        return score_coco_files(options)
    if options.masks or options.explain:
        raise WrongUseError("usage", "--masks and --explain go with --protocol coco or lvis only")
    tree = existing_tree(options.truth)
    require(options, "competition", "image_set")
    protocol = _protocol(options.protocol, dataset_of(tree))
    info = competition_in(tree, options.competition)
    problems = Problems()
    truth = read_tree(tree, options.image_set, problems=problems)
    _check_classes(options.classes, columns_of(truth.description, info.number, protocol), info.number)
    results = find_results(options.results, info, truth.description)
    result = evaluate(
        results,
        truth,
        competition=info.number,
        protocol=protocol,
        classes=options.classes,
        accepted=options.accepted,
    )
    result = replace(result, notes=(*problems.warnings, *result.notes))
    if not options.bootstrap:
        return _plain(result, {})
    return _plain(result, intervals_of(result, truth, replicates=options.bootstrap).by_class())


def _protocol(name: str | None, dataset: str) -> str:
    if name is not None and name not in PROTOCOLS:
        raise WrongUseError("unknown-protocol", f"unknown protocol '{name}'; expected {', '.join(PROTOCOLS)}")
    try:
        return name or default_protocol(dataset)
    except LookupError as error:
        raise WrongUseError("no-protocol", str(error)) from None


def _check_classes(classes: Sequence[str] | None, known: Sequence[str], number: int) -> None:
    unknown = [name for name in classes or () if name not in known]
    if unknown:
        message = f"unknown: {', '.join(unknown)}; competition {number} has {', '.join(known)}"
        raise WrongUseError("unknown-class", message)


def _plain(report: Result, bounds: Mapping[str | None, Interval]) -> dict[str, Any]:
    confusion: dict[str, Any] = {}
    for each in report.exhibits:
        if isinstance(each, ConfusionMatrix):
            confusion = {"labels": each.labels, "confusion": each.counts}
    return {
        "protocol": report.protocol,
        "competition": report.competition,
        "measure": report.measure,
        "headline": report.headline,
        "reason": report.headline_reason,
        **_ends(bounds.get(None)),
        "classes": {
            each.name: {**_plain_class(each), **_ends(bounds.get(each.name))} for each in report.classes
        },
        **confusion,
        "scorer": report.scorer,
        "receipt": report.receipt,
        "notes": [to_plain(note) for note in report.notes],
    }


def _plain_class(scored: ClassResult) -> dict[str, Any]:
    return {
        "value": scored.value,
        "reason": scored.reason,
        "positives": scored.positives,
        "predictions": scored.predictions,
    }


def _ends(interval: Interval | None) -> dict[str, float | None]:
    low, high = (None, None) if interval is None else (interval.low, interval.high)
    return {"low": low, "high": high}


def score_coco_files(options: Namespace) -> Mapping[str, Any]:
    """Score one results file against one annotation file; with `explain` say why figures are below 1."""
    asked = ("competition", "image_set", "classes", "bootstrap")
    given = [f"--{each.replace('_', '-')}" for each in asked if getattr(options, each) is not None]
    given += ["--accepted"] if options.accepted else []
    if given:
        verb = "does" if len(given) == 1 else "do"
        raise WrongUseError("usage", f"{', '.join(given)} {verb} not go with --protocol {options.protocol}")
    if options.explain and options.protocol != PROTOCOL:
        raise WrongUseError("usage", f"--explain goes with --protocol {PROTOCOL} only")
    absent = [path for path in (options.truth, options.results) if not path.exists()]
    if absent:
        raise SubmissionError(*(Problem("no-file", f"there is no file '{path}'") for path in absent))
    try:
        result = evaluate_coco(options.truth, options.results, masks=options.masks, protocol=options.protocol)
    except LookupError as error:
        raise WrongUseError("no-lvis", str(error)) from None
    explanations = {"explanations": to_plain(result.explain())} if options.explain else {}
    return _plain_coco(result) | explanations


def _plain_coco(result: Result) -> dict[str, Any]:
    return {
        "protocol": result.protocol,
        "measure": result.measure,
        "headline": result.headline,
        "figures": result.figures,
        "classes": {each.name: {**_plain_class(each), "figures": each.figures} for each in result.classes},
        "receipt": result.receipt,
        "notes": [to_plain(note) for note in result.notes],
    }
