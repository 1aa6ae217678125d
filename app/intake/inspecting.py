"""Inspecting a decrypted data set in a child process: everything that is wrong with it, at once, and its ground truth.

Of hidden annotation the report says file, line, rule and counts; it never quotes what stands there.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import methodcaller
from pathlib import Path
from typing import Final

import scoring
from app.images.decoding import PictureError
from app.intake.class_choices import choose, counts_of
from app.intake.comparing import compare
from app.intake.drawing import draw
from app.intake.findings import add_clues, add_findings, add_other_numbers, convention_of, read_phase_pictures
from app.intake.layouts import (
    CLASS_FOLDERS,
    NO_CLASS_NAMES,
    AnnotatedSet,
    ListedImages,
    Reading,
    check_pictures,
    layout_of,
    pictures_of,
    read_annotation,
)
from app.intake.neutral_names import make_neutral, not_renamed
from app.intake.reports import (
    HIDDEN,
    IMAGES,
    MOST_OF_A_KIND,
    PUBLIC,
    ClassChoice,
    Comparison,
    Finding,
    FoundSet,
    ImageFacts,
    KindCount,
    Report,
    without_words,
)
from app.intake.unpacking import Picture, Progress, ReadingLimits, SentFile, Unpacked, unpack
from scoring import GroundTruth, Problem, SubmissionError, to_plain
from scoring.data.label_maps import HOW_LABELS_COUNT
from scoring.errors import Problems
from scoring.tasks.outcome import NO_NUMBER

TRUTHS: Final = "truths"  # folder of the ground truth of each set
CHOSEN: Final = "chosen"  # folder with a folder for each chosen set: its pictures, each called by its image
DRAWN: Final = "drawn"  # pack of pictures with their annotation
OF_PHASES: Final = "pictures-of-phases"  # file about the pictures that the challenge has already

_PLACE: Final = re.compile(r"(?P<place>\w+\[\d+\])(?: \((?:id (?P<id>-?\w{1,40}))?[^)]*\))?: ")
_WHOLE_ID: Final = re.compile(r", id -?\d+$", re.ASCII)
# which element a problem of an annotation file is about; nothing that stands in the file comes before it in the message
_OF_ANNOTATION: Final = frozenset(["annotation", "bad-number", "image-size", "inverted-box", "missing-field"])
_THING: Final = r"(?P<thing>(?:part \d+ of )?object \d+|the image's size)"
_ELEMENTS: Final = tuple(
    map(
        re.compile,
        (
            rf"the box of {_THING} ends",
            rf"expected a number in <(?P<tag>\w+)> of {_THING},",
            rf"{_THING} has no <(?P<tag>\w+)>$",
            r"expected (?P<thing>the image's (?:width|height)) in pixels,",
        ),
    )
)
# what is said of hidden annotation, by the code of the problem
RULES: Final[Mapping[str, str]] = {
    "annotation": "this annotation file is invalid: a field is missing, or a number or a box is invalid",
    "background-class": f"the background, or void, is among the classes: {HOW_LABELS_COUNT}",
    "bad-area": "expected a number from 0 as 'area'",
    "bad-bbox": "expected left, top, width and height as 'bbox', neither of the last two below 0",
    "bad-category-id": "expected a whole number as 'category_id'",
    "bad-difficult": "expected 0 or 1 as 'difficult'",
    "bad-entry": "expected an object",
    "bad-id": "expected a whole number as 'id'",
    "bad-ignore": "expected 0 or 1 as 'ignore'",
    "bad-image-id": "expected a whole number as 'image_id'",
    "bad-iscrowd": "expected 0 or 1 as 'iscrowd'",
    "bad-json": "this is not JSON as it is expected, or it is cut off",
    "bad-number": "expected numbers in pixels as left, top, right, bottom",
    "bad-row": "this line is not part of a table",
    "bad-segmentation": "expected polygons of three or more points, or run lengths that cover the image, as 'segmentation'",
    "bad-size": "the size of a mask or image is not that of the image",
    "category-gaps": "category ids have gaps; predictions have to use them as they are",
    "class": "a class that has no label file",
    "class-name": "expected a name of a class, different from the others and without blanks",
    "columns": "expected other columns",
    "duplicate": "this file is there twice",
    "duplicate-id": "an 'id' like one before",
    "duplicate-name": "a 'name' like one before",
    "duplicate-picture": "two pictures have this name",
    "exif-rotation": "rotated by its EXIF data, which is ignored: annotation has to be of the pixels as they are stored",
    "field-count": "expected 6 fields",
    "folder-in-name": "the file name has folders, which are left out",
    "file-and-folder": "a name is given both to a file and to a folder",
    "id-0": f"an annotation is {NO_NUMBER}",
    "image-name": "expected the name of an image without blanks",
    "image-size": "expected the width and height of the image in whole pixels",
    "inverted-box": "the box ends before it begins",
    "label": "a label is neither 1 nor 0 nor -1, or contradicts another line",
    "label-images": "expected the images of the set in their order",
    "mask": "this is not a label image: expected an indexed PNG of 8 bits, whose name is not used twice",
    "mask-label": "a label that has no class",
    "mask-size": "the label image has another size than its annotation says",
    "missing-field": "a field is missing",
    "missing-iscrowd": "'iscrowd' is missing; taken for 0",
    "missing-list": "expected lists called 'images', 'categories' and 'annotations'",
    "no-annotation": "no annotation was recognised",
    "no-class": "this picture is in no folder of a class",
    NO_CLASS_NAMES: "there is no classes.txt with the name of a class in each line; classes are called class1, class2, …",
    "no-file": "this file cannot be read",
    "no-image": "the table has no image",
    "no-image-set": "the image set has no image",
    "object": "a listed object is not annotated",
    "odd-flag": "a flag is neither 0 nor 1: only 1 is true, as in the development kit",
    "part": "a part is neither a head nor a hand nor a foot",
    "too-many-boxes": "too many objects",
    "unknown-category": "a 'category_id' that no category has",
    "unknown-image": "an 'image_id' that no image has",
}
# codes whose messages are about archives and pictures, or count, and quote nothing of annotation but names of classes
HARMLESS: Final = frozenset({
    "annotation-without-picture", "bad-picture", "box-convention", "box-outside", "class-choice", "class-without-objects",
    "compression-method", "damaged", "duplicate-box", "empty", "encrypted",
    "file-too-large", "link", "malformed", "name-character", "name-encoding", "name-too-long", "nested-archive", "not-renamed", "other-numbers",
    "no-competition", "not-looked-into", "not-tar", "path-too-deep", "picture-size", "picture-without-annotation", "predicts-class", "ratio",
    "same-picture", "small-class", "special-file", "too-large", "too-many-images", "too-many-members", "too-many-pixels", "trailing-data", "truncated",
    "unsafe-path", "unsupported-type", "wrong-extension",
})  # fmt: skip
_OTHERWISE: Final = "this breaks a rule of its format"


@dataclass(frozen=True, slots=True)
class KnownPhase:
    """A phase that the challenge has. version: that its boards show; numbers: what COCO's files call its classes, and their names.

    truth: the annotation that its boards show; set: the key of the image set that is compared with it; by default that of its name.
    """

    image_set: str
    version: int
    truth: Path
    numbers: tuple[tuple[str, int], ...] = ()
    set: str | None = None

    def concerns(self, view: FoundSet) -> bool:
        """Whether an image set may replace its annotation, so that both are compared."""
        return view.key == self.set if self.set else view.name == self.image_set


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an inspection makes besides a report.

    chosen: the keys of the sets whose pictures are put into folders of their own; drawn: the role of the annotation that is drawn
    over some pictures; choices: what becomes of the classes; secret: of the neutral names of hidden images, None if they keep theirs;
    phases: that are compared with the image sets.
    """

    chosen: tuple[str, ...] = ()
    drawn: str = PUBLIC
    choices: tuple[ClassChoice, ...] = ()
    secret: bytes | None = field(default=None, repr=False)
    phases: tuple[KnownPhase, ...] = ()


