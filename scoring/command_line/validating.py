"""`validate`: the problems of results, without the annotation."""

from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from scoring.command_line.finding import find_results
from scoring.command_line.requirements import competition_in, existing_tree, require
from scoring.readers.voc.public_tree import read_public
from scoring.validation import validate


def check(options: Namespace) -> Mapping[str, Any]:
    """Check results of one competition; `problems` is empty where they can be scored."""
    require(options, "competition", "image_set")
    info = competition_in(existing_tree(options.truth), options.competition)
    description = read_public(options.truth, options.image_set)
    results = find_results(options.results, info, description)
    return validate(results, description, competitions=(info.number,)).as_json()
