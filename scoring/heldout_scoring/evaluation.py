"""What can be scored, and the scoring of arrays, archives and COCO's JSON against a ground truth."""

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .competitions import CHALLENGES, CompetitionInfo, competition_of, competitions
from .data.arrays import as_list, assert_is
from .data.description import Description, Limits
from .data.label_maps import InstanceMasks, LabelMaps
from .data.layouts import Layouts
from .data.predictions import Confidences, Detections
from .data.truth import GroundTruth
from .errors import DataError, NotFoundError, Problem, Problems, Severity, SubmissionError, as_path
from .parallel import parallel_map
from .protocols import TASKS, Protocol, default_protocol, protocol_of, spell
from .results import Result
from .scores import Scores
from .tasks.task import NO_NUMBER as NO_NUMBER  # noqa: PLC0414 - public
from .tasks.task import Keyed, Task

if TYPE_CHECKING:
    from .readers.coco_json.content import CocoContent
    from .readers.coco_json.content import CocoEntry as CocoEntry  # noqa: PLC0414 - public
    from .readers.coco_json.records import Source

SCORER: Final = "1"
"""The version of the scorer: another one may give other numbers for the same archive."""

Predictions = Detections | InstanceMasks | Confidences | LabelMaps | Layouts
"""Predictions in memory, of any task."""

_LAST: Final = "VOC2012"
_TOGETHER: Final = 4  # classes or images that a thread works on at once


def is_scorable(competition: CompetitionInfo) -> bool:
    """Whether this version scores the competition's task.

    >>> is_scorable(competition_of("VOC2006", 3))
    True
    """
    return competition.task in TASKS


def columns_of(
    description: Description, number: int, protocol: str | Protocol | None = None
) -> tuple[str, ...]:
    """The classes, actions or parts that a result of the competition has a value for, in the challenge's order.

    protocol: by default that of the dataset's year. Raises NotFoundError for an unknown competition or protocol.

    >>> phase = Description("VOC2012", "val", ("car", "cat"), (), ())
    >>> columns_of(phase, 3), columns_of(phase, 7), columns_of(phase, 7, "voc2008")
    (('car', 'cat'), ('head', 'hand', 'foot'), ('person',))
    """
    info = competition_of(description.dataset, number)
    task = TASKS[info.task]
    chosen = default_protocol(description.dataset) if protocol is None else protocol
    return task.columns(info, description, protocol_of(chosen).rules_of(task))


def missing_truth(truth: GroundTruth) -> Mapping[int, str]:
    """The competitions of the dataset that this annotation cannot score, by number, each with the reason.

    >>> from heldout_scoring import Annotation, truth_of_boxes
    >>> truth = truth_of_boxes({"a": Annotation(50, 40, ())}, dataset="VOC2006", image_set="val", classes=["cat"])
    >>> missing_truth(truth)[3]
    'no object is annotated in the images of the Main set'
    """
    infos = competitions(truth.lists.dataset)
    reasons = {info.number: TASKS[info.task].missing_truth(truth) for info in infos}
    return {number: reason for number, reason in reasons.items() if reason is not None}


def evaluate(
    predictions: Predictions | Path | str,
    truth: GroundTruth,
    *,
    protocol: str | Protocol,
    competition: int | None = None,
    classes: Sequence[str] | None = None,
    statistics: Path | str | None = None,
    limits: Limits | None = None,
    accepted: bool = False,
) -> Result:
    r"""Score predictions by a protocol: arrays in memory, or the result files of a competition in an archive or plain folder.

    The task is that of the predictions, or of the competition, which an archive needs. classes: score and average these only
    (in segmentation the background, too). statistics: a file to write the matches to, as `Result.save_matches` does.
    limits: by default none for a plain folder, and for an archive those of `truth.description` with any number of lines. Files are
    refused for the same content as by `validate`, an archive also for files of other competitions. accepted: they were checked before, so
    that boxes that end before they begin, repeated lines and layouts without parts count as in the development kits, and an archive may
    hold results of several competitions. The result's `notes` are about the files, and
    about annotated objects that count otherwise than one may think.

    Raises DataError for arrays that do not fit the ground truth, and for values of other types; SubmissionError with every
    problem of the files, or if there are no files; LookupError for an unknown competition, protocol or class, for no class at all, for an archive without a
    competition, and for a protocol without rules for the task.

    >>> from heldout_scoring import Detections, GroundTruth
    >>> truth = GroundTruth.from_arrays(["a"], ["cat"], [[1, 1, 10, 10]], convention="inclusive")
    >>> found = Detections.from_arrays(["a", "a"], ["cat", "cat"], [0.9, 0.5], [[30, 1, 40, 10], [1, 1, 10, 10]])
    >>> result = evaluate(found, truth, protocol="voc2012")
    >>> result.measure, result.headline
    ('Average precision', 0.5)
    >>> [(each.name, each.value, each.positives, each.predictions) for each in result.classes]
    [('cat', 0.5, 1, 2)]
    """
    row = protocol_of(protocol)
    if isinstance(predictions, GroundTruth):
        raise DataError(
            f"expected predictions and then GroundTruth, found {type(truth).__name__}: the two seem to be swapped"
        )
    assert_is(truth, GroundTruth, "to score against")
    if isinstance(predictions, Path | str):
        if competition is None:
            raise NotFoundError("an archive may hold several competitions: say which, such as competition=3")
        info = competition_of(truth.lists.dataset, competition)
        task = TASKS[info.task]
        question = _Question.of(task, info, truth, row, classes)
        scored = _score_archive(as_path(predictions), limits, question, accepted=accepted)
    else:
        task = task_of(predictions, row)
        info = _first_competition(task, truth.lists.dataset)
        question = _Question.of(task, info, truth, row, classes)
        scored = _score_arrays(predictions, question)
    result = _result(question, row, scored, competition, classes)
    if statistics is not None:
        result.save_matches(statistics)
    return result


