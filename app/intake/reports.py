"""What a worker found in a data set: problems, warnings, image sets and counts; nothing else of hidden annotation."""

import errno
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import structlog

from app.intake.formats.image_sets import says_test, says_train
from app.web.formats import plural
from heldout_scoring import competition_of

log = structlog.get_logger()

IMAGES, PUBLIC, HIDDEN = ROLES = ("images", "public", "hidden")
"""What files contain, as `IntakeRole` has it; child processes do not import the tables."""
CLUE: Final = "predicts-class"  # code of warnings
ODD_NAME: Final = "hidden-image-name"  # code of problems that neutral names solve
OUTAGES: Final = frozenset(
    {
        errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.EBUSY,
        errno.ENODEV, errno.ENXIO, errno.ESTALE, errno.EREMOTEIO, errno.ETIMEDOUT, errno.EHOSTDOWN, errno.EHOSTUNREACH,
        errno.ENETUNREACH, errno.ECONNREFUSED, errno.ECONNRESET, errno.ECONNABORTED, errno.ENOTCONN, errno.EPIPE,
    }
)  # fmt: skip  # errors of disks, networks and limits of the machine
MOST_OF_A_KIND: Final = 100  # problems listed; the rest is counted


@contextmanager
def without_words() -> Iterator[None]:
    """End a child process that fails without the message of its error, which may quote annotation.

    Outages are raised as they are; any other error counts as a failure of the work, also one about files, since it comes again.
    """
    try:
        yield
    except MemoryError:
        raise  # which the parent knows how to tell
    except Exception as error:  # noqa: BLE001 - of which only the type is told
        if isinstance(error, OSError) and error.errno in OUTAGES:
            raise OSError(
                error.errno, error.strerror
            ) from None  # without its file, whose folder may be a class
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        where = f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else ""
        log.error("work on annotation failed", error=type(error).__name__, where=where)  # noqa: TRY400 - no message
        raise SystemExit(1) from None


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem or a warning. line: from 1; place: within a JSON file, such as `annotations[1042]`."""

    code: str
    message: str
    file: str | None = None
    line: int | None = None
    place: str | None = None

    @property
    def source(self) -> str:
        """The file, by which pages group findings; empty if there is none."""
        return self.file or ""

    def __str__(self) -> str:
        """The place and the message, as compilers print them.

        >>> str(Finding("bad-bbox", "the box is invalid", "test.json", place="annotations[1042], id 887"))
        'test.json: annotations[1042], id 887: the box is invalid'
        """
        file = self.file and (self.file if self.line is None else f"{self.file}:{self.line}")
        return ": ".join(part for part in (file, self.place, self.message) if part)


@dataclass(frozen=True, slots=True)
class KindCount:
    """How many findings of a kind there are, listed or not."""

    code: str
    count: int


@dataclass(frozen=True, slots=True)
class ClassCount:
    """The images and objects of a class; difficult objects apart."""

    name: str
    images: int
    objects: int
    difficult: int


@dataclass(frozen=True, slots=True)
class ClassChoice:
    """What organisers make of a class of the annotation. found: its name there; name: what it is called from then on."""

    found: str
    name: str
    is_ignored: bool = False

    @property
    def is_renamed(self) -> bool:
        """Whether it counts, under another name."""
        return not self.is_ignored and self.name != self.found


@dataclass(frozen=True, slots=True)
class Audience:
    """An organiser's answer to who may see the annotation of an image set that was sent as public: everyone, or nobody."""

    set: str
    is_hidden: bool


def role_of(sent_as: str, name: str, audiences: Sequence[Audience]) -> str:
    """The role of an image set: that in which it was sent, or a stricter one.

    A set that was sent as public and says test in its name is hidden until an organiser has answered that everyone may see it.
    """
    answer = next((each for each in audiences if each.set == name), None)
    is_hidden = says_test(name) if answer is None else answer.is_hidden
    return HIDDEN if is_hidden else sent_as


