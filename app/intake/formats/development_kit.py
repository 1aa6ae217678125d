"""Annotation in VOC's XML: development kits, and what other tools write, in whatever folders it comes.

Each kit is laid out anew as the library reads it, with links to the files that were sent; problems name these.
"""

import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import count
from pathlib import Path
from typing import Final, Self

import numpy as np

import heldout_scoring
from app.images.matching import SUFFIXES
from app.intake.formats import label_images
from app.intake.formats.image_sets import NO_SUBSET, USUAL_SETS, set_of_file, set_of_folder
from app.intake.formats.label_images import LabelClasses, Labels
from app.intake.formats.pictures import sizes_of_pictures
from app.intake.formats.reading import OUTSIDE, VOC, AnnotatedSet, ListedImages, Reading, known_size
from app.intake.formats.voc_files import LOOKED_AT, is_of_other_file, readable, root_in
from heldout_scoring import Annotation, GroundTruth, Problem, Problems, Rule, TreeError
from heldout_scoring.competitions import CHALLENGES, classes_of
from heldout_scoring.data.label_maps import LabelRuns, beyond_classes

ANNOTATIONS, LISTS, MASKS = "Annotations", "ImageSets", "SegmentationClass"
_OF_A_KIT: Final = {each.lower(): each for each in (ANNOTATIONS, LISTS, MASKS, "JPEGImages", "PNGImages")}
_TASKS: Final = {each.lower(): each for each in ("Main", "Segmentation", "Layout", "Action")}
_BESIDE: Final = re.compile(r"(segmentation|annotations)\w+", re.IGNORECASE)  # drawings, masks of objects
_OF_2006: Final = b"Image size (X x Y"
_NAME: Final = re.compile(r"(?!\.+$)[\w.-]+", re.ASCII)
_WHOLE: Final = re.compile(r"[+-]?\d{1,9}", re.ASCII)
_WAYS_OUT: Final = {
    "robndbox": "rotated boxes (robndbox) of roLabelImg are not read; export upright boxes (bndbox)",
    "polygon": "polygons are not read in VOC's XML; export them as COCO's JSON, or boxes (bndbox)",
}


# recognising


def evidence(reading: Reading) -> list[Path]:
    """The folders that hold VOC's annotation files, and the lists of kits; the first files of each folder are looked at."""
    looked: Counter[Path] = Counter()
    found: set[Path] = set()
    kits: defaultdict[Path, set[str]] = defaultdict(set)
    for path in reading.with_suffix(".xml", ".txt", ".png"):
        place = _Place.of(reading, path)
        kits[place.kit].add(place.folder)
        if path.parent not in found and looked[path.parent] < LOOKED_AT and _may_be_annotation(path, place):
            looked[path.parent] += 1
            if _kind_of(path) == "annotation":
                found.add(path.parent)
    lists = {kit / LISTS for kit, folders in kits.items() if LISTS in folders and MASKS not in folders}
    return sorted(found | lists)


@dataclass(frozen=True, slots=True)
class _Place:
    """The kit of a file, and the folder of the kit that it is in, by its usual name; empty where it is in none."""

    kit: Path
    folder: str

    @classmethod
    def of(cls, reading: Reading, path: Path) -> Self:
        folders = path.relative_to(reading.root).parts[:-1]
        for depth, folder in enumerate(folders):
            if folder.lower() in _OF_A_KIT:
                return cls(reading.root.joinpath(*folders[:depth]), _OF_A_KIT[folder.lower()])
        return cls(reading.root, "")


def _may_be_annotation(path: Path, place: _Place) -> bool:
    suffix = path.suffix.lower()
    return (suffix == ".xml" and place.folder not in (LISTS, MASKS)) or (
        suffix == ".txt" and place.folder == ANNOTATIONS
    )


def _kind_of(path: Path) -> str:
    """The first element of an XML file, or "annotation" for one of 2006; empty for anything else."""
    if path.suffix.lower() == ".txt":
        return "annotation" if _OF_2006 in path.read_bytes() else ""
    return root_in(path)


