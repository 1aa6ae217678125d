"""Inspecting a decrypted data set in a child process: everything that is wrong with it, at once, and its ground truth.

Of hidden annotation the report says file, line, rule and counts; it never quotes what stands there.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from operator import methodcaller
from pathlib import Path
from typing import Final, Self

import heldout_scoring
from app.challenges.label_digests import label_digests
from app.images.decoding import PictureError
from app.images.matching import path_of
from app.intake.class_choices import choose, counts_of
from app.intake.comparing import compare
from app.intake.drawing import draw, views_of
from app.intake.findings import add_clues, add_findings, add_other_numbers, convention_of, read_phase_pictures
from app.intake.formats.class_folders import called_by_class, may_be_classes
from app.intake.formats.image_names import public_names
from app.intake.formats.image_sets import set_folder_above, set_of, set_of_file
from app.intake.formats.pictures import check_pictures, file_names, pictures_of
from app.intake.formats.reading import (
    LONGEST_NAME,
    MOST_NAMED,
    NO_CLASS_NAMES,
    PICTURE_SUFFIXES,
    AnnotatedSet,
    ListedImages,
    Reading,
    is_image_name,
)
from app.intake.formats.recognition import Format, format_of, read_annotation
from app.intake.neutral_names import is_measured, make_neutral, measure, not_renamed
from app.intake.reports import (
    HIDDEN,
    IMAGES,
    MOST_OF_A_KIND,
    ODD_NAME,
    PUBLIC,
    UNEXPLAINED,
    Audience,
    ClassChoice,
    Finding,
    FoundSet,
    ImageFacts,
    KindCount,
    Report,
    TableChoice,
    VersionComparison,
    role_of,
    without_words,
)
from app.intake.unpacking import ProgressNotes, ReadingLimits, SentFile, SentPicture, Unpacked, unpack
from app.intake.what_was_read import Told, WhatWasRead, Worded
from heldout_scoring import DataError, GroundTruth, Problem, Problems, Rule, SubmissionError
from heldout_scoring.evaluation import missing_truth
from heldout_scoring.stored import to_plain

TRUTHS: Final = "truths"  # folder of the ground truth of each set
FILES: Final = "files"  # folder of what the files of each set's images are called, where images are numbers
DIGESTS: Final = "digests"  # folder of what each set says of each image, by the names that it was sent with
CHOSEN: Final = "chosen"  # folder with a folder for each chosen set: its pictures, each called by its image
DRAWN: Final = "drawn"  # pack of pictures with their annotation
READ: Final = "read"  # file of what was read, to be kept
KEPT: Final = "kept"  # file of what was read before
OF_PHASES: Final = "pictures-of-phases"  # file about the pictures that the challenge has already

_NOT_STORED: Final = re.compile("[\0-\x1f\x7f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
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
    audiences: who may see the annotation of image sets; phases: that are compared with the image sets; origin: what a data set is read from, for what was read to be kept with.
    """

    chosen: tuple[str, ...] = ()
    drawn: str = PUBLIC
    choices: tuple[ClassChoice, ...] = ()
    audiences: tuple[Audience, ...] = ()
    secret: bytes | None = field(default=None, repr=False)
    phases: tuple[KnownPhase, ...] = ()
    origin: str | None = None
    tables: TableChoice = UNEXPLAINED


def inspect(
    folder: Path, files: tuple[SentFile, ...], dataset: str, limits: ReadingLimits, wanted: Wanted
) -> bytes:
    """Return the report on a data set as JSON, and write what was read and the ground truth of each chosen set below the folder.

    dataset: of the challenge. An error of ours is logged without its message, which might quote annotation.
    """
    with without_words():
        read = _read(folder, files, dataset, limits, wanted)
        if wanted.origin is not None:
            read.save(folder / READ, wanted.origin)
        return json.dumps(to_plain(_report_on(read, folder, limits, wanted))).encode()


def inspect_again(folder: Path, limits: ReadingLimits, wanted: Wanted) -> bytes:
    """Return the report that `inspect` would return, from what it has read before.

    Nothing if that was read from something else or by another release, or lacks what is wanted.
    """
    with without_words():
        read = WhatWasRead.open(folder / KEPT, wanted.origin or "", folder)
        if read is None:
            return b""
        hidden = _by_role(read.sets, wanted.audiences)[HIDDEN]
        if wanted.secret is not None and not is_measured(
            Unpacked(folder, read.dataset, pictures=dict(read.pictures)), hidden
        ):
            return b""
        return json.dumps(to_plain(_report_on(read, folder, limits, wanted))).encode()


