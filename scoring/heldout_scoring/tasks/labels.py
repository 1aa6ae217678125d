"""Classification and action classification: rankings of images or of persons, one file per class or action."""

import io
import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Final, NamedTuple

import numpy as np

from ..archives.checking import Checked, Inspection, digest_of, is_blank, severity_of_missing
from ..archives.results import ResultFile
from ..data.arrays import Flags, Integers, some_of
from ..data.description import MAX_FILE_PROBLEMS, Description
from ..data.matches import TRUE_POSITIVE, RankedPredictions
from ..data.predictions import ClassConfidences, Confidences
from ..data.truth import GroundTruth
from ..errors import DataError, Problem, Problems, Severity, shown
from ..metrics.labels import (
    ClassLabels,
    Value,
    rank_by_confidence,
    ranked_average_precision,
    ranked_average_precision_11_points,
    roc_auc,
    with_difficult,
)
from ..metrics.ranking import AP_11_POINTS, AP_AREA, Average, WeightedMetric, weighted_roc_auc
from ..readers.image_index import ImageIndex, Subjects
from ..readers.lines import (
    QUOTED,
    UNKNOWN_IMAGE,
    Invalid,
    LineReader,
    Schema,
    lenient_table_of,
    line_ends,
    number_in,
    parse_tidied,
    split,
    table_of,
    unknown_image,
    with_plain_line_ends,
)
from ..scores import ClassResult, Draw, Scores, draw_precision, draw_roc
from .task import (
    Keyed,
    RankingSample,
    Task,
    assert_once,
    count_by_class,
    headline,
    only_images,
    places_of,
    say_what_counts,
    table_of_classes,
    table_with_difficult,
)


@dataclass(frozen=True, slots=True)
class LabelMeasure:
    """A measure of a ranking of labelled images or persons: its name, the function, and the curve that shows it.

    weighted: the same function for weighted images. It serves the bootstrap only, decides no score and so does not
    appear in a receipt.
    """

    name: str
    of: Value
    draw: Draw
    weighted: WeightedMetric = field(repr=False)


@dataclass(frozen=True, slots=True)
class LabelRules:
    """The measure of each class, and how the classes are averaged.

    Images or persons with the label 1 are positives, those with -1 negatives; those with 0, which have difficult objects
    only, are ignored. What has no prediction ranks last, in the order of the ground truth.
    """

    measure: LabelMeasure
    average: Average


ROC_AUC: Final = LabelMeasure("ROC AUC", roc_auc, draw_roc, weighted_roc_auc)

LABELS_AP_11_POINTS: Final = LabelMeasure(
    AP_11_POINTS.name, ranked_average_precision_11_points, draw_precision, AP_11_POINTS.weighted
)

LABELS_AP_AREA: Final = LabelMeasure(AP_AREA.name, ranked_average_precision, draw_precision, AP_AREA.weighted)


CONFIDENCE: Final = "confidence"


class Row(NamedTuple):
    """The values of a line: the place of the image or person, and the confidence."""

    subject: int
    confidence: float


def read_images(data: bytes, images: ImageIndex, *, file: str, problems: Problems) -> ClassConfidences:
    r"""Read a file of `<image> <confidence>`, by the same grammar as `read_detections` reads boxes.

    Images may be missing. A repeated image is a problem; where `problems.mistakes` are notes, the last line counts, as in the
    development kits.

    >>> from heldout_scoring.data.description import Description, Image
    >>> index = ImageIndex.of(Description("VOC2007", "test", (), (), (Image("000001", 353, 500),)))
    >>> read_images(b"000001 0.5\n", index, file="comp1_cls_test_dog.txt", problems=Problems()).confidence
    array([0.5])
    """
    return _read(data, images.main, images.max_lines, file, problems)


def read_persons(data: bytes, images: ImageIndex, *, file: str, problems: Problems) -> ClassConfidences:
    r"""Read a file of `<image> <object> <confidence>`, objects counted from 1, as `read_images` does.

    >>> from heldout_scoring.data.description import Description
    >>> index = ImageIndex.of(Description("VOC2012", "val", (), (), (), acting=(("2008_000008", 2),)))
    >>> data = b"2008_000008 2 0.5\n"
    >>> read_persons(data, index, file="comp9_action_val_reading.txt", problems=Problems()).subject.tolist()
    [0]
    """
    return _read(data, images.acting, images.max_lines, file, problems)


