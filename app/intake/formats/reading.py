"""What the readers of all formats share: the files of a role, which of them are accounted for, and what is made of them."""

import os
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Final

from app.images.matching import OTHER_SUFFIXES, SUFFIXES, path_of
from app.intake.formats.image_sets import says_test, set_folder_above, set_of, set_of_file
from app.intake.reports import HIDDEN, PUBLIC, UNEXPLAINED, ClassCount, OddTable, TableChoice
from app.intake.unpacking import ReadingLimits, SentContent, Unpacked, keep_picture
from heldout_scoring import GroundTruth, Image, Problem, Problems, Rule

VOC, COCO, YOLO, TABLE, CLASS_FOLDERS, LABEL_IMAGES = (
    "development kit (VOC)", "COCO JSON", "YOLO's labels", "table (CSV)", "a folder for each class", "label images"
)  # fmt: skip
CVAT, LABELME = "CVAT for images", "labelme"
NO_CLASS_NAMES: Final = "no-class-names"  # the code of a warning that the names chosen for classes answer
SET_NAMES: Final[Mapping[str, str]] = {PUBLIC: "val", HIDDEN: "test"}
MOST_NAMED: Final = 3  # names in a sentence
LONGEST_NAME: Final = 100  # characters of each
ANNOTATION_SUFFIXES: Final = (".csv", ".json", ".tsv", ".txt", ".xml")
PICTURE_SUFFIXES: Final = (*SUFFIXES, *OTHER_SUFFIXES)
_UTF_16: Final = (BOM_UTF16_LE, BOM_UTF16_BE)
_ENCODINGS: Final = (
    "windows-1252",
    "gb18030",
    "shift_jis",
    "euc_kr",
    "windows-1251",
)  # of text that does not say its own
_NOTES: Final = ("readme", "license", "licence", "notice", "changelog", "citation")
OUTSIDE: Final = "reaches beyond its image by more than a pixel"

Size = tuple[int, int]  # width and height


@dataclass(frozen=True, slots=True)
class AnnotatedSet:
    """An image set with its annotation. files: the pictures' names or paths where annotation gives them, by image; ignored: classes that were left out.

    source: its file, or the folder of its files, empty if they are in none; role: in which its files were sent; key: its name among all sets of the data set.
    ids: of the annotations of its file, in order, if it is COCO's JSON; 0 where it has none.
    """

    name: str
    layout: str
    source: str
    truth: GroundTruth
    files: Mapping[str, str]
    ignored: tuple[ClassCount, ...] = ()
    role: str = ""
    key: str = ""
    ids: Sequence[int] = ()

    def called(self, image: str) -> str:
        """What organisers know an image by: the name of its file where images are numbers, as in COCO's JSON, and else its own name."""
        file = self.files.get(image, "") if self.truth.lists.class_numbers else ""
        return path_of(file).name[:LONGEST_NAME] or image


@dataclass(frozen=True, slots=True)
class ListedImages:
    """The images of a set as its annotation lists them, with their sizes where these are known.

    So pictures are compared with a set whose annotation has problems, and everything is told at once.
    files: as in AnnotatedSet; numbered: whether images are called by numbers, as in COCO's JSON.
    """

    name: str
    sizes: Mapping[str, Size | None]
    files: Mapping[str, str] = field(default_factory=dict)
    numbered: bool = False