def _read(
    folder: Path, files: tuple[SentFile, ...], dataset: str, limits: ReadingLimits, wanted: Wanted
) -> WhatWasRead:
    """Read all files: everything that takes long and does not depend on what organisers choose."""
    progress = ProgressNotes(folder)
    unpacked = unpack(files, folder, dataset, limits, progress, wanted.tables)
    sets: dict[str, list[AnnotatedSet]] = {}
    invalid: dict[str, list[ListedImages]] = {}
    sets_in: dict[str, dict[str, set[str]]] = {}
    formats: dict[str, Format | None] = {}
    names: dict[str, list[str]] = {}
    odd_tables = unpacked.odd_archives
    heads: dict[int, tuple[str, str]] = {}
    for role in (PUBLIC, HIDDEN):
        progress.note(f"reading the {role} annotation", 0)
        reading = Reading(unpacked, role, limits, tables=wanted.tables, heads=heads)
        formats[role] = format_of(reading)
        try:
            sets[role] = read_annotation(reading, formats[role])
        except SubmissionError as error:
            reading.problems.extend(error.problems)
            sets[role] = []
        except DataError as error:
            reading.problems.add(Problem("annotation", str(error)))
            sets[role] = []
        invalid[role], sets_in[role] = reading.invalid, reading.sets_in
        names[role] = [reading.name(path) for path in reading.files]
        odd_tables += reading.odd_tables
    check_pictures(unpacked, sets, invalid)
    if wanted.secret is not None and not wanted.chosen:
        progress.note("looking at what images say besides their pixels", 0)
        measure(unpacked, _by_role(sets, wanted.audiences)[HIDDEN])
    by_folder = {
        role: each.of_pictures if each else any(unpacked.root(role).rglob("*"))
        for role, each in formats.items()
    }
    pictures = [each.name for each in unpacked.pictures.values()]
    classes = may_be_classes(chain(pictures, unpacked.others, *names.values()))
    told = {
        role: _told(
            found,
            _SetsOfFiles.of(
                sets.get(role, ()), invalid.get(role, ()), sets_in.get(role, {}), names.get(role, ())
            ),
            is_by_folder=by_folder.get(role, role == IMAGES),
            classes=classes,
        )
        for role, found in unpacked.problems.items()
    }
    return WhatWasRead(
        dataset=dataset,
        sets=sets,
        pictures=unpacked.pictures,
        told=told,
        is_by_folder=any(by_folder.values()),
        views={}
        if wanted.chosen
        else {**views_of(unpacked, sets[PUBLIC]), **views_of(unpacked, sets[HIDDEN])},
        tables=tuple(odd_tables),
    )


def _report_on(read: WhatWasRead, folder: Path, limits: ReadingLimits, wanted: Wanted) -> Report:
    """Choose classes, rename images, look for what may not be meant, count and draw: nothing here needs the files that were sent.

    Only what becomes a phase does: the pictures of chosen sets.
    """
    progress = ProgressNotes(folder)
    unpacked = Unpacked(folder, read.dataset, pictures=dict(read.pictures))
    chosen = choose(wanted.choices, _by_role(read.sets, wanted.audiences), unpacked.problems[PUBLIC])
    read.sets = sets = chosen.sets  # so that memory has those as they were sent no longer
    progress.note("looking for what may not be meant", 0)
    is_whole = not read.told[HIDDEN].problems
    add_findings(unpacked, sets, read_phase_pictures(folder / OF_PHASES), is_whole=is_whole)
    add_other_numbers(unpacked, sets, {each.image_set: dict(each.numbers) for each in wanted.phases})
    digests = {
        each.key: label_digests(each.truth)
        for some in sets.values()
        for each in some
        if each.key in wanted.chosen
    }
    if wanted.secret is not None:
        _make_neutral(unpacked, sets, wanted.secret, progress)
    if is_whole:
        add_clues(unpacked, sets[HIDDEN])
    found: list[FoundSet] = []
    comparisons: list[VersionComparison] = []
    for name in (TRUTHS, DIGESTS, FILES):
        (folder / name).mkdir()
    for role, some in sets.items():
        for each in some:
            pictures = pictures_of(unpacked, each)
            view = _view(role, each, pictures, wanted.audiences)
            _check_names(role, each, unpacked.problems[role])
            files = file_names(each, pictures)
            _tell_of_files(role, each, files, unpacked.problems[role])
            _check_view(view, unpacked.problems[role], limits)
            found.append(view)
            for phase in filter(methodcaller("concerns", view), wanted.phases):
                progress.note(f"comparing {view.name} with {phase.image_set}", 0)
                shown = GroundTruth.open(phase.truth)
                comparisons.append(compare(shown, each.truth, view.key, phase.image_set, phase.version))
            if view.key in wanted.chosen:
                each.truth.save(folder / TRUTHS / view.key)
                (folder / DIGESTS / view.key).write_text(json.dumps(to_plain(digests[view.key])))
                (folder / FILES / view.key).write_text(json.dumps(files))
                _link_pictures(folder / CHOSEN / view.key, unpacked, each)
    if sets[wanted.drawn] and not wanted.chosen:
        progress.note("drawing some images", 0)
        (folder / DRAWN).write_bytes(draw(unpacked, sets[wanted.drawn], read.views))
    report = replace(
        _report(read, unpacked, found, wanted.audiences),
        classes=chosen.classes,
        is_neutral=wanted.secret is not None,
        comparisons=tuple(comparisons),
    )
    return _without_answered(report)


