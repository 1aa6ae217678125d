"""Where below a folder the results of a competition lie."""

import os
from collections.abc import Iterator
from pathlib import Path

from scoring.command_line.wrong_use import WrongUseError
from scoring.competitions import EDITIONS, CompetitionInfo, expected_files
from scoring.data.description import Description


def find_results(path: Path, info: CompetitionInfo, description: Description) -> Path:
    """The folder that holds the competition's files, somewhere at or below the path; the path itself if none does.

    So a whole development kit can be named without its thousands of images being taken for results. Folders of other
    editions are passed over. Raises WrongUseError where several folders hold such files, and for what is neither a folder
    nor a file, such as a pipe, which cannot be read twice.
    """
    if not path.is_dir():
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
    others = {name.lower() for name in EDITIONS} - {description.dataset.lower()}
    for place, folders, here in os.walk(path):
        folders[:] = sorted(name for name in folders if name.lower() not in others)
        folder = Path(place)
        if not files.isdisjoint(here) and folder.name == (inner.name or folder.name):
            yield folder.parent if inner.name else folder