def _image_of(name: str) -> str:
    """The image in the name of an annotation file or in a line of a list, with or without folders and suffixes."""
    stem = name.strip("\"'").replace("\\", "/").rpartition("/")[2]
    for suffixes in ((".xml", ".txt"), SUFFIXES):
        if stem.lower().endswith(suffixes):
            stem = stem.rpartition(".")[0]
    return stem


# reading


def read(reading: Reading) -> Iterator[AnnotatedSet]:
    """Read every kit of a role; its pictures join the others."""
    kits = _kits_of(reading)
    _use_class_lists(reading, kits)
    for kit in kits:
        kit.lay_out()
        for image_set, lists in kit.sets.items():
            kit.list_images(image_set, lists)
            yield from kit.read(image_set, lists)
        kit.tell()


def _kits_of(reading: Reading) -> list["_Kit"]:
    """The kits of a role, or the files of other tools as if they were one."""
    kits: dict[Path, _Kit] = {}
    beside = []
    for path in reading.with_suffix(".xml", ".txt", *SUFFIXES):
        place, suffix = _Place.of(reading, path), path.suffix.lower()
        kit = kits.setdefault(place.kit, _Kit(reading, place.kit, len(kits)))
        if place.folder == LISTS and suffix == ".txt":
            kit.lists.append(_List.of(reading, path))
        elif _may_be_annotation(path, place):
            kind = _kind_of(path)
            if kind == "annotation" or (place.folder == ANNOTATIONS and suffix == ".xml" and not kind):
                kit.add(kit.annotations, path, "annotation files")
        elif place.folder == MASKS and suffix == ".png":
            kit.add(kit.masks, path, "label images")
        elif suffix in SUFFIXES and _is_beside(reading, path):
            beside.append(path)
        elif suffix in SUFFIXES:
            reading.use_as_picture(path)
    reading.leave_out(beside, "beside-annotation", "drawings and masks of objects are not read")
    return [kit for kit in kits.values() if kit.annotations or kit.lists]


def _use_class_lists(reading: Reading, kits: Sequence["_Kit"]) -> None:
    """Account for files that name classes beside kits without label images, whose classes are those of the objects."""
    if not any(kit.masks for kit in kits):
        others = label_images.class_lists(reading)
        reading.leave_out(others, "class-list", "without label images classes are those of the objects")