def _without_answered(report: Report) -> Report:
    """Leave out that classes have no names once organisers have given all of them one."""
    if not report.is_valid or any(not (each.is_renamed or each.is_ignored) for each in report.classes):
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


def _by_role(
    sets: Mapping[str, Sequence[AnnotatedSet]], audiences: Sequence[Audience]
) -> dict[str, list[AnnotatedSet]]:
    """The image sets by the role that they have, with their keys by the role in which they were sent."""
    found: dict[str, list[AnnotatedSet]] = {role: [] for role in sets}
    for sent_as, some in sets.items():
        for number, each in enumerate(some):
            found[role_of(sent_as, each.name, audiences)].append(replace(each, key=f"{sent_as}-{number}"))
    return found


def _view(
    role: str, found: AnnotatedSet, pictures: Mapping[str, SentPicture], audiences: Sequence[Audience]
) -> FoundSet:
    truth = found.truth
    images = len(truth.description.images) + len(truth.description.further)
    missing = missing_truth(truth)
    return FoundSet(
        key=found.key,
        role=role,
        sent_as=found.role,
        is_open=found.role != role and found.name not in {each.set for each in audiences},
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


def _check_names(role: str, found: AnnotatedSet, problems: Problems) -> None:
    """Add a problem for images whose names cannot stand in a line of text, or name the class; in hidden sets, neutral names are a way out."""
    described = found.truth.description
    if role == HIDDEN and (rule := called_by_class(found)):
        problems.add(Problem(ODD_NAME, rule, found.source))
    images = [each.id for each in (*described.images, *described.further) if not is_image_name(each.id)]
    wrong = [path_of(found.files.get(image, image)).name[:LONGEST_NAME] for image in images]
    if wrong:
        words = (
            f"{len(wrong):,} of the images of {found.name} have names that cannot stand in the lines of results, such as "
            f"{', '.join(wrong[:MOST_NAMED])}; expected ASCII letters, digits and signs without blanks: rename the files"
        )
        words += ", or give hidden images neutral names" if role == HIDDEN else ""
        problems.add(Problem(ODD_NAME if role == HIDDEN else "image-name", Rule(words), found.source))


def _tell_of_files(role: str, found: AnnotatedSet, files: Mapping[str, str], problems: Problems) -> None:
    """Warn of files that participants do not get by their names; images are called by their numbers then."""
    images = [each.id for each in found.truth.description.images]
    lost = len(files) - len(public_names(files, is_hidden=role == HIDDEN, images=images))
    if lost:
        last = ", or the same but for their folders, which hidden sets do not show" if role == HIDDEN else ""
        words = (
            f"{lost:,} of {len(files):,} files of {found.name} have names ('file_name') that cannot be used everywhere, or that others "
            f"have{last}: participants get these images by the numbers of the images"
        )
        problems.warn(Problem("file-name", Rule(words), found.source))


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
        target = folder / f"{image}{picture.suffix}"
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


@dataclass(frozen=True, slots=True)
class _SetsOfFiles:
    """Which image sets a file of a role may be about.

    images: those of each set; within: the sets that files name within; named: those that folders are called by, read or not.
    """

    images: Sequence[tuple[str, AbstractSet[str]]] = ()
    within: Mapping[str, AbstractSet[str]] = field(default_factory=dict)
    named: AbstractSet[str] = frozenset()

    @classmethod
    def of(
        cls,
        sets: Sequence[AnnotatedSet],
        invalid: Sequence[ListedImages],
        within: Mapping[str, AbstractSet[str]],
        files: Iterable[str],
    ) -> Self:
        """Of the sets that were read, of those that have problems, and of those that folders of files are called by."""
        images = [(each.name, frozenset(each.truth.lists.images)) for each in sets]
        named = {set_of_file(Path(file).parent / "_", Path(), "") for file in files} - {""}
        return cls([*images, *((each.name, each.sizes.keys()) for each in invalid)], within, named)

    def about(self, file: str | None) -> tuple[str, ...]:
        """The sets that the file names within; or those that have the image of this name, of several that of the file's folder.

        Otherwise the set that the file is called by or, if it is called by none, all.
        """
        path = Path(path_of(file or ""))
        if named := self.within.get(file or ""):
            return tuple(sorted(named))
        if listing := {name for name, images in self.images if path.stem in images}:
            above = set_folder_above(path, Path())
            of_folder = {set_of(above.name, "")} if above else set()
            return tuple(sorted(of_folder & listing or of_folder | listing))
        own = set_of_file(path, Path(), "")
        read = dict.fromkeys(name for name, _ in self.images)
        return (own,) if own else tuple(read) or tuple(sorted(self.named))


def _told(
    found: Problems,
    sets: _SetsOfFiles | None = None,
    *,
    is_by_folder: bool,
    classes: AbstractSet[str] = frozenset(),
) -> Told:
    def worded(problem: Problem) -> Worded:
        about = sets.about(problem.file) if sets else ()
        hidden = hidden_finding(problem, is_by_folder=is_by_folder, classes=classes)
        return Worded(finding(problem), hidden, about)

    return Told(
        tuple(map(worded, found.listed)),
        tuple(map(worded, found.warnings)),
        tuple(KindCount(code, count) for code, count in found.unlisted.items()),
    )


def _role_of_finding(role: str, audiences: Sequence[Audience], found: Worded) -> str:
    """The role of the annotation that a finding is about, of files that were read in this role: hidden if any of its sets is."""
    is_hidden = role == PUBLIC and any(role_of(role, each, audiences) == HIDDEN for each in found.sets)
    return HIDDEN if is_hidden else role


def _report(
    read: WhatWasRead, unpacked: Unpacked, sets: Sequence[FoundSet], audiences: Sequence[Audience]
) -> Report:
    """The report with what was told of the files, and then what was found in their annotation."""
    problems, warnings = _Findings(), _Findings()
    unlisted: Counter[str] = Counter()
    of_public = (_role_of_finding(PUBLIC, audiences, each) for each in read.told[PUBLIC].problems)
    is_any_hidden = (
        not sets  # so that nobody knows yet
        or bool(read.told[HIDDEN].problems)
        or HIDDEN in of_public
        or any(each.role == HIDDEN for each in sets)
    )
    for role, found in unpacked.problems.items():
        as_read, since = read.told[role], _told(found, is_by_folder=read.is_by_folder)
        role_as_read = partial(
            _role_of_finding, HIDDEN if role == IMAGES and is_any_hidden else role, audiences
        )
        for each in as_read.problems:
            problems.add(each.of(role_as_read(each)))
        for each in as_read.warnings:
            warnings.add(each.of(role_as_read(each)))
        for each in since.problems:
            problems.add(each.of(role))
        for each in since.warnings:
            warnings.add(each.of(role))
        for more in (*as_read.unlisted, *since.unlisted):
            unlisted[more.code] += more.count
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
        tables=read.tables,
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
        _stored(rule.said),
        problem.file,
        problem.line,
        None if rule.place is None else rule.place.numbered,
    )


