"""Files of rankings of images or of persons: read and checked, one per class or action."""

import io
from array import array
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Final, NamedTuple

import numpy as np

from ..archives.results import ResultFile
from ..data.arrays import Flags
from ..data.description import MAX_FILE_PROBLEMS, Description
from ..data.predictions import ClassConfidences
from ..errors import Problem, Problems, Severity, from_extra, plural, shown
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
from .files import Checked, Inspection, TaskFiles, digest_of, is_blank, severity_of_missing

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
    repeated = len(found) - int(np.count_nonzero(np.bincount(found.subject)))
    if repeated and problems.mistakes is Severity.PROBLEM:
        add_repetitions(data, subjects, file=file, problems=problems)
    elif repeated:
        message = f"{plural(repeated, 'line')} with the {subjects.kind} of another one; of several lines the last counts"
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
    with from_extra("files"):
        import polars as pl  # noqa: PLC0415 - polars takes longer to import than the whole library

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


def one_for_each_person_and_action(description: Description) -> int:
    """As many predictions as there are pairs of a person and an action."""
    return len(description.acting) * len(description.actions)


OF_IMAGES: Final = TaskFiles(
    read_images, check_images, check_all=remark_on_images, read_together=read_images_together
)


OF_PERSONS: Final = TaskFiles(
    read_persons,
    check_persons,
    check_all=remark_on_persons,
    read_together=read_persons_together,
    fewest_lines=one_for_each_person_and_action,
)
