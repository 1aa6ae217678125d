"""The result files of an archive, by competition, and batches of them for threads."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final

from scoring.archives.archive import Member, Meter, walk
from scoring.archives.archive.folders import alone
from scoring.archives.file_names import ELSEWHERE, HARMLESS, MACOS_FILE, NOT_OFFERED, explain
from scoring.archives.json_results import FoundJson, JsonFinder, has_any_name, is_json_name, takes_json
from scoring.archives.single_files import is_single_file, result_path, unknown_file
from scoring.competitions import CompetitionInfo, competition_of, expected_files, offered
from scoring.data.description import Description
from scoring.data.limits import UNLIMITED, Limits
from scoring.errors import Problem, Problems, Severity, SubmissionError, shown
from scoring.files import as_path

MAX_SUGGESTIONS: Final = 100
"""Files of an archive for which a similar valid name is looked up."""

_CHALLENGE: Final = re.compile(r"VOC20\d\d", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ResultFile:
    """A file that belongs to a competition; key is the class, action or image that its predictions are of.

    name is the file's name as in the development kit, of COCO's files the one in the archive; read must be called before the next
    file is requested.
    """

    competition: CompetitionInfo
    key: str
    name: str
    read: Callable[[], bytes]

    @property
    def kit_name(self) -> str:
        """The name as in the development kit, also of a file that has another one."""
        pattern = self.competition.file_pattern
        return pattern if has_any_name(pattern) else self.name


def competition_files(
    path: Path | str,
    description: Description,
    number: int,
    *,
    problems: Problems,
    limits: Limits | None = None,
    alone: bool = False,
) -> Iterator[ResultFile]:
    """The files of one competition, in the order of the archive or folder.

    limits: by default the description's for an archive, none for a plain folder. alone: whether files of other competitions are a
    problem of an archive. Files with invalid names become problems. Raises SubmissionError where the
    archive cannot be read any further.
    """
    path = as_path(path)
    meter = Meter.of(path, limits or default_limits(path, description))
    everything = replace(
        description, not_offered=()
    )  # a caller who names the competition has its ground truth
    found = set[CompetitionInfo]()
    for file in result_files(path, everything, problems=problems, meter=meter, wanted=[number]):
        found.add(file.competition)
        if file.competition.number == number:
            yield file
    others = other_competitions(found, [competition_of(description.dataset, number)])
    if alone and others is not None and severity_of_strays(path) is Severity.PROBLEM:
        problems.add(others)


def other_competitions(
    found: Collection[CompetitionInfo], wanted: Collection[CompetitionInfo]
) -> Problem | None:
    """The problem with files of competitions that nobody asked for, beside or in place of those wanted; None if there are none."""
    others = sorted(info.number for info in found if info not in wanted)
    names, expected = ", ".join(f"comp{each}" for each in others), " or ".join(info.name for info in wanted)
    message = f"there are results of {names}, too; expected those of {expected} only: pack them alone"
    if len(others) == len(found):
        message = f"there are results of {names}; expected those of {expected}"
    return Problem("other-competition", message, found=names, expected=expected) if others else None


def default_limits(path: Path, description: Description) -> Limits:
    """The limits of an archive, or of a plain folder: those of lines and boxes, for it may hold any other file.

    >>> default_limits(Path("/"), Description("VOC2012", "val", (), (), ())).max_boxes
    1000
    """
    own = description.limits
    return UNLIMITED.with_counts_of(own) if path.is_dir() else own


def result_files(
    path: Path,
    description: Description,
    *,
    problems: Problems,
    meter: Meter,
    name: str | None = None,
    wanted: Collection[int] | None = None,
) -> Iterator[ResultFile]:
    """Every file of every competition; any other file becomes a note or a problem.

    name: the archive's name as uploaded, if it differs from that of the path; wanted: the numbers of the competitions that
    were asked for, None for all; a JSON file of any name that could belong to several belongs to one of these.
    """
    if takes_json(description):
        yield from _json_files(path, description, problems=problems, meter=meter, name=name, wanted=wanted)
        return
    finder = Finder(description, problems, severity_of_strays(path))
    for member in _members(path, description, meter, problems, name or path.name):
        file = finder.find(member)
        if file is not None:
            yield file


def _members(
    path: Path, description: Description, meter: Meter, problems: Problems, name: str
) -> Iterator[Member]:
    """The files of an archive or folder; a single prediction file stands at its path, where a server puts it.

    Raises SubmissionError for a single file whose name fits no competition.
    """
    if path.is_dir() or not is_single_file(name):
        yield from walk(path, meter, problems, name=name)
        return
    place = result_path(name, description.dataset, description.image_set)
    if place is None:
        message = unknown_file(shown(name), description.dataset, description.image_set)
        raise SubmissionError(Problem("file-name", message, found=shown(name)))
    yield alone(path, place, meter)


def _json_files(
    path: Path,
    description: Description,
    *,
    problems: Problems,
    meter: Meter,
    name: str | None,
    wanted: Collection[int] | None,
) -> Iterator[ResultFile]:
    """The JSON files of a phase whose results are such files of any name, alone or in an archive."""

    def names() -> list[str]:
        again = Meter.of(path, meter.limits)
        return [member.name for member in walk(path, again, Problems(), name=name, json=True)]

    severity = severity_of_strays(path)
    strays = Finder(description, problems, severity)
    finder = JsonFinder(offered(description), problems, meter, wanted, names)
    for member in walk(path, meter, problems, name=name, json=True):
        if (
            not is_json_name(member.name)
            or explain(member.name, description, suggest=False).code == MACOS_FILE
        ):
            strays.find(member)
        elif (found := finder.find(member)) is not None:
            info = found.competition
            yield ResultFile(info, info.only_key, found.name, partial(_content, found))
            del found  # and with it the content, before the next file is read
    finder.end(severity)


def _content(found: FoundJson) -> bytes:
    return found.data


def severity_of_strays(path: Path) -> Severity:
    """The severity of files that do not belong: an archive is made for submission, a folder may hold anything."""
    return Severity.NOTE if path.is_dir() else Severity.PROBLEM


@dataclass(slots=True)
class Finder:
    """Finds result files by their names; keeps track of names and folders for duplicates."""

    description: Description
    problems: Problems
    stray_severity: Severity
    expected: Mapping[str, tuple[CompetitionInfo, str]] = field(init=False)
    _seen: dict[str, str] = field(default_factory=dict)
    _folders: dict[str, bool] = field(default_factory=dict)
    _explained: int = 0
    _not_offered: set[str | None] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.expected = {
            name: (info, about)
            for info in offered(self.description)
            for name, about in expected_files(info, self.description)
        }

    def find(self, member: Member) -> ResultFile | None:
        """The result file that a member is; None for any other file, which becomes a problem or a note."""
        *_, parent, name = "", *member.name.rsplit("/", 2)
        for known in (name, f"{parent}/{name}"):
            if known in self.expected:
                info, about = self.expected[known]
                folder = member.name.removesuffix(known).rstrip("/")
                if self._is_allowed_folder(folder, info) and self._is_first(known, member):
                    return ResultFile(info, about, known, member.read)
                return None
        self._add_problem(member)
        return None

    def _is_first(self, known: str, member: Member) -> bool:
        other = self._seen.setdefault(known, member.name)
        if other is member.name:
            return True
        message = f"a duplicate: '{known}' is there more than once, also as '{shown(other)}'"
        self.problems.add(Problem("duplicate", message, shown(member.name)))
        return False

    def _is_allowed_folder(self, folder: str, info: CompetitionInfo) -> bool:
        """Whether results may be in this folder; a problem is added once for each folder."""
        if folder not in self._folders:
            self._folders[folder] = self._check_folder(folder, info)
        return self._folders[folder]

    def _check_folder(self, folder: str, info: CompetitionInfo) -> bool:
        dataset = self.description.dataset
        usual = "/".join(filter(None, ("results", dataset, info.folder)))
        around = folder.split("/") if folder else []
        other = next(
            (each for each in around if _CHALLENGE.fullmatch(each) and each.lower() != dataset.lower()), None
        )
        if other is not None:
            message = (
                f"the folder '{shown(folder)}' holds results for another year, {other}; expected '{usual}'"
            )
            self.problems.add(
                Problem("other-challenge", message, found=other, expected=dataset), self.stray_severity
            )
            return False
        for word in filter(None, (info.folder, dataset, "results")):
            if around and around[-1].lower() == word.lower():
                around.pop()
        if len(around) > 1:
            message = (
                f"the folder '{shown(folder)}' is too deep; expected '{usual}', or that in one more folder"
            )
            self.problems.add(Problem("folder-depth", message, found=shown(folder), expected=usual))
            return False
        if folder != usual and self.stray_severity is Severity.PROBLEM:
            place = f"in the folder '{shown(folder)}'" if folder else "in no folder"
            message = f"result files are {place} instead of '{usual}'; they are read all the same"
            self.problems.note(Problem("folder", message, found=shown(folder), expected=usual))
        return True

    def _add_problem(self, member: Member) -> None:
        self._explained += 1
        problem = explain(member.name, self.description, suggest=self._explained <= MAX_SUGGESTIONS)
        if problem.code == NOT_OFFERED:  # said once for all files of a competition
            if problem.found in self._not_offered:
                return
            self._not_offered.add(problem.found)
        if problem.code in HARMLESS:
            self.problems.note(problem)
        else:
            self.problems.add(problem, self.stray_severity if problem.code in ELSEWHERE else Severity.PROBLEM)


Content = tuple[ResultFile, bytes]

_BATCH_BYTES: Final = 1 << 19
_BATCH_FILES: Final = 16
_LARGE_BYTES: Final = 32 << 20


def contents_of(files: Iterator[ResultFile], broken: list[Problem]) -> Iterator[Content]:
    """Each file with its content; an error of the archive is added to `broken` and ends the iteration."""
    try:
        for file in files:
            yield file, file.read()
    except SubmissionError as error:
        broken.extend(error.problems)


def batches(contents: Iterator[Content]) -> Iterator[list[Content]]:
    """Batches of small files, since passing a file to a thread costs as much as reading it.

    The last batch may be empty.
    """
    batch, size = list[Content](), 0
    for file, data in contents:
        batch.append((file, data))
        size += len(data)
        if size >= _BATCH_BYTES or len(batch) >= _BATCH_FILES:
            yield batch
            batch, size = [], 0
    yield batch


def is_large(batch: list[Content]) -> bool:
    """Whether a batch is so large that no other should be in memory at the same time."""
    return sum(len(data) for _, data in batch) > _LARGE_BYTES