@dataclass(frozen=True)
class Reading:
    """What readers share: the unpacked files, the role that is read, its problems, and the sets that have some.

    used: the files that are accounted for; those that are left are told once everything is read; tables: how those are read that do not
    say it themselves; odd_tables: that organisers have to explain; heads: the first line of the first table with so many columns that is
    read as they chose, and its file; unnamed: what an image set without a name is called, by default
    after the role; sets_in: the image sets that files name within, by the files' names.
    """

    unpacked: Unpacked
    role: str
    limits: ReadingLimits
    invalid: list[ListedImages] = field(default_factory=list)
    used: set[Path] = field(default_factory=set)
    tables: TableChoice = UNEXPLAINED
    odd_tables: list[OddTable] = field(default_factory=list)
    heads: dict[int, tuple[str, str]] = field(default_factory=dict)
    unnamed: str = ""
    sets_in: dict[str, set[str]] = field(default_factory=dict)

    @cached_property
    def root(self) -> Path:
        """The folder of the role."""
        return self.unpacked.root(self.role)

    @cached_property
    def files(self) -> tuple[Path, ...]:
        """All files of the role as they were sent."""
        return tuple(sorted(path for path in self.root.rglob("*") if path.is_file()))

    @property
    def left(self) -> list[Path]:
        """The files that are not accounted for yet."""
        return [path for path in self.files if path not in self.used]

    def with_suffix(self, *suffixes: str) -> list[Path]:
        """The files whose names end like this and that are not accounted for yet."""
        return [path for path in self.left if path.suffix.lower() in suffixes]

    @property
    def problems(self) -> Problems:
        """The problems of the role."""
        return self.unpacked.problems[self.role]

    @property
    def set_name(self) -> str:
        """What an image set without a name is called."""
        return self.unnamed or SET_NAMES[self.role]

    def name(self, path: Path) -> str:
        """The name of a file as it was sent."""
        return path.relative_to(self.root).as_posix()

    def name_of_folder(self, paths: Iterable[Path]) -> str:
        """The innermost folder above all of these, as it was sent; that of the role has no name."""
        above = Path(os.path.commonpath([path.parent for path in paths]))
        return "" if above == self.root else self.name(above)

    def text(self, path: Path) -> str:
        """The text of a file in UTF-8, in UTF-16 with its mark, or as organisers chose; a problem names the first line that is in another encoding."""
        data = path.read_bytes().removeprefix(BOM_UTF8)
        encoding = "utf-16" if data.startswith(_UTF_16) else "utf-8"
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError as error:
            chosen, way_out = self.other_encoding(path)
            if not chosen:
                rule = Rule(f"this line is not UTF-8; save the file as text in UTF-8{way_out}")
                line = data.count(b"\n", 0, error.start) + 1
                self.problems.add(Problem("encoding", rule, self.name(path), line))
            text = data.decode(chosen or encoding, "replace")
        return text.replace("\r\n", "\n").replace("\r", "\n")

    def other_encoding(self, path: Path) -> tuple[str, str]:
        """What organisers chose as the encoding of text that is not in its own, or empty, and how to choose it, in words; they are asked."""
        fitting = tuple(each for each in _ENCODINGS if _decodes(path, each))[:MOST_NAMED]
        chosen = self.tables.encoding if self.tables.encoding in fitting else ""
        if not fitting:
            return "", ""
        odd = OddTable(self.role, self.name(path), encodings=fitting, chosen=self.tables if chosen else None)
        if not any(each.encodings and each.chosen == odd.chosen for each in self.odd_tables):
            self.odd_tables.append(odd)  # one stands for all
        return chosen, f", or choose the encoding that it has: {', '.join(fitting)}"

    def by_set(self, paths: Iterable[Path], *, of_classes: bool = False) -> Mapping[str, Sequence[Path]]:
        """The files of each image set, by the folder above them that is called like one. of_classes: whether the folder of a file is a class.

        Two folders are never joined to one set, and every picture has to be in such a folder once one is.
        """
        sets: dict[Path | None, list[Path]] = {}
        for path in paths:
            below = path.parent if of_classes else path
            sets.setdefault(set_folder_above(below, self.root), []).append(path)
        outside = sets.pop(None, [])
        if not sets:
            return {self.set_name: outside} if outside else {}
        others = ", ".join(sorted({folder.name for folder in sets if folder}))
        self.refuse(
            outside,
            "no-set",
            f"in no folder of an image set, though others are in {others}; put them into one",
        )
        found: dict[str, Path] = {}
        for folder in sorted(filter(None, sets)):
            name = set_of(folder.name, self.set_name)
            if (first := found.setdefault(name, folder)) != folder:
                message = f"this folder and {{}} would both be the image set {name}; send one of them, or call them otherwise"
                self.problems.add(Problem("two-sets", Rule(message, self.name(first)), self.name(folder)))
                self.use(*sets[folder])
        return {name: sets[folder] for name, folder in sorted(found.items())}

    def own(self, truth: GroundTruth, image_set: str) -> GroundTruth:
        """The same annotation of an image set of this challenge, whose images have names and not numbers."""
        lists = replace(truth.lists, dataset=self.unpacked.dataset, image_set=image_set)
        return GroundTruth.of(lists, truth.tables)

    def note_set(self, file: str, image_set: str) -> None:
        """Note that a file names an image set within, whatever it is called itself."""
        self.sets_in.setdefault(file, set()).add(image_set)

    def use(self, *paths: Path) -> None:
        """Note that files were read, so that they are accounted for."""
        self.used.update(paths)

    def use_as_picture(self, path: Path) -> None:
        """Put a picture that was sent with the annotation to the others."""
        keep_picture(self.unpacked, self.role, SentContent(self.name(path), path), self.limits)
        path.unlink()
        self.use(path)

    def leave_out(self, paths: Iterable[Path], code: str, reason: str) -> None:
        """Warn that files are not read, with their count, an example and the reason: `{} files … are left out: {reason}`."""
        listed = sorted(paths)
        self.use(*listed)
        if listed:
            count = "1 file is" if len(listed) == 1 else f"{len(listed):,} files are"
            rule = Rule(f"{count} left out, such as {{}}: {reason}", self.name(listed[0]))
            self.problems.warn(Problem(code, rule))

    def refuse(self, paths: Iterable[Path], code: str, reason: str) -> None:
        """Add a problem of files that are not read, with their count, an example and the reason: `{} files like this one are {reason}`."""
        listed = sorted(paths)
        self.use(*listed)
        if listed:
            count = "this file is" if len(listed) == 1 else f"{len(listed):,} files like this one are"
            self.problems.add(Problem(code, Rule(f"{count} {reason}"), self.name(listed[0])))

    def refuse_other_folders(self, paths: Iterable[Path], image_set: str, root: Path) -> None:
        """Add a problem of files that a list names, in folders below the root that are called like sets to test on where the list is none, or the reverse."""
        own = {path: set_of_file(path.parent / "_", root, image_set) for path in paths}
        others = [path for path, name in own.items() if says_test(name) != says_test(image_set)]
        reason = f"in a folder that is called like another image set than {image_set}, whose list names it; let both say the same"
        self.refuse(others, "other-set", reason)


def note_of(path: Path) -> str:
    """The word of ours with which the name of a file begins that says something about a data set, as README; empty of others."""
    return next((word for word in _NOTES if path.name.lower().startswith(word)), "")


def _decodes(path: Path, encoding: str) -> bool:
    try:
        with path.open(encoding=encoding, newline="") as file:
            return all(line.strip("\r\n").replace("\t", "").isprintable() for line in file)
    except UnicodeDecodeError:
        return False


def known_size(image: Image) -> Size | None:
    """Width and height of an image; None where they are unknown."""
    return (image.width, image.height) if image.has_size else None


def is_image_name(text: str) -> bool:
    """Whether a text can be the name of an image, which results name in lines of text: as in the development kits, without blanks."""
    return text.isascii() and text.isprintable() and 0 < len(text) <= 200 and " " not in text


def is_class_name(text: str) -> bool:
    """Whether a text can be the name of a class: any letters, with blanks inside."""
    return bool(text.strip()) and text == text.strip() and text.isprintable() and len(text) <= 200
