"""Inspecting a decrypted data set in a child process: everything that is wrong with it, at once, and its ground truth.

Of hidden annotation the report says file, line, rule and counts; it never quotes what stands there.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import methodcaller
from pathlib import Path
from typing import Final

import heldout_scoring
from app.challenges.label_digests import label_digests
from app.images.decoding import PictureError
from app.intake.class_choices import choose, counts_of
from app.intake.comparing import compare
from app.intake.drawing import draw
from app.intake.findings import add_clues, add_findings, add_other_numbers, convention_of, read_phase_pictures
from app.intake.layouts import (
    COCO,
    NO_CLASS_NAMES,
    TABLE,
    VOC,
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
    Finding,
    FoundSet,
    ImageFacts,
    KindCount,
    Report,
    VersionComparison,
    without_words,
)
from app.intake.unpacking import ProgressNotes, ReadingLimits, SentFile, SentPicture, Unpacked, unpack
from heldout_scoring import GroundTruth, Problem, Problems, Rule, SubmissionError
from heldout_scoring.evaluation import missing_truth
from heldout_scoring.stored import to_plain

TRUTHS: Final = "truths"  # folder of the ground truth of each set
DIGESTS: Final = "digests"  # folder of what each set says of each image, by the names that it was sent with
CHOSEN: Final = "chosen"  # folder with a folder for each chosen set: its pictures, each called by its image
DRAWN: Final = "drawn"  # pack of pictures with their annotation
OF_PHASES: Final = "pictures-of-phases"  # file about the pictures that the challenge has already

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
    progress = ProgressNotes(folder)
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
    digests = {
        f"{role}-{number}": label_digests(each.truth)
        for role, some in sets.items()
        for number, each in enumerate(some)
        if f"{role}-{number}" in wanted.chosen
    }
    if wanted.secret is not None:
        _make_neutral(unpacked, sets, wanted.secret, progress)
    add_clues(unpacked, sets[HIDDEN])
    found: list[FoundSet] = []
    comparisons: list[VersionComparison] = []
    for name in (TRUTHS, DIGESTS):
        (folder / name).mkdir()
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
                (folder / DIGESTS / view.key).write_text(json.dumps(to_plain(digests[view.key])))
                _link_pictures(folder / CHOSEN / view.key, unpacked, each)
    if sets[wanted.drawn]:
        progress.note("drawing some pictures", 0)
        (folder / DRAWN).write_bytes(draw(unpacked, sets[wanted.drawn]))
    report = _report(unpacked, found, is_by_folder=found_layouts[HIDDEN] not in (VOC, COCO, TABLE))
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
    unpacked: Unpacked, sets: dict[str, list[AnnotatedSet]], secret: bytes, progress: ProgressNotes
) -> None:
    try:
        sets[HIDDEN] = make_neutral(unpacked, sets[HIDDEN], sets[PUBLIC], secret, progress)
    except PictureError as error:
        unpacked.problems[IMAGES].add(not_renamed(error))


def _view(key: str, role: str, found: AnnotatedSet, pictures: Mapping[str, SentPicture]) -> FoundSet:
    truth = found.truth
    images = len(truth.description.images) + len(truth.description.further)
    missing = missing_truth(truth)
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
            info.number
            for info in heldout_scoring.competitions(truth.lists.dataset)
            if info.number not in missing
        ),
        missing=tuple(missing.items()),
        convention=convention_of(truth),
        ignored=found.ignored,
        without_picture=images - len(pictures),
    )


def _check_view(view: FoundSet, problems: Problems, limits: ReadingLimits) -> None:
    if not view.competitions:
        message = f"the annotation of {view.name} has no ground truth for any competition"
        problems.add(Problem("no-competition", Rule(message), view.source))
    if view.objects > limits.boxes:
        problems.add(
            Problem("too-many-boxes", Rule(f"at most {limits.boxes:,} objects are allowed"), view.source)
        )
    if view.images > limits.images:
        problems.add(
            Problem("too-many-images", Rule(f"at most {limits.images:,} images are allowed"), view.source)
        )


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
        worded = partial(hidden_finding, is_by_folder=is_by_folder) if role == HIDDEN else finding
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


def finding(problem: Problem) -> Finding:
    """A problem as it is told.

    >>> from heldout_scoring import Entry
    >>> rule = Rule("found {}", "x", place=Entry("annotations[3]", 887, "a/b.jpg"))
    >>> print(finding(Problem("bad-bbox", rule, "val.json")))
    val.json: annotations[3], id 887: found x
    """
    rule = Rule.of(problem.message)
    return Finding(
        problem.code,
        rule.said,
        problem.file,
        problem.line,
        None if rule.place is None else rule.place.numbered,
    )


def hidden_finding(problem: Problem, *, is_by_folder: bool = False) -> Finding:
    """A problem of hidden annotation: all but what it quotes, and of a message that may quote anywhere nothing.

    is_by_folder: the folder of a file may be the class of its picture, so that it is a quote.

    >>> from heldout_scoring import Entry
    >>> rule = Rule("expected a number, found {}", "x", place=Entry("annotations[3]", "cat-1", "a/b.jpg"))
    >>> print(hidden_finding(Problem("bad-area", rule, "test.json")))
    test.json: annotations[3]: expected a number, found …
    >>> print(hidden_finding(Problem("bad-bbox", "found x", "ImageSets/Main/cat_test.txt")))
    ImageSets/Main/…_test.txt: this breaks a rule of its format
    """
    rule = Rule.of(problem.message)
    return Finding(
        problem.code,
        _OTHERWISE if rule.words == "{}" else rule.open,
        problem.file and _open_name(problem.file, is_by_folder=is_by_folder),
        problem.line,
        None if rule.place is None else rule.place.open,
    )


def _open_name(file: str, *, is_by_folder: bool) -> str:
    """The name of a file without a class: list files are called by one, and folders of pictures may be."""
    folder, _, name = file.replace("\\", "/").rpartition("/")
    _, is_split, end = name.rpartition("_")
    may_be_list = "ImageSets" in folder or (
        name.lower().endswith(".txt") and not folder.endswith("Annotations")
    )
    if is_split and may_be_list:
        name = f"…_{end}"
    return name if is_by_folder or not folder else f"{folder}/{name}"