def read_images_together(
    contents: Sequence[bytes], images: ImageIndex, /, *, files: Sequence[str], problems: Problems
) -> list[ClassConfidences] | None:
    r"""Read files of `<image> <confidence>` at once; None where any line may be invalid, or has another form.

    >>> from heldout_scoring.data.description import Description, Image
    >>> index = ImageIndex.of(Description("VOC2007", "test", (), (), (Image("000001", 353, 500),)))
    >>> names = ["comp1_cls_test_dog.txt", "comp1_cls_test_cat.txt"]
    >>> found = read_images_together([b"000001 0.5\n", b"000001 2\n"], index, files=names, problems=Problems())
    >>> [each.confidence.item() for each in found]
    [0.5, 2.0]
    """
    return _read_together(contents, images.main, images.max_lines, files, problems)


def read_persons_together(
    contents: Sequence[bytes], images: ImageIndex, /, *, files: Sequence[str], problems: Problems
) -> list[ClassConfidences] | None:
    r"""As `read_images_together`, of files of `<image> <object> <confidence>`.

    >>> from heldout_scoring.data.description import Description
    >>> index = ImageIndex.of(Description("VOC2012", "val", (), (), (), acting=(("2008_000008", 2),)))
    >>> names = ["comp9_action_val_reading.txt", "comp9_action_val_running.txt"]
    >>> found = read_persons_together([b"2008_000008 2 0.5\n"] * 2, index, files=names, problems=Problems())
    >>> [each.subject.tolist() for each in found]
    [[0], [0]]
    """
    return _read_together(contents, images.acting, images.max_lines, files, problems)


def _read_together(
    contents: Sequence[bytes],
    subjects: Subjects,
    max_lines: int | None,
    files: Sequence[str],
    problems: Problems,
) -> list[ClassConfidences] | None:
    """The parser takes as long to start as to read a thousand lines."""
    if len(contents) < 2 or not all(data.endswith(b"\n") and b"\r" not in data for data in contents):
        return None
    counts = [int(np.count_nonzero(line_ends(data))) for data in contents]
    if max_lines is not None and max(counts) > max_lines:
        return None
    rows = _read_fast(b"".join(contents), subjects)
    if rows is None or len(rows) != sum(counts):
        return None
    ends = np.cumsum(counts).tolist()
    found = [
        ClassConfidences(rows.subject[end - count : end], rows.confidence[end - count : end])
        for count, end in zip(counts, ends, strict=True)
    ]
    for data, file, each in zip(contents, files, found, strict=True):
        _say_repeated(each, data, subjects, file, problems)
    return found


def _read(
    data: bytes, subjects: Subjects, max_lines: int | None, file: str, problems: Problems
) -> ClassConfidences:
    parts = list(read_confidences(data, subjects, file=file, problems=problems, max_lines=max_lines))
    found = ClassConfidences(
        np.concatenate([np.empty(0, np.int32), *(part.subject for part in parts)]),
        np.concatenate([np.empty(0), *(part.confidence for part in parts)]),
    )
    _say_repeated(found, data, subjects, file, problems)
    return found


def _say_repeated(
    found: ClassConfidences, data: bytes, subjects: Subjects, file: str, problems: Problems
) -> None:
    repeated = len(found) - np.count_nonzero(np.bincount(found.subject, minlength=len(subjects)))
    if repeated and problems.mistakes is Severity.PROBLEM:
        add_repetitions(data, subjects, file=file, problems=problems)
    elif repeated:
        message = (
            f"{repeated} lines repeat the {subjects.kind} of another one; of several lines the last counts"
        )
        problems.note(Problem("repeated", message, file, found=str(repeated)))


def read_confidences(
    data: bytes, subjects: Subjects, *, file: str, problems: Problems, max_lines: int | None = None
) -> Iterator[ClassConfidences]:
    r"""Read some lines at a time; each invalid one becomes a problem with its line number.

    >>> from heldout_scoring.data.description import Description, Image
    >>> index = ImageIndex.of(Description("VOC2007", "test", (), (), (Image("000001", 353, 500),)))
    >>> [part] = read_confidences(b"000001 0.5\n", index.main, file="comp1_cls_test_dog.txt", problems=Problems())
    >>> part.confidence.tolist()
    [0.5]
    """
    reader = LineReader(
        len(subjects.fields) + 1,
        partial(_read_fast, subjects=subjects),
        partial(_read_leniently, subjects=subjects),
        partial(_read_exactly, subjects=subjects, file=file, problems=problems),
        max_lines,
    )
    return reader.read(data, file, problems)


