"""Which format the annotation of a role has, and reading it; problems are collected, all at once."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Final

import msgspec

from app.images.matching import OTHER_SUFFIXES
from app.intake.formats import class_folders, coco, cvat, development_kit, label_images, labelme, table, yolo
from app.intake.formats.image_sets import is_one_set, says_test, set_of
from app.intake.formats.reading import (
    ANNOTATION_SUFFIXES,
    CLASS_FOLDERS,
    COCO,
    CVAT,
    LABEL_IMAGES,
    LABELME,
    PICTURE_SUFFIXES,
    TABLE,
    VOC,
    YOLO,
    AnnotatedSet,
    Reading,
    note_of,
)
from app.intake.formats.refused import refuse_formats
from heldout_scoring import Problem, Rule


@dataclass(frozen=True, slots=True)
class Format:
    """A format that is read. evidence: the files or folders that show it, none if a role's files have another.

    of_pictures: whether pictures alone are the annotation, so that the folder of a file may be the class of its picture, and
    annotation in any other file speaks against it.
    """

    name: str
    evidence: Callable[[Reading], Sequence[Path]]
    read: Callable[[Reading], Iterable[AnnotatedSet]]
    of_pictures: bool = False


FORMATS: Final = (
    Format(VOC, development_kit.evidence, development_kit.read),
    Format(CVAT, cvat.evidence, cvat.read),
    Format(LABELME, labelme.evidence, labelme.read),
    Format(COCO, coco.evidence, coco.read),
    Format(YOLO, yolo.evidence, yolo.read),
    Format(TABLE, table.evidence, table.read),
    Format(LABEL_IMAGES, label_images.evidence, label_images.read, of_pictures=True),
    Format(CLASS_FOLDERS, class_folders.evidence, class_folders.read, of_pictures=True),
)
EXPECTED: Final = (
    "expected a development kit with Annotations and ImageSets, COCO's JSON, XML of CVAT for images, JSON of labelme, YOLO's labels, a table with the columns "
    f"{', '.join(table.COLUMNS)}, a folder of images for each of two or more classes, or label images with {label_images.CLASSES_FILE}"
)


def format_of(reading: Reading) -> Format | None:
    """Recognise the format of a role's annotation; None if it has none, or another, or if two contradict each other."""
    is_refused = refuse_formats(reading)
    captions = coco.captions(reading)
    reading.use(*captions)
    shown = [(each, each.evidence(reading)) for each in FORMATS if not (each.of_pictures and is_refused)]
    found = [
        (each, files) for each, files in shown if files and not (captions and each.name == CLASS_FOLDERS)
    ]
    if found:
        reading.leave_out(captions, "other-annotation", "captions, beside other annotation")
    else:
        reading.used.difference_update(captions)
        found = [(each, captions) for each in FORMATS if each.name == COCO and captions]
    found = [(each, files) for each, files in found if not each.of_pictures] or found
    if len(found) > 1:
        names = " and ".join(f"{each.name} ({{}})" for each, _ in found)
        rule = Rule(
            f"annotation was recognised as {names}; send it in one format",
            *(reading.name(files[0]) for _, files in found),
        )
        reading.problems.add(Problem("two-formats", rule))
        return None
    return found[0][0] if found else None


