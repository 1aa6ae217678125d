"""Checks that what a command line names is there: options, the tree, the competition."""

from argparse import Namespace
from pathlib import Path

from scoring.command_line.wrong_use import WrongUseError
from scoring.competitions import CompetitionInfo, competitions
from scoring.readers.voc.kit_files import dataset_of


def require(options: Namespace, *names: str) -> None:
    """Raise WrongUseError, as for any missing option, if one of these is not given."""
    missing = ", ".join(f"--{name.replace('_', '-')}" for name in names if getattr(options, name) is None)
    if missing:
        message = f"the following arguments are required: {missing}; see python -m scoring --help"
        raise WrongUseError("usage", message)


def existing_tree(tree: Path) -> Path:
    """The folder of an edition. Raises WrongUseError if there is none."""
    if not tree.is_dir():
        raise WrongUseError("no-tree", f"there is no folder '{tree}'")
    return tree


def competition_in(tree: Path, number: int) -> CompetitionInfo:
    """The competition of this number in the tree's edition. Raises WrongUseError if that year had none."""
    dataset = dataset_of(tree)
    known = {info.number: info for info in competitions(dataset)}
    if number not in known:
        message = f"{dataset} has no competition {number}; it has {', '.join(map(str, known))}"
        raise WrongUseError("unknown-competition", message)
    return known[number]