def inspect(
    folder: Path, files: tuple[SentFile, ...], dataset: str, limits: ReadingLimits, wanted: Wanted
) -> bytes:
    """Return the report on a data set as JSON, and write the ground truth of each set below the folder.

    dataset: of the challenge. An error of ours is logged without its message, which might quote annotation.
    """
    with without_words():
        return json.dumps(to_plain(_inspected(folder, files, dataset, limits, wanted))).encode()


def _inspected(
    folder: Path, files: tuple[SentFile, ...], dataset: str, limits: ReadingLimits, wanted: Wanted
) -> Report:
    progress = Progress(folder)
    unpacked = unpack(files, folder, dataset, limits, progress)
    sets: dict[str, list[AnnotatedSet]] = {}
    invalid: dict[str, list[ListedImages]] = {}
    found_layouts: dict[str, str | None] = {}
    for role in (PUBLIC, HIDDEN):
        progress.note(f"reading the {role} annotation", 0)
        reading = Reading(unpacked, role, limits)
        layout = found_layouts[role] = layout_of(reading)
        try:
            sets[role] = read_annotation(reading, layout)
        except SubmissionError as error:
            reading.problems.extend(error.problems)
            sets[role] = []
        invalid[role] = reading.invalid
    check_pictures(unpacked, sets, invalid)
    chosen = choose(wanted.choices, sets, unpacked.problems[PUBLIC])
    sets = chosen.sets
    progress.note("looking for what may not be meant", 0)
    add_findings(unpacked, sets, read_phase_pictures(folder / OF_PHASES))
    add_other_numbers(unpacked, sets, {each.image_set: dict(each.numbers) for each in wanted.phases})
    if wanted.secret is not None:
        _make_neutral(unpacked, sets, wanted.secret, progress)
    add_clues(unpacked, sets[HIDDEN])
    found: list[FoundSet] = []
    comparisons: list[Comparison] = []
    (folder / TRUTHS).mkdir()
    for role, some in sets.items():
        for number, each in enumerate(some):
            view = _view(f"{role}-{number}", role, each, pictures_of(unpacked, each))
            _check_view(view, unpacked.problems[role], limits)
            each.truth.save(folder / TRUTHS / view.key)
            found.append(view)
            for phase in filter(methodcaller("concerns", view), wanted.phases):
                progress.note(f"comparing {view.name} with {phase.image_set}", 0)
                shown = GroundTruth.open(phase.truth)
                comparisons.append(compare(shown, each.truth, view.key, phase.image_set, phase.version))
            if view.key in wanted.chosen:
                _link_pictures(folder / CHOSEN / view.key, unpacked, each)
    if sets[wanted.drawn]:
        progress.note("drawing some pictures", 0)
        (folder / DRAWN).write_bytes(draw(unpacked, sets[wanted.drawn]))
    report = _report(unpacked, found, is_by_folder=found_layouts[HIDDEN] in (CLASS_FOLDERS, None))
    report = replace(
        report,
        classes=chosen.classes,
        is_neutral=wanted.secret is not None,
        comparisons=tuple(comparisons),
    )
    return _without_answered(report)


