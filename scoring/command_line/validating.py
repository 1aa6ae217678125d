"""`validate`: what is wrong with results; the annotation is not asked."""

from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from scoring.command_line.asked import competition_in, existing_tree, require
from scoring.command_line.finding import find_results
from scoring.readers.voc.public_tree import read_public
from scoring.validation import validate


def check(asked: Namespace) -> Mapping[str, Any]:
    """Check results of one competition; `problems` is empty where they can be scored."""
    require(asked, "competition", "image_set")
    info = competition_in(existing_tree(asked.truth), asked.competition)
    description = read_public(asked.truth, asked.image_set)
    results = find_results(asked.results, info, description)
    return validate(results, description, competitions=(info.number,)).as_json()