def evaluate_parsed(
    parsed: Keyed[Any],
    truth: GroundTruth,
    task: Task[Any, Any, Any, Any],
    protocol: Protocol,
    digest: str,
    notes: tuple[Problem, ...] = (),
) -> Result:
    """As `evaluate`, of the only file of a task, which was read before; digest: its sha256, in hexadecimal."""
    question = _Question.of(task, _first_competition(task, truth.lists.dataset), truth, protocol, None)
    scores = task.score(question.match(iter([parsed])), question.loaded, question.rules)
    scored = _Scored(scores, {question.info.file_pattern: digest}, (*notes, *scores.notes))
    return _result(question, protocol, scored)


def _result(
    question: "_Question",
    protocol: Protocol,
    scored: "_Scored",
    competition: int | None = None,
    classes: Sequence[str] | None = None,
) -> Result:
    task, truth, scores = question.task, question.truth, scored.scores
    return Result(
        competition=competition,
        task=task.name,
        protocol=protocol.name,
        measure=scores.measure,
        headline=scores.headline,
        headline_reason=scores.headline_reason,
        classes=scores.classes,
        exhibits=scores.exhibits,
        scorer=SCORER,
        truth=truth.fingerprint,
        receipt=_receipt(scored.hashes, truth, f"{protocol.name}: {spell(question.rules)}", classes),
        notes=scored.notes,
        matches=scores.matches,
        explainer=scores.explain,
        rules=question.rules,
    )


def read_predictions(
    archive: Path | str,
    description: Description,
    competition: int,
    *,
    keys: Collection[str] | None = None,
    limits: Limits | None = None,
) -> Iterator[Keyed[Any]]:
    r"""What each result file of a competition says, read as an archive that was checked before; what cannot be read is left out.

    The type of the values is the task's; in segmentation it is None for an image that cannot be read. keys: the classes, actions
    or images whose files are read, by default all. limits: as in `evaluate`.

    >>> from tempfile import TemporaryDirectory
    >>> from heldout_scoring import Image
    >>> phase = Description("VOC2012", "val", ("cat",), (), (Image("2008_000008", 500, 442),))
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "comp3_det_val_cat.txt").write_text("2008_000008 0.9 1 1 10 10\n")
    ...     [(each.key, each.value.confidence.tolist()) for each in read_predictions(folder, phase, 3)]
    [('cat', [0.9])]
    """
    from .archives.results import competition_files  # noqa: PLC0415 - only where files are read
    from .readers.image_index import ImageIndex  # noqa: PLC0415
    from .tasks.files import files_of  # noqa: PLC0415

    task = TASKS[competition_of(description.dataset, competition).task]
    images, problems = ImageIndex.of(description), Problems(mistakes=Severity.NOTE)
    for file in competition_files(archive, description, competition, problems=problems, limits=limits):
        if keys is None or file.key in keys:
            yield Keyed(file.key, files_of(task).read(file.read(), images, file=file.name, problems=problems))