def _without_answered(report: Report) -> Report:
    """Leave out that classes have no names once organisers have given all of them one."""
    if any(not (each.is_renamed or each.is_ignored) for each in report.classes):
        return report
    warnings = tuple(each for each in report.warnings if each.code != NO_CLASS_NAMES)
    counts = tuple(each for each in report.counts if each.code != NO_CLASS_NAMES)
    return replace(report, warnings=warnings, counts=counts)


def _make_neutral(
    unpacked: Unpacked, sets: dict[str, list[AnnotatedSet]], secret: bytes, progress: Progress
) -> None:
    try:
        sets[HIDDEN] = make_neutral(unpacked, sets[HIDDEN], sets[PUBLIC], secret, progress)
    except PictureError as error:
        unpacked.problems[IMAGES].add(not_renamed(error))


def _view(key: str, role: str, found: AnnotatedSet, pictures: Mapping[str, Picture]) -> FoundSet:
    truth = found.truth
    images = len(truth.description.images) + len(truth.description.further)
    missing = scoring.missing_truth(truth)
    return FoundSet(
        key=key,
        role=role,
        name=found.name,
        layout=found.layout,
        dataset=truth.lists.dataset,
        source=found.source,
        images=images,
        objects=len(truth.tables.objects.image),
        classes=counts_of(truth),
        competitions=tuple(
            info.number for info in scoring.competitions(truth.lists.dataset) if info.number not in missing
        ),
        missing=tuple(missing.items()),
        convention=convention_of(truth),
        ignored=found.ignored,
        without_picture=images - len(pictures),
    )


def _check_view(view: FoundSet, problems: Problems, limits: ReadingLimits) -> None:
    if not view.competitions:
        message = f"the annotation of {view.name} has no ground truth for any competition"
        problems.add(Problem("no-competition", message, view.source))
    if view.objects > limits.boxes:
        problems.add(Problem("too-many-boxes", f"at most {limits.boxes:,} objects are allowed", view.source))
    if view.images > limits.images:
        problems.add(Problem("too-many-images", f"at most {limits.images:,} images are allowed", view.source))