@dataclass(frozen=True, slots=True)
class FoundSet:
    """An image set with its annotation. key: its name among those of the data set; missing: competitions that it lacks truth for.

    role: as `role_of` has it; is_open: whether nobody has answered yet who may see it although its name says that it is held out.
    classes: those that count, as organisers call them; ignored: the others, by their names in the annotation.
    """

    key: str
    role: str
    name: str
    layout: str  # how it is written, such as "COCO JSON"
    dataset: str
    source: str  # the file or folder
    images: int
    objects: int
    classes: tuple[ClassCount, ...]
    competitions: tuple[int, ...]
    missing: tuple[tuple[int, str], ...] = ()
    convention: str = ""  # how boxes are read, and what speaks for it
    ignored: tuple[ClassCount, ...] = ()
    without_picture: int = 0  # images
    sent_as: str = ""  # the role of its files; empty in reports of earlier releases
    is_open: bool = False

    @property
    def lacks(self) -> str:
        """How many images have no picture, in words; empty if each has one."""
        if not self.without_picture:
            return ""
        return f"{self.without_picture:,} of {self.images:,} images of {self.name} have no file"

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks that its annotation can score."""
        return tuple(dict.fromkeys(competition_of(self.dataset, number).task for number in self.competitions))

    @property
    def missing_tasks(self) -> Mapping[str, str]:
        """The other tasks, and why its annotation cannot score them."""
        found: dict[str, str] = {}
        for number, reason in self.missing:
            found.setdefault(competition_of(self.dataset, number).task, reason)
        return found

    @property
    def has_objects(self) -> bool:
        """Whether its classes are those of objects; classes of whole images or of pixels have none to count."""
        return bool(self.objects) or not any(row.images for row in self.classes)

    @property
    def difficult(self) -> int:
        """The objects that do not count because they are marked as difficult."""
        return sum(row.difficult for row in self.classes)


def proposed_sets(sets: Sequence[FoundSet]) -> tuple[FoundSet, ...]:
    """The sets that participants usually submit to: all but those for training, unless there are no others."""
    return tuple(each for each in sets if not says_train(each.name)) or tuple(sets)


@dataclass(frozen=True, slots=True)
class Renamed:
    """A class that has another name."""

    before: str
    after: str


@dataclass(frozen=True, slots=True)
class VersionComparison:
    """How an image set differs from the version of a phase that its boards show: numbers, and names of classes.

    set: its key; images_…: that are gone, new, of another size; persons_gone: of images that stay, whose layout or actions are no
    longer annotated; classes_renumbered: with another category id; by_number: whether results name classes by it; moved, relabelled,
    added, removed, marked (difficult, crowd, area), flagged (truncated, occluded) and redrawn (masks): objects of images that stay; labels: of images; label_images, parts (of persons), actions: that changed.
    """

    set: str
    phase: str
    version: int
    images_gone: int = 0
    images_new: int = 0
    images_resized: int = 0
    persons_gone: int = 0
    classes_gone: tuple[str, ...] = ()
    classes_new: tuple[str, ...] = ()
    classes_renamed: tuple[Renamed, ...] = ()
    classes_renumbered: tuple[str, ...] = ()
    by_number: bool = False
    moved: int = 0
    relabelled: int = 0
    added: int = 0
    removed: int = 0
    marked: int = 0
    redrawn: int = 0
    flagged: int = 0
    labels: int = 0
    label_images: int = 0
    parts: int = 0
    actions: int = 0

    @property
    def consequences(self) -> tuple[str, ...]:
        """What published results suffer from, in words: some would be refused, or a column of a board would be blank."""
        renamed = [] if self.by_number else self._renamed
        refused = (
            (self.images_gone, "image", "gone"),
            (self.images_resized, "image", "of another size"),
            (self.persons_gone, "person", "no longer annotated"),
        )
        return (
            *(
                f"{plural(count, what)} {'is' if count == 1 else 'are'} {how}: results that have {'it' if count == 1 else 'them'}"
                " will be refused"
                for count, what, how in refused
                if count
            ),
            *_of_classes(self.classes_gone, "gone", self._without_classes),
            *_of_classes(renamed, "renamed", "results that have the old name will be blank there"),
            *_of_classes(
                self.classes_renumbered,
                "given another category id",
                "results that have the old one will be refused or wrong",
            ),
        )

    @property
    def _without_classes(self) -> str:
        if self.by_number:
            return "results that have such a category id will be refused"
        return f"{'its column' if len(self.classes_gone) == 1 else 'their columns'} will be blank"

    @property
    def _renamed(self) -> list[str]:
        return [f"{each.before} (now {each.after})" for each in self.classes_renamed]

    @property
    def changes(self) -> tuple[str, ...]:
        """What else changes, in words."""
        of_objects = {
            "moved": self.moved, "changed the class": self.relabelled, "added": self.added, "removed": self.removed,
            "changed in being difficult or a crowd, or in area": self.marked,
            "changed in being truncated or occluded": self.flagged, "changed the mask alone": self.redrawn,
        }  # fmt: skip
        objects = [f"{count:,} {how}" for how, count in of_objects.items() if count]
        others = {
            "label of an image": self.labels, "label image": self.label_images, "part of a person": self.parts,
            "action label": self.actions,
        }  # fmt: skip
        plurals = {"label of an image": "labels of images", "part of a person": "parts of persons"}
        return (
            *([f"{plural(self.images_new, 'image')} new"] if self.images_new else []),
            *([f"new classes: {', '.join(self.classes_new)}"] if self.classes_new else []),
            *(
                [f"classes renamed, which results name by category id: {', '.join(self._renamed)}"]
                if self.classes_renamed and self.by_number
                else []
            ),
            *([f"objects: {', '.join(objects)}"] if objects else []),
            *(
                f"{count:,} {what if count == 1 else plurals.get(what, what + 's')} changed"
                for what, count in others.items()
                if count
            ),
        )


@dataclass(frozen=True, slots=True)
class ClassChanges:
    """What became of the objects of a class in images that stay. gained, lost: from and to other classes."""

    name: str
    moved: int = 0
    marked: int = 0
    gained: int = 0
    lost: int = 0
    added: int = 0
    removed: int = 0


@dataclass(frozen=True, slots=True)
class Shift:
    """How far boxes moved: the edge of each that moved most, in pixels, and its IoU with where it was."""

    median: float
    largest: float
    median_iou: float
    lowest_iou: float


@dataclass(frozen=True, slots=True)
class VersionDiff:
    """How a version differs from another one, which `comparison.version` is; shift: None if no box moved."""

    comparison: VersionComparison
    classes: tuple[ClassChanges, ...]
    shift: Shift | None

    @property
    def is_empty(self) -> bool:
        """Whether nothing that is compared differs."""
        return not (self.comparison.consequences or self.comparison.changes)


def _of_classes(names: Sequence[str], how: str, what: str) -> Iterator[str]:
    if names:
        is_one = len(names) == 1
        yield f"{'class' if is_one else 'classes'} {', '.join(names)} {'is' if is_one else 'are'} {how}: {what}"


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """The pictures of a data set: how many there are, and the smallest and largest width and height."""

    count: int
    smallest: tuple[int, int] | None = None
    largest: tuple[int, int] | None = None


FLAG: Final = "0 or 1"
COLUMNS: Final = ("image", "class", "left", "top", "right", "bottom", "width", "height", "set", FLAG)
"""What a column of a table may hold; `FLAG`: whether the image shows the class that the column is called by."""


@dataclass(frozen=True, slots=True)
class TableChoice:
    """How tables are read that do not say it themselves, and other text.

    columns: what each column holds, one of `COLUMNS`, or empty if it is not read; has_names: whether the first line names the columns;
    encoding: of text that is not UTF-8 and does not declare another; names: of the names in archives that do not declare theirs.
    """

    columns: tuple[str, ...] = ()
    has_names: bool = True
    encoding: str = ""
    names: str = ""


UNEXPLAINED: Final = TableChoice()


@dataclass(frozen=True, slots=True)
class OddTable:
    """A table whose columns were not recognised, text whose encoding was not, or an archive with names in one that is not declared.

    columns: their names, or numbers where nobody may see what stands there; chosen: how it was read, None if organisers have not said it.
    """

    role: str
    file: str
    columns: tuple[str, ...] = ()
    encodings: tuple[str, ...] = ()
    chosen: TableChoice | None = None
    is_archive: bool = False

    @property
    def kinds(self) -> tuple[str, ...]:
        """What each column may hold."""
        return COLUMNS


@dataclass(frozen=True, slots=True)
class Report:
    """A data set as a worker found it; it can be applied if there are no problems.

    classes: every class of the annotation, in the order of the classes that count; is_neutral: whether hidden images have neutral names;
    comparisons: with what the boards of phases show, of image sets that may replace it; tables: that organisers explain.
    """

    problems: tuple[Finding, ...]
    warnings: tuple[Finding, ...]
    counts: tuple[KindCount, ...]  # of all kinds of problems and warnings
    sets: tuple[FoundSet, ...]
    images: ImageFacts
    classes: tuple[ClassChoice, ...] = ()
    is_neutral: bool = False
    comparisons: tuple[VersionComparison, ...] = ()
    tables: tuple[OddTable, ...] = ()

    @property
    def counts_of_classes(self) -> Mapping[str, tuple[ClassCount | None, ...]]:
        """What each set has of each class, by its name in the annotation; None for a set without it."""
        names = {each.name: each.found for each in self.classes if not each.is_ignored}
        of_sets = [
            {names.get(row.name, row.name): row for row in each.classes}
            | {row.name: row for row in each.ignored}
            for each in self.sets
        ]
        return {each.found: tuple(rows.get(each.found) for rows in of_sets) for each in self.classes}

    def comparison(self, key: str, phase: str, version: int) -> VersionComparison | None:
        """The comparison of an image set with a version of a phase; None if it was not made."""
        asked = (key, phase, version)
        return next(
            (each for each in self.comparisons if (each.set, each.phase, each.version) == asked), None
        )

    @property
    def first_set(self) -> FoundSet | None:
        """The first set that participants usually submit to; None without sets."""
        return next(iter(proposed_sets(self.sets)), None)

    @property
    def plain_name(self) -> str:
        """The first name of a class with blanks as it is without; empty if none has any."""
        names = ("_".join(each.name.split()) for each in self.classes if " " in each.name)
        return next(names, "")

    @property
    def explained_tables(self) -> tuple[OddTable, ...]:
        """A text and an archive whose encoding, and a table whose columns organisers say; of several one that waits for its answer and shows its columns."""

        def key(each: OddTable) -> tuple[bool, bool, bool]:
            return bool(each.columns), each.chosen is None, each.role == PUBLIC

        waiting_last = sorted(self.tables, key=key)
        return tuple({(bool(each.columns), each.is_archive): each for each in waiting_last}.values())

    @property
    def has_clues(self) -> bool:
        """Whether anything besides the pixels of hidden images predicts the class."""
        return any(each.code == CLUE for each in self.warnings)

    @property
    def has_odd_names(self) -> bool:
        """Whether hidden images have names that results cannot have."""
        return any(each.code == ODD_NAME for each in self.problems)

    @property
    def is_valid(self) -> bool:
        """Whether it can be applied."""
        return not self.problems

    @property
    def total(self) -> int:
        """How many problems there are, listed or not."""
        return self._total(self.problems)

    @property
    def total_warnings(self) -> int:
        """How many warnings there are, listed or not."""
        return self._total(self.warnings)

    def _total(self, findings: tuple[Finding, ...]) -> int:
        codes = {each.code for each in findings}
        return sum(each.count for each in self.counts if each.code in codes)
