"""What to say of result files that are not there."""

from collections.abc import Sequence
from typing import Final

from scoring.errors import Problem, Severity
from scoring.registry import CompetitionInfo

_MOST_NAMED: Final = 30  # missing files in one sentence


def about_missing(info: CompetitionInfo, missing: Sequence[str], total: int) -> tuple[Problem, Severity]:
    """Name what of a competition has no file, of so many that may have one; a problem where each of them must.

    >>> from scoring.registry import competition_of
    >>> found, severity = about_missing(competition_of("VOC2012", 3), ["car"], 20)
    >>> print(severity, found)
    note comp3: 1 of 20 classes are missing and will not be scored: car
    """
    consequence = "; every image needs its mask" if info.needs_every_file else " and will not be scored"
    listed = ", ".join(missing[:_MOST_NAMED]) + (", …" if len(missing) > _MOST_NAMED else "")
    message = f"{info.name}: {len(missing)} of {total} {info.subjects} are missing{consequence}: {listed}"
    severity = Severity.PROBLEM if info.needs_every_file else Severity.NOTE
    return Problem("missing-files", message, found=str(total - len(missing)), expected=str(total)), severity
