"""`significance`: which methods differ over many classes."""

from argparse import Namespace
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from scoring.command_line.wrong_use import WrongUseError
from scoring.statistics.rank_tests import compare_pairs, rank_methods
from scoring.statistics.scoreboard import read_scoreboard


def compare(options: Namespace) -> Mapping[str, Any]:
    """Rank the methods of a table in each class, and test whether their mean ranks differ.

    Best first; `groups` names methods that cannot be told apart, `pairs` has the chance of each difference after Nemenyi
    and after Holm. Methods without a value in every class are left out.
    """
    try:
        text = options.table.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise WrongUseError("encoding", f"'{options.table}' is no text in UTF-8") from error
    table = read_scoreboard(text, options.table.name)
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