def _is_beside(reading: Reading, path: Path) -> bool:
    """Whether a picture is a drawing of annotation, or a mask among annotation files."""
    folders = path.relative_to(reading.root).parts[:-1]
    if any(_BESIDE.fullmatch(each) and each.lower() not in _OF_A_KIT for each in folders):
        return True
    is_among = _Place.of(reading, path).folder in (ANNOTATIONS, MASKS)
    return is_among and not any(path.with_suffix(each).exists() for each in (".xml", ".XML"))


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a list: its text, the image that it names, and the numbers behind it."""

    text: str
    image: str
    numbers: str


@dataclass(frozen=True, slots=True)
class _List:
    """A list of images, or a label file. path: None where we made it."""

    task: str
    name: str
    texts: tuple[str, ...]
    path: Path | None

    @classmethod
    def of(cls, reading: Reading, path: Path) -> Self:
        """Read a list that was sent; lists beside the folders of tasks are of the Main set, as in 2006."""
        texts = tuple(reading.text(path).splitlines())
        above = path.parent.name.lower()
        task = "Main" if above == LISTS.lower() else _TASKS.get(above, "")
        return cls(task, path.stem, texts, path)

    @property
    def is_plain(self) -> bool:
        """Whether it has images and nothing behind them, so that it is no label file."""
        lines = [text for text in self.texts if _is_listed(text)]
        return bool(lines) and not any(
            _WHOLE.fullmatch(text.split()[-1]) and len(text.split()) > 1 for text in lines
        )

    def lines(self, known: Iterable[str]) -> Iterator[_Line | None]:
        """The lines, None for those without an image. known: the images of the kit, whose names may have blanks."""
        images = set(known)
        return (_line_of(text.strip(), images) if _is_listed(text) else None for text in self.texts)


def _is_listed(text: str) -> bool:
    return bool(text.strip()) and not text.lstrip().startswith("#")


def _line_of(text: str, known: set[str]) -> _Line:
    """Split a line so that its image is one of the kit, or else has no blank."""
    splits = [_Line(text, _image_of(text), "")]
    for numbers in (1, 2):
        name, *rest = text.rsplit(None, numbers)
        if len(rest) == numbers and all(map(_WHOLE.fullmatch, rest)):
            splits.append(_Line(text, _image_of(name), " ".join(rest)))
    return next((each for each in splits if each.image in known), splits[-1])


@dataclass
class _Kit:
    """The files of a kit as they were sent, and where they are laid out for the library.

    names: the files that were sent, by their new names; images: what images are called there, by their own names; told: files and
    codes of problems that are told otherwise; added: problems that are told; is_whole: whether everything is left in its files that was sent.
    """

    reading: Reading
    root: Path
    number: int
    annotations: dict[str, Path] = field(default_factory=dict)
    masks: dict[str, Path] = field(default_factory=dict)
    lists: list[_List] = field(default_factory=list)
    names: dict[str, Path] = field(default_factory=dict)
    images: dict[str, str] = field(default_factory=dict)
    told: set[tuple[str, str]] = field(default_factory=set)
    added: set[tuple[str | None, int | None, str]] = field(default_factory=set)
    is_whole: bool = True
    listed: set[str] = field(default_factory=set)
    odd: dict[tuple[str | None, str], Problem] = field(default_factory=dict)

    def add(self, files: dict[str, Path], path: Path, what: str) -> None:
        """Add a file of an image; of two of the same image both are named."""
        image = _image_of(path.name)
        self.reading.use(path)
        if files.setdefault(image, path) != path:
            rule = Rule(
                f"two {what} are of one image; the other one is {{}}", self.reading.name(files[image])
            )
            self.reading.problems.add(Problem("same-image", rule, self.reading.name(path)))

    @cached_property
    def folder(self) -> Path:
        """Where the kit is laid out; the name of the folder is that of the challenge."""
        return self.reading.unpacked.folder / "kits" / self.reading.role / str(self.number) / self.root.name

    @cached_property
    def sets(self) -> Mapping[str, list[_List]]:
        """The image sets with their lists; without any, the images of each folder that is called like a set."""
        found: defaultdict[str, list[_List]] = defaultdict(list)
        counted = sorted(
            (each for each in self.lists if each.task in ("Main", "Segmentation")),
            key=lambda each: not each.is_plain,
        )
        plain = {each.name for each in counted if each.is_plain}
        whole = {each.name for each in counted} - {
            one.name for one in counted for other in counted if one.name.endswith(f"_{other.name}")
        }
        known = plain | whole | {*USUAL_SETS}
        for each in counted:
            found[each.name if each.name in plain else _end_of(each.name, known)].append(each)
        for each in self.lists:
            image_set = each.name if each.name in found else _end_of(each.name, set(found))
            if each.task in ("Layout", "Action") and image_set in found:
                found[image_set].append(each)
        return self._called(found) if found else self._made()

    def _called(self, found: Mapping[str, list[_List]]) -> Mapping[str, list[_List]]:
        """The sets by the usual word for each, such as val for valid; two lists never become one set."""
        called: dict[str, list[_List]] = {}
        above = set_of_file(self.root / "_", self.reading.root, NO_SUBSET)
        for name, lists in sorted(found.items()):
            usual = above if name == NO_SUBSET else (set_of_folder(name) if name.isalpha() else "") or name
            paths = [each.path for each in (*called.get(usual, ()), *lists) if each.path]
            if usual in called:
                words = f"this list and {{}} would both be the image set {usual}; send one of them, or call them otherwise"
                rule = Rule(words, self.reading.name(paths[0]))
                self.reading.problems.add(Problem("two-sets", rule, self.reading.name(paths[-1])))
                self.reading.use(*paths)
            else:
                for each in paths:
                    self.reading.note_set(self.reading.name(each), usual)
                called[usual] = [replace(each, name=each.name.removesuffix(name) + usual) for each in lists]
        return called

    def _made(self) -> Mapping[str, list[_List]]:
        found: defaultdict[str, list[_List]] = defaultdict(list)
        for task, files in (("Main", self.annotations), ("Segmentation", self.masks)):
            images = {path: image for image, path in sorted(files.items())}
            for image_set, paths in self.reading.by_set(images).items():
                found[image_set].append(_List(task, image_set, tuple(map(images.__getitem__, paths)), None))
        return dict(sorted(found.items()))

    @cached_property
    def classes(self) -> LabelClasses | None:
        """The classes of label images where a file names them; else they are those of the objects, in their order."""
        return label_images.classes_of(self.reading) if self.masks else None

    # laying out

    def lay_out(self) -> None:
        """Link every file under its new name, annotation as the library reads it."""
        taken = {image for image in (*self.annotations, *self.masks) if _NAME.fullmatch(image)}
        fresh = (name for name in map("image-{}".format, count(1)) if name not in taken)
        for image in (*self.annotations, *self.masks):
            self.images.setdefault(image, image if image in taken else next(fresh))
        own_names = {image: image for image in self.annotations}
        sizes = sizes_of_pictures(self.reading.unpacked, self.reading.role, own_names)
        shapes: defaultdict[str, list[Path]] = defaultdict(list)
        of_others: list[Path] = []
        rotated: Counter[Path] = Counter()
        for image, path in self.annotations.items():
            target = self._target(ANNOTATIONS, f"{self.images[image]}{path.suffix.lower()}", path)
            if path.suffix.lower() == ".txt":
                target.hardlink_to(path)
                continue
            data = path.read_bytes()
            found = readable(data, sizes.get(image), partial(self.reading.other_encoding, path))
            if found.problem:
                name = target.relative_to(self.folder).as_posix()
                self.told.add((name, found.code))
                self.is_whole = False
                self.reading.problems.add(
                    Problem(found.code, found.problem, self.reading.name(path), found.line)
                )
            for shape in found.shapes.elements():
                shapes[shape].append(path)
            rotated[path] += found.rotated
            if is_of_other_file(found.content, image):
                of_others.append(path)
            if found.content is data:
                target.hardlink_to(path)
            else:
                target.write_bytes(found.content)
        for shape, paths in shapes.items():
            words = (
                f"{_counted(len(paths), 'object')} of {_counted(len(set(paths)), 'file')}: {_WAYS_OUT[shape]}"
            )
            self.reading.problems.add(Problem("other-shape", Rule(words), self.reading.name(paths[0])))
            self.is_whole = False
        if of_others:
            others = f", as {_counted(len(of_others), 'file')} do" if len(of_others) > 1 else ""
            words = f"<filename> or <path> names the file of another image{others}; the name of the XML file is read"
            self.reading.problems.warn(Problem("other-file", Rule(words), self.reading.name(of_others[0])))
        if total := rotated.total():
            boxes = "1 box has" if total == 1 else f"{total:,} boxes have"
            words = f"{boxes} an angle ('rotation' in <attributes>), which is left out: they are upright"
            self.reading.problems.warn(
                Problem("rotated-box", Rule(words), self.reading.name(next(iter(+rotated))))
            )
        for image, path in self.masks.items():
            self._target(MASKS, f"{self.images[image]}.png", path).hardlink_to(path)

    def _target(self, folder: str, name: str, path: Path | None) -> Path:
        target = self.folder / folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if path is not None:
            self.names[target.relative_to(self.folder).as_posix()] = path
        return target

    def list_images(self, image_set: str, lists: Iterable[_List]) -> None:
        """Write the lists of an image set in place of another's. An image without annotation is a problem of the line that names it."""
        shutil.rmtree(self.folder / LISTS, ignore_errors=True)
        missing: set[str] = set()
        named: set[Path] = set()
        for each in lists:
            written = []
            for number, line in enumerate(each.lines(self.images), 1):
                if line is None or (" " in line.image and line.image not in self.images):
                    written.append("" if line is None else line.text)
                    continue
                self.listed.add(line.image)
                for files in (self.annotations, self.masks):
                    if line.image in files:
                        named.add(files[line.image])
                name = self.images.get(line.image, line.image)
                if (
                    each.task != "Segmentation"
                    and line.image not in self.annotations
                    and _NAME.fullmatch(name)
                ):
                    self.told.add((f"{ANNOTATIONS}/{name}.xml", "no-file"))
                    if each.path and line.image not in missing:
                        rule = Rule("there is no annotation file of the image '{}'", line.image)
                        self._add(Problem("no-file", rule, self.reading.name(each.path), number))
                    missing.add(line.image)
                written.append(f"{name} {line.numbers}")
            if each.path:
                self.reading.use(each.path)
            if each.task != "Segmentation" or self.classes is None:
                target = self._target(f"{LISTS}/{each.task}", f"{each.name}.txt", each.path)
                target.write_text("\n".join(written))
        for path in named:
            self.reading.note_set(self.reading.name(path), image_set)
        self.reading.refuse_other_folders(named, image_set, self.root)

    # what the library makes of it

    def read(self, image_set: str, lists: Sequence[_List]) -> Iterator[AnnotatedSet]:
        """Read an image set whose lists are written."""
        masks = self._masks_of(image_set, lists) if self.classes else {}
        odd = Problems()
        own = {name: image for image, name in self.images.items()}
        try:
            truth = heldout_scoring.read_tree(self.folder, image_set, problems=odd)
            images = truth.description.images
        except TreeError as error:
            self._add_all(error)
            truth, images = None, error.images
        if truth is None or not self.is_whole:
            sizes = {own.get(each.id, each.id): known_size(each) for each in images}
            self.reading.invalid.append(ListedImages(image_set, sizes))
            return
        if masks and self.classes:
            truth = self._with_masks(truth, masks, self.classes.names)
        elif truth.lists.segmentation and truth.lists.classes != classes_of(truth.lists.dataset):
            words = "label 1, 2, … of label images is the first, second, … class in alphabetical order; send a classes.txt if it is another"
            self.reading.problems.warn(Problem("label-order", Rule(words)))
        if truth.lists.dataset != self.reading.unpacked.dataset and truth.lists.dataset not in CHALLENGES:
            truth = self.reading.own(truth, image_set)
        for warning in odd.warnings:  # several sets may share a file
            self.odd.setdefault((warning.file, warning.message), warning)
        source = self.root.name if self.root == self.reading.root else self.reading.name(self.root)
        yield AnnotatedSet(image_set, VOC, source, self._with_own_names(truth, own), {})

    def _with_own_names(self, truth: GroundTruth, own: Mapping[str, str]) -> GroundTruth:
        names = {name: own[name] for name in (*truth.lists.images, *truth.lists.segmentation)}
        return truth if all(name == image for name, image in names.items()) else truth.rename_images(names)

    def _masks_of(self, image_set: str, lists: Sequence[_List]) -> dict[str, Labels]:
        """The label images of a set by the classes of a file, by the names that images have here."""
        paths = {}
        for each in lists:
            for number, line in enumerate(each.lines(self.images), 1) if each.task == "Segmentation" else ():
                if line and line.image in self.masks:
                    paths[line.image] = self.masks[line.image]
                elif line and each.path:
                    rule = Rule("there is no label image of the image '{}'", line.image)
                    self._add(Problem("no-file", rule, self.reading.name(each.path), number))
        reader = label_images.LabelReader(self.reading, self.classes)
        masks = {image: labels for image, path in paths.items() if (labels := reader.read(path)) is not None}
        reader.tell(image_set, len(paths))
        for image, labels in masks.items():
            wrong = beyond_classes(labels, len(self.classes.names)) if self.classes else None
            if wrong is not None:
                self._add(Problem("mask-label", wrong, self.reading.name(paths[image])))
                self.is_whole = False
        self.is_whole = self.is_whole and len(masks) == len(paths)
        return {self.images[image]: labels for image, labels in masks.items()}

    def _with_masks(
        self, truth: GroundTruth, masks: Mapping[str, Labels], names: Sequence[str]
    ) -> GroundTruth:
        """The same annotation with label images, whose classes stand first; names: those of the labels from 1 on."""
        lists, tables = truth.lists, truth.tables
        sizes = dict(zip(lists.images, tables.sizes.tolist(), strict=True))
        for image, labels in masks.items():
            height, width = labels.shape
            if sizes.get(image, [width, height]) != [width, height]:
                words = f"expected {sizes[image][0]} x {sizes[image][1]} pixels, found {width} x {height}"
                self._add(Problem("mask-size", Rule(words), self._sent_name(f"{MASKS}/{image}.png")))
        classes = (*names, *(name for name in lists.classes if name not in names))
        place = np.array([classes.index(name) for name in lists.classes], np.int16)
        labelled = np.full((len(classes), lists.main), -1, np.int8)
        labelled[place] = tables.labels
        objects = replace(tables.objects, name=place[tables.objects.name])
        return GroundTruth.of(
            replace(lists, classes=classes, segmentation=tuple(masks)),
            replace(tables, labels=labelled, objects=objects, masks=LabelRuns.of(list(masks.values()))),
        )

    def _add_all(self, error: TreeError) -> None:
        for problem in error.problems:
            if (problem.file or "", problem.code) not in self.told:
                self._add(replace(problem, file=problem.file and self._sent_name(problem.file)))
        for file, annotation in error.annotations.items():
            self._warn_of_boxes_outside(file, annotation)

    def _add(self, problem: Problem) -> None:
        """Add a problem once; several sets may share a file."""
        place = problem.file, problem.line, problem.message
        if place not in self.added:
            self.added.add(place)
            self.reading.problems.add(problem)

    def _warn_of_boxes_outside(self, file: str, annotation: Annotation) -> None:
        """Warn of boxes beyond their image in a set that has problems; of others, findings count them."""
        if (file, "image-size") in self.told:
            return
        for number, thing in enumerate(annotation.objects, 1):
            box, width, height = thing.box, annotation.width, annotation.height
            if min(box.left, box.top) < 0 or box.right > width + 1 or box.bottom > height + 1:
                message = f"the box of object {number} {OUTSIDE}"
                self.reading.problems.warn(Problem("box-outside", Rule(message), self._sent_name(file)))

    def _sent_name(self, file: str) -> str:
        return self.reading.name(self.names.get(file, self.root / file))

    def tell(self) -> None:
        """Tell of all sets together what is odd, and what no set lists."""
        if inverted := self.reading.problems.count("inverted-box"):
            boxes = (
                "1 box has right < left or bottom < top"
                if inverted == 1
                else f"{inverted:,} boxes have right < left or bottom < top"
            )
            message = f"{boxes}: <xmax> and <ymax> may hold width and height; right and bottom are expected"
            self.reading.problems.warn(Problem("box-convention", Rule(message)))
        if self.odd:
            first, *more = self.odd.values()
            rule = Rule.of(first.message)
            if more:
                files = _counted(len({file for file, _ in self.odd}), "file")
                rule = Rule(
                    f"{rule.words}; the same goes for {_counted(len(more), 'other flag')}, in {files} in all",
                    *rule.quotes,
                )
            self.reading.problems.warn(
                replace(first, message=rule, file=first.file and self._sent_name(first.file))
            )
        for sent in (self.annotations, self.masks):
            unlisted = [path for image, path in sent.items() if image not in self.listed]
            self.reading.leave_out(unlisted, "not-listed", "no list in ImageSets names them")
        unused = [each.path for each in self.lists if each.path and each.path not in self.reading.used]
        self.reading.leave_out(unused, "other-list", "they list no image set of Main or Segmentation")


def _end_of(name: str, known: set[str]) -> str:
    """The image set at the end of the name of a label file, the longest that is known; the whole name if there is none.

    >>> _end_of("cat_trainval", {"val", "trainval"}), _end_of("night", {"val"})
    ('trainval', 'night')
    """
    return max((each for each in known if name.endswith(f"_{each}")), key=len, default=name)


def _counted(number: int, what: str) -> str:
    return f"1 {what}" if number == 1 else f"{number:,} {what}s"
