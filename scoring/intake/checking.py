"""What the checks of all tasks work with."""

import codecs
from dataclasses import dataclass, field

from scoring.competitions import CompetitionInfo
from scoring.errors import Problems, Severity
from scoring.readers.image_index import ImageIndex


@dataclass(frozen=True, slots=True)
class Inspection:
    """What every check works with.

    mistakes: how much weight something has that the kits would score and nobody means, such as an inverted box.
    """

    images: ImageIndex
    problems: Problems
    mistakes: Severity


@dataclass(slots=True)
class Checked:
    """What has been met so far of one competition: its files, and how many answers they hold.

    outside counts boxes that reach beyond their image, upside_down those that end before they begin; repeated counts
    lines about an image or person that has another one, missing by file those that have none;
    grey and recoloured count label images without indices, and those with another palette than the kit's.
    """

    info: CompetitionInfo
    files: set[str] = field(default_factory=set)
    lines: int = 0
    outside: int = 0
    upside_down: int = 0
    repeated: int = 0
    missing: dict[str, int] = field(default_factory=dict)
    grey: int = 0
    recoloured: int = 0

    def join(self, other: "Checked") -> None:
        """Add what was met in other files of the same competition."""
        self.files |= other.files
        self.missing |= other.missing
        self.lines += other.lines
        self.outside += other.outside
        self.upside_down += other.upside_down
        self.repeated += other.repeated
        self.grey += other.grey
        self.recoloured += other.recoloured


def is_blank(data: bytes) -> bool:
    """Is there nothing to read, not even something wrong?"""
    text = data.removeprefix(codecs.BOM_UTF8)
    return not text or text.isspace()


def nothing_to_add(_checked: Checked, _inspection: Inspection) -> None:
    """Add no note about all files together: for tasks with one file, which has been checked."""
