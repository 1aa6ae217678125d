"""Problems for missing result files."""

from collections.abc import Mapping, Sequence
from typing import Final

from scoring.competitions import CompetitionInfo, offered
from scoring.data.description import Description
from scoring.errors import Problem, Severity

_MOST_NAMED: Final = 30  # missing files in one sentence


def no_results(infos: Sequence[CompetitionInfo], description: Description) -> Problem:
    """The problem that there is no file of any of these competitions, with the name of a file of the first one.

    >>> from scoring.competitions import competition_of
    >>> print(no_results([competition_of("VOC2012", 7)], Description("VOC2012", "val", (), (), ())))
    no result file of comp7 was found; expected files such as 'results/VOC2012/Layout/comp7_layout_val.xml'
    """
    expected = f"results/{description.dataset}/{infos[0].file_pattern_of(description.image_set)}"
    all_of_them = len(infos) == len(offered(description))
    names = "any competition" if all_of_them else " or ".join(info.name for info in infos)
    message = f"no result file of {names} was found; expected files such as '{expected}'"
    return Problem("no-results", message, expected=expected)


def missing_files(
    info: CompetitionInfo, missing: Sequence[str], expected: Mapping[str, str]
) -> tuple[Problem, Severity]:
    """The classes, actions or images that have no file: a problem where every file is needed, otherwise a note.

    expected: the name of every file by its key. The file of the problem is the missing one, if it is just one.

    >>> from scoring.competitions import competition_of
    >>> found, severity = missing_files(competition_of("VOC2012", 3), ["car"], {"car": "a", "cat": "b"})
    >>> print(severity, found)
    note comp3: 1 of 2 classes are missing and will not be scored: car
    """
    consequence = "; every image needs its mask" if info.needs_every_file else " and will not be scored"
    total = len(expected)
    only = expected[missing[0]] if info.needs_every_file and len(missing) == 1 else None
    listed = ", ".join(missing[:_MOST_NAMED]) + (", …" if len(missing) > _MOST_NAMED else "")
    message = f"{info.name}: {len(missing)} of {total} {info.subjects} are missing{consequence}: {listed}"
    severity = Severity.PROBLEM if info.needs_every_file else Severity.NOTE
    problem = Problem("missing-files", message, only, found=str(total - len(missing)), expected=str(total))
    return problem, severity
