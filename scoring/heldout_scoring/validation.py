"""Validation of an archive of results, without the ground truth."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path, PurePosixPath
from typing import Any, Final, Self

from .archives.members import Meter
from .archives.results import (
    Content,
    ResultFile,
    batches,
    contents_of,
    default_limits,
    is_explained,
    is_large,
    missing_files,
    no_results,
    other_competitions,
    result_files,
    severity_of_strays,
)
from .competitions import CompetitionInfo, expected_files, offered
from .data.arrays import assert_kinds
from .data.description import MAX_ARCHIVE_PROBLEMS, Description, Limits
from .errors import Problem, Problems, Severity, as_path
from .parallel import parallel_map
from .protocols import TASKS
from .readers.image_index import ImageIndex
from .tasks.files import Checked, Inspection, add_warnings, files_of, fingerprint

_LISTS: Final = ("present", "missing", "constant", "partial")


@dataclass(frozen=True, slots=True)
class FoundCompetition:
    """The results of one competition in an archive.

    lines: the number of predictions; present and missing: classes (actions, images) in the order of the description.
    is_complete: whether there are all files, and at least as many predictions as the task asks for. fingerprint: equal for
    equal predictions, see `heldout_scoring.tasks.files`; "" in reports written before it was added. constant: classes whose
    predictions, two or more, all have one confidence; partial: those with fewer predictions than there are images or persons, in
    COCO's files with a single one, of segmentation those in a single image of several.
    """

    number: int
    task: str
    files: int
    lines: int
    present: tuple[str, ...]
    missing: tuple[str, ...]
    is_complete: bool = True
    fingerprint: str = ""
    constant: tuple[str, ...] = ()
    partial: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Validation:
    """The outcome of a validation.

    unlisted: how many more problems and notes of a code there are than are listed; warnings: signs that valid results are not
    what is meant, see `heldout_scoring.archives.plausibility`, none in reports written before they were added; members and unpacked: the files and
    bytes read of the archive, without folders.
    """

    competitions: tuple[FoundCompetition, ...]
    problems: tuple[Problem, ...]
    notes: tuple[Problem, ...]
    unlisted: Mapping[str, int]
    members: int
    unpacked: int
    warnings: tuple[Problem, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether the archive can be scored."""
        return not self.problems

    def as_json(self) -> dict[str, Any]:
        """The validation as JSON values; equal archives give equal JSON.

        >>> Validation((), (), (), {}, members=0, unpacked=0).as_json()["valid"]
        True
        """
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return {"valid": self.valid, **plain}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Self:
        """The validation that `as_json` gave, before or after serialisation.

        >>> found = Validation((), (Problem("no-results", "no result file was found"),), (), {}, members=0, unpacked=0)
        >>> Validation.from_json(json.loads(json.dumps(found.as_json()))) == found
        True
        """
        return cls(
            competitions=tuple(
                FoundCompetition(**{**each, **{name: tuple(each.get(name, ())) for name in _LISTS}})
                for each in plain["competitions"]
            ),
            problems=tuple(Problem(**each) for each in plain["problems"]),
            notes=tuple(Problem(**each) for each in plain["notes"]),
            unlisted=dict(plain["unlisted"]),
            members=plain["members"],
            unpacked=plain["unpacked"],
            warnings=tuple(Problem(**each) for each in plain.get("warnings", ())),
        )


def validate(
    archive: Path | str,
    description: Description,
    *,
    competitions: tuple[int, ...] | None = None,
    limits: Limits | None = None,
    name: str | None = None,
) -> Validation:
    r"""Check an archive or a plain folder of results against the public description of a phase.

    competitions: those whose results are allowed, None for all of the challenge; a plain folder may hold others, which are not read.
    Content is refused by the same rules in an archive and in a folder. limits: by default the description's, of a plain
    folder only those of lines and boxes; name: the archive's name as uploaded, if it differs from that of the path. Everything invalid in the archive becomes a problem.
    Raises PathError if the archive cannot be read, DataError for a description with an image that no line can name.

    >>> from tempfile import TemporaryDirectory
    >>> from heldout_scoring import Image
    >>> phase = Description("VOC2012", "val", ("cat",), (), (Image("2008_000008", 500, 442),))
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "comp3_det_val_cat.txt").write_text("2008_000008 0.9 1 1 10\n")
    ...     found = validate(Path(folder), phase)
    >>> found.valid, str(found.problems[0])
    (False, 'comp3_det_val_cat.txt:1: expected 6 fields, found 5')
    """
    assert_kinds(archive=(archive, object), description=(description, Description))
    archive = as_path(archive)
    limits = limits or default_limits(archive, description)
    problems, meter = Problems(), Meter.of(archive, limits)
    images = ImageIndex.of(description, max_lines=limits.max_lines)
    inspection = Inspection(images, problems, limits.max_boxes)
    strays = severity_of_strays(archive)
    files = result_files(archive, description, problems=problems, meter=meter, name=name, wanted=competitions)
    found: dict[int, Checked] = {}
    unread = _others(competitions, description) if strays is Severity.NOTE else frozenset()
    if _check_files(files, inspection, _Progress(found, limits.max_total_lines, unread)):
        _check_competitions(found, competitions, description, problems, strays)
    wanted = [found[number] for number in sorted(found) if competitions is None or number in competitions]
    summaries: tuple[FoundCompetition, ...] = ()
    for checked in wanted:
        files_of(TASKS[checked.info.task]).check_all(checked, inspection)
        add_warnings(checked, inspection)
        summary = _summary(checked, description)
        summaries += (summary,)
        _add_missing_files(checked.info, summary, description, problems)
    for one, other in combinations(summaries, 2):
        _check_not_split(one, other, problems)
    return Validation(
        summaries,
        problems.listed,
        problems.notes,
        problems.unlisted,
        meter.files,
        meter.unpacked,
        problems.warnings,
    )