def add_repetitions(data: bytes, subjects: Subjects, *, file: str, problems: Problems) -> None:
    """Add a problem for each line that repeats the image or person of an earlier one, and not for more than others have."""
    problems.extend(islice(_repetitions(data, subjects, file), MAX_FILE_PROBLEMS))


def _repetitions(data: bytes, subjects: Subjects, file: str) -> Iterator[Problem]:
    first: dict[int, int] = {}
    for number, line in enumerate(io.BytesIO(with_plain_line_ends(data, file, Problems()) or b""), 1):
        row = parse_confidence_line(line.removesuffix(b"\n"), subjects)
        if isinstance(row, Row) and first.setdefault(row.subject, number) < number:
            name = shown(b" ".join(line.split()[:-1]), QUOTED)
            message = f"a duplicate: the {subjects.kind} '{name}' is already on line {first[row.subject]}"
            yield Problem("repeated", message, file, number, name, text=shown(line.removesuffix(b"\n")))


def parse_confidence_line(line: bytes, subjects: Subjects) -> Row | Invalid | None:
    """Read a line without its end; None if it is blank."""
    fields = split(line, (*subjects.fields, CONFIDENCE))
    if isinstance(fields, Invalid):
        return fields
    if not fields:
        return None
    subject = subjects.places.get(tuple(fields[:-1]))
    if subject is None:
        return _unknown(fields[:-1], subjects)
    confidence = number_in(fields[-1], CONFIDENCE)
    return confidence if isinstance(confidence, Invalid) else Row(subject, confidence)


def _unknown(fields: list[bytes], subjects: Subjects) -> Invalid:
    image, *rest = fields
    if image not in subjects.images:
        return unknown_image(image, subjects.images, subjects.where)
    number = shown(b" ".join(rest), QUOTED)
    message = (
        f"unknown object '{number}' of the image '{shown(image, QUOTED)}': it is not in {subjects.where}"
    )
    return Invalid("unknown-object", message, number, f"a person of {subjects.where}")


def _read_fast(block: bytes, subjects: Subjects) -> ClassConfidences | None:
    return parse_tidied(block, partial(_parse, subjects=subjects))


def _read_leniently(block: bytes, subjects: Subjects) -> tuple[ClassConfidences, Flags] | None:
    """A row for each regular line, and which rows are valid."""
    if not len(subjects):
        return None
    table = lenient_table_of(block, _schema(subjects))
    if table is None:
        return None
    subject, known = subjects.search(table)
    confidence = table[CONFIDENCE].fill_null(np.nan).to_numpy()
    return ClassConfidences(subject, confidence), known & np.isfinite(confidence)


def _schema(subjects: Subjects) -> Schema:
    import polars as pl  # noqa: PLC0415 - polars takes longer to import than all of `scoring`

    return {**subjects.types(), CONFIDENCE: pl.Float64}


def _parse(block: bytes, subjects: Subjects) -> ClassConfidences | None:
    if block[: block.find(b" ")] not in subjects.images:
        return None  # also what the parser would take for a compressed file
    table = table_of(block, _schema(subjects))
    subject = None if table is None else subjects.find(table)
    if table is None or subject is None:
        return None
    confidence = table[CONFIDENCE].to_numpy()
    return ClassConfidences(subject, confidence) if np.isfinite(confidence).all() else None


def _read_exactly(
    block: bytes, *, first: int, subjects: Subjects, file: str, problems: Problems
) -> tuple[ClassConfidences, int]:
    """Read line by line: the valid rows, and the number of invalid lines."""
    places, confidences, wrong = array("i"), array("d"), 0
    for number, line in enumerate(io.BytesIO(block), first):
        row = parse_confidence_line(line.removesuffix(b"\n"), subjects)
        if isinstance(row, Invalid):
            problems.add(row.at(file, number, line.removesuffix(b"\n")))
            wrong += 1
        elif row is not None:
            places.append(row.subject)
            confidences.append(row.confidence)
    return ClassConfidences(np.frombuffer(places, np.int32), np.frombuffer(confidences, np.float64)), wrong


