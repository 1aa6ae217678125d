"""`statistics`: how many images and objects of each class a set has."""

from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from scoring.analysis.object_counts import Count, count_objects
from scoring.command_line.requirements import existing_tree
from scoring.readers.voc.tree import read_tree


def count(options: Namespace) -> Mapping[str, Any]:
    """Count what is annotated in an image set; difficult objects are not among the objects, but apart."""
    truth = read_tree(existing_tree(options.tree), options.image_set)
    table = count_objects(truth)
    return {
        "dataset": truth.description.dataset,
        "image_set": truth.description.image_set,
        "classes": {row.name: _plain(row) for row in table.rows},
        "total": _plain(table.total),
    }


def _plain(row: Count) -> dict[str, int]:
    return {"images": row.images, "objects": row.objects, "difficult": row.difficult}