@dataclass(slots=True)
class _Progress:
    """What has been checked so far of an archive that may have so many lines.

    others: competitions whose files are not read, because a plain folder may hold them, too; unread: other files that were not
    read any more.
    """

    found: dict[int, Checked]
    max_lines: int
    others: frozenset[int]
    problems: int = 0
    unread: int = 0

    @property
    def has_too_many_lines(self) -> bool:
        return sum(each.lines for each in self.found.values()) > self.max_lines

    def goes_on(self) -> bool:
        return self.problems < MAX_ARCHIVE_PROBLEMS and not self.has_too_many_lines

    def end(self) -> Problem | None:
        """Why files were not read, or their lines are too many; None if all is well."""
        if self.has_too_many_lines:
            rest = f"; {self.unread:,} more files were not read" if self.unread else ""
            message = f"the archive has more than {self.max_lines:,} lines in all its files, too many{rest}"
            return Problem("too-many-lines", message, expected=f"at most {self.max_lines}")
        if self.unread:
            message = f"stopped after {self.problems:,} problems in this archive; {self.unread:,} more files were not read"
            return Problem("archive-not-read-on", message, found=str(self.unread))
        return None


def _check_files(files: Iterator[ResultFile], inspection: Inspection, progress: _Progress) -> bool:
    """Check each file, counting by competition; return whether the archive could be read to its end."""
    broken: list[Problem] = []
    found = progress.found

    def read_on() -> Iterator[ResultFile]:
        for file in files:
            number = file.competition.number
            checked = found.setdefault(number, Checked(file.competition))
            if number in progress.others:
                continue
            if progress.goes_on():
                yield file
            else:
                checked.files.add(file.key)
                progress.unread += 1

    contents = contents_of(read_on(), broken)
    batches_checked = parallel_map(
        partial(_check_batch, inspection=inspection), batches(contents), alone=is_large
    )
    for all_checked, problems in batches_checked:
        for checked in all_checked:
            found[checked.info.number].join(checked)
        progress.problems += problems.total
        inspection.problems.join(problems)
    inspection.problems.extend(broken)
    if end := progress.end():
        inspection.problems.add(end)
    return not broken


def _check_batch(batch: Sequence[Content], inspection: Inspection) -> tuple[list[Checked], Problems]:
    """Check files on their own, with problems of their own, so that several threads can do so at a time."""
    own = replace(inspection, problems=Problems())
    return [_check_file(file, data, own) for file, data in batch], own.problems


def _check_file(file: ResultFile, data: bytes, inspection: Inspection) -> Checked:
    checked = Checked(file.competition, {file.key}, {file.name})
    files_of(TASKS[file.competition.task]).check_file(replace(file, read=lambda: data), checked, inspection)
    return checked


def _others(requested: tuple[int, ...] | None, description: Description) -> frozenset[int]:
    """The competitions that nobody asked for."""
    numbers = frozenset(info.number for info in offered(description))
    return numbers.difference(numbers if requested is None else requested)


def _check_competitions(
    found: Mapping[int, Checked],
    requested: tuple[int, ...] | None,
    description: Description,
    problems: Problems,
    strays: Severity,
) -> None:
    """Add a problem if there are no results of the competitions requested for, or results of others."""
    infos = offered(description)
    wanted = [info for info in infos if requested is None or info.number in requested]
    if not wanted:
        message = (
            f"{description.dataset} has no such competition; it has {', '.join(info.name for info in infos)}"
        )
        problems.add(Problem("unknown-competition", message))
    elif not any(info.number in found for info in wanted) and not is_explained(problems):
        ignored = [each for each in problems.notes if each.code == "ignored-file" and each.file]
        endings = Counter(PurePosixPath(each.file or "").suffix for each in ignored)
        problems.add(no_results(wanted, description, [ending for ending, _ in endings.most_common()]))
    others = other_competitions([each.info for each in found.values()], wanted)
    if others is not None and wanted and requested is not None:
        problems.add(others, strays)


def _summary(checked: Checked, description: Description) -> FoundCompetition:
    words = [about for _, about in expected_files(checked.info, description)]
    fewest = files_of(TASKS[checked.info.task]).fewest_lines(description)
    return FoundCompetition(
        number=checked.info.number,
        task=checked.info.task,
        files=len(checked.files),
        lines=checked.lines,
        present=tuple(word for word in words if word in checked.files),
        missing=tuple(word for word in words if word not in checked.files),
        is_complete=set(words) <= checked.files and checked.lines >= fewest,
        fingerprint=fingerprint(checked.info.task, checked.digests),
        constant=tuple(sorted(checked.constant)),
        partial=tuple(sorted(checked.partial)),
    )


def _add_missing_files(
    info: CompetitionInfo, summary: FoundCompetition, description: Description, problems: Problems
) -> None:
    if summary.missing:
        expected = {about: name for name, about in expected_files(info, description)}
        problems.add(*missing_files(info, summary.missing, expected))


def _check_not_split(one: FoundCompetition, other: FoundCompetition, problems: Problems) -> None:
    """Add a problem if the files of one result seem to be split between two competitions of a task."""
    is_split = one.missing and other.missing and not set(one.present) & set(other.present)
    if one.task == other.task and is_split:
        message = (
            f"comp{one.number} and comp{other.number} have no class in common, as if the files of one result were split"
            " between them; each competition needs files of its own"
        )
        problems.add(Problem("torn-result", message))