def accepts_images(predictions: object) -> bool:
    """Whether these are confidences of images."""
    return isinstance(predictions, Confidences) and predictions.person is None


def accepts_persons(predictions: object) -> bool:
    """Whether these are confidences of persons."""
    return isinstance(predictions, Confidences) and predictions.person is not None


def split_images(predictions: Confidences, truth: GroundTruth) -> Iterator[Keyed[ClassConfidences]]:
    """The confidences of every class that has some.

    Raises DataError for an image or class that the ground truth does not have, and for two confidences of one of them.
    """
    lists = truth.lists
    image = places_of("image", predictions.image, predictions.images, lists.images[: lists.main])
    yield from _by_class(predictions, image, "image", lists.classes)


def split_persons(predictions: Confidences, truth: GroundTruth) -> Iterator[Keyed[ClassConfidences]]:
    """The confidences of every action that has some.

    Raises DataError for a person or action that the ground truth does not have, and for two confidences of one of them.
    """
    if predictions.person is None:
        raise DataError("expected the number of a person in each row, found confidences of images")
    places = {person: place for place, person in enumerate(truth.lists.acting)}
    persons = [
        (predictions.images[image], number)
        for image, number in zip(predictions.image.tolist(), predictions.person.tolist(), strict=True)
    ]
    if unknown := [f"{image} {number}" for image, number in persons if (image, number) not in places]:
        raise DataError(f"the ground truth has no person {some_of(unknown)}")
    place = np.array([places[person] for person in persons], np.int32)
    yield from _by_class(predictions, place, "person", truth.lists.actions)


def _by_class(
    predictions: Confidences, subject: Integers, kind: str, classes: Sequence[str]
) -> Iterator[Keyed[ClassConfidences]]:
    label = places_of("class", predictions.label, predictions.classes, classes)
    assert_once({kind: subject, "class": label})
    for number, name in enumerate(classes):
        rows = np.flatnonzero(label == number)
        if len(rows):
            yield Keyed(name, ClassConfidences(subject[rows], predictions.score[rows]))


def check_images(file: ResultFile, checked: Checked, inspection: Inspection) -> None:
    """Check the classification file of one class."""
    _check_confidences(file, checked, inspection, inspection.images.main)


def check_persons(file: ResultFile, checked: Checked, inspection: Inspection) -> None:
    """Check the file of one action."""
    _check_confidences(file, checked, inspection, inspection.images.acting)


def _check_confidences(
    file: ResultFile, checked: Checked, inspection: Inspection, subjects: Subjects
) -> None:
    data, problems = file.read(), inspection.problems
    lines = np.zeros(len(subjects), np.intp)
    confidence = np.full(len(subjects), -np.inf)
    max_lines = inspection.images.max_lines
    foreign, wrong = problems.count(UNKNOWN_IMAGE), problems.total
    for found in read_confidences(data, subjects, file=file.name, problems=problems, max_lines=max_lines):
        lines += np.bincount(found.subject, minlength=len(subjects))
        confidence[found.subject] = found.confidence  # of several lines the last one counts
    checked.lines += int(lines.sum())
    checked.signs.foreign += problems.count(UNKNOWN_IMAGE) - foreign
    checked.digests[file.key] = digest_of(confidence)
    checked.add_list(file.key, confidence[lines > 0], is_partial=not lines.all())
    if lines.any() and not lines.all() and problems.total == wrong:  # what is refused is not missing
        checked.missing[file.name] = int(np.count_nonzero(lines == 0))
    elif is_blank(data):
        message = f"no {subjects.kind} is ranked for '{file.key}': the file is empty"
        problems.note(Problem("empty-file", message, file.name))
    if lines.max(initial=0) > 1:
        add_repetitions(data, subjects, file=file.name, problems=problems)


def remark_on_images(checked: Checked, inspection: Inspection) -> None:
    """Say once how many images have no line; lists made of detections leave out most of them."""
    _remark(checked, inspection, "image")


def remark_on_persons(checked: Checked, inspection: Inspection) -> None:
    """Say once how many persons have no line, a warning where these are many."""
    _remark(checked, inspection, "person")


