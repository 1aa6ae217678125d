"""Scoring an archive of results against a ground truth."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from scoring.competitions import CompetitionInfo, competition_of, competitions, expected_files
from scoring.data.description import Description
from scoring.data.ground_truth import GroundTruth
from scoring.data.limits import Limits
from scoring.errors import Problem, Problems, SubmissionError
from scoring.intake.batches import Content, batches, contents_of, is_large
from scoring.intake.missing_files import missing_files, no_results
from scoring.intake.result_files import ResultFile, competition_files
from scoring.parallel import parallel_map
from scoring.protocols import TASKS, default_protocol, protocol_of
from scoring.ranked_predictions import Origin
from scoring.readers.image_index import ImageIndex
from scoring.results import Report
from scoring.tasks.protocol import Protocol, spell
from scoring.tasks.task import Keyed, ReadFile

SCORER: Final = "1"
"""The version of the scorer: another one may give other numbers for the same archive."""


def is_scorable(competition: CompetitionInfo) -> bool:
    """Whether this version scores the competition's task.

    >>> is_scorable(competition_of("VOC2006", 3))
    True
    """
    return competition.task in TASKS


def columns(description: Description, number: int, protocol: str | Protocol | None = None) -> tuple[str, ...]:
    """The names that a report of the competition has a value for, in the edition's order: the columns of its board.

    protocol: by default that of the dataset's year. Raises LookupError for an unknown competition or protocol.

    >>> phase = Description("VOC2012", "val", ("car", "cat"), (), ())
    >>> columns(phase, 3), columns(phase, 7), columns(phase, 7, "voc2008")
    (('car', 'cat'), ('head', 'hand', 'foot'), ('person',))
    """
    info = competition_of(description.dataset, number)
    task = TASKS[info.task]
    chosen = default_protocol(description.dataset) if protocol is None else protocol
    return task.columns(info, description, protocol_of(chosen).rules_of(task))


def missing_truth(truth: GroundTruth) -> Mapping[int, str]:
    """The competitions of the dataset that this annotation is too poor for, by number, each with what it lacks.

    >>> from scoring import Annotation, truth_of_boxes
    >>> truth = truth_of_boxes({"a": Annotation(50, 40, ())}, dataset="VOC2006", image_set="val", classes=["cat"])
    >>> missing_truth(truth)[3]
    'no object is annotated in the images of the Main set'
    """
    infos = competitions(truth.lists.dataset)
    reasons = {info.number: TASKS[info.task].missing_truth(truth) for info in infos}
    return {number: reason for number, reason in reasons.items() if reason is not None}


def evaluate(  # noqa: PLR0913 - every argument that decides the scores has a name
    archive: Path | str,
    truth: GroundTruth,
    *,
    competition: int,
    protocol: str | Protocol,
    classes: Sequence[str] | None = None,
    statistics: Path | str | None = None,
    limits: Limits | None = None,
) -> Report:
    r"""Score the result files of a competition in an archive or a plain folder.

    classes: score and average these only (in segmentation the background, too). statistics: a file to write the matched
    predictions or pixel counts to, for the bootstrap; see `scoring.ranked_predictions` and `scoring.image_counts`.
    limits: of the archive, by default those of `truth.description`. The report's `notes` say what was read with
    reservations.

    Raises SubmissionError with every problem of these files, also if there are none; LookupError for an unknown
    competition, protocol or class, for no class at all, and for a protocol without rules for the task.

    >>> from tempfile import TemporaryDirectory
    >>> from scoring import AnnotatedObject, Annotation, Box, truth_of_boxes
    >>> page = Annotation(50, 40, (AnnotatedObject("cat", Box(1, 1, 10, 10)),))
    >>> truth = truth_of_boxes({"a": page}, dataset="VOC2012", image_set="val")
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "comp3_det_val_cat.txt").write_text("a 0.9 30 1 40 10\na 0.5 1 1 10 10\n")
    ...     report = evaluate(folder, truth, competition=3, protocol="voc2012")
    >>> report.measure, report.headline
    ('Average precision', 0.5)
    >>> report.classes
    (ClassResult(name='cat', value=0.5, reason=None, positives=1, predictions=2),)
    """
    archive, description = Path(archive), truth.description
    info, row = competition_of(description.dataset, competition), protocol_of(protocol)
    task = TASKS[info.task]
    rules, known = row.rules_of(task), columns(description, competition, row)
    _check_classes(info, known, classes)
    loaded = task.load(truth)
    if classes is not None:
        loaded = task.select(loaded, classes)
    images = ImageIndex.of(description, max_lines=_max_lines(archive, limits or description.limits))
    reader = _Reader(task.read, lambda parsed: task.match(parsed, loaded, rules), images)
    files = competition_files(archive, description, competition, problems=reader.problems, limits=limits)
    left_out = set() if classes is None or info.needs_every_file else set(known).difference(classes)
    scores = task.score(reader.read(file for file in files if file.key not in left_out), loaded, rules)
    reader.raise_problems(info)
    receipt = _receipt(reader.hashes, truth, f"{row.name}: {spell(rules)}", classes)
    if statistics is not None:
        origin = Origin(competition, row.name, SCORER, truth.fingerprint, receipt)
        scores.save(Path(statistics), origin)
    return Report(
        competition=competition,
        protocol=row.name,
        measure=scores.measure,
        headline=scores.headline,
        headline_reason=scores.headline_reason,
        classes=scores.classes,
        exhibits=scores.exhibits,
        scorer=SCORER,
        receipt=receipt,
        notes=reader.problems.notes,
    )


def _max_lines(archive: Path, limits: Limits) -> int | None:
    """The lines that a file may have: any number in a plain folder, which nobody else has sent."""
    return None if archive.is_dir() else limits.max_lines


def _check_classes(info: CompetitionInfo, known: Sequence[str], classes: Sequence[str] | None) -> None:
    if classes is not None and not classes:
        raise LookupError(f"no class is chosen; {info.name} has {', '.join(known)}")
    if unknown := set(classes or ()).difference(known):
        raise LookupError(f"{info.name} has no {', '.join(sorted(unknown))}; it has {', '.join(known)}")


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    """Some result files, read and matched: their keys, the hash of each by its name, their problems and notes."""

    problems: Problems = field(default_factory=Problems)
    keys: set[str] = field(default_factory=set)
    hashes: dict[str, str] = field(default_factory=dict)
    matched: list[Keyed[Any]] = field(default_factory=list)


@dataclass(slots=True)
class _Reader:
    """Reads and matches result files, in batches and in several threads; collects hashes, problems and notes.

    broken: what made the archive unreadable from some file on.
    """

    parse: ReadFile[Any]
    match: Callable[[Iterator[Keyed[Any]]], Iterator[Keyed[Any]]]
    images: ImageIndex
    problems: Problems = field(default_factory=Problems)
    hashes: dict[str, str] = field(default_factory=dict)
    keys: set[str] = field(default_factory=set)
    broken: list[Problem] = field(default_factory=list)

    def read(self, files: Iterator[ResultFile]) -> Iterator[Keyed[Any]]:
        for batch in parallel_map(self._read_batch, batches(contents_of(files, self.broken)), alone=is_large):
            self.problems.join(batch.problems)
            self.keys |= batch.keys
            self.hashes |= batch.hashes
            yield from batch.matched

    def _read_batch(self, contents: Sequence[Content]) -> _Batch:
        batch = _Batch()
        batch.matched.extend(self.match(self._parse(contents, batch)))
        return batch

    def _parse(self, contents: Sequence[Content], batch: _Batch) -> Iterator[Keyed[Any]]:
        for file, data in contents:
            batch.keys.add(file.key)
            batch.hashes[file.name] = hashlib.sha256(data).hexdigest()
            yield Keyed(file.key, self.parse(data, self.images, file=file.name, problems=batch.problems))

    def raise_problems(self, info: CompetitionInfo) -> None:
        """Raise SubmissionError if there is any problem, missing files included."""
        self.problems.extend(self.broken)
        if not self.broken:  # the rest of a broken archive may hold what is missing
            self._add_missing_files(info)
        if self.problems.listed:
            raise SubmissionError(*self.problems.listed)

    def _add_missing_files(self, info: CompetitionInfo) -> None:
        expected = {key: name for name, key in expected_files(info, self.images.description)}
        missing = [key for key in expected if key not in self.keys]
        if not self.keys:
            self.problems.add(no_results([info], self.images.description))
        elif missing:
            self.problems.add(*missing_files(info, missing, expected))


def _receipt(
    hashes: Mapping[str, str], truth: GroundTruth, protocol: str, classes: Sequence[str] | None
) -> str:
    said = {
        "files": sorted(hashes.items()),
        "protocol": protocol,
        "scorer": SCORER,
        "truth": truth.fingerprint,
    } | ({} if classes is None else {"classes": sorted(set(classes))})
    return hashlib.sha256(json.dumps(said, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
