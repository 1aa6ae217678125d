"""Checks that what a command line names is there: options, the tree, the competition, the results."""

import os
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

from scoring.competitions import CHALLENGES, CompetitionInfo, competitions, expected_files
from scoring.data.description import Description
from scoring.errors import Problem
from scoring.readers.voc.kit_files import dataset_of


class WrongUseError(Exception):
    """What a command asks for does not exist, or its arguments are wrong; `problem` says what."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.problem = Problem(code, message)


def require(options: Namespace, *names: str) -> None:
    """Raise WrongUseError, as for any missing option, if one of these is not given."""
    missing = ", ".join(f"--{name.replace('_', '-')}" for name in names if getattr(options, name) is None)
    if missing:
        message = f"the following arguments are required: {missing}; see python -m scoring --help"
        raise WrongUseError("usage", message)


def existing_tree(tree: Path) -> Path:
    """The folder of a challenge. Raises WrongUseError if there is none."""
    if tree.exists() and not tree.is_dir():
        message = f"expected the folder of a challenge, found '{tree}'; annotation in COCO's JSON goes with --protocol coco or lvis"
        raise WrongUseError("no-tree", message)
    if not tree.is_dir():
        raise WrongUseError("no-tree", f"there is no folder '{tree}'")
    return tree


def competition_in(tree: Path, number: int) -> CompetitionInfo:
    """The competition of this number in the tree's challenge. Raises WrongUseError if that year had none."""
    dataset = dataset_of(tree)
    known = {info.number: info for info in competitions(dataset)}
    if number not in known:
        message = f"{dataset} has no competition {number}; it has {', '.join(map(str, known))}"
        raise WrongUseError("unknown-competition", message)
    return known[number]


def find_results(path: Path, info: CompetitionInfo | None, description: Description) -> Path:
    """The folder that holds the competition's files, somewhere at or below the path; the path itself if none does, or it is an archive.

    info: None of an archive that may hold any. So a whole development kit can be named without its thousands of images being taken
    for results. Folders of other challenges are passed over. Raises WrongUseError where several folders hold such files, and for what is neither a folder
    nor a file, such as a pipe, which cannot be read twice.
    """
    if info is None or not path.is_dir():
        return _regular(path)
    found = list(_folders(path, info, description))
    if len(found) > 1:
        places = ", ".join(f"'{place}'" for place in found)
        raise WrongUseError(
            "several-results", f"several folders hold results of {info.name}; name one of {places}"
        )
    return found[0] if found else path


def _regular(path: Path) -> Path:
    if path.exists() and not path.is_file():
        raise WrongUseError(
            "special-file", f"expected a folder or an archive, found a device or a pipe: '{path}'"
        )
    return path


def _folders(path: Path, info: CompetitionInfo, description: Description) -> Iterator[Path]:
    names = [Path(name) for name, _ in expected_files(info, description)]
    if not names:
        return
    files = {name.name for name in names}
    inner = names[0].parent  # of segmentation: its files lie one folder deeper
    others = {name.lower() for name in CHALLENGES} - {description.dataset.lower()}
    for place, folders, here in os.walk(path):
        folders[:] = sorted(name for name in folders if name.lower() not in others)
        folder = Path(place)
        if not files.isdisjoint(here) and folder.name == (inner.name or folder.name):
            yield folder.parent if inner.name else folder