def _remark(checked: Checked, inspection: Inspection, kind: str) -> None:
    missing, ranked = checked.missing, checked.lines + sum(checked.missing.values())
    if missing:
        total, most = sum(missing.values()), max(missing, key=missing.__getitem__)
        message = (
            f"{checked.info.name}: {kind}s are missing, {total:,} in {len(missing)} of {len(checked.files)} files,"
            f" of these {missing[most]:,} in {most}; a missing {kind} ranks behind all others"
        )
        note = Problem("missing-predictions", message, found=str(total))
        severity = severity_of_missing(total, ranked) if kind == "person" else Severity.NOTE
        inspection.problems.add(note, severity)


@dataclass(frozen=True, slots=True)
class Reasons:
    """The reasons for a class without a value, in the terms of the task."""

    no_positive: str
    no_negative: str


def match(
    parsed: Iterator[Keyed[ClassConfidences]], known: Mapping[str, ClassLabels], _rules: LabelRules
) -> Iterator[Keyed[RankedPredictions]]:
    """Rank the images or persons of each class by confidence."""
    for each in parsed:
        yield Keyed(each.key, rank_by_confidence(each.key, each.value, known[each.key]))


def in_order(
    matched: Iterator[Keyed[RankedPredictions]], known: Mapping[str, ClassLabels]
) -> dict[str, RankedPredictions]:
    """The rankings by class, in the order of the challenge."""
    ranked = {each.key: each.value for each in matched}
    return {name: ranked[name] for name in known if name in ranked}


def scores_of(
    ranked: Mapping[str, RankedPredictions],
    known: Mapping[str, ClassLabels],
    rules: LabelRules,
    reasons: Reasons,
) -> Scores:
    """The value of each class and their mean, with a curve for each class that has a file.

    A class without positives has no value. In the mean it counts as in the development kit: as 0 for 11-point AP, which its
    reason says, otherwise as NaN, so that there is no mean either.
    """
    values = {name: rules.measure.of(each) for name, each in ranked.items()}
    classes = tuple(
        _class_result(name, labelled.positives, ranked.get(name), values.get(name, math.nan), reasons)
        for name, labelled in known.items()
    )
    mean, reason = headline(tuple(known), values, rules.average)
    classes = say_what_counts(classes, values, mean)
    table = table_of_classes(rules.measure.name, classes)
    curves = map(rules.measure.draw, ranked.values())
    return Scores(rules.measure.name, mean, reason, classes, (table, *curves), tuple(ranked.values()))


def _class_result(
    name: str, positives: int, ranked: RankedPredictions | None, value: float, reasons: Reasons
) -> ClassResult:
    if ranked is None:
        return ClassResult.not_entered(name, positives)
    predictions = int(np.count_nonzero(np.isfinite(ranked.confidence)))
    if positives == 0:
        return ClassResult(name, None, reasons.no_positive, positives, predictions)
    if math.isnan(value):
        return ClassResult(name, None, reasons.no_negative, positives, predictions)
    return ClassResult(name, value, None, positives, predictions)


def sample_of_labels(
    rankings: Sequence[RankedPredictions], images: Sequence[str], rules: LabelRules
) -> RankingSample:
    """Rankings with their positives in each of these images."""
    positives = count_positives_by_image(rankings, len(images))
    return RankingSample(rankings, positives, rules.measure.weighted, rules.average, images)


def count_positives_by_image(rankings: Sequence[RankedPredictions], images: int) -> Integers:
    """The positives of each class in each image, int32 (classes, images), where every image or person is ranked.

    >>> ranking = RankedPredictions("cat", 1, np.array([2, 0], np.int32), np.array([0.9, 0.5]),
    ...     np.array([1, 0], np.int8))
    >>> count_positives_by_image([ranking], 3).tolist()
    [[0, 0, 1]]
    """
    right = (each.image[each.outcomes == TRUE_POSITIVE] for each in rankings)
    return count_by_class(right, len(rankings), images)


_REASONS_OF_CLASSES: Final = Reasons(
    "there is no such object in the set", "there is such an object in every image"
)


def load_images(truth: GroundTruth) -> Mapping[str, ClassLabels]:
    """The labels of each class for the images of the Main set."""
    main = truth.lists.main
    images = np.arange(main, dtype=np.int32)
    labels = zip(truth.lists.classes, truth.tables.labels, strict=True)
    return {name: ClassLabels(main, images, images, label) for name, label in labels}