def _link_pictures(folder: Path, unpacked: Unpacked, found: AnnotatedSet) -> None:
    folder.mkdir(parents=True)
    for image, picture in pictures_of(unpacked, found).items():
        target = folder / f"{image}{picture.path.suffix}"
        if picture.size is not None and not target.exists():
            target.hardlink_to(picture.path)


# the report


@dataclass(slots=True)
class _Findings:
    """Findings of all roles, at most a hundred of a kind."""

    listed: list[Finding] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, finding: Finding) -> None:
        if self.counts[finding.code] < MOST_OF_A_KIND:
            self.listed.append(finding)
        self.counts[finding.code] += 1


def _report(unpacked: Unpacked, sets: Sequence[FoundSet], *, is_by_folder: bool) -> Report:
    problems, warnings = _Findings(), _Findings()
    unlisted: Counter[str] = Counter()
    for role, found in unpacked.problems.items():
        worded = _worder(role, is_by_folder=is_by_folder)
        for each in found.listed:
            problems.add(worded(each))
        for each in found.warnings:
            warnings.add(worded(each))
        unlisted.update(found.unlisted)
    if not sets and not problems.listed:
        problems.add(Finding("no-annotation", "there is no annotation in what was sent"))
    counts = problems.counts + warnings.counts + unlisted
    sizes = [each.size for each in unpacked.pictures.values() if each.size]
    facts = ImageFacts(
        len(unpacked.pictures),
        min(sizes, key=_area, default=None),
        max(sizes, key=_area, default=None),
    )
    return Report(
        problems=tuple(problems.listed),
        warnings=tuple(warnings.listed),
        counts=tuple(KindCount(code, count) for code, count in sorted(counts.items())),
        sets=tuple(sets),
        images=facts,
    )


def _area(size: tuple[int, int]) -> int:
    return size[0] * size[1]


def _worder(role: str, *, is_by_folder: bool) -> Callable[[Problem], Finding]:
    def worded(problem: Problem) -> Finding:
        return hidden_finding(problem, is_by_folder=is_by_folder) if role == HIDDEN else finding(problem)

    return worded


def finding(problem: Problem) -> Finding:
    """A problem as it is told.

    >>> finding(Problem("bad-bbox", "annotations[3] (id 887, a/b.jpg): found 'x'", "val.json")).place
    'annotations[3], id 887'
    """
    place, message = _split(problem.message)
    return Finding(problem.code, message, problem.file, problem.line, place)


def hidden_finding(problem: Problem, *, is_by_folder: bool = False) -> Finding:
    """A problem of hidden annotation: where it is and which rule it breaks, but not what stands there.

    is_by_folder: the folder of a file is the class of its picture, so that it is left out, too.

    >>> print(hidden_finding(Problem("bad-bbox", "annotations[3] (id 887, a/b.jpg): found 'x'", "test.json")))
    test.json: annotations[3], id 887: expected left, top, width and height as 'bbox', neither of the last two below 0
    """
    place, rest = _split(problem.message)
    if place is not None and not _WHOLE_ID.search(place):
        place = place.partition(",")[0]  # an id that is a text may say anything
    message = rest if problem.code in HARMLESS else RULES.get(problem.code, _OTHERWISE)
    if place is None and problem.code in _OF_ANNOTATION:
        place = _element_of(problem.message)
    file = problem.file and (problem.file.rsplit("/", 1)[-1] if is_by_folder else problem.file)
    return Finding(problem.code, message, file, problem.line, place)


def _element_of(message: str) -> str | None:
    """The element of an annotation file that a message of its reader is about.

    >>> _element_of("expected a number in <xmin> of object 2, found '7'"), _element_of("the image's size has no <width>")
    ('object 2, <xmin>', "the image's size, <width>")
    """
    found = next(filter(None, (each.match(message) for each in _ELEMENTS)), None)
    if found is None:
        return None
    named = found.groupdict()
    return named["thing"] + (f", <{named['tag']}>" if named.get("tag") else "")


def _split(message: str) -> tuple[str | None, str]:
    found = _PLACE.match(message)
    if found is None:
        return None, message
    place = found["place"] + (f", id {found['id']}" if found["id"] else "")
    return place, message[found.end() :]