def read_annotation(reading: Reading, found: Format | None) -> list[AnnotatedSet]:
    """Read all annotation of a role in this format; its pictures join the others, and every file that is left is told."""
    if found is not None:
        sets = [replace(each, role=reading.role) for each in found.read(reading)]
        _tell_of_the_rest(reading, found)
        _tell_of_names(reading, sets)
        _refuse_other_sets(reading, sets)
        return sets
    if reading.files and not reading.problems.listed:
        empty = [path for path in reading.with_suffix(*ANNOTATION_SUFFIXES) if path.stat().st_size == 0]
        reading.refuse(empty, "empty-file", "empty")
        broken = [path for path in reading.with_suffix(".json") if not _is_json(path.read_bytes())]
        reading.refuse(broken, "not-json", "not JSON, or cut off")
        lossy = [
            path
            for path in reading.with_suffix(*PICTURE_SUFFIXES)
            if label_images.is_in_their_folder(path, reading.root)
        ]
        reason = "in a folder of label images, which are PNG; as JPEG they would have other labels along edges, so export them as PNG"
        reading.refuse((path for path in lossy if path.suffix.lower() != ".png"), "lossy-masks", reason)
        between = [path for path in class_folders.files_between(reading) if path not in reading.used]
        reason = "in a folder of images or called like one of them, so that folders are not taken for classes; leave out what is no annotation"
        reading.refuse(between, "between-pictures", reason)
        reading.problems.add(Problem("no-annotation", Rule(f"no annotation was recognised; {EXPECTED}")))
    return []


def _is_json(content: bytes) -> bool:
    try:
        msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


def _tell_of_names(reading: Reading, sets: Sequence[AnnotatedSet]) -> None:
    """Warn of image sets that are called alike: from lists of two kits, or from two files."""
    for name, count in Counter(each.name for each in sets).items():
        if count > 1:
            sources = [each.source for each in sets if each.name == name]
            words = f"{count} image sets are called {name}, of {{}} and {{}}; choose one, or rename their files or folders"
            reading.problems.warn(Problem("same-set-name", Rule(words, *sources[:2])))


def _refuse_other_sets(reading: Reading, sets: Sequence[AnnotatedSet]) -> None:
    """Add a problem for a folder or an archive that is called like a set to test on with nothing but others in it, or the reverse."""
    is_told = reading.problems.count("other-set") > 0
    below: dict[PurePosixPath, list[AnnotatedSet]] = {}
    for each in sets:
        source = PurePosixPath(each.source)
        for above in (source, *source.parents):
            if is_one_set(set_of(above.name, "")) and (reading.root / above).is_dir():
                below.setdefault(above, []).append(each)
    for folder, some in below.items():
        own, found = set_of(folder.name, ""), sorted({each.name for each in some})
        is_clear = (
            is_one_set(folder.name) or len(found) == 1
        )  # else it has a whole data set, and the word is about that
        if not is_told and is_clear and all(says_test(name) != says_test(own) for name in found):
            names = " and ".join(found)
            words = f"this is the image set {names}, but the folder or archive that it is in is called like the image set {own}; call both alike"
            reading.problems.add(Problem("other-set", Rule(words), some[0].source))


def _tell_of_the_rest(reading: Reading, found: Format) -> None:
    """Add a problem for annotation that was not read, and a warning for other files."""
    _tell_of_notes(reading, [path for path in reading.left if note_of(path)])
    for kind in ANNOTATION_SUFFIXES:
        reason = (
            f"not read: annotation was recognised as {found.name}, to which {kind} files like that do not belong; leave out what is"
            " no annotation, and send annotation in one format"
        )
        reading.refuse(reading.with_suffix(kind), "not-read", reason)
    others = reading.with_suffix(*OTHER_SUFFIXES)
    reason = "images have to be JPEG or PNG; convert them without changing their names or sizes"
    reading.leave_out(others, "picture-kind", reason)
    reason = f"{found.name} has no images there; send them in the zone for images"
    reading.leave_out(reading.with_suffix(*PICTURE_SUFFIXES), "left-out", reason)
    reading.leave_out(reading.left, "left-out", "neither annotation nor images")


def _tell_of_notes(reading: Reading, notes: Collection[Path]) -> None:
    """Warn of files such as a README. Their names are no secrets, since they begin with words of ours."""
    reading.use(*notes)
    if notes:
        words = sorted({note_of(path).upper() for path in notes})
        count = "1 file is" if len(notes) == 1 else f"{len(notes):,} files are"
        rule = Rule(f"{count} left out, called {' or '.join(words)}: neither annotation nor images")
        reading.problems.warn(Problem("left-out", rule))
