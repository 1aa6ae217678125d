"""From an archive and a ground truth to a report."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Generic

from scoring.answers import Origin, save_answers
from scoring.description import Description
from scoring.errors import Problem, Problems, SubmissionError
from scoring.images import ImageIndex
from scoring.protocols import PROTOCOLS, DetectionRules, Protocol, spell
from scoring.registry import CompetitionInfo, competition_of
from scoring.report import Report
from scoring.results import ResultFile, competition_files
from scoring.tasks.detection import DETECTION
from scoring.tasks.task import Entered, Parse, Rules, Scores, Task
from scoring.truth import GroundTruth

SCORER: Final = "1"
"""The version of the scorer: another one may give other numbers for the same archive."""


@dataclass(frozen=True, slots=True)
class Competition(Generic[Rules]):
    """A task, and where in a protocol its rules stand; rules of another task do not fit, and mypy says so."""

    task: Task[Any, Any, Rules]
    rules: Callable[[Protocol], Rules]

    def score(self, entered: Iterator[Entered[Any]], truth: GroundTruth, protocol: Protocol) -> Scores:
        """What the files are worth by this protocol."""
        return self.task.score(entered, self.task.load(truth), self.rules(protocol))


def _of_detection(protocol: Protocol) -> DetectionRules:
    return protocol.detection


COMPETITIONS: Final[Mapping[str, Competition[Any]]] = MappingProxyType(
    {"detection": Competition(DETECTION, _of_detection)}
)
"""The tasks that can be scored, by the name that the registry gives them."""


def is_scorable(competition: CompetitionInfo) -> bool:
    """Whether this version scores the competition's task.

    >>> is_scorable(competition_of("VOC2006", 3)), is_scorable(competition_of("VOC2012", 9))
    (True, False)
    """
    return competition.task in COMPETITIONS


def columns(description: Description, number: int) -> tuple[str, ...]:
    """What a report of the competition has a value for, in the edition's order: the columns of its board."""
    info = competition_of(description.dataset, number)
    return tuple(about for _, about in COMPETITIONS[info.task].task.expected_files(info, description))


def evaluate(
    archive: Path, truth: GroundTruth, *, competition: int, protocol: str, statistics: Path | None = None
) -> Report:
    """Score a competition's files in an archive (or a plain folder) by a protocol.

    Raises SubmissionError with every problem of these files, among them that there are none, and LookupError for a
    competition or protocol that does not exist. With `statistics` every answer and its verdict is written to that
    path, in the format of `scoring.answers`.
    """
    info = competition_of(truth.description.dataset, competition)
    contest, row = COMPETITIONS[info.task], PROTOCOLS[protocol]
    intake = _Intake(contest.task.parse, ImageIndex.of(truth.description))
    files = competition_files(archive, truth.description, competition, problems=intake.problems)
    scores = contest.score(intake.read(files), truth, row)
    intake.complain(info)
    if statistics is not None:
        save_answers(statistics, Origin(competition, protocol, SCORER, truth.fingerprint), scores.answers)
    return Report(
        competition=competition,
        protocol=protocol,
        measure=scores.measure,
        headline=scores.headline,
        headline_reason=scores.headline_reason,
        classes=scores.classes,
        exhibits=scores.exhibits,
        scorer=SCORER,
        receipt=_receipt(intake.hashes, truth, f"{row.name}: {spell(contest.rules(row))}"),
    )


@dataclass(slots=True)
class _Intake:
    """Reads result files one by one, and remembers the hash of each and what was wrong."""

    parse: Parse[Any]
    images: ImageIndex
    problems: Problems = field(default_factory=Problems)
    hashes: dict[str, str] = field(default_factory=dict)

    def read(self, files: Iterator[ResultFile]) -> Iterator[Entered[Any]]:
        for file in files:
            data = file.read()
            self.hashes[file.name] = hashlib.sha256(data).hexdigest()
            yield Entered(file.about, self.parse(data, self.images, file=file.name, problems=self.problems))

    def complain(self, info: CompetitionInfo) -> None:
        if not self.hashes:
            message = f"there is no file of competition {info.number}; expected such as {info.file_pattern}"
            self.problems.add(Problem("no-files", message, expected=info.file_pattern))
        if self.problems.listed:
            raise SubmissionError(*self.problems.listed)


def _receipt(hashes: Mapping[str, str], truth: GroundTruth, protocol: str) -> str:
    said = {
        "files": sorted(hashes.items()),
        "protocol": protocol,
        "scorer": SCORER,
        "truth": truth.fingerprint,
    }
    return hashlib.sha256(json.dumps(said, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