def task_of(predictions: object, protocol: Protocol | None = None) -> Task[Any, Any, Any, Any]:
    """The task of predictions in memory, by default the first of all protocols. Raises DataError for anything else.

    >>> task_of(LabelMaps.from_arrays([])).name
    'segmentation'
    """
    rows = () if protocol is None else protocol.tasks
    own: tuple[Task[Any, Any, Any, Any], ...] = tuple(each.task for each in rows)
    for task in (*own, *TASKS.values()):
        if task.accepts(predictions):
            return task
    raise DataError(
        f"expected Detections, InstanceMasks, Confidences, LabelMaps, Layouts or the path of an archive, found {type(predictions).__name__}"
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Question:
    """What is to be scored: loaded is the ground truth as the task has it, left_out what no class asked for is read of."""

    task: Task[Any, Any, Any, Any]
    info: CompetitionInfo
    truth: GroundTruth
    rules: Any
    loaded: Any
    left_out: frozenset[str]

    @classmethod
    def of(
        cls,
        task: Task[Any, Any, Any, Any],
        info: CompetitionInfo,
        truth: GroundTruth,
        protocol: Protocol,
        classes: Sequence[str] | None,
    ) -> "_Question":
        rules = protocol.rules_of(task)
        known = task.columns(info, truth.description, rules)
        _check_classes(info, known, classes)
        loaded = task.load(truth) if classes is None else task.select(task.load(truth), classes)
        left_out = () if classes is None or info.needs_every_file else set(known).difference(classes)
        return cls(task, info, truth, rules, loaded, frozenset(left_out))

    def match(self, parsed: Iterator[Keyed[Any]]) -> Iterator[Keyed[Any]]:
        return self.task.match(parsed, self.loaded, self.rules)


@dataclass(frozen=True, slots=True, eq=False)
class _Scored:
    """Scores, and the hash of each file (or of the arrays) by its name."""

    scores: Scores
    hashes: Mapping[str, str]
    notes: tuple[Problem, ...] = ()


def _score_archive(archive: Path, limits: Limits | None, question: _Question, *, accepted: bool) -> _Scored:
    from .archives.results import competition_files  # noqa: PLC0415 - only where files are read
    from .readers.image_index import ImageIndex  # noqa: PLC0415
    from .tasks.files import ResultReader, files_of  # noqa: PLC0415

    description = question.truth.description
    images = ImageIndex.of(description, max_lines=_max_lines(archive, limits))
    problems = Problems(mistakes=Severity.NOTE if accepted else Severity.PROBLEM)
    reader = ResultReader(files_of(question.task), question.match, images, problems)
    files = competition_files(
        archive,
        description,
        question.info.number,
        problems=reader.problems,
        limits=limits,
        alone=not accepted,
    )
    matched = reader.read(file for file in files if file.key not in question.left_out)
    scores = question.task.score(matched, question.loaded, question.rules)
    reader.raise_problems(question.info)
    return _Scored(scores, reader.hashes, (*reader.problems.notes, *scores.notes))


def _score_arrays(predictions: Predictions, question: _Question) -> _Scored:
    parsed = (
        each for each in question.task.split(predictions, question.truth) if each.key not in question.left_out
    )
    batches = parallel_map(lambda batch: list(question.match(iter(batch))), _batches(parsed))
    matched = (each for batch in batches for each in batch)
    scores = question.task.score(matched, question.loaded, question.rules)
    return _Scored(scores, {type(predictions).__name__: _hash_of(predictions)}, scores.notes)


def _batches(parsed: Iterator[Keyed[Any]]) -> Iterator[list[Keyed[Any]]]:
    """One class at a time, or a few images."""
    while batch := list(islice(parsed, _TOGETHER)):
        yield batch


def _hash_of(predictions: Predictions) -> str:
    """The sha256, in hexadecimal, of all arrays and names."""
    found = hashlib.sha256()
    for field in fields(predictions):
        value = getattr(predictions, field.name)
        if value is None and field.name == "sizes":
            continue  # so that receipts of arrays without them stay
        parts = value if isinstance(value, tuple) else (value,)
        found.update(f"{field.name} {len(parts)}\n".encode())
        for part in parts:
            is_array = isinstance(part, np.ndarray)
            found.update(f"{part.dtype.str} {part.shape}\n".encode() if is_array else f"{part!r}\n".encode())
            found.update(np.ascontiguousarray(part).data if is_array else b"")
    return found.hexdigest()


def _first_competition(task: Task[Any, Any, Any, Any], dataset: str) -> CompetitionInfo:
    """A competition of the task, in the challenge or, if that has none, in another one."""
    elsewhere = (info for infos in CHALLENGES.values() for info in infos)
    infos = (*competitions(dataset), *competitions(_LAST), *elsewhere)
    return next(info for info in infos if info.task == task.name)


def _max_lines(archive: Path, limits: Limits | None) -> int | None:
    """The lines that a file may have: any number unless limits are given, and in a plain folder, which nobody else has sent."""
    return None if limits is None or archive.is_dir() else limits.max_lines


def _check_classes(info: CompetitionInfo, known: Sequence[str], classes: Sequence[str] | None) -> None:
    names = as_list("classes", () if classes is None else classes)
    if classes is not None and not names:
        raise NotFoundError(f"no class is chosen; {info.name} has {', '.join(known)}")
    if unknown := set(names).difference(known):
        raise NotFoundError(
            f"{info.name} has no {', '.join(sorted(map(str, unknown)))}; it has {', '.join(known)}"
        )


def _receipt(
    hashes: Mapping[str, str], truth: GroundTruth, protocol: str, classes: Sequence[str] | None
) -> str:
    facts = {
        "files": sorted(hashes.items()),
        "protocol": protocol,
        "scorer": SCORER,
        "truth": truth.fingerprint,
    } | ({} if classes is None else {"classes": sorted(set(classes))})
    return hashlib.sha256(json.dumps(facts, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


COCO_PROTOCOL: Final = "coco"
COCO_PROTOCOLS: Final = (COCO_PROTOCOL, "lvis")
"""The protocols that score COCO's JSON."""


def evaluate_coco(
    predictions: "Source",
    truth: "Source",
    *,
    masks: bool = False,
    protocol: str | Protocol = COCO_PROTOCOL,
) -> Result:
    """Score detections in COCO's JSON as the official evaluator does; with `masks` their segmentations.

    predictions: a list of `image_id`, `category_id`, `score` and `bbox` or `segmentation`, or an object with such a list as
    `annotations`; truth: `images`, `categories` and `annotations`; both as the path of a file, its content, or what a JSON
    parser makes of it; predictions also as a compressed file or an archive with one such file. Figures equal those of pycocotools 2.0.11 to 1e-12;
    what it calls -1 is None. The result is the same as that of `evaluate` with `GroundTruth.from_coco`, which for boxes leaves out the masks. protocol: "coco", `coco` with other rules, or "lvis" for annotation of LVIS, whose figures are those of lvis 0.5.3.
    Raises SubmissionError with every problem of the first file that has one, or where the two seem to be swapped, PathError where there is no file, NotFoundError
    for "lvis" and other annotation, and for an unknown protocol, DataError for `masks` that is no truth value.

    >>> truth = b'''{"images": [{"id": 1}], "categories": [{"id": 1, "name": "cat"}], "annotations":
    ...   [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 50, 40], "area": 2000, "iscrowd": 0}]}'''
    >>> found = b'[{"image_id": 1, "category_id": 1, "bbox": [0, 0, 50, 30], "score": 0.9}]'
    >>> result = evaluate_coco(found, truth)
    >>> round(result.figures["AP"], 6), round(result["cat"].figures["AP75"], 6), result["cat"].ap == result.headline
    (0.6, 1.0, True)
    """
    if not isinstance(masks, bool | np.bool_):
        raise DataError(f"expected True for masks or False for boxes as 'masks', found {masks!r}")
    masks = bool(masks)
    row = protocol_of(protocol)
    names = [f"{name}-{'segmentation' if masks else 'detection'}" for name in COCO_PROTOCOLS]
    task = next((each.task for each in row.tasks if each.task.name in names), None)
    if task is None:
        raise NotFoundError(
            f"COCO's JSON is scored by {' or '.join(COCO_PROTOCOLS)}, not by {row.name!r}; other protocols: heldout_scoring.evaluate"
        )
    from .tasks.coco_files import read_coco  # noqa: PLC0415 - only where files are read

    read = read_coco(predictions, truth, masks=masks)
    return evaluate_parsed(Keyed("detections", read.results), read.truth, task, row, read.digest, read.notes)


def problems_of_coco(annotation: bytes, *, file: str, masks: bool = True) -> Problems:
    """Every problem of annotation in COCO's JSON with the number of those that are not listed; masks: also those of its masks.

    >>> problems_of_coco(b'{"images": [], "categories": []}', file="a.json").listed[0].message
    "expected a list called 'annotations'"
    """
    from .readers.coco_json.instances import read_instances  # noqa: PLC0415 - only where files are read

    problems = Problems()
    try:
        read_instances(annotation, file=file, masks=None if masks else False, problems=problems)
    except SubmissionError as error:
        problems.extend(() if problems.listed else error.problems)
    return problems


def content_of_coco(annotation: bytes) -> "CocoContent":
    """What stands in annotation of COCO's JSON, right or wrong, without its masks.

    >>> [each.id for each in content_of_coco(b'{"annotations": [{"id": 7}]}').entries()]
    [7]
    """
    from .readers.coco_json.content import CocoContent  # noqa: PLC0415 - only where files are read

    return CocoContent.of(annotation)


def kind_of_coco(annotation: bytes) -> str:
    """What annotation in COCO's JSON is about: "objects", or what is not scored.

    >>> kind_of_coco(b'{"annotations": [{"caption": "a cat"}]}')
    'captions'
    """
    from .readers.coco_json import content  # noqa: PLC0415 - only where files are read

    return content.kind_of_coco(annotation)
