"""From an archive and a ground truth to a report."""

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
from scoring.intake.missing_files import about_missing, about_nothing
from scoring.intake.result_files import ResultFile, competition_files
from scoring.parallel import parallel_map
from scoring.protocols import PROTOCOLS, TASKS, default_protocol
from scoring.ranked_predictions import Origin
from scoring.readers.image_index import ImageIndex
from scoring.results import Report
from scoring.tasks.protocol import spell
from scoring.tasks.task import Keyed, ReadFile

SCORER: Final = "1"
"""The version of the scorer: another one may give other numbers for the same archive."""


def is_scorable(competition: CompetitionInfo) -> bool:
    """Whether this version scores the competition's task.

    >>> is_scorable(competition_of("VOC2006", 3))
    True
    """
    return competition.task in TASKS


def columns(description: Description, number: int, protocol: str | None = None) -> tuple[str, ...]:
    """What a report of the competition has a value for, in the edition's order: the columns of its board.

    protocol: by default the dataset's own.

    >>> phase = Description("VOC2012", "val", ("car", "cat"), (), ())
    >>> columns(phase, 3), columns(phase, 7), columns(phase, 7, "voc2008")
    (('car', 'cat'), ('head', 'hand', 'foot'), ('person',))
    """
    info = competition_of(description.dataset, number)
    task = TASKS[info.task]
    rules = PROTOCOLS[protocol or default_protocol(description.dataset)].rules_of(task)
    return task.columns(info, description, rules)


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


def evaluate(  # noqa: PLR0913 - a question with all that may vary, each by its name
    archive: Path,
    truth: GroundTruth,
    *,
    competition: int,
    protocol: str,
    classes: Sequence[str] | None = None,
    statistics: Path | None = None,
    limits: Limits | None = None,
) -> Report:
    r"""Score a competition's files in an archive (or a plain folder) by a protocol.

    classes declares a subset: the report is then of these columns only (in segmentation also of the background), and
    its headline their mean. With `statistics` what later questions can be answered from is written to that path, in the
    format of `scoring.ranked_predictions`, or in that of `scoring.counts` for segmentation. limits are by default those of
    `truth.description`, which a ground truth knows nothing of: give those that the archive was checked under.

    Raises SubmissionError with every problem of these files, among them that there are none, and LookupError for a
    competition, protocol or class that does not exist, or for a subset without a class.

    >>> from tempfile import TemporaryDirectory
    >>> from scoring import AnnotatedObject, Annotation, Box, truth_of_boxes
    >>> page = Annotation(50, 40, (AnnotatedObject("cat", Box(1, 1, 10, 10)),))
    >>> truth = truth_of_boxes({"a": page}, dataset="VOC2012", image_set="val")
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "comp3_det_val_cat.txt").write_text("a 0.9 30 1 40 10\na 0.5 1 1 10 10\n")
    ...     report = evaluate(Path(folder), truth, competition=3, protocol="voc2012")
    >>> report.measure, report.headline
    ('Average precision', 0.5)
    >>> report.classes
    (ClassResult(name='cat', value=0.5, reason=None, positives=1, predictions=2),)
    """
    info = competition_of(truth.description.dataset, competition)
    task, row = TASKS[info.task], PROTOCOLS[protocol]
    known = columns(truth.description, competition, protocol)
    _check_classes(info, known, classes)
    rules, loaded = row.rules_of(task), task.load(truth)
    if classes is not None:
        loaded = task.select(loaded, classes)
    intake = _Intake(
        task.read,
        lambda entered: task.match(entered, loaded, rules),
        ImageIndex.of(truth.description, max_lines=_max_lines(archive, limits or truth.description.limits)),
    )
    files = competition_files(
        archive, truth.description, competition, problems=intake.problems, limits=limits
    )
    left_out = set() if classes is None or info.needs_every_file else set(known).difference(classes)
    asked = (file for file in files if file.key not in left_out)
    scores = task.score(intake.read(asked), loaded, rules)
    intake.complain(info, {about: name for name, about in expected_files(info, truth.description)})
    if statistics is not None:
        scores.save(statistics, Origin(competition, protocol, SCORER, truth.fingerprint))
    return Report(
        competition=competition,
        protocol=protocol,
        measure=scores.measure,
        headline=scores.headline,
        headline_reason=scores.headline_reason,
        classes=scores.classes,
        exhibits=scores.exhibits,
        scorer=SCORER,
        receipt=_receipt(intake.hashes, truth, f"{row.name}: {spell(rules)}", classes),
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
class _Taken:
    """What was made of some result files: their subjects, name and hash of each, what was wrong, and the judged answers."""

    problems: Problems = field(default_factory=Problems)
    met: set[str] = field(default_factory=set)
    hashes: dict[str, str] = field(default_factory=dict)
    matched: list[Keyed[Any]] = field(default_factory=list)


@dataclass(slots=True)
class _Intake:
    """Reads and judges result files in their order, and remembers the hash of each and what was wrong."""

    parse: ReadFile[Any]
    match: Callable[[Iterator[Keyed[Any]]], Iterator[Keyed[Any]]]
    images: ImageIndex
    problems: Problems = field(default_factory=Problems)
    hashes: dict[str, str] = field(default_factory=dict)
    met: set[str] = field(default_factory=set)
    broken: list[Problem] = field(default_factory=list)

    def read(self, files: Iterator[ResultFile]) -> Iterator[Keyed[Any]]:
        for taken in parallel_map(self._take, batches(contents_of(files, self.broken)), alone=is_large):
            self.problems.join(taken.problems)
            self.met |= taken.met
            self.hashes |= taken.hashes
            yield from taken.matched

    def _take(self, batch: Sequence[Content]) -> _Taken:
        taken = _Taken()
        taken.matched.extend(self.match(self._parse(batch, taken)))
        return taken

    def _parse(self, batch: Sequence[Content], taken: _Taken) -> Iterator[Keyed[Any]]:
        for file, data in batch:
            taken.met.add(file.key)
            taken.hashes[file.name] = hashlib.sha256(data).hexdigest()
            yield Keyed(file.key, self.parse(data, self.images, file=file.name, problems=taken.problems))

    def complain(self, info: CompetitionInfo, expected: Mapping[str, str]) -> None:
        self.problems.extend(self.broken)
        if not self.broken:  # of a broken archive nobody knows what is missing
            self._complain_of_missing_files(info, expected)
        if self.problems.listed:
            raise SubmissionError(*self.problems.listed)

    def _complain_of_missing_files(self, info: CompetitionInfo, expected: Mapping[str, str]) -> None:
        missing = [about for about in expected if about not in self.met]
        if not self.met:
            self.problems.add(about_nothing([info], self.images.description))
        elif missing and info.needs_every_file:
            self.problems.add(*about_missing(info, missing, expected))


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