def _stored(text: str) -> str:
    """A text without what a database cannot store, NUL and halves of characters, and other signs that cannot be seen."""
    return _NOT_STORED.sub("\N{REPLACEMENT CHARACTER}", text)


def hidden_finding(
    problem: Problem, *, is_by_folder: bool = False, classes: AbstractSet[str] = frozenset()
) -> Finding:
    """A problem of hidden annotation: all but what it quotes, and of a message that may quote anywhere nothing.

    is_by_folder: the folder of a file may be the class of its picture, so that it is a quote; classes: names of folders that may be, as
    `may_be_classes` has them.

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
        _OTHERWISE if rule.words == "{}" else _stored(rule.open),
        problem.file and _open_name(problem.file, classes, is_by_folder=is_by_folder),
        problem.line,
        None if rule.place is None else rule.place.open,
    )


def _open_name(file: str, classes: AbstractSet[str], *, is_by_folder: bool) -> str:
    """The name of a file without a class: list files are called by one, and folders of pictures may be."""
    folder, _, name = file.replace("\\", "/").rpartition("/")
    name = (
        "…" if folder and name.endswith("…") else name
    )  # of a long path, whose end was cut off in a folder perhaps
    _, is_split, end = name.rpartition("_")
    may_be_list = "ImageSets" in folder or (
        name.lower().endswith(".txt") and not folder.endswith("Annotations")
    )
    if is_split and may_be_list:
        name = f"…_{end}"
    is_bare = is_by_folder or not folder or name.lower().endswith(PICTURE_SUFFIXES)
    folders = ("…" if each.casefold() in classes else each for each in folder.split("/"))
    return name if is_bare else "/".join((*folders, name))
