"""The commands `validate`, `statistics`, `significance` and `protocols`; `evaluate` has a module of its own."""

from argparse import Namespace
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from scoring.analysis.object_counts import Count, count_objects
from scoring.archives.result_files import default_limits
from scoring.codec import to_plain
from scoring.command_line.requirements import (
    WrongUseError,
    competition_in,
    existing_tree,
    find_results,
    require,
)
from scoring.data.description import Description
from scoring.data.ground_truth import GroundTruth
from scoring.data.limits import UNLIMITED, Limits
from scoring.errors import Problems
from scoring.protocols import PROTOCOLS
from scoring.readers.voc.public_tree import read_public
from scoring.readers.voc.tree import read_tree
from scoring.statistics.rank_tests import compare_pairs, rank_methods
from scoring.statistics.scoreboard import read_scoreboard
from scoring.validation import validate


def check(options: Namespace) -> Mapping[str, Any]:
    """Check results; `problems` is empty where they can be scored.

    Without a competition an archive is checked for all that it has files of, as a server does; a folder needs one.
    """
    if options.truth.is_file():
        return _check_coco(options)
    require(options, *(("competition",) if options.results.is_dir() else ()), "image_set")
    tree = existing_tree(options.truth)
    info = None if options.competition is None else competition_in(tree, options.competition)
    description = read_public(tree, options.image_set)
    results = find_results(options.results, info, description)
    numbers = None if info is None else (info.number,)
    limits = _limits(results, description)
    return validate(results, description, competitions=numbers, limits=limits).as_json()


def _limits(results: Path, description: Description) -> Limits:
    """Those under which `evaluate` reads files: annotation says nothing of the lines and boxes that a server allows."""
    return default_limits(results, description).with_counts_of(UNLIMITED)


def _check_coco(options: Namespace) -> Mapping[str, Any]:
    """Check results in COCO's JSON against the images and classes of an annotation file."""
    truth = GroundTruth.from_coco(options.truth, image_set=options.image_set or "all")
    if not options.results.exists():
        raise WrongUseError("no-file", f"there is no file '{options.results}'")
    numbers = None if options.competition is None else (options.competition,)
    limits = _limits(options.results, truth.description)
    return validate(options.results, truth.description, competitions=numbers, limits=limits).as_json()


def count(options: Namespace) -> Mapping[str, Any]:
    """Count what is annotated in an image set; difficult objects are not among the objects, but apart."""
    problems = Problems()
    truth = read_tree(existing_tree(options.tree), options.image_set, problems=problems)
    table = count_objects(truth)
    return {
        "dataset": truth.description.dataset,
        "image_set": truth.description.image_set,
        "classes": {row.name: _row(row) for row in table.rows},
        "total": _row(table.total),
        "notes": [to_plain(warning) for warning in problems.warnings],
    }


def _row(row: Count) -> dict[str, int]:
    return {"images": row.images, "objects": row.objects, "difficult": row.difficult}


def compare(options: Namespace) -> Mapping[str, Any]:
    """Rank the methods of a table in each class, and test whether their mean ranks differ.

    Best first; `groups` names methods that cannot be told apart, `pairs` has the p-value of each difference after Nemenyi
    and after Holm. Methods without a value in every class are left out.
    """
    table = read_scoreboard(options.table)
    if not table.complete().methods:
        raise WrongUseError("no-method", "no method of the table has a value in every class")
    found = rank_methods(table)
    names = [method.name for method in found.methods]
    return {
        "mean_ranks": {method.name: method.mean_rank for method in found.methods},
        "medians": {method.name: method.median for method in found.methods},
        "friedman": {"statistic": found.statistic, "degrees": found.degrees, "p": found.p},
        "level": found.level,
        "critical_difference": found.critical_difference,
        "groups": [[names[place] for place in group] for group in found.groups],
        "pairs": [asdict(pair) for pair in compare_pairs(table)],
        "left_out": found.left_out,
        "classes": found.classes,
    }


def list_protocols(_asked: Namespace) -> Mapping[str, Any]:
    """Every protocol by name; of each its title, other names and the titles of the tasks that it scores."""
    return {
        "protocols": {
            row.name: {
                "title": row.title,
                "other_names": [name for name, each in PROTOCOLS.items() if each is row and name != row.name],
                "tasks": {each.task.name: each.task.title for each in row.tasks},
            }
            for row in PROTOCOLS.values()
        }
    }


def table_of_protocols(listed: Mapping[str, Any]) -> str:
    """What `list_protocols` returns, for people to read."""
    lines: list[str] = []
    for name, row in listed["protocols"].items():
        lines += [
            f"{', '.join((name, *row['other_names']))}: {row['title']}",
            f"  {'; '.join(row['tasks'].values())}",
        ]
    return "\n".join(lines)