def missing_images(truth: GroundTruth) -> str | None:
    """Why a ground truth cannot score classification; None if it can."""
    if not truth.lists.main:
        return "the Main set lists no image"
    has_object = (truth.tables.labels == 1).any()
    return None if has_object else "no object is annotated in the images of the Main set"


def score_images(
    matched: Iterator[Keyed[RankedPredictions]], known: Mapping[str, ClassLabels], rules: LabelRules
) -> Scores:
    """The scores of each class, and a table of those with difficult objects included."""
    ranked = in_order(matched, known)
    scores = scores_of(ranked, known, rules, _REASONS_OF_CLASSES)
    values = {name: rules.measure.of(with_difficult(each)) for name, each in ranked.items()}
    second = table_with_difficult(rules.measure.name, tuple(known), values, rules.average)
    return replace(scores, exhibits=(*scores.exhibits, second))


def resample_images(
    rankings: Sequence[RankedPredictions], truth: GroundTruth, rules: LabelRules
) -> RankingSample:
    """The ranked images of the Main set."""
    return sample_of_labels(rankings, truth.lists.images[: truth.lists.main], rules)


CLASSIFICATION: Final = Task(
    name="classification",
    title="Classification",
    read=read_images,
    read_together=read_images_together,
    check_file=check_images,
    check_all=remark_on_images,
    accepts=accepts_images,
    split=split_images,
    missing_truth=missing_images,
    load=load_images,
    match=match,
    score=score_images,
    resample=resample_images,
)


_REASONS_OF_ACTIONS: Final = Reasons("nobody in the set does it", "everybody in the set does it")


def load_persons(truth: GroundTruth) -> Mapping[str, ClassLabels]:
    """The labels of each action for the persons in its own label file, in the order of that file.

    Source: VOC2012 development kit, VOCevalaction.m. There a prediction for a person in other actions' files only is an
    error; here it is ignored, because participants get one list of persons and not one for each action.
    """
    acts, image = truth.tables.acts, truth.tables.objects.image
    place = np.empty(len(image), np.int32)
    owners = _owners(truth)
    place[owners] = np.arange(len(owners))
    known = {}
    for number, action in enumerate(truth.lists.actions):
        rows = acts.action == number
        owner = acts.owner[rows]
        known[action] = ClassLabels(len(owners), place[owner], image[owner], acts.label[rows])
    return known


def missing_persons(truth: GroundTruth) -> str | None:
    """Why a ground truth cannot score action classification; None if it can."""
    if not truth.lists.acting:
        return "there is no Action set"
    return None if len(truth.tables.acts.label) else "no person of the Action set is annotated with an action"


def _owners(truth: GroundTruth) -> Integers:
    """The objects that the Action set's pairs of image and number refer to: int32 (persons,)."""
    lists = truth.lists
    places = dict(zip(lists.images, range(len(lists.images)), strict=True))
    image = np.array([places[name] for name, _ in lists.acting], np.int32)
    number = np.array([number for _, number in lists.acting], np.int32)
    return np.searchsorted(truth.tables.objects.image, image).astype(np.int32) + number - 1


def score_persons(
    matched: Iterator[Keyed[RankedPredictions]], known: Mapping[str, ClassLabels], rules: LabelRules
) -> Scores:
    """The scores of each action."""
    return scores_of(in_order(matched, known), known, rules, _REASONS_OF_ACTIONS)


def resample_persons(
    rankings: Sequence[RankedPredictions], truth: GroundTruth, rules: LabelRules
) -> RankingSample:
    """The ranked persons, drawn by the images of the Action set."""
    sample = sample_of_labels(rankings, truth.lists.images, rules)
    return only_images(sample, truth, [image for image, _ in truth.lists.acting])


def one_for_each_person_and_action(description: Description) -> int:
    """As many predictions as there are pairs of a person and an action."""
    return len(description.acting) * len(description.actions)


ACTION: Final = Task(
    name="action",
    title="Action classification",
    read=read_persons,
    read_together=read_persons_together,
    check_file=check_persons,
    check_all=remark_on_persons,
    accepts=accepts_persons,
    split=split_persons,
    missing_truth=missing_persons,
    load=load_persons,
    match=match,
    score=score_persons,
    resample=resample_persons,
    fewest_lines=one_for_each_person_and_action,
)
